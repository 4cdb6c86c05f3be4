"""Directories of archived results: the experiments that lie in them, and their files.

A directory is a run's if it has files of runs; the experiment is the directory that holds it. A
summary table belongs to the experiment of its directory, or of one above that names the same runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.importing import ForeignKind, is_generic, name_of
from slowdust.archive.packed import Packed
from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.tables.summary_tables import Rates, Tables, is_table, take_tables
from slowdust.archive.walking import Visited, outermost, walk
from slowdust.formats.sysbench.names import order_of_runs, parse_file, why_no_file
from slowdust.formats.text import readable


@dataclass
class Directory:
    """An experiment's directory."""

    path: Path
    """The resolved path: one directory has one, however it is spelled."""
    name: str
    around: list[Path]
    """The directory, and those around it whose names count, too: see `_around`."""
    whole: bool
    """Whether all of it was given to the import, not only runs of it."""
    runs: dict[Path, list[str]] = field(default_factory=dict)
    """Run directory -> names of its files."""
    tables: Tables = field(default_factory=Tables)
    assumed: list[str] = field(default_factory=list)
    """Sentences on the names that were assumed for columns without names."""
    condition: str = ""
    """The words that tell its tables from those of other conditions in the same directory."""

    @property
    def problems(self) -> list[Problem]:
        """Problems of files that are no part of a run."""
        return self.tables.problems

    @property
    def run_names(self) -> set[str]:
        """Names of its run directories."""
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


def scan(roots: Iterable[Path], foreign: ForeignKind, packed: Packed) -> list[Directory]:
    """Return the experiments below `roots`, and the files that are no part of one.

    Files outside of all experiments are in a directory that is `empty`. A run directory that is
    `packed` belongs to the directory with its archive.
    """
    directories: dict[Path, Directory] = {}
    for root in outermost(roots):
        for visited in walk(root):
            unpacked = list(packed.open(visited))
            _sort_files(directories, root, visited, visited.path, foreign)
            for run in unpacked:
                _sort_files(directories, root, run, visited.path / run.path.name, foreign)
    return _joined(list(directories.values()))


def _sort_files(
    directories: dict[Path, Directory],
    root: Path,
    visited: Visited,
    place: Path,
    foreign: ForeignKind,
) -> None:
    """Sort the files of a directory; its `place` in the archive is its path if it is not packed."""
    path, names = visited.path, visited.names
    is_run = any(name.startswith("sb.") and parse_file(name) is not None for name in names)
    home = place.parent if is_run else place
    if not names and not visited.problems:
        return
    if home not in directories:
        whole = home.is_relative_to(root)
        directories[home] = Directory(home, name_of(home, root), _around(home, root), whole)
    directory = directories[home]
    tables = [name for name in names if not name.startswith("sb.") and is_table(name)]
    take_tables(directory.tables, path, tables)
    directory.problems.extend(visited.problems)
    others = []
    for name in (name for name in names if name not in tables):
        if (by_product := foreign(name)) is not None:
            directory.tables.by_products[by_product] += 1
        else:
            others.append(name)
    if is_run:
        directory.runs[path] = others
    else:
        directory.problems.extend(Problem(path / name, why_no_file(name)) for name in others)


def _around(directory: Path, root: Path) -> list[Path]:
    """Return the directories whose names may tell something of an experiment, its own first.

    They end with `root`, the one that was given; nothing is known of what is around that. Only the
    one that an experiment is called by after `name_of` counts, too.
    """
    around = [directory]
    while root in around[-1].parents:
        around.append(around[-1].parent)
    return [*around, around[-1].parent] if is_generic(around[-1].name) else around


def _joined(directories: Sequence[Directory]) -> list[Directory]:
    """Join tables below an experiment that name its runs with it, and files that are no table."""
    kept: list[Directory] = []
    for directory in sorted(directories, key=lambda directory: len(directory.path.parts)):
        above = [other for other in reversed(kept) if other.path in directory.path.parents]
        nearest = [(other.tables, other.run_names) for other in (directory, *above)]
        directory.assumed += _name_columns(directory.tables, nearest)
        home = next((other for other in above if _is_part(directory, other)), None)
        if home is None:
            kept.append(directory)
        else:
            home.tables.add(directory.tables)
            home.assumed += directory.assumed
    return sorted(kept, key=lambda directory: directory.path)


def _is_part(directory: Directory, other: Directory) -> bool:
    """Return whether a directory belongs to the experiment in a directory above."""
    if directory.empty:
        return not other.empty
    return (
        not directory.runs
        and bool(directory.known_runs)
        and directory.known_runs <= other.known_runs
    )


Around = tuple[Tables, Collection[str]]
"""The tables of a directory, and the names of its run directories."""


def _name_columns(tables: Tables, around: Sequence[Around]) -> list[str]:
    """Name the columns of tables that have no names, as .csv; return sentences on what was assumed.

    `around` are the directories to look at for as many runs, the nearest first, and in each of
    them tables before run directories. Where there are none, a column is its number.
    """
    assumed = []
    for table in (*tables.rates, *tables.relative):
        if not table.named:
            runs, why = _as_many(table, around)
            table.name(runs)
            table.named = bool(why)
            assumed.append(f"{table.path.name}: columns without names, {why or 'numbered here'}")
    return assumed


def _as_many(table: Rates, around: Sequence[Around]) -> tuple[Sequence[str], str]:
    width = len(table.runs)
    for tables, directories in around:
        for other in tables.of_runs:
            if other.named and len(other.runs) == width:
                return other.runs, f"taken to be those of {other.path.name}"
        if len(directories) == width:
            runs = sorted(directories, key=order_of_runs)
            return runs, "taken to be the run directories, the oldest version first"
    base = [] if table.table.base is None else [table.table.base]
    return [*base, *(f"col-{number}" for number in range(1, width + 1 - len(base)))], ""
