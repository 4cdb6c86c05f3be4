"""Directories of archived results: which experiments lie in them, and in which files.

A directory is a run's if it has files of runs; the experiment is the directory that holds it. A
summary table belongs to the experiment of its directory, or of one above that names the same runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import OTHER_KIND, Problem
from slowdust.archive.sysbench.found_tables import Tables, is_table, take_tables
from slowdust.archive.sysbench.run_directory import FOREIGN
from slowdust.archive.walking import Visited, outermost, walk
from slowdust.benchmarks.archived import IIBENCH
from slowdust.formats.insert import names as ibench_names
from slowdust.formats.sysbench.column_names import name_columns
from slowdust.formats.sysbench.names import parse_file
from slowdust.formats.text import readable

_GENERIC = re.compile(r"dop\d+")


@dataclass
class Place:
    """An experiment's directory."""

    path: Path
    """Resolved: a directory has one place, however it is spelled."""
    name: str
    around: list[Path]
    """Itself, and the directories around it whose names count, too: see `around`."""
    whole: bool
    """Whether all of it was given to the import, not only runs of it."""
    runs: dict[Path, list[str]] = field(default_factory=dict)
    """Run directory -> names of its files."""
    tables: Tables = field(default_factory=Tables)
    assumed: list[str] = field(default_factory=list)
    """Sentences: what columns without names were taken to be."""

    @property
    def problems(self) -> list[Problem]:
        """Of files that are no part of a run."""
        return self.tables.problems

    @property
    def run_names(self) -> set[str]:
        """Of its directories."""
        return {readable(path.name) for path in self.runs}

    @property
    def known_runs(self) -> set[str]:
        """Names of runs that its directories and tables have."""
        return self.run_names | self.tables.runs

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it to make an experiment of."""
        tables = self.tables
        return not (self.runs or tables.rates or tables.relative or tables.hardware)


def scan(roots: Iterable[Path]) -> list[Place]:
    """The experiments below `roots`, and what of their files is no part of one.

    Files outside of all experiments are in a place that is `empty`.
    """
    places: dict[Path, Place] = {}
    for root in outermost(roots):
        for visited in walk(root):
            _sort_files(places, root, visited)
    return _joined(list(places.values()))


def _sort_files(places: dict[Path, Place], root: Path, visited: Visited) -> None:
    directory, names = visited.path, visited.names
    is_run = any(name.startswith("sb.") and parse_file(name) is not None for name in names)
    home = directory.parent if is_run else directory
    if names or visited.problems:
        if home not in places:
            whole = home.is_relative_to(root)
            places[home] = Place(home, name_of(home, root), around(home, root), whole)
        place = places[home]
        tables = [name for name in names if not name.startswith("sb.") and is_table(name)]
        take_tables(place.tables, directory, tables)
        place.problems.extend(visited.problems)
        others = [name for name in names if name not in tables]
        if foreign := [name for name in others if _of_other_kind(name)]:
            place.tables.by_products[OTHER_KIND[IIBENCH]] += len(foreign)
            others = [name for name in others if name not in foreign]
        if is_run:
            place.runs[directory] = others
        else:
            place.problems.extend(Problem(directory / name, FOREIGN) for name in others)


def _of_other_kind(name: str) -> bool:
    return not name.startswith("sb.") and ibench_names.parse_file(name) is not None


def name_of(directory: Path, root: Path) -> str:
    """What an experiment is called: its directory, and those above it below the one that was given.

    A name such as `dop40` says too little to stand alone or first. Both paths are resolved.
    """
    parts = directory.relative_to(root).parts if root in directory.parents else (directory.name,)
    if _GENERIC.fullmatch(parts[0]):
        parts = (directory.parents[len(parts) - 1].name, *parts)
    return "-".join(part for part in parts if part) or "archive"


def around(directory: Path, root: Path) -> list[Path]:
    """The directories whose names may tell something of an experiment, its own first.

    They end with `root`, the one that was given; of what is around that nothing is known. Only the
    one that an experiment is called by after `name_of` counts, too.
    """
    found = [directory]
    while root in found[-1].parents:
        found.append(found[-1].parent)
    return [*found, found[-1].parent] if _GENERIC.fullmatch(found[-1].name) else found


def _joined(places: Sequence[Place]) -> list[Place]:
    """Tables below an experiment that name its runs are part of it, as is what is no table."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda one: len(one.path.parts)):
        above = [other for other in reversed(kept) if other.path in place.path.parents]
        nearest = [(one.tables, one.run_names) for one in (place, *above)]
        place.assumed += name_columns(place.tables, nearest)
        home = next((other for other in above if _is_part(place, other)), None)
        if home is None:
            kept.append(place)
        else:
            home.tables.add(place.tables)
            home.assumed += place.assumed
    return sorted(kept, key=lambda one: one.path)


def _is_part(place: Place, other: Place) -> bool:
    """Of the experiment in a directory above."""
    if place.empty:
        return not other.empty
    return not place.runs and bool(place.known_runs) and place.known_runs <= other.known_runs
