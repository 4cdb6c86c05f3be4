"""The classic files that an archive of the Insert Benchmark comes to: o.sum, mrg, rel, summary.

They are those that it has, and those that can be made of what it has: o.sum of a run's o.res and
o.ib, mrg and all that follows of o.sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slowdust.archive.insert.archive import ArchivedStep, InsertArchive, MergedTables
from slowdust.archive.insert.rates import outputs
from slowdust.formats.insert.names import in_order, without_size
from slowdust.formats.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR
from slowdust.store.manifest import ArchivedTable


def classic_tables(archive: InsertArchive, runs: Sequence[str]) -> list[ArchivedTable]:
    """Return the tables that can be written, of which `runs` has the runs in their order."""
    return [*_of_runs(archive, runs), *_merged(archive, runs)]


def _of_runs(archive: InsertArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Yield the tables that were whole, and those of which all sources are there."""
    tables = [(table.tag, table.steps) for table in archive.run_tables]
    whole = {without_size(tag) for tag, _ in tables}
    tables += [
        (archive.tags[run], tuple(in_order(archive.runs[run])))
        for run in runs
        if run not in whole and _can_be_made(archive, run)
    ]
    for tag, names in tables:
        yield ArchivedTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _can_be_made(archive: InsertArchive, run: str) -> bool:
    """Return whether a run's steps are known; of a damaged table all are needed."""
    steps = list(archive.runs[run].values())
    if run not in archive.table_paths:
        return any(map(_has_sources, steps))
    known = [step for step in steps if step.row_source == RUN_TABLE or _has_sources(step)]
    return len(known) == len(steps) == archive.cut_tables.get(run)


def _has_sources(step: ArchivedStep) -> bool:
    return step.result is not None or bool(outputs(step))


def _merged(archive: InsertArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Yield those of each directory, with the steps missing in it; without any, one of all."""
    all_steps = in_order({step for run in archive.runs.values() for step in run})
    if not archive.merged_tables:
        yield ArchivedTable(kind=MERGED_TABLES, tag="", runs=list(runs), rows=all_steps)
    for tables in archive.merged_tables:
        of_folder = [other for other in archive.merged_tables if other.folder == tables.folder]
        steps = tables.steps
        if tables is max(of_folder, key=lambda other: len(other.steps)):
            there = {step for other in of_folder for step in other.steps}
            missing = [step for step in all_steps if step not in there]
            steps = [*steps, *(step for step in missing if _has_source(archive, tables, step))]
        yield ArchivedTable(
            kind=MERGED_TABLES,
            tag="",
            runs=_joined(tables.groups),
            rows=in_order(steps),
            folder=tables.folder,
        )


def _has_source(archive: InsertArchive, tables: MergedTables, name: str) -> bool:
    steps = [archive.runs.get(run, {}).get(name) for group in tables.groups for run in group]
    known = [step for step in steps if step is not None]
    return any(step.row_source == RUN_TABLE or _has_sources(step) for step in known)


def _joined(groups: Iterable[Iterable[str]]) -> list[str]:
    """Join groups as the lines of a file have them: with a lone `-` between them."""
    joined: list[str] = []
    for group in groups:
        joined += [SEPARATOR] if joined else []
        joined += group
    return joined
