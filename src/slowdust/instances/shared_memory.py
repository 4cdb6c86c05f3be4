"""Shared memory that a killed Postgres leaves: System V segments and files of /dev/shm.

Each data directory in use has a System V segment. Its header (`PGShmemHeader` of the source file
storage/pg_shmem.h) names the directory by device and inode, and the control segment of dynamic
shared memory by a handle: the file /dev/shm/PostgreSQL.HANDLE, which has the handles of all others.
Only segments of the given directories that nobody has attached are removed, and files of the same
account.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_SEGMENTS = Path("/proc/sysvipc/shm")
_FILES = Path("/dev/shm")
_MAGIC = 679834894
"""`PGShmemMagic`."""
_HEADERS = (struct.Struct("=iiQQI4xQQQ"), struct.Struct("=iiQQI4xQQ"))
"""Headers with and without a pointer to an index: magic number, process, size, free offset, handle,
the pointer, device, inode."""
_READ_ONLY = 0o10000
"""SHM_RDONLY."""
_REMOVE = 0
"""IPC_RMID."""
_DEEPEST = 3
"""Levels below a run's directory at which a data directory may be."""
_MOST_BYTES = 1 << 20
"""Bytes of a control segment that are read; it has 64 items and a few for each session."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


class _Directory(NamedTuple):
    device: int
    inode: int


@dataclass(frozen=True)
class _Segment:
    """A line of /proc/sysvipc/shm."""

    number: int
    bytes: int
    attached: int
    uid: int


def remove_shared_memory(directory: Path) -> None:
    """Remove what servers left that had their data below a directory, and have all ended."""
    places = set(_directories(directory))
    for segment in _segments():
        if segment.attached or segment.bytes < min(header.size for header in _HEADERS):
            continue
        handle = _handle(_content(segment), places)
        if handle is not None:
            _remove_files(handle, segment.uid)
            _libc.shmctl(segment.number, _REMOVE, None)


def _directories(directory: Path) -> Iterator[_Directory]:
    """Yield a directory and those below it, by what the kernel calls them; no link is followed."""
    with suppress(OSError):
        for path, below, _, descriptor in os.fwalk(directory):
            status = os.fstat(descriptor)
            yield _Directory(status.st_dev, status.st_ino)
            if len(Path(path).relative_to(directory).parts) == _DEEPEST:
                below.clear()


def _segments() -> Iterator[_Segment]:
    try:
        head, *lines = _SEGMENTS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    columns = head.split()
    for line in lines:
        fields = dict(zip(columns, map(int, line.split()), strict=False))
        yield _Segment(fields["shmid"], fields["size"], fields["nattch"], fields["uid"])


def _content(segment: _Segment) -> bytes:
    """Return the beginning of a segment; empty if this process may not read it."""
    address = _libc.shmat(segment.number, None, _READ_ONLY)
    if address is None or address == ctypes.c_void_p(-1).value:
        return b""
    try:
        return ctypes.string_at(address, min(segment.bytes, _HEADERS[0].size))
    finally:
        _libc.shmdt(address)


def _handle(content: bytes, places: Collection[_Directory]) -> int | None:
    """Return the handle in a header; None if it is not that of one of the directories."""
    for header in _HEADERS:
        if len(content) >= header.size:
            magic, _, _, _, handle, *_, device, inode = header.unpack_from(content)
            if magic == _MAGIC and _Directory(device, inode) in places:
                return int(handle)
    return None


def _remove_files(control: int, uid: int) -> None:
    """Remove the control segment of dynamic shared memory, and those whose handles it has."""
    path = _file(control)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_uid != uid or not stat.S_ISREG(status.st_mode):
            return
        words = file.read(_MOST_BYTES)
    handles = {word for (word,) in struct.iter_unpack("=I", words[: len(words) // 4 * 4])}
    for entry in list(_FILES.glob("PostgreSQL.*")):
        number = entry.name.partition(".")[2]
        if number.isdecimal() and int(number) in {*handles, control} and _owner(entry) == uid:
            entry.unlink(missing_ok=True)


def _file(handle: int) -> Path:
    return _FILES / f"PostgreSQL.{handle}"


def _owner(path: Path) -> int | None:
    try:
        return path.stat(follow_symlinks=False).st_uid
    except OSError:
        return None
