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

MOST_BYTES = 128 << 20
"""Bytes of a file that is read whole, and of a line of records.

A manifest has some 10 kB; with plans of hundreds of contenders tens of megabytes.
"""
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
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


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
        DamagedFileError: one is longer than `MOST_BYTES`.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while line := file.readline(MOST_BYTES):
            if line.endswith(b"\n"):
                yield visible_in_json(line)
            elif len(line) == MOST_BYTES:
                raise DamagedFileError(path, f"a line has more than {MOST_BYTES >> 20} MB")


def unknown_keys(record: object, source: object, place: str = "$") -> Iterator[str]:
    """Yield the places of keys in JSON that the record decoded from it does not have.

    `source` is the JSON as plain lists and dicts.
    """
    if isinstance(record, msgspec.Struct) and isinstance(source, Mapping):
        known = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
        tag = record.__struct_config__.tag_field
        for key, value in source.items():
            if key in known:
                yield from unknown_keys(getattr(record, known[key]), value, f"{place}.{key}")
            elif key != tag:
                yield f"{place}.{key}"
    elif isinstance(record, list) and isinstance(source, list):
        for number, pair in enumerate(zip(record, source, strict=False)):
            yield from unknown_keys(*pair, f"{place}[{number}]")
    elif isinstance(record, Mapping) and isinstance(source, Mapping):
        for key, value in source.items():
            if key in record:
                yield from unknown_keys(record[key], value, f"{place}.{key}")
