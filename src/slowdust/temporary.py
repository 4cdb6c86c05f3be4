"""Temporary folders, which are removed after use, or by the next run if this process is killed.

    PARENT/.slowdust-tmp-0123456789abcdef/
        lock       an empty file; the owner holds its flock(2) until it exits
        content/   the folder that the owner uses

The kernel releases the lock when the owner exits, so a folder with a free lock is abandoned. The
parent may be writable for all users: only folders of this user are removed, and links are not
followed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slowdust.locks import try_lock

ENTERABLE = 0o755
"""The mode of a folder that the account of the servers can read."""
_PRIVATE = 0o700
_BEGINNING = ".slowdust-tmp-"
_NAME = re.compile(rf"{re.escape(_BEGINNING)}[0-9a-f]{{16}}")
_LOCK = "lock"
_CONTENT = "content"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_folder(parent: Path | None = None, mode: int = _PRIVATE) -> Iterator[Path]:
    """Create an empty folder below `parent`, by default the directory for temporary files.

    It is removed at the end with its content. Abandoned folders of the same parent are removed
    first. Raises OSError if it cannot be created.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(parent)
    folder, lock = _locked_folder(parent)
    try:
        content = folder / _CONTENT
        content.mkdir()
        for path in (folder, content):
            path.chmod(mode)  # independent of the umask
        yield content
    finally:
        try:
            _remove_own(folder)
        except BaseException:  # a signal arrived
            _remove_own(folder)
            raise
        finally:
            os.close(lock)


@contextmanager
def becoming(place: Path) -> Iterator[Path]:
    """Yield a path in a temporary folder; the file created there replaces `place` atomically.

    It is synced first. If the context fails, nothing is replaced. Raises OSError if it cannot be
    written.
    """
    with temporary_folder(place.parent) as folder:
        made = folder / place.name
        yield made
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(place)


def remove_abandoned(parent: Path) -> None:
    """Remove the temporary folders below `parent` whose owners have exited."""
    with suppress(OSError):
        for folder in [path for path in parent.iterdir() if _NAME.fullmatch(path.name)]:
            with suppress(OSError):  # another process is removing it, or it cannot be removed
                _remove_if_abandoned(folder)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    """Create a folder with a lock; return it with the descriptor that holds the lock.

    Before the lock is held, another process may consider the folder abandoned and remove it.
    """
    while True:
        folder = parent / f"{_BEGINNING}{secrets.token_hex(8)}"
        folder.mkdir(mode=_PRIVATE)
        try:
            lock = os.open(folder / _LOCK, _LOCK_FILE | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue
        try:
            if not try_lock(lock):
                os.close(lock)
                continue
        except OSError:  # a file system without locks: no process considers it abandoned
            return folder, lock
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder whose lock is free. Raises OSError if it cannot be removed."""
    with _opened(folder) as descriptor:
        try:
            lock = os.open(_LOCK, _LOCK_FILE, dir_fd=descriptor)
        except FileNotFoundError:
            # The owner was killed before it created the lock, or after it removed everything else.
            folder.rmdir()
            return
        try:
            if try_lock(lock):
                _remove(folder, descriptor)
        finally:
            os.close(lock)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Yield the descriptor of a folder. Raises OSError if it belongs to another user."""
    descriptor = os.open(folder, _DIRECTORY)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(folder))
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_own(folder: Path) -> None:
    """Remove a folder of this process; if that fails, the next run tries again."""
    with suppress(OSError), _opened(folder) as descriptor:
        _remove(folder, descriptor)


def _remove(folder: Path, descriptor: int) -> None:
    """Remove a folder, its lock last, so that an interrupted removal can be recognised."""
    with suppress(FileNotFoundError):
        shutil.rmtree(_CONTENT, dir_fd=descriptor)
    with suppress(FileNotFoundError):
        os.unlink(_LOCK, dir_fd=descriptor)
    folder.rmdir()
