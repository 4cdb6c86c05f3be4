"""Crash-safe files: appended records, replaced files, and folder locks.

A record is on disk when `append` returns, a torn last line is ignored, and a replaced file has its
old or its new content. Records and files are JSON; files have a version, their `schema`. They are
untrusted: reading is bounded, and errors name the file. Files of records are read line by line, to
bound memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, TypeVar

import msgspec

from slowdust.errors import SlowdustError, UsageError
from slowdust.locks import try_lock_file
from slowdust.temporary import becoming
from slowdust.text import visible_in_json
from slowdust.wording import cut

MOST_BYTES = 64 << 20
"""Maximum number of bytes of a file that is read as a whole.

A manifest has about 10 kB; with plans of hundreds of contenders it has tens of megabytes.
"""
MOST_OF_LINE = 8 << 20
"""Maximum number of bytes of a record; a step of the Insert Benchmark has about 20 kB."""
_LONGEST_SHOWN = 100
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec about damaged JSON; it recurses, and decodes texts lazily."""


class DamagedFileError(SlowdustError):
    """A file of an experiment cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}")
        self.path = path
        self.reason = reason


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Raise decoding errors as a `DamagedFileError` of `path`."""
    try:
        yield
    except FAULTS as error:
        raise DamagedFileError(path, fault(error)) from error


def fault(error: Exception) -> str:
    """Return an error of JSON in words."""
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return f"it is not UTF-8: {error.reason}, {error.object[error.start]:#04x}"
        case _:
            return " ".join(str(error).split())  # a text in it may have several lines


def shown(text: str) -> str:
    return repr(cut(text, _LONGEST_SHOWN))


def read_whole(path: Path) -> bytes:
    """Read a file of JSON, without control characters in its texts.

    Raises DamagedFileError if it is larger than `MOST_BYTES`, FileNotFoundError if it does not
    exist.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DamagedFileError(path, f"it has more than {MOST_BYTES >> 20} MB")
    return visible_in_json(content)


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file of records; empty if there is no file.

    Raises DamagedFileError if one is longer than `MOST_OF_LINE`.
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
    """Yield the paths of keys in JSON that its decoded record does not have.

    The value of an unknown key is not decoded: a megabyte of JSON would take forty of memory.
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


LOCK_FILE = ".lock"
"""The lock file of a folder, held by its writer."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PIECE = 1 << 16
"""Bytes to read at a time to find the end of the last complete line."""


class Versioned(Protocol):
    """A record with the version of its shape."""

    schema: int


_Record = TypeVar("_Record", bound=msgspec.Struct)
_VersionedRecord = TypeVar("_VersionedRecord", bound=Versioned)


class _SchemaOnly(msgspec.Struct):
    schema: int = 1
    """Files of the first version may omit it."""


class Records:
    """An open file of records, from `appending`."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def append(self, *records: msgspec.Struct) -> None:
        """Append and sync records.

        Raises SlowdustError if they cannot be written.
        """
        try:
            self._file.writelines(msgspec.json.encode(record) + b"\n" for record in records)
            self._file.flush()
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise cannot_write(self._path, error) from error


@contextmanager
def appending(path: Path) -> Iterator[Records]:
    """Open a file of records, for one process only; truncate a torn last line.

    Raises SlowdustError if it cannot be written.
    """
    try:
        file = path.open("a+b")
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - _PIECE)
            file.seek(begin)
            if (at := file.read(end - begin).rfind(b"\n")) >= 0:
                end = begin + at + 1
                break
            end = begin
        file.truncate(end)
    except OSError as error:
        raise cannot_write(path, error) from error
    with file:
        yield Records(path, file)


def append_records(path: Path, records: Sequence[msgspec.Struct]) -> None:
    """Append records to a file, and sync it.

    Raises SlowdustError if they cannot be written.
    """
    if records:
        with appending(path) as file:
            file.append(*records)


def read_records(path: Path, kind: type[_Record]) -> list[_Record]:
    """Return the records of the complete lines of a file; empty if there is no file.

    Raises SlowdustError if a line before the last is damaged.
    """
    with naming_damage(path):
        decoder = msgspec.json.Decoder(kind)
        return [decoder.decode(line) for line in complete_lines(path) if line.strip()]


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file so that a reader sees the old or the new content, even after a crash.

    Raises SlowdustError if it cannot be written.
    """
    try:
        with becoming(path) as new:
            new.write_bytes(content)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> SlowdustError:
    """Return the error of a file that cannot be written, with a remedy for a full disk."""
    remedy = " (free some space there, and try again)" if error.errno in _FULL else ""
    return SlowdustError(f"cannot write {path}: {error.strerror}{remedy}")


def write_versioned(path: Path, record: msgspec.Struct) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(record)))


def read_versioned(
    path: Path, kind: type[_VersionedRecord], newest: int
) -> _VersionedRecord | None:
    """Return the record of a file with a schema up to `newest`; None if there is no file.

    Raises UsageError if a newer Slowdust wrote it, SlowdustError if it is damaged.
    """
    try:
        content = read_whole(path)
    except FileNotFoundError:
        return None
    with naming_damage(path):
        if read_schema(content) > newest:
            raise UsageError(f"{path} was written by a newer Slowdust: upgrade this one")
        return msgspec.json.decode(content, type=kind)


def read_schema(content: bytes) -> int:
    return msgspec.json.decode(content, type=_SchemaOnly).schema


@contextmanager
def locked(folder: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of an existing folder.

    Raises UsageError with the message `refusal` if another process holds it.
    """
    with try_lock_file(folder / LOCK_FILE) as is_locked:
        if not is_locked:
            raise UsageError(refusal)
        yield
