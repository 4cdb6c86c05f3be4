"""Filling a folder of the cache: it appears complete, by one rename, or not at all.

A lock allows one fill of a folder at a time; who waits for it is told who holds it, and how far
that has come.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from slowdust.accounts import server_account
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.locks import try_lock
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.units import Second, format_duration

TELL_EVERY: Second = 1.0
"""Time between two looks at how far the holder of a lock has come."""
_LOOK_EVERY: Second = 0.05
REPEAT_EVERY: Second = 10.0
"""Time after which it is said again what is waited for."""
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


class _Holder(msgspec.Struct):
    """Who holds a lock, as those are told who wait for it."""

    pid: int
    doing: str
    """The newest phase that it has reported."""


@contextlib.contextmanager
def lock(folder: Path, progress: Progress | None = None) -> Iterator[Progress]:
    """Hold the lock of a folder of the cache; yield what reports phases, to others who wait, too.

    `progress` is told at once what is waited for, if another process holds the lock.
    """
    make_enterable(folder.parent, CACHE_VARIABLE)
    note = folder.with_name(f".{folder.name}.holder")

    def report(phase: str) -> None:
        _write(note, _Holder(os.getpid(), phase))
        if progress is not None:
            progress(phase)

    with folder.with_name(f".{folder.name}.lock").open("a", encoding="utf-8") as file:
        _wait_for(file.fileno(), folder, note, progress)
        try:
            _write(note, _Holder(os.getpid(), ""))
            yield report
        finally:
            with contextlib.suppress(OSError):
                note.unlink()


def _wait_for(lock: int, folder: Path, note: Path, progress: Progress | None) -> None:
    begun = told_at = time.monotonic()
    looked_at, told = 0.0, ""
    while not try_lock(lock):
        time.sleep(_LOOK_EVERY)
        now = time.monotonic()
        if told and now - looked_at < TELL_EVERY:
            continue
        looked_at = now
        waiting = f"waiting for {_holder(note)} to fill {folder.name}"
        if progress is not None and (waiting != told or now - told_at >= REPEAT_EVERY):
            so_far = f"; {format_duration(round(now - begun))} so far" if told else ""
            told, told_at = waiting, now
            progress(f"{waiting}{so_far}")


def _holder(note: Path) -> str:
    """Describe who holds a lock: 'process 4711 (compiling 45%)'."""
    try:
        holder = msgspec.json.decode(note.read_bytes(), type=_Holder)
    except (OSError, msgspec.MsgspecError):
        return "another process"
    return f"process {holder.pid}" + (f" ({holder.doing})" if holder.doing else "")


def _write(note: Path, holder: _Holder) -> None:
    """Write the note for those who wait, whom it costs nothing but words if it cannot be written.

    A reader sees all of a note or, for a moment, an older one.
    """
    with contextlib.suppress(OSError):
        new = note.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(holder))
        new.replace(note)


def _cannot_fill(error: OSError) -> SlowdustError:
    return SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}")
