"""Which classic files an archive of the Insert Benchmark comes to: o.sum, mrg, rel and the summary.

Those that it has, and those that can be made of what it has: o.sum of a run's o.res and o.ib, mrg
and all that follows of o.sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slowdust.archive.insert.archive import ArchivedStep, IbenchArchive, MergedTables
from slowdust.archive.insert.rates import outputs
from slowdust.formats.insert.names import in_order, without_size
from slowdust.formats.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR
from slowdust.store.manifest import ArchivedTable


def classic_tables(archive: IbenchArchive, runs: Sequence[str]) -> list[ArchivedTable]:
    """The tables, of which `runs` has the runs in their order."""
    return [*_of_runs(archive, runs), *_merged(archive, runs)]


def _of_runs(archive: IbenchArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Those that were whole, and those of which all sources are there."""
    found = [(one.tag, one.steps) for one in archive.run_tables]
    whole = {without_size(tag) for tag, _ in found}
    found += [
        (archive.tags[run], tuple(in_order(archive.runs[run])))
        for run in runs
        if run not in whole and _can_be_made(archive, run)
    ]
    for tag, names in found:
        yield ArchivedTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _can_be_made(archive: IbenchArchive, run: str) -> bool:
    """Of a damaged table all other steps are needed: what it was is known."""
    steps = list(archive.runs[run].values())
    if run not in archive.table_paths:
        return any(map(_has_sources, steps))
    known = [step for step in steps if step.row_source == RUN_TABLE or _has_sources(step)]
    return len(known) == len(steps) == archive.cut_tables.get(run)


def _has_sources(step: ArchivedStep) -> bool:
    return step.result is not None or bool(outputs(step))


def _merged(archive: IbenchArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Those of each directory, with the steps that are missing in it; without any, one of all."""
    all_steps = in_order({step for run in archive.runs.values() for step in run})
    if not archive.merged_tables:
        yield ArchivedTable(kind=MERGED_TABLES, tag="", runs=list(runs), rows=all_steps)
    for tables in archive.merged_tables:
        of_folder = [one for one in archive.merged_tables if one.folder == tables.folder]
        steps = tables.steps
        if tables is max(of_folder, key=lambda one: len(one.steps)):
            there = {step for one in of_folder for step in one.steps}
            missing = [step for step in all_steps if step not in there]
            steps = [*steps, *(step for step in missing if _has_source(archive, tables, step))]
        yield ArchivedTable(
            kind=MERGED_TABLES,
            tag="",
            runs=_joined(tables.groups),
            rows=in_order(steps),
            folder=tables.folder,
        )


def _has_source(archive: IbenchArchive, tables: MergedTables, name: str) -> bool:
    steps = [archive.runs.get(run, {}).get(name) for group in tables.groups for run in group]
    known = [step for step in steps if step is not None]
    return any(step.row_source == RUN_TABLE or _has_sources(step) for step in known)


def _joined(groups: Iterable[Iterable[str]]) -> list[str]:
    """As the lines of a file have them: a lone `-` between groups."""
    joined: list[str] = []
    for group in groups:
        joined += [SEPARATOR] if joined else []
        joined += group
    return joined
