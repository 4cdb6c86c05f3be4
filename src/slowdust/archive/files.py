"""The files of an archive: where they are, packed or not, and what becomes of them."""

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

TWICE = "twice, plain and compressed: the plain one is used"
_MOST_CELLS = 3
"""Differing cells of a file that are shown; of more their number."""
Cell = tuple[str, str, str]
"""A cell's place, its content, and what its source gives."""


def recorded(problems: Iterable[Problem], home: Path) -> list[SkippedFile]:
    """Return the problems as the manifest of the experiment of the directory `home` has them."""

    def name(path: Path) -> str:
        if path == home:
            return readable(home.name)
        if path.is_relative_to(home):
            return readable(str(path.relative_to(home)))
        return readable(f"{path.parent.name}/{path.name}")  # of a directory that was packed

    return [
        SkippedFile(file=name(problem.path), reason=problem.reason, fate=problem.fate)
        for problem in problems
    ]


def differing(path: Path, cells: Iterable[Cell], source: str) -> Iterator[Problem]:
    """Yield a problem, if any cell of the file is not as its source has it."""

    def same(there: str, expected: str) -> bool:
        numbers = is_number(there) and is_number(expected)
        return there == expected or (numbers and float(there) == float(expected))

    differences = [
        f"{what}, {there or 'nothing'} there, {expected or 'nothing'} from {source}"
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
    """Names of its files that can be read, in order."""
    problems: list[Problem]
    """Problems of everything else in it, but for the directories that are visited."""


def visit(
    roots: Iterable[Path], packed: Packed | None = None
) -> Iterator[tuple[Path, Visited, Path]]:
    """Yield the directories below `roots`, however these are spelled, each once.

    With each come its root, and its place: its path, or where it would be if it were not `packed`.
    """
    given = list(dict.fromkeys(root.resolve() for root in roots))
    for root in (root for root in given if set(root.parents).isdisjoint(given)):
        for visited in walk(root):
            unpacked = list(packed.open(visited)) if packed else []
            yield root, visited, visited.path
            yield from ((root, run, visited.path / run.path.name) for run in unpacked)


def walk(root: Path) -> Iterator[Visited]:
    """Yield `root` and the directories below it, from the top.

    Links to directories are not followed: what they lead to is read where it is, or is not part
    of the archive; so there are no loops.
    """
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unread.append):
        path = Path(folder)
        folders.sort()
        if folder.count(os.sep) - str(root).count(os.sep) >= _DEEPEST and folders:
            folders.clear()
            reason = "too many directories in each other: those below are not read"
            yield Visited(path, [], [Problem(path, reason)])
        # The name of `root` is the user's own.
        below = "" if path == root else str(path.relative_to(root))
        wrong = {}
        for name in sorted(names):
            if not f"{below}{name}".isprintable():
                wrong[name] = "its name is not UTF-8, or has control characters"
            elif not os.path.isfile(f"{folder}{os.sep}{name}"):  # noqa: PTH113 - thousands of files
                # A pipe, a socket, a device, a link to nothing: reading it could wait for ever.
                wrong[name] = "no regular file"
        links = [name for name in folders if path.joinpath(name).is_symlink()]
        wrong |= dict.fromkeys(links, "a link to a directory, which is not followed")
        readable_names = [name for name in sorted(names) if name not in wrong]
        problems = [Problem(path / name, reason) for name, reason in wrong.items()]
        yield Visited(path, readable_names, problems)
    for error in unread:
        path = Path(error.filename)
        yield Visited(path.parent, [], [Problem(path, unreadable(error))])


_PACKED = re.compile(r"(?P<run>x\..+)\.(?:tar(?:\.(?:gz|xz|bz2))?|tgz)")


@dataclass
class Packed:
    """Unpacks run directories into a place."""

    place: Path
    left: int = MAX_UNPACKED_BYTES
    """Bytes that all of them may still unpack to."""

    def open(self, visited: Visited) -> Iterator[Visited]:
        """Unpack the archives among a directory's files, and yield the directories in them.

        They are taken out of `visited.names`; problems of theirs are added to its own.
        """
        for name in list(visited.names):
            if (match := _PACKED.fullmatch(name)) is None:
                continue
            visited.names.remove(name)
            path = visited.path / name
            if (visited.path / match["run"]).is_dir():
                reason = "packed, and also there as a directory, which is used"
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
                visited.problems.append(Problem(path, "packed, and there is no file in it"))
            yield from directories


_PROCESSES = 2
WORTH_A_PROCESS = 8_000_000
"""Bytes from which on a second process pays."""
_PER_FILE = 20_000
"""Cost of a file beside its own bytes, in bytes."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Unusable:
    """The reason why a file is of no use."""

    reason: str


def read_shared(
    requests: Sequence[Request],
    paths: Sequence[str],
    read: Callable[[Sequence[Request]], list[Answer]],
) -> list[Answer]:
    """Return the answers of `read` in the order of the requests, each about a file of `paths`."""
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
    """Return the bytes of a file; 0 where it is gone."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - thousands of files
    except OSError:
        return 0
