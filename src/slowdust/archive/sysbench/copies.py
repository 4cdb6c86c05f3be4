"""Run directories and experiments that are copies of another one beside them, as backups are.

A copy has the other's name with a suffix, and no result that the other one has not: to the last
digit, two measurements are never the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.scanning import Directory
from slowdust.formats.text import readable


def leave_out_copies(
    directories: Sequence[Directory], runs: Mapping[Path, RunDirectory]
) -> list[Directory]:
    """Return the directories without copies; each copy is a problem of what it is a copy of."""
    for directory in directories:
        _leave_out_runs(directory, runs)
    kept: list[Directory] = []
    for directory in sorted(directories, key=lambda directory: len(directory.path.name)):
        original = next((other for other in kept if _is_copy(directory, other, runs)), None)
        if original is None:
            kept.append(directory)
        else:
            original.problems.append(_copied(directory.path, original.path))
    return [directory for directory in directories if directory in kept]


def _leave_out_runs(directory: Directory, runs: Mapping[Path, RunDirectory]) -> None:
    for path in sorted(directory.runs, key=lambda path: len(path.name), reverse=True):
        original = next(
            (
                other
                for other in directory.runs
                if _has_suffix(path.name, other.name) and _has_all_of(runs[other], runs[path])
            ),
            None,
        )
        if original is not None:
            del directory.runs[path]
            directory.problems.append(_copied(path, original))


def _is_copy(directory: Directory, other: Directory, runs: Mapping[Path, RunDirectory]) -> bool:
    """Return whether `other` has all runs and tables of a directory beside it."""
    if directory.path.parent != other.path.parent or directory.empty:
        return False
    by_name = {path.name: runs[path] for path in other.runs}
    tables = [table.table for table in other.tables.of_runs]
    return (
        _has_suffix(directory.path.name, other.path.name)
        and all(
            path.name in by_name and _has_all_of(by_name[path.name], runs[path])
            for path in directory.runs
        )
        and all(table.table in tables for table in directory.tables.of_runs)
    )


def _has_suffix(name: str, other: str) -> bool:
    """Return whether a name is another one with a suffix: `x.pg174.c.pk1.bak`."""
    suffix = name.removeprefix(other)
    return suffix not in ("", name) and not suffix[0].isalnum()


def _has_all_of(run: RunDirectory, other: RunDirectory) -> bool:
    results = _results(other)
    return bool(results) and results.items() <= _results(run).items()


def _results(run: RunDirectory) -> dict[object, object]:
    """Return all rates of a run by test."""
    return {
        key: (test.output, test.load, test.met, test.rates.get("r.qps"))
        for key, test in run.tests.items()
    }


def _copied(path: Path, original: Path) -> Problem:
    return Problem(path, f"a copy of {readable(original.name)}, which is used")
