"""The owner of a run directory, and the record for cleaning up after the owner.

The owner holds a lock on a file in the run directory: the kernel releases the lock however the
owner exits. `owner.json` in the same directory lists everything that the owner starts, written
before or at the start.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from slowdust.accounts import Account
from slowdust.errors import SlowdustError
from slowdust.instances.processes import ProcessMark
from slowdust.locks import try_lock, waiting_lock
from slowdust.places import DATA_VARIABLE, data_root, make_enterable

_LOCK_FILE = "owner.lock"
_RECORD_FILE = "owner.json"
_TOKEN_BYTES = 4
OWN_FILES = (_RECORD_FILE, _LOCK_FILE)
"""The files about the owner, in the order of their removal, after everything else: the lock is
last, so that an interrupted removal can be resumed."""


class Server(msgspec.Struct):
    """A started server."""

    mark: ProcessMark
    stop_signal: int
    """The signal that stops it immediately and cleanly."""


class OwnerRecord(msgspec.Struct):
    """The content of `owner.json`."""

    programs: list[str] = []
    """The binaries that were run with a working directory inside the run directory."""
    servers: list[Server] = []
    sessions: list[int] = []
    """The sessions that were started, each led by a program or a server."""
    socket_dirs: list[str] = []
    socket_owner: Account | None = None
    """The account that they were created for; None in records of earlier versions."""
    control_groups: list[str] = []


def instances_root() -> Path:
    root = data_root() / "instances"
    make_enterable(root, DATA_VARIABLE)
    return root


def global_lock() -> AbstractContextManager[None]:
    """Return the lock for creating run directories and for finding leftovers.

    It protects a new run directory until the owner has locked it.
    """
    return waiting_lock(instances_root() / ".lock")


def new_run_directory(name: str) -> Path:
    return instances_root() / f"{name}-{secrets.token_hex(_TOKEN_BYTES)}"


def is_run_directory(path: Path) -> bool:
    if path.is_symlink() or not (path / _LOCK_FILE).is_file():
        return False
    return path.stat().st_uid == os.geteuid()


def may_be_run_directory(path: Path) -> bool:
    """Return whether a path has the name of a run directory; it may have any content."""
    return re.fullmatch(rf".+-[0-9a-f]{{{2 * _TOKEN_BYTES}}}", path.name) is not None


def own(directory: Path) -> int:
    """Become the owner of a new run directory; return the lock's file descriptor."""
    new = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(directory / _LOCK_FILE, new, 0o600)
    try_lock(descriptor)
    return descriptor


def try_to_lock(directory: Path) -> int | None:
    """Lock a run directory; return the lock's file descriptor, or None if its owner is running.

    Raises FileNotFoundError if it has been removed.
    """
    descriptor = os.open(directory / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    if not try_lock(descriptor):
        os.close(descriptor)
        return None
    return descriptor


def read_record(directory: Path) -> OwnerRecord:
    try:
        return msgspec.json.decode((directory / _RECORD_FILE).read_bytes(), type=OwnerRecord)
    except FileNotFoundError:
        return OwnerRecord()


def write_record(directory: Path, record: OwnerRecord) -> None:
    new = directory / f"{_RECORD_FILE}.new"
    try:
        new.write_bytes(msgspec.json.encode(record))
        new.replace(directory / _RECORD_FILE)
    except OSError as error:
        raise SlowdustError(f"cannot write to {directory}: {error.strerror}") from error
