"""Removal of leftovers of a killed Slowdust: servers, data, sockets, Postgres' shared memory.

Each data directory of Postgres in use has a System V segment. Its header (`PGShmemHeader` in
storage/pg_shmem.h) has the directory's device and inode, and a handle of the control segment of
dynamic shared memory: the file /dev/shm/PostgreSQL.HANDLE, which has the handles of all other
segments. Only unattached segments of the given directories are removed, and only files of the same
account.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from slowdust.accounts import Account, server_account
from slowdust.directories import ReplacedError, remove_directory
from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import ProcessTree, remove_group, thaw_group
from slowdust.instances.owner import (
    OWN_FILES,
    global_lock,
    instances_root,
    is_run_directory,
    may_be_run_directory,
    read_record,
    try_to_lock,
)
from slowdust.instances.processes import processes_running
from slowdust.temporary import remove_abandoned

SOCKET_DIR_PREFIX = "slowdust-"
_STOP_S = 10.0
_KILL_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Leftover:
    """A run directory that was removed."""

    directory: Path
    servers: int
    """The number of its servers that were still running."""
    refused: tuple[str, ...] = ()
    """Sentences about paths that were kept because Slowdust did not create them."""

    def __str__(self) -> str:
        servers = {0: "no servers were", 1: "1 server was"}.get(
            self.servers, f"{self.servers} servers were"
        )
        removed = f"removed {self.directory.name}, left by a killed run: {servers} still running"
        return "; ".join([removed, *self.refused])


def clean_leftovers() -> list[Leftover]:
    """Remove all run directories, and temporary directories, whose owner has exited."""
    remove_abandoned(server_account().temporary_root())
    with global_lock():
        places = sorted(instances_root().iterdir())
        directories = [path for path in places if is_run_directory(path)]
        for path in {*places} - {*directories}:
            if may_be_run_directory(path):  # an interrupted removal leaves it empty, without a lock
                with contextlib.suppress(OSError):
                    path.rmdir()
        return [leftover for path in directories if (leftover := clean_directory(path))]


def clean_directory(directory: Path) -> Leftover | None:
    """Remove one run directory unless its owner is running."""
    try:
        lock = try_to_lock(directory)
    except FileNotFoundError:
        return None
    if lock is None:
        return None
    try:
        return sweep(directory)
    finally:
        os.close(lock)


def sweep(directory: Path) -> Leftover:
    """Stop the servers of a run directory that the caller owns, and delete all their files.

    Raises SlowdustError if something cannot be removed.
    """
    record = read_record(directory)
    running = [server for server in record.servers if server.mark.is_alive()]
    for server in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.mark.pid, server.stop_signal)
        ProcessTree(server.mark.pid).thaw()  # a suspended server does not see the signal
    for name in record.control_groups:
        thaw_group(Path(name))
    deadline = time.monotonic() + _STOP_S
    while any(server.mark.is_alive() for server in running) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for server in running:
        if server.mark.is_alive():
            os.kill(server.mark.pid, signal.SIGKILL)
    kill_programs(record.programs, directory, record.sessions)
    for name in record.control_groups:
        remove_group(Path(name))
    refused = []
    account = record.socket_owner or server_account()
    for name in record.socket_dirs:
        try:
            remove_socket_dir(Path(name), account)
        except ReplacedError as error:
            refused.append(str(error))
    remove_shared_memory(directory)
    _remove_directory(directory)
    return Leftover(directory, len(running), tuple(refused))


def kill_programs(
    programs: Collection[str], directory: Path, sessions: Collection[int] = ()
) -> None:
    """Kill the processes that run one of these programs in a directory, and wait for their exit.

    All processes in that directory of their sessions and of the given sessions are killed, too.
    Raises SlowdustError if a process does not exit.
    """
    deadline = time.monotonic() + _KILL_S
    while running := list(processes_running(programs, directory, sessions)):
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in running)
            raise SlowdustError(f"processes {pids} in {directory} cannot be killed")
        for process in running:
            with contextlib.suppress(psutil.Error):
                process.kill()  # psutil verifies that it is still the same process
        time.sleep(_POLL_S)


def remove_socket_dir(directory: Path, account: Account) -> None:
    """Delete a socket directory that was created for an account.

    Raises ReplacedError if the path has been replaced, which is left alone, and SlowdustError if it
    cannot be deleted.
    """
    if directory.name.startswith(SOCKET_DIR_PREFIX):
        remove_directory(directory, account)


def _remove_directory(directory: Path) -> None:
    """Delete a run directory that the caller owns.

    Raises SlowdustError if something cannot be deleted.
    """
    with contextlib.suppress(FileNotFoundError):
        for entry in list(os.scandir(directory)):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(Path(entry.path))
            elif entry.name not in OWN_FILES:
                Path(entry.path).unlink()
        for name in OWN_FILES:
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()


def remove_tree(directory: Path) -> None:
    """Delete a directory that may not exist; raise SlowdustError if it cannot be deleted."""
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        if directory.exists():  # another process deleted a file in it
            remove_tree(directory)
    except OSError as error:
        raise SlowdustError(
            f"cannot delete {directory}: {error.strerror}; delete it yourself"
        ) from error


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
"""Maximum number of levels between a run's directory and a data directory."""
_MOST_BYTES = 1 << 20
"""Maximum bytes read of a control segment, which has 64 items and a few for each session."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

_Directory = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True)
class _Segment:
    """A line of /proc/sysvipc/shm."""

    number: int
    bytes: int
    attached: int
    uid: int


def remove_shared_memory(directory: Path) -> None:
    """Remove shared memory of servers with data below a directory that have all exited."""
    places = set(_directories(directory))
    for segment in _segments():
        if segment.attached or segment.bytes < min(header.size for header in _HEADERS):
            continue
        handle = _handle(_content(segment), places)
        if handle is not None:
            _remove_files(handle, segment.uid)
            _libc.shmctl(segment.number, _REMOVE, None)


def _directories(directory: Path) -> Iterator[_Directory]:
    """Yield the device and inode of a directory and its subdirectories; no link is followed."""
    with suppress(OSError):
        for path, below, _, descriptor in os.fwalk(directory):
            status = os.fstat(descriptor)
            yield status.st_dev, status.st_ino
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
    """Return the handle in a header; None if it belongs to none of the directories."""
    for header in _HEADERS:
        if len(content) >= header.size:
            magic, _, _, _, handle, *_, device, inode = header.unpack_from(content)
            if magic == _MAGIC and (device, inode) in places:
                return int(handle)
    return None


def _remove_files(control: int, uid: int) -> None:
    """Remove the control segment of dynamic shared memory, and the segments that it lists."""
    path = _FILES / f"PostgreSQL.{control}"
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


def _owner(path: Path) -> int | None:
    try:
        return path.stat(follow_symlinks=False).st_uid
    except OSError:
        return None
