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

from slowdust.analysis.model import Report
from slowdust.archive.files import Visited, visit
from slowdust.archive.insert.archive import InsertArchive
from slowdust.archive.insert.classic import measured_files, published_files
from slowdust.archive.insert.experiment import KIND, experiment_of
from slowdust.archive.insert.names import FileKind, parse_file
from slowdust.archive.insert.reading import read_archive
from slowdust.archive.insert.steps import check_steps
from slowdust.benchmarks import measured_in_steps
from slowdust.exchange import ForeignKind, ImportedExperiment, Mode, Problem, name_of
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice

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

    name = KIND

    def owns(self, file: str) -> bool:
        return parse_file(file) is not None

    def reads(self, file: str) -> bool:
        name = parse_file(file)
        return name is not None and name.kind not in (FileKind.SELECTION, FileKind.BY_PRODUCT)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[_Directory]:
        return [_Directory(files, mode, options["clients"], foreign) for files in scan(roots)]

    def writes(self, slices: Sequence[Slice]) -> bool:
        return any(measured_in_steps(record.place.benchmark) for record in slices)

    def files(self, manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
        if manifest.imported is None:
            return measured_files(manifest, report, slices)
        return published_files(manifest, slices)


@dataclass
class ArchiveFiles:
    """The files of an archive, or those in none."""

    root: Path
    """The directory that was given to the import."""
    home: Path | None
    """The archive's directory; None for files that are in none."""
    paths: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Problems of everything that cannot be read at all."""


@dataclass(frozen=True)
class _Directory:
    """The directory of an archive; its files are read when they are needed."""

    files: ArchiveFiles
    mode: Mode
    clients: int | None
    foreign: ForeignKind

    @cached_property
    def archive(self) -> InsertArchive:
        archive = read_archive(self.files.home or self.files.root, self.files.paths, self.foreign)
        archive.problems = [*check_steps(archive, self.mode), *self.files.problems]
        return archive

    @property
    def title(self) -> str | None:
        home = self.files.home
        return None if home is None else name_of(home, self.files.root)

    @property
    def problems(self) -> list[Problem]:
        return self.archive.problems

    @property
    def by_products(self) -> Mapping[str, int]:
        return self.archive.by_products

    def experiment(self, name: str) -> ImportedExperiment | None:
        return experiment_of(self.archive, name, self.mode, self.clients)


def scan(roots: Iterable[Path]) -> list[ArchiveFiles]:
    """Return the files of each archive below `roots`, and those in none."""
    visited: dict[Path, list[Visited]] = {}
    for root, folder, _ in visit(roots):
        visited.setdefault(root, []).append(folder)
    return [files for root, folders in visited.items() for files in _archives(root, folders)]


def _archives(root: Path, folders: Sequence[Visited]) -> Iterable[ArchiveFiles]:
    files = [folder.path / name for folder in folders for name in folder.names]
    homes, with_runs = set(), set()
    for file in files:
        name = parse_file(file.name)
        kind = name.kind if name else None
        if (home := _home(file, kind, root)) is not None:
            homes.add(home)
        if kind is FileKind.RUN:
            with_runs.add(file.parent)
    kept = {home for home in homes if home in with_runs or homes.isdisjoint(home.parents)}
    archives: dict[Path | None, ArchiveFiles] = {
        home: ArchiveFiles(root, home) for home in sorted(kept)
    }

    def nearest(path: Path) -> ArchiveFiles:
        home = next((folder for folder in path.parents if folder in kept), None)
        return archives.setdefault(home, ArchiveFiles(root, home))

    for file in files:
        nearest(file).paths.append(file)
    for problem in (problem for folder in folders for problem in folder.problems):
        nearest(problem.path).problems.append(problem)
    return archives.values()


def _home(file: Path, kind: FileKind | None, root: Path) -> Path | None:
    """Return the archive that a file belongs to by its kind, not above `root`."""
    candidates: Iterable[Path] = ()
    if kind is FileKind.RUN:
        return file.parent
    if kind in _OF_A_TABLE:
        above = file.parent.parent if file.parent.name.startswith(_TABLES) else file.parent
        candidates = (above, file.parent)
    elif kind in _OF_A_STEP:
        candidates = reversed(file.parents[:3])
    return next((path for path in candidates if path == root or root in path.parents), None)
