"""Filling a folder of the cache: it appears complete, by one rename, or not at all.

A lock allows one fill of a folder at a time.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import filelock

from slowdust.accounts import server_account
from slowdust.errors import SlowdustError
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable
from slowdust.units import Second

_WRITERS_END_WITHIN: Second = 30.0
_LOOK_EVERY: Second = 0.1
Result = TypeVar("Result")


def fill(folder: Path, make: Callable[[Path], Result]) -> Result:
    """Let `make` fill an empty folder, which is renamed to `folder` when it returns.

    A folder that is there, without a description that can be read, is replaced. The caller holds
    the lock. Raises SlowdustError when the cache cannot be written or entered.
    """
    staging = _staging(folder)
    try:
        _clear(staging)
        staging.mkdir(mode=0o755)
        staging.chmod(0o755)
        account = server_account()
        if not account.can_enter(staging):
            raise SlowdustError(
                f"the user {account.name}, who runs the servers, cannot enter the cache "
                f"{cache_root()}: set {CACHE_VARIABLE} to another directory"
            )
        result = make(staging)
        if folder.exists():
            shutil.rmtree(folder)
        staging.rename(folder)
    except OSError as error:
        raise SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return result


def delete(folder: Path) -> None:
    """Delete a folder of the cache; the caller holds the lock."""
    # It is renamed first, so that an interrupted deletion does not leave half a folder.
    renamed = _staging(folder)
    _clear(renamed)
    folder.rename(renamed)
    shutil.rmtree(renamed)


def lock(folder: Path) -> filelock.FileLock:
    """Return the lock of a folder of the cache."""
    make_enterable(folder.parent, CACHE_VARIABLE)
    return filelock.FileLock(folder.with_name(f".{folder.name}.lock"))


def _clear(staging: Path) -> None:
    """Remove what a killed fill left; the caller holds the lock, so no other fill uses it.

    What that fill had started may write on for a moment. Raises OSError when it does not end.
    """
    end = time.monotonic() + _WRITERS_END_WITHIN
    while staging.exists():
        shutil.rmtree(staging, ignore_errors=time.monotonic() < end)
        if staging.exists():
            time.sleep(_LOOK_EVERY)


def _staging(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.staging")
