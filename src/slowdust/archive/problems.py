"""Files of an archive that are not used, or only in part, or differ: each is one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slowdust.formats.text import beginning, is_number, readable
from slowdust.store.manifest import Fate, SkippedFile

OF_OTHER_KIND = "of the other kind: "
"""The beginning of the by-products that the import of another kind reads."""
TWICE = "twice, plain and compressed: the plain one is used"
_MOST_CELLS = 3
"""Differing cells of a file that are shown; of more their number."""
_NOTHING = "nothing"
Cell = tuple[str, str, str]
"""A cell's place, its content, and what its source gives."""


@dataclass(frozen=True)
class Problem:
    """A file, and what is wrong with it."""

    path: Path
    reason: str
    fate: Fate = Fate.SKIPPED


def of_other_kind(kind: str) -> str:
    """Return the by-product of files that the import of another kind reads."""
    return f"{OF_OTHER_KIND}`slowdust import {kind}` reads them"


def unread_of_other_kind(kind: str) -> str:
    """Return the by-product of files of another kind that its import has no use of."""
    return f"of {kind}"


def recorded(problems: Iterable[Problem], home: Path) -> list[SkippedFile]:
    """Return the problems as the manifest of the experiment of the directory `home` has them."""
    return [
        SkippedFile(file=_name(problem.path, home), reason=problem.reason, fate=problem.fate)
        for problem in problems
    ]


def differing(path: Path, cells: Iterable[Cell], source: str) -> Iterator[Problem]:
    """Yield a problem, if any cell of the file is not as its source has it."""
    differences = [
        f"{what}, {there or _NOTHING} there, {expected or _NOTHING} from {source}"
        for what, there, expected in cells
        if not _same(there, expected)
    ]
    if differences:
        yield Problem(path, beginning(differences, _MOST_CELLS, "; ", "; and"), Fate.DIFFERS)


def _same(there: str, expected: str) -> bool:
    if there == expected:
        return True
    return is_number(there) and is_number(expected) and float(there) == float(expected)


def _name(path: Path, home: Path) -> str:
    if path == home:
        return readable(home.name)
    if path.is_relative_to(home):
        return readable(str(path.relative_to(home)))
    return readable(f"{path.parent.name}/{path.name}")  # of a directory that was packed
