"""Writing the classic files of an experiment: which functions make them, and where they may go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowdust.analysis.model import Report
from slowdust.analysis.origin import directory_of, imported_directories, kind_of_import
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.archived import IIBENCH, SYSBENCH
from slowdust.errors import UsageError
from slowdust.formats.text import readable
from slowdust.places import stays_below
from slowdust.report.classic import insert, insert_measured, sysbench, sysbench_measured
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.storage import replace_file

_OF_ARCHIVES: dict[str, Callable[[Manifest, Sequence[Slice]], dict[Path, str]]] = {
    SYSBENCH.name: sysbench.archived_files,
    IIBENCH: insert.archived_files,
}
"""Kind of archive -> the function that makes its files; other kinds have none."""


def write_classic(
    manifest: Manifest, report: Report, slices: Sequence[Slice], directory: Path
) -> list[Path]:
    """Write the classic files below `directory`; return their paths.

    Raises:
        UsageError: the experiment was imported from there, a file is there with other content, or
            a run's name leads elsewhere; then none is written.
    """
    _refuse_source(manifest, directory)
    files = _classic_files(manifest, report, slices)
    for path in files:
        _refuse_elsewhere(path)
    for path, text in files.items():
        _refuse_other(directory / path, text)
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(directory / path, text.encode())
    return [directory / path for path in files]


def _classic_files(
    manifest: Manifest, report: Report, slices: Sequence[Slice]
) -> Mapping[Path, str]:
    if (kind := kind_of_import(manifest)) is not None:
        return _OF_ARCHIVES[kind](manifest, slices) if kind in _OF_ARCHIVES else {}
    if any(measured_in_steps(record.place.benchmark) for record in slices):
        return insert_measured.measured_files(manifest, report, slices)
    return sysbench_measured.measured_files(report, slices)


def _refuse_source(manifest: Manifest, directory: Path) -> None:
    """Keep classic files out of the directory that they were imported from, and of its runs."""
    if (source := directory_of(manifest)) is None:
        return
    wanted = Path(readable(str(directory.resolve())))
    if wanted == Path(source[1]):
        raise UsageError(f"{directory} was imported from: classic files go into another directory")
    inside = [path for path in imported_directories(manifest) if wanted.is_relative_to(path)]
    if inside:
        raise UsageError(
            f"{directory} is in {inside[0]}, which was imported from: "
            "classic files go into another directory"
        )


def _refuse_elsewhere(path: Path) -> None:
    """Keep a run whose name is a path from being written where that leads."""
    if not stays_below(path):
        raise UsageError(
            f"no classic files: that of a run would be {readable(str(path))}, which is not below "
            "the directory: import the runs under other names"
        )


def _refuse_other(path: Path, text: str) -> None:
    if not path.exists():
        above = next((parent for parent in path.parents if parent.exists()), path)
        if above.is_file():
            raise UsageError(f"{above} is a file: choose another directory")
        return
    if not path.is_file() or path.read_bytes() != text.encode():
        raise UsageError(f"{path} is there with other content: choose another directory")
