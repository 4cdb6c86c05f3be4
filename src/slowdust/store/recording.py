"""Records that are one JSON file each: read whole, replaced atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from slowdust.errors import UsageError
from slowdust.store.folder import replace_file
from slowdust.store.reading import naming_damage


class Versioned(Protocol):
    """A record that knows the version of its shape."""

    schema: int


_Record = TypeVar("_Record", bound=Versioned)


class _SchemaOnly(msgspec.Struct):
    schema: int = 0
    """Absent from records that leave out their defaults."""


def read_record_file(path: Path, kind: type[_Record], newest: int, missing: str) -> _Record:
    """Return the record in a file, whose schema is `newest` at most.

    Raises:
        UsageError: there is no such file, as `missing` says, or a newer Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(missing) from None
    with naming_damage(path):
        if msgspec.json.decode(content, type=_SchemaOnly).schema > newest:
            raise UsageError(f"{path} was written by a newer Slowdust")
        return msgspec.json.decode(content, type=kind)


def write_record_file(path: Path, record: msgspec.Struct) -> None:
    """Replace the record in a file."""
    replace_file(path, msgspec.json.format(msgspec.json.encode(record)))
