"""Filling one folder of the cache: it appears whole, by one rename, or not at all.

One fill of a folder runs at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import filelock

from slowdust.accounts import server_account
from slowdust.errors import SlowdustError
from slowdust.places import cache_root, make_enterable

Result = TypeVar("Result")


def fill(folder: Path, make: Callable[[Path], Result]) -> Result:
    """Let `make` fill an empty folder beside, which becomes `folder` when it returns.

    The caller holds the lock. Raises SlowdustError when the cache cannot be written or entered.
    """
    staging = _staging(folder)
    # What a killed fetch left: we hold the lock, so nobody works in it.
    shutil.rmtree(staging, ignore_errors=True)
    try:
        staging.mkdir(mode=0o755)
        staging.chmod(0o755)
        _check_servers_can_enter(staging)
        result = make(staging)
        staging.rename(folder)
    except OSError as error:
        raise SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return result


def delete(folder: Path) -> None:
    """Delete a folder of the cache; the caller holds the lock."""
    # Renamed first: an interrupted deletion must not leave half a folder.
    doomed = _staging(folder)
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    shutil.rmtree(doomed)


def lock(folder: Path) -> filelock.FileLock:
    """The lock of a folder of the cache."""
    try:
        make_enterable(folder.parent)
    except OSError as error:
        raise SlowdustError(
            f"cannot write to the cache {cache_root()}: {error.strerror}: "
            "name another directory in SLOWDUST_CACHE"
        ) from error
    return filelock.FileLock(folder.with_name(f".{folder.name}.lock"))


def _staging(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.staging")


def _check_servers_can_enter(folder: Path) -> None:
    account = server_account()
    if not account.can_enter(folder):
        raise SlowdustError(
            f"the user {account.name}, who runs the servers, cannot enter the cache "
            f"{cache_root()}: name another directory in SLOWDUST_CACHE"
        )
