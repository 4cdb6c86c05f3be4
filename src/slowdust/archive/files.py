"""The files of an archive, packed or not, and problems with them."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TypeVar

from slowdust.errors import SlowdustError
from slowdust.exchange import Problem
from slowdust.store.manifest import Fate, SkippedFile
from slowdust.text import beginning, is_number, readable, unreadable
from slowdust.unpacking import MAX_UNPACKED_BYTES, Tree

TWICE = "exists plain and compressed: the plain file is used"
_MOST_CELLS = 3
"""Maximum number of differing cells of a file that are shown; of more, the number is shown."""
Cell = tuple[str, str, str]
"""A cell's place, its content, and the content according to its source."""


def recorded(problems: Iterable[Problem], home: Path) -> list[SkippedFile]:
    """Return the problems as stored in the manifest of the experiment in the directory `home`."""

    def name(path: Path) -> str:
        if path == home:
            return readable(home.name)
        if path.is_relative_to(home):
            return readable(str(path.relative_to(home)))
        return readable(f"{path.parent.name}/{path.name}")  # in a packed directory

    return [
        SkippedFile(file=name(problem.path), reason=problem.reason, fate=problem.fate)
        for problem in problems
    ]


def differing(path: Path, cells: Iterable[Cell], source: str) -> Iterator[Problem]:
    """Yield a problem if any cell of the file differs from its source."""

    def same(there: str, expected: str) -> bool:
        numbers = is_number(there) and is_number(expected)
        return there == expected or (numbers and float(there) == float(expected))

    differences = [
        f"{what}, {there or 'nothing'} instead of {expected or 'nothing'} from {source}"
        for what, there, expected in cells
        if not same(there, expected)
    ]
    if differences:
        yield Problem(path, beginning(differences, _MOST_CELLS, "; ", "; and"), Fate.DIFFERS)


_DEEPEST = 50


@dataclass(frozen=True)
class Visited:
    """A directory."""

    path: Path
    names: list[str]
    """Names of its readable files, in order."""
    problems: list[Problem]
    """Problems of everything else in it, except directories that are visited."""


def visit(
    roots: Iterable[Path], packed: Packed | None = None
) -> Iterator[tuple[Path, Visited, Path]]:
    """Yield the directories below `roots` in any spelling, each once.

    Each has its root, and its place: its path, or the path that it would have if it were unpacked.
    """
    given = list(dict.fromkeys(root.resolve() for root in roots))
    for root in (root for root in given if set(root.parents).isdisjoint(given)):
        for visited in walk(root):
            unpacked = list(packed.open(visited)) if packed else []
            yield root, visited, visited.path
            yield from ((root, run, visited.path / run.path.name) for run in unpacked)


def walk(root: Path) -> Iterator[Visited]:
    """Yield `root` and the directories below it, from the top.

    Links to directories are not followed, so there are no loops: their targets are read in place,
    or do not belong to the archive.
    """
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unread.append):
        path = Path(folder)
        folders.sort()
        if folder.count(os.sep) - str(root).count(os.sep) >= _DEEPEST and folders:
            folders.clear()
            reason = "too many nested directories: deeper ones are not read"
            yield Visited(path, [], [Problem(path, reason)])
        # The name of `root` is the user's choice.
        below = "" if path == root else str(path.relative_to(root))
        wrong = {}
        for name in sorted(names):
            if not f"{below}{name}".isprintable():
                wrong[name] = "its name is not UTF-8 or has control characters"
            elif not os.path.isfile(f"{folder}{os.sep}{name}"):  # noqa: PTH113 - thousands of files
                # A pipe, a socket, a device, a dangling link: reading it could block forever.
                wrong[name] = "not a regular file"
        links = [name for name in folders if path.joinpath(name).is_symlink()]
        wrong |= dict.fromkeys(links, "a link to a directory; links are not followed")
        readable_names = [name for name in sorted(names) if name not in wrong]
        problems = [Problem(path / name, reason) for name, reason in wrong.items()]
        yield Visited(path, readable_names, problems)
    for error in unread:
        path = Path(error.filename)
        yield Visited(path.parent, [], [Problem(path, unreadable(error))])


_PACKED = re.compile(r"(?P<run>x\..+)\.(?:tar(?:\.(?:gz|xz|bz2))?|tgz)")


@dataclass
class Packed:
    """Unpacks run directories into a folder."""

    place: Path
    left: int = MAX_UNPACKED_BYTES
    """Bytes that the remaining ones may unpack to."""

    def open(self, visited: Visited) -> Iterator[Visited]:
        """Unpack the archives among a directory's files, and yield the directories in them.

        They are removed from `visited.names`; their problems are added to the directory's.
        """
        for name in list(visited.names):
            if (match := _PACKED.fullmatch(name)) is None:
                continue
            visited.names.remove(name)
            path = visited.path / name
            if (visited.path / match["run"]).is_dir():
                reason = "packed, but the directory exists and is used"
                visited.problems.append(Problem(path, reason))
                continue
            folder = self.place / str(len(list(self.place.iterdir()))) / match["run"]
            tree = Tree(folder, most=self.left)
            try:
                tree.add(path, PurePosixPath())
                tree.finish()
            except SlowdustError as error:
                shutil.rmtree(folder.parent)
                visited.problems.append(Problem(path, str(error).removeprefix(f"{name}: ")))
                continue
            self.left = tree.left
            directories = [below for below in walk(folder) if below.names]
            if not directories:
                visited.problems.append(Problem(path, "packed, but it contains no files"))
            yield from directories


_PROCESSES = 2
WORTH_A_PROCESS = 8_000_000
"""Bytes above which a second process pays off."""
_PER_FILE = 20_000
"""Cost of a file in addition to its own bytes, in bytes."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Unusable:
    """The reason why a file cannot be used."""

    reason: str


def read_shared(
    requests: Sequence[Request],
    paths: Sequence[str],
    read: Callable[[Sequence[Request]], list[Answer]],
) -> list[Answer]:
    """Return the answers of `read` in the order of the requests, one for each file of `paths`."""
    costs = list(accumulate(size_of(path) + _PER_FILE for path in paths))
    total = costs[-1] - _PER_FILE * len(costs) if costs else -1
    if total < WORTH_A_PROCESS or (os.cpu_count() or 1) < _PROCESSES:
        return read(requests)
    middle = bisect_left(costs, costs[-1] / 2) + 1
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        first = pool.submit(read, requests[:middle])
        rest = read(requests[middle:])
        return [*first.result(), *rest]


def size_of(path: str) -> int:
    """Return the size of a file in bytes; 0 if it is missing."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - thousands of files
    except OSError:
        return 0
