"""Directories with results of the Insert Benchmark: which archives lie in them.

An archive is the directory of the files o.sum; tables and run directories below belong to it.
Without such files it is the directory that the tables' directories (res.*), or the run
directories, lie in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.walking import walk
from slowdust.formats.insert.names import FileKind, parse_file

_OF_A_STEP = (FileKind.CLIENT, FileKind.RESULT, FileKind.RESPONSE)
_OF_A_TABLE = (FileKind.MERGED, FileKind.RELATIVE, FileKind.MERGED_RESPONSE)
_TABLES = "res"
"""How directories of tables begin."""


@dataclass
class Found:
    """What lies in an archive, or in none."""

    files: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Of what cannot be read at all."""


def scan(root: Path) -> dict[Path | None, Found]:
    """Directory of an archive -> what is in it; None -> what is in no archive."""
    visited = list(walk(root))
    files = [folder.path / name for folder in visited for name in folder.names]
    homes = {home for file in files if (home := _home(file, root)) is not None}
    with_runs = {file.parent for file in files if _kind(file) is FileKind.RUN}
    kept = {home for home in homes if home in with_runs or homes.isdisjoint(home.parents)}
    found: dict[Path | None, Found] = {home: Found() for home in sorted(kept)}

    def nearest(path: Path) -> Found:
        home = next((folder for folder in path.parents if folder in kept), None)
        return found.setdefault(home, Found())

    for file in files:
        nearest(file).files.append(file)
    for problem in (problem for folder in visited for problem in folder.problems):
        nearest(problem.path).problems.append(problem)
    return found


def _home(file: Path, root: Path) -> Path | None:
    """The archive that a file speaks for, not above `root`."""
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
    said = parse_file(file.name)
    return said.kind if said else None
