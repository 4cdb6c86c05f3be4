"""Which classic files an archive of the Insert Benchmark comes to: o.sum, mrg, rel and the summary.

Those that it has, and those that can be made of what it has: o.sum of a run's o.res and o.ib, mrg
and all that follows of o.sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slowdust.archive.ibench import MERGED_TABLES, RUN_TABLE, SEPARATOR
from slowdust.archive.ibench_archive import ArchivedStep, IbenchArchive, MergedTables
from slowdust.archive.ibench_names import in_order
from slowdust.archive.ibench_rates import outputs
from slowdust.store.manifest import ArchivedTable


def classic_tables(archive: IbenchArchive, runs: Sequence[str]) -> list[ArchivedTable]:
    """The tables, of which `runs` has the runs in their order."""
    return [*_of_runs(archive, runs), *_merged(archive, runs)]


def _of_runs(archive: IbenchArchive, runs: Sequence[str]) -> Iterator[ArchivedTable]:
    """Those that were whole, and those of runs that have none but its sources."""
    found = [(one.tag, one.steps) for one in archive.run_tables]
    found += [
        (archive.tags[run], tuple(in_order(archive.runs[run])))
        for run in runs
        if _has_no_table(archive.runs[run].values())
    ]
    for tag, names in found:
        yield ArchivedTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=list(names))


def _has_no_table(steps: Iterable[ArchivedStep]) -> bool:
    """Whether there is nothing of a run's table but its sources."""
    found = list(steps)
    has_sources = any(step.result is not None or outputs(step) for step in found)
    return has_sources and not any(step.row_source == RUN_TABLE for step in found)


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
    return any(
        step.row_source == RUN_TABLE or step.result is not None or outputs(step)
        for step in steps
        if step is not None
    )


def _joined(groups: Iterable[Iterable[str]]) -> list[str]:
    """As the lines of a file have them: a lone `-` between groups."""
    joined: list[str] = []
    for group in groups:
        joined += [SEPARATOR] if joined else []
        joined += group
    return joined
