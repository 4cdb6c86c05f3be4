"""Archives of the Insert Benchmark.

An archive is the directory of the files o.sum; tables and run directories below belong to it.
Without such files it is the parent of the tables' directories (res.*), or of the runs'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from slowdust.archive.importing import ArchivedExperiment, ForeignKind, Mode, Option, name_of
from slowdust.archive.insert.archive import InsertArchive
from slowdust.archive.insert.checks import check_steps
from slowdust.archive.insert.experiment import experiment_of
from slowdust.archive.insert.reading import read_archive
from slowdust.archive.problems import Problem
from slowdust.archive.walking import outermost, walk
from slowdust.benchmarks.archived import IIBENCH
from slowdust.formats.insert.names import FileKind, parse_file

_OF_A_STEP = (FileKind.CLIENT, FileKind.RESULT, FileKind.RESPONSE)
_OF_A_TABLE = (
    FileKind.MERGED,
    FileKind.SELECTED,
    FileKind.RELATIVE,
    FileKind.MERGED_RESPONSE,
)
_TABLES = "res"
"""The beginning of the names of directories of tables."""


class InsertKind:
    """Archives of the Insert Benchmark."""

    name = IIBENCH
    summary = "Results of the Insert Benchmark: o.sum, mrg, o.ib ..."
    help = """\
Import results of the Insert Benchmark: o.sum, mrg, rel, o.ib, o.res, in any mixture.

DIR is searched at any depth; each directory with files o.sum, or the one that holds tables
(res.*) or run directories alone, becomes one experiment. Without --compat the rates are those
of the clients' own output where that is there.

\b
slowdust import iibench archive/ibench.jan2021
"""
    options: Sequence[Option] = (
        Option("--clients", "Number of clients.  [as in the files]", least=1),
    )

    def owns(self, file: str) -> bool:
        """Return whether a file of that name is of the Insert Benchmark."""
        return parse_file(file) is not None

    def reads(self, file: str) -> bool:
        """Return whether it is a table, or a file of a step that is read."""
        name = parse_file(file)
        return name is not None and name.kind not in (FileKind.SELECTION, FileKind.BY_PRODUCT)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[_Directory]:
        """Find the archives, and the files that are in none."""
        return [
            _Directory(root, home, files, mode, options["clients"], foreign)
            for root in outermost(roots)
            for home, files in scan(root).items()
        ]


@dataclass
class ArchiveFiles:
    """The files of an archive, or those in none."""

    paths: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Problems of everything that cannot be read at all."""


@dataclass(frozen=True)
class _Directory:
    """The directory of an archive; its files are read when they are needed."""

    root: Path
    home: Path | None
    files: ArchiveFiles
    mode: Mode
    clients: int | None
    foreign: ForeignKind

    @cached_property
    def archive(self) -> InsertArchive:
        archive = read_archive(self.home or self.root, self.files.paths, self.foreign)
        archive.problems = [*check_steps(archive, self.mode), *self.files.problems]
        return archive

    @property
    def title(self) -> str | None:
        return None if self.home is None else name_of(self.home, self.root)

    @property
    def problems(self) -> list[Problem]:
        return self.archive.problems

    @property
    def by_products(self) -> Mapping[str, int]:
        return self.archive.by_products

    def experiment(self, name: str) -> ArchivedExperiment | None:
        return experiment_of(self.archive, name, self.mode, self.clients)


def scan(root: Path) -> dict[Path | None, ArchiveFiles]:
    """Return the files of each archive below `root`, by its directory; of none by None."""
    visited = list(walk(root))
    files = [folder.path / name for folder in visited for name in folder.names]
    homes = {home for file in files if (home := _home(file, root)) is not None}
    with_runs = {file.parent for file in files if _kind(file) is FileKind.RUN}
    kept = {home for home in homes if home in with_runs or homes.isdisjoint(home.parents)}
    archives: dict[Path | None, ArchiveFiles] = {home: ArchiveFiles() for home in sorted(kept)}

    def nearest(path: Path) -> ArchiveFiles:
        home = next((folder for folder in path.parents if folder in kept), None)
        return archives.setdefault(home, ArchiveFiles())

    for file in files:
        nearest(file).paths.append(file)
    for problem in (problem for folder in visited for problem in folder.problems):
        nearest(problem.path).problems.append(problem)
    return archives


def _home(file: Path, root: Path) -> Path | None:
    """Return the archive that a file belongs to by its kind, not above `root`."""
    kind = _kind(file)
    if kind is FileKind.RUN:
        return file.parent
    if kind in _OF_A_TABLE:
        above = file.parent.parent if file.parent.name.startswith(_TABLES) else file.parent
        return _within(root, (above, file.parent))
    if kind in _OF_A_STEP:
        return _within(root, reversed(file.parents[:3]))
    return None


def _within(root: Path, candidates: Iterable[Path]) -> Path | None:
    return next((path for path in candidates if path == root or root in path.parents), None)


def _kind(file: Path) -> FileKind | None:
    name = parse_file(file.name)
    return name.kind if name else None
