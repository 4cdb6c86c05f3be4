"""Experiments that come from elsewhere: each appears in a results folder whole, or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from slowdust.errors import SlowdustError
from slowdust.store.folder import Folder
from slowdust.store.keeping.annotation import ANNOTATION_FILE
from slowdust.temporary import temporary_folder

_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE."""


@contextmanager
def aside(results: Path) -> Iterator[Path]:
    """Make a folder on the disk of the results, in which experiments are made before they appear.

    It is removed in the end; those that a killed process left are removed before.

    Raises:
        SlowdustError: it cannot be made.
    """
    with ExitStack() as stack:
        try:
            results.mkdir(parents=True, exist_ok=True)
            place = stack.enter_context(temporary_folder(results))
        except OSError as error:
            raise SlowdustError(f"cannot write to {results}: {error.strerror}") from error
        yield place


def put_in_place(folder: Folder, results: Path) -> Folder:
    """Move an experiment that is complete into the results, in place of one of that name.

    The user's note of an experiment that it replaces stays.

    Raises:
        UsageError: a process is writing to that one.
        SlowdustError: it cannot be moved.
    """
    place = Folder.of(results, folder.name)
    try:
        if not place.path.exists():
            folder.path.rename(place.path)
            return place
        with place.locked():
            with suppress(FileNotFoundError):
                shutil.copy2(place.path / ANNOTATION_FILE, folder.path / ANNOTATION_FILE)
            _exchange(folder.path, place.path)
    except OSError as error:
        raise SlowdustError(f"cannot write {place.path}: {error.strerror}") from error
    return place


def _exchange(new: Path, old: Path) -> None:
    """Exchange two folders, at once where the file system can."""
    paths = (os.fsencode(new), os.fsencode(old))
    if ctypes.CDLL(None).renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) != 0:
        old.rename(new.with_name(f"{new.name}.before"))
        new.rename(old)
