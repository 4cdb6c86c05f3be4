"""Filling a folder of the cache: it appears complete, by one rename, or not at all.

A lock allows one fill of a folder at a time.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import filelock

from slowdust.accounts import server_account
from slowdust.errors import SlowdustError
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable
from slowdust.units import Second

_WRITERS_END_WITHIN: Second = 5.0
_LOOK_EVERY: Second = 0.05
Result = TypeVar("Result")


def fill(folder: Path, make: Callable[[Path], Result]) -> Result:
    """Let `make` fill an empty folder, which is renamed to `folder` when it returns.

    A folder that is there, without a description that can be read, is replaced. The caller holds
    the lock. Raises SlowdustError when the cache cannot be written or entered.
    """
    _clear(folder)
    try:
        staging = _staging(folder)
    except OSError as error:
        raise _cannot_fill(error) from error
    try:
        staging.chmod(0o755)
        account = server_account()
        if not account.can_enter(staging):
            raise SlowdustError(
                f"the user {account.name}, who runs the servers, cannot enter the cache "
                f"{cache_root()}: set {CACHE_VARIABLE} to another directory"
            ) from PermissionError(staging)
        result = make(staging)
        if folder.exists():
            shutil.rmtree(folder)
        staging.rename(folder)
    except OSError as error:
        raise _cannot_fill(error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return result


def delete(folder: Path) -> None:
    """Delete a folder of the cache; the caller holds the lock."""
    _clear(folder)
    # It is renamed first, so that an interrupted deletion does not leave half a folder.
    folder.rename(_staging(folder))
    _clear(folder)


def lock(folder: Path) -> filelock.FileLock:
    """Return the lock of a folder of the cache."""
    make_enterable(folder.parent, CACHE_VARIABLE)
    return filelock.FileLock(folder.with_name(f".{folder.name}.lock"))


def _staging(folder: Path) -> Path:
    """Make a folder that no other fill has had: what a killed one started may write on in its own.

    Raises OSError.
    """
    return Path(tempfile.mkdtemp(prefix=_beginning(folder), dir=folder.parent))


def _clear(folder: Path) -> None:
    """Remove what killed fills left; the caller holds the lock, so no other fill is under way.

    What they had started may write on for a moment; what it writes later, the next fill removes.
    """
    end = time.monotonic() + _WRITERS_END_WITHIN
    while left := list(folder.parent.glob(f"{glob.escape(_beginning(folder))}*")):
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        if time.monotonic() > end:
            return
        time.sleep(_LOOK_EVERY)


def _beginning(folder: Path) -> str:
    return f".{folder.name}.staging"


def _cannot_fill(error: OSError) -> SlowdustError:
    return SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}")
