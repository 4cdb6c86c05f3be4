"""Locks on files (flock(2)); the kernel releases them when their process exits."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def try_lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def try_lock_file(path: Path) -> Iterator[bool]:
    """Try to lock a file, which is created if needed; yield whether this process has the lock."""
    with path.open("a", encoding="utf-8") as file:
        yield try_lock(file.fileno())


@contextmanager
def waiting_lock(path: Path) -> Iterator[None]:
    """Lock a file, which is created if needed; wait while another process has the lock."""
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
