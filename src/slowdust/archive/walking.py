"""The directories of an archive, and their files as far as they can be read at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.formats.text import unreadable

UNREADABLE_NAME = "its name is not UTF-8, or has control characters"
NOT_FOLLOWED = "a link to a directory, which is not followed"
TOO_DEEP = "too many directories in each other: those below are not read"
_DEEPEST = 50
NO_FILE = "no regular file"
"""A pipe, a socket, a device, a link to nothing: reading it could wait for ever."""


@dataclass(frozen=True)
class Visited:
    """A directory."""

    path: Path
    names: list[str]
    """Names of its files that can be read, in order."""
    problems: list[Problem]
    """Problems of everything else in it, but for the directories that are visited."""


def outermost(roots: Iterable[Path]) -> list[Path]:
    """Return each directory once, however it is spelled, and none that lies in another one."""
    given = list(dict.fromkeys(root.resolve() for root in roots))
    return [root for root in given if not set(root.parents) & set(given)]


def walk(root: Path) -> Iterator[Visited]:
    """Yield `root` and the directories below it, from the top.

    Links to directories are not followed: what they lead to is read where it is, or is not part
    of the archive; so there are no loops.
    """
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unread.append):
        folders.sort()
        if folder.count(os.sep) - str(root).count(os.sep) >= _DEEPEST and folders:
            folders.clear()
            yield Visited(Path(folder), [], [Problem(Path(folder), TOO_DEEP)])
        yield _visited(root, Path(folder), folders, sorted(names))
    for error in unread:
        path = Path(error.filename)
        yield Visited(path.parent, [], [Problem(path, unreadable(error))])


def _visited(root: Path, folder: Path, folders: list[str], names: list[str]) -> Visited:
    below = "" if folder == root else str(folder.relative_to(root))
    wrong = {
        name: reason
        for name in names
        if (reason := _refusal(f"{below}{name}", f"{folder}{os.sep}{name}"))
    }
    wrong |= {name: NOT_FOLLOWED for name in folders if folder.joinpath(name).is_symlink()}
    return Visited(
        folder,
        [name for name in names if name not in wrong],
        [Problem(folder / name, reason) for name, reason in wrong.items()],
    )


def _refusal(name: str, path: str) -> str | None:
    """Return why a file must not be read, whatever it holds; `name` is the archive's for it."""
    if not name.isprintable():
        return UNREADABLE_NAME
    return None if os.path.isfile(path) else NO_FILE  # noqa: PTH113 - thousands of files
