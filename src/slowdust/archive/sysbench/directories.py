"""Directories of archived results: the experiments that lie in them, and their files.

A directory is a run's if it has files of runs; the experiment is the directory that holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.files import Packed, visit
from slowdust.archive.sysbench.names import parse_file, why_no_file
from slowdust.archive.sysbench.summary_tables import Tables, is_table, take_tables
from slowdust.exchange import ForeignKind, Problem, around, name_of
from slowdust.formats.text import readable


@dataclass
class Directory:
    """An experiment's directory."""

    path: Path
    """The resolved path: one directory has one, however it is spelled."""
    name: str
    around: list[Path]
    """The directory, and those around it whose names count, too: see `exchange.around`."""
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
    for root, visited, place in visit(roots, packed):
        path, names = visited.path, visited.names
        if not names and not visited.problems:
            continue
        is_run = any(name.startswith("sb.") and parse_file(name) is not None for name in names)
        home = place.parent if is_run else place
        if home not in directories:
            title, whole = name_of(home, root), home.is_relative_to(root)
            directories[home] = Directory(home, title, around(home, root), whole)
        tables = directories[home].tables
        named = [name for name in names if not name.startswith("sb.") and is_table(name)]
        take_tables(tables, path, named)
        tables.problems.extend(visited.problems)
        others = []
        for name in (name for name in names if name not in named):
            if (by_product := foreign(name)) is not None:
                tables.by_products[by_product] += 1
            else:
                others.append(name)
        if is_run:
            directories[home].runs[path] = others
        else:
            tables.problems.extend(Problem(path / name, why_no_file(name)) for name in others)
    return list(directories.values())
