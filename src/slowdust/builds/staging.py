"""Filling a folder of the cache: it appears complete, by one rename, or not at all.

A lock allows one fill of a folder at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import filelock

from slowdust.accounts import server_account
from slowdust.errors import SlowdustError
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable
from slowdust.temporary import ENTERABLE, temporary_folder

Result = TypeVar("Result")


def fill(folder: Path, make: Callable[[Path], Result]) -> Result:
    """Let `make` fill an empty folder, which is renamed to `folder` when it returns.

    A folder that is there, without a description that can be read, is replaced. The caller holds
    the lock. Raises SlowdustError when the cache cannot be written or entered.
    """
    try:
        with temporary_folder(folder.parent, ENTERABLE) as staged:
            account = server_account()
            if not account.can_enter(staged):
                raise SlowdustError(
                    f"the user {account.name}, who runs the servers, cannot enter the cache "
                    f"{cache_root()}: set {CACHE_VARIABLE} to another directory"
                ) from PermissionError(staged)
            result = make(staged)
            if folder.exists():
                shutil.rmtree(folder)
            staged.rename(folder)
    except OSError as error:
        raise _cannot_fill(error) from error
    return result


def delete(folder: Path) -> None:
    """Delete a folder of the cache; the caller holds the lock."""
    # It is moved first, so that an interrupted deletion does not leave half a folder.
    with temporary_folder(folder.parent) as removed:
        folder.rename(removed / folder.name)


def lock(folder: Path) -> filelock.FileLock:
    """Return the lock of a folder of the cache."""
    make_enterable(folder.parent, CACHE_VARIABLE)
    return filelock.FileLock(folder.with_name(f".{folder.name}.lock"))


def _cannot_fill(error: OSError) -> SlowdustError:
    return SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}")
