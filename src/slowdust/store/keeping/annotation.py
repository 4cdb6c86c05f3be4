"""`annotation.json`: what the user says about an experiment, a note and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from slowdust.errors import UsageError
from slowdust.store.folder import Folder
from slowdust.store.reading import naming_damage, read_whole
from slowdust.store.storage import replace_file

ANNOTATION_FILE = "annotation.json"
_TAG = re.compile(r"\w[\w.@+-]*")


class Annotation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A note and tags of an experiment, which nothing that is measured depends on."""

    note: str = ""
    """The user's text; empty where there is none."""
    tags: list[str] = []
    """Words to find the experiment by, sorted."""


def read_annotation(folder: Folder) -> Annotation:
    """Return the note and tags of an experiment; empty where the user wrote none.

    Raises:
        SlowdustError: the file is damaged.
    """
    path = folder.path / ANNOTATION_FILE
    try:
        with naming_damage(path):
            return msgspec.json.decode(read_whole(path), type=Annotation)
    except FileNotFoundError:
        return Annotation()


def write_annotation(folder: Folder, annotation: Annotation) -> None:
    """Replace the note and tags of an experiment, which may be running.

    Raises:
        SlowdustError: the folder cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(annotation), indent=1)
    replace_file(folder.path / ANNOTATION_FILE, content)


def check_tags(words: Iterable[str]) -> None:
    """Refuse words that no tag can be.

    Raises:
        UsageError: a word has a blank or other characters.
    """
    for word in words:
        if _TAG.fullmatch(word) is None:
            raise UsageError(
                f"'{word}' is not a tag: a tag is one word of letters, digits and ._@+-, such as "
                "nightly"
            )
