"""Files that survive crashes: records that are appended, files that are replaced, and folder locks.

A record is on disk when `append` returns, a torn last line is ignored, and a file has its old or
its new content. Records and files are JSON; files have a version, their `schema`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, TypeVar

import msgspec

from slowdust.errors import SlowdustError, UsageError
from slowdust.locks import try_lock_file
from slowdust.store.reading import complete_lines, naming_damage, read_whole
from slowdust.temporary import becoming

LOCK_FILE = ".lock"
"""The file in a folder whose lock the folder's writer holds."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PIECE = 1 << 16
"""Bytes that are read to find the end of the last complete line."""


class Versioned(Protocol):
    """A record that knows the version of its shape."""

    schema: int


_Record = TypeVar("_Record", bound=msgspec.Struct)
_VersionedRecord = TypeVar("_VersionedRecord", bound=Versioned)


class _SchemaOnly(msgspec.Struct):
    schema: int = 1
    """Files leave it out as long as it is the first."""


class Records:
    """An open file of records; `appending` opens it."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def append(self, *records: msgspec.Struct) -> None:
        """Append records; they are on disk when this returns.

        Raises:
            SlowdustError: they cannot be written.
        """
        try:
            self._file.writelines(msgspec.json.encode(record) + b"\n" for record in records)
            self._file.flush()
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error


@contextmanager
def appending(path: Path) -> Iterator[Records]:
    """Open a file of records for this process alone; a torn last line is cut off.

    Raises:
        SlowdustError: it cannot be written.
    """
    try:
        file = path.open("a+b")
        _cut_torn_line(file)
    except OSError as error:
        raise cannot_write(path, error) from error
    with file:
        yield Records(path, file)


def append_records(path: Path, records: Sequence[msgspec.Struct]) -> None:
    """Append records to a file; they are on disk when this returns.

    Raises:
        SlowdustError: they cannot be written.
    """
    if records:
        with appending(path) as file:
            file.append(*records)


def read_records(path: Path, kind: type[_Record]) -> list[_Record]:
    """Return the complete lines of a file of records; none if there is no file.

    Raises:
        SlowdustError: a line that is not the last is damaged.
    """
    with naming_damage(path):
        decoder = msgspec.json.Decoder(kind)
        return [decoder.decode(line) for line in complete_lines(path) if line.strip()]


def _cut_torn_line(file: IO[bytes]) -> None:
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _PIECE)
        file.seek(begin)
        if (at := file.read(end - begin).rfind(b"\n")) >= 0:
            end = begin + at + 1
            break
        end = begin
    file.truncate(end)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file so that a reader sees the old or the new content, even after a crash.

    Raises:
        SlowdustError: it cannot be written.
    """
    try:
        with becoming(path) as new:
            new.write_bytes(content)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> SlowdustError:
    """Return the error of a file that cannot be written, with what to do about a full disk."""
    remedy = " (free some space there, and start again)" if error.errno in _FULL else ""
    return SlowdustError(f"cannot write {path}: {error.strerror}{remedy}")


def write_versioned(path: Path, record: msgspec.Struct) -> None:
    """Replace a file by a record.

    Raises:
        SlowdustError: it cannot be written.
    """
    replace_file(path, msgspec.json.format(msgspec.json.encode(record)))


def read_versioned(
    path: Path, kind: type[_VersionedRecord], newest: int
) -> _VersionedRecord | None:
    """Return the record of a file, whose schema is `newest` at most; None if there is no file.

    Raises:
        UsageError: a newer Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    try:
        content = read_whole(path)
    except FileNotFoundError:
        return None
    with naming_damage(path):
        if read_schema(content) > newest:
            raise UsageError(f"{path} was written by a newer Slowdust")
        return msgspec.json.decode(content, type=kind)


def read_schema(content: bytes) -> int:
    """Return the schema of a versioned file, whose other keys may be unknown."""
    return msgspec.json.decode(content, type=_SchemaOnly).schema


@contextmanager
def locked(folder: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of a folder, which exists.

    Raises:
        UsageError: another process holds it; says `refusal`.
    """
    with try_lock_file(folder / LOCK_FILE) as is_locked:
        if not is_locked:
            raise UsageError(refusal)
        yield
