"""Who owns a run directory, and what must be cleaned away when the owner is gone.

A run directory is held by a lock on a file in it for as long as its owner lives: the kernel frees
the lock however the owner ends. `owner.json` beside it has all that the owner started, written
before or as it starts.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import filelock
import msgspec

from slowdust.errors import SlowdustError
from slowdust.instances.processes import ProcessMark
from slowdust.places import data_root, make_enterable

_LOCK_FILE = "owner.lock"
_RECORD_FILE = "owner.json"


class Server(msgspec.Struct):
    """A server that was started."""

    mark: ProcessMark
    stop_signal: int
    """What makes it end at once and tidily."""


class OwnerRecord(msgspec.Struct):
    """`owner.json`."""

    programs: list[str] = []
    """Binaries that were run with their working directory inside the run directory."""
    servers: list[Server] = []
    socket_dirs: list[str] = []


def instances_root() -> Path:
    """The directory of all run directories; made when it is not there."""
    root = data_root() / "instances"
    try:
        make_enterable(root)
    except OSError as error:
        raise SlowdustError(
            f"cannot write to {root}: {error.strerror}: name another directory in SLOWDUST_DATA"
        ) from error
    return root


def lock_of_all() -> filelock.FileLock:
    """Held while a run directory is made or leftovers are looked for, so that no run directory
    is seen between its making and its locking."""
    return filelock.FileLock(instances_root() / ".lock")


def is_run_directory(path: Path) -> bool:
    """Whether a path is a run directory of this user, and not something else that lies there."""
    if path.is_symlink() or not (path / _LOCK_FILE).is_file():
        return False
    return path.stat().st_uid == os.geteuid()


def try_to_own(directory: Path) -> int | None:
    """Lock a run directory; returns the lock's file descriptor, None when its owner lives."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(directory / _LOCK_FILE, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def read_record(directory: Path) -> OwnerRecord:
    """The record of a run directory; empty when its owner started nothing."""
    try:
        return msgspec.json.decode((directory / _RECORD_FILE).read_bytes(), type=OwnerRecord)
    except FileNotFoundError:
        return OwnerRecord()


def write_record(directory: Path, record: OwnerRecord) -> None:
    """Replace the record as a whole."""
    new = directory / f"{_RECORD_FILE}.new"
    try:
        new.write_bytes(msgspec.json.encode(record))
        new.replace(directory / _RECORD_FILE)
    except OSError as error:
        raise SlowdustError(f"cannot write to {directory}: {error.strerror}") from error
