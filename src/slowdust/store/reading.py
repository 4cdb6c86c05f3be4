"""Reading JSON that may be damaged, or written by anybody: bounded, and each fault names its file.

Files of records are read line by line, so that a long one never fills the memory as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from slowdust.errors import SlowdustError
from slowdust.formats.text import visible_in_json
from slowdust.wording import cut

MOST_BYTES = 64 << 20
"""Bytes of a file that is read whole.

A manifest has some 10 kB; with plans of hundreds of contenders tens of megabytes.
"""
MOST_OF_LINE = 8 << 20
"""Bytes of a line of records; those of an insert have some 20 kB."""
_LONGEST_SHOWN = 100
"""Characters."""
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors of msgspec about JSON that is damaged; it recurses, and decodes texts lazily."""


class DamagedFileError(SlowdustError):
    """A file of an experiment that cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}")
        self.path = path
        self.reason = reason


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Raise what decoding finds wrong as a `DamagedFileError` of `path`."""
    try:
        yield
    except FAULTS as error:
        raise DamagedFileError(path, fault(error)) from error


def fault(error: Exception) -> str:
    """Say what is wrong with JSON, in words."""
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return f"it is not UTF-8: {error.reason}, {error.object[error.start]:#04x}"
        case _:
            return " ".join(str(error).split())  # a text in it may have several lines


def shown(text: str) -> str:
    """Return a name that anybody may have chosen for a message of one line."""
    return repr(cut(text, _LONGEST_SHOWN))


def read_whole(path: Path) -> bytes:
    """Read a file of JSON, without control characters in its texts.

    Raises:
        DamagedFileError: it is larger than `MOST_BYTES`.
        FileNotFoundError: there is none.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DamagedFileError(path, f"it has more than {MOST_BYTES >> 20} MB")
    return visible_in_json(content)


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of records, none if there is no file; an incomplete last one is
    ignored.

    Raises:
        DamagedFileError: one is longer than `MOST_OF_LINE`.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while line := file.readline(MOST_OF_LINE):
            if line.endswith(b"\n"):
                yield visible_in_json(line)
            elif len(line) == MOST_OF_LINE:
                raise DamagedFileError(path, f"a line has more than {MOST_OF_LINE >> 20} MB")


def unknown_keys(record: object, source: bytes | msgspec.Raw, place: str = "$") -> Iterator[str]:
    """Yield the places of keys in JSON that the record decoded from it does not have.

    What an unknown key has is not decoded: a megabyte of it would take forty.
    """
    if isinstance(record, msgspec.Struct) and not record.__struct_config__.array_like:
        known = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
        tag = record.__struct_config__.tag_field
        for key, value in msgspec.json.decode(source, type=dict[str, msgspec.Raw]).items():
            if key in known:
                yield from unknown_keys(getattr(record, known[key]), value, f"{place}.{key}")
            elif key != tag:
                yield f"{place}.{key}"
    elif isinstance(record, list) and any(_has_keys(item) for item in record):
        sources = msgspec.json.decode(source, type=list[msgspec.Raw])
        for number, (item, value) in enumerate(zip(record, sources, strict=False)):
            yield from unknown_keys(item, value, f"{place}[{number}]")
    elif isinstance(record, Mapping) and any(_has_keys(item) for item in record.values()):
        for key, value in msgspec.json.decode(source, type=dict[str, msgspec.Raw]).items():
            if key in record:
                yield from unknown_keys(record[key], value, f"{place}.{key}")


def _has_keys(value: object) -> bool:
    return isinstance(value, msgspec.Struct | list | Mapping)
