"""The tables of an archived Insert Benchmark: o.sum, and mrg and rel, which are made of it.

What a table is made of counts; a table that was cut, or that has something else, is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowdust.archive.insert.archive import (
    FoundLines,
    IbenchArchive,
    MergedTables,
    RunTable,
    damage_of,
)
from slowdust.archive.insert.sequences import Steps, name_steps
from slowdust.archive.sysbench.checks import Cell, differing
from slowdust.formats.insert import tables as ibench
from slowdust.formats.insert.names import in_order, step_of_directory, without_size
from slowdust.formats.insert.tables import COLUMNS, RUN_TABLE, Row
from slowdust.wording import counted

Groups = tuple[tuple[str, ...], ...]
"""Runs, as a table has them."""


@dataclass(frozen=True)
class _Merged:
    """A file mrg."""

    file: FoundLines
    groups: list[list[Row]]
    damage: list[str]

    @property
    def runs(self) -> Groups:
        return tuple(tuple(without_size(row.tag) for row in group) for group in self.groups)


def take_tables(
    archive: IbenchArchive,
    runs: Sequence[FoundLines],
    merged: Sequence[FoundLines],
    relative: Sequence[FoundLines],
) -> None:
    """All tables: those of runs first, of which the others are made."""
    named = tuple(in_order({one.file.step for one in [*merged, *relative] if one.file.step}))
    _take_runs(archive, runs, named)
    _take_merged(archive, merged)
    for one in relative:
        _take_relative(archive, one)


def _take_runs(
    archive: IbenchArchive, tables: Sequence[FoundLines], named: tuple[str, ...]
) -> None:
    read = [_rows(one) for one in tables]
    names = name_steps([rows for rows, _ in read], named)
    for one, (rows, damaged), steps in zip(tables, read, names, strict=True):
        if steps is None or not any(rows):
            unknown = f"{counted(len(rows), 'step')}: which is not known"
            archive.skip(one.path, unknown if any(rows) else "torn")
            continue
        tag = next((row.tag for row in rows if row is not None), one.file.tag or "")
        if any(step.row is not None for step in archive.runs.get(without_size(tag), {}).values()):
            reason = "the same run at another size: import each size from its own directory"
            archive.skip(one.path, reason)
            continue
        archive.table_paths[without_size(tag)] = one.path
        for name, row in zip(steps.names, rows, strict=True):
            if row is not None:
                step = archive.step(tag, name)
                step.row, step.row_source = row, RUN_TABLE
        damage = damage_of(one, damaged)
        if steps.cut_short or (steps.expected is None and _of_directories(archive, tag, steps)):
            of = f" of {steps.expected}" if steps.expected else ""
            done = max(place for place, row in enumerate(rows, 1) if row is not None)
            damage = [f"ends after {done}{of} steps", *damage]
        archive.use(one.path, damage)
        if not damage:
            archive.run_tables.append(RunTable(tag, steps.names))
        elif steps.expected is not None:
            archive.cut_tables[without_size(tag)] = steps.expected


def _of_directories(archive: IbenchArchive, tag: str, steps: Steps) -> bool:
    """Whether the run has directories of other steps than its table."""
    of_run = [names for folder, names in archive.folders.items() if folder.name == tag]
    found = {step_of_directory(name, names) for names in of_run for name in names} - {None}
    return not found <= set(steps.names)


def _rows(one: FoundLines) -> tuple[list[Row | None], list[str]]:
    """The steps, of which the last may be torn, and the damaged lines."""
    rows, damaged = ibench.read_steps(one.lines)
    return [*rows, None] if one.torn else rows, damaged


def _take_merged(archive: IbenchArchive, tables: Sequence[FoundLines]) -> None:
    found = []
    for one in tables:
        groups, damaged = ibench.read_groups(one.lines)
        found.append(_Merged(one, groups, damage_of(one, damaged)))
        for row in (row for group in groups for row in group):
            step = archive.step(row.tag, one.file.step or "")
            if step.row is None:
                step.row, step.row_source = row, f"{_folder(archive, one)}/{one.path.name}"
    for folder in dict.fromkeys(table.file.path.parent for table in found):
        of_folder = [table for table in found if table.file.path.parent == folder]
        usual = _usual([table.runs for table in of_folder if table.runs])
        for table in of_folder:
            _take_groups(archive, table, usual)
    for table in found:
        for source, cells in _sources_of(archive, table):
            archive.problems += differing(table.file.path, cells, source)


def _usual(found: Sequence[Groups]) -> Groups:
    """The runs that most tables of a directory have; of as many tables, the more runs."""
    counts = Counter(found)
    return max(counts, key=lambda runs: (counts[runs], sum(map(len, runs))), default=())


def _take_groups(archive: IbenchArchive, one: _Merged, usual: Groups) -> None:
    """A table that lacks some of the usual runs is one that was cut: it has these all the same,
    if their own tables are there."""
    runs, step = one.runs, one.file.file.step or ""
    if not runs:
        archive.skip(one.file.path, "; ".join(one.damage) or "nothing in it")
        return
    ours, all_ = [run for group in runs for run in group], [run for group in usual for run in group]
    cut = len(ours) < len(all_) and ours == [run for run in all_ if run in ours]
    rows = [f"{len(ours)} of {len(all_)} rows"] if cut else []
    archive.use(one.file.path, [*rows, *one.damage])
    folder = _folder(archive, one.file)
    groups = usual if cut else runs
    for tables in archive.merged_tables:
        if (tables.folder, tables.groups) == (folder, groups):
            tables.steps.append(step)
            break
    else:
        archive.merged_tables.append(MergedTables(folder, groups, [step]))


def _sources_of(archive: IbenchArchive, one: _Merged) -> Iterator[tuple[str, list[Cell]]]:
    """What its rows are made of, or where they are, too; and cells of which one differs."""
    by_source: dict[str, list[Cell]] = {}
    for row in (row for group in one.groups for row in group):
        known = archive.step(row.tag, one.file.file.step or "")
        if known.row is not None and known.row is not row:
            cells = by_source.setdefault(known.row_source, [])
            cells += _cells(row, ibench.merged(known.row))
    yield from by_source.items()


def _cells(there: Row, made: Row) -> Iterator[Cell]:
    for column, *cells in zip(COLUMNS[:-1], there.cells, made.cells, strict=False):
        yield f"{column} of {without_size(there.tag)}", cells[0], cells[1]


def _take_relative(archive: IbenchArchive, one: FoundLines) -> None:
    """Nothing is taken from it: it is looked at for whether it is what mrg says."""
    groups, damaged = ibench.read_groups(one.lines)
    there = {without_size(row.tag): row for group in groups for row in group}
    step = one.file.step or ""
    tables = _tables_of(archive, _folder(archive, one), step)
    expected = tables.groups if tables else ()
    made = [row for group in expected for row in _relative(archive, group, step)]
    if tables is None or not (made or step in tables.steps):
        archive.skip(one.path, f"relative numbers alone: there is no mrg.{step} beside it")
        return
    if damage := damage_of(one, damaged):
        archive.skip(one.path, "; ".join(damage))
        return
    archive.used += 1
    cells: list[Cell] = []
    for row in made:
        known = there.get(row.tag)
        cells += _cells(known, row) if known else [(f"the row of {row.tag}", "", "one")]
    others = there.keys() - {run for group in expected for run in group[1:]}
    cells += [(f"the row of {run}", "one", "") for run in there if run in others]
    archive.problems += differing(one.path, cells, _source(archive, tables, step))


def _folder(archive: IbenchArchive, one: FoundLines) -> str:
    return str(one.path.parent.relative_to(archive.path))


def _tables_of(archive: IbenchArchive, folder: str, step: str) -> MergedTables | None:
    """What has the groups of a step in a directory: where its own table is missing, the others."""
    of_folder = [tables for tables in archive.merged_tables if tables.folder == folder]
    own = [tables for tables in of_folder if step in tables.steps]
    return own[0] if own else max(of_folder, key=lambda tables: len(tables.steps), default=None)


def _relative(archive: IbenchArchive, group: Sequence[str], step: str) -> list[Row]:
    """The rows of those that are there; none without the first, to which they are relative."""
    found = [archive.runs.get(run, {}).get(step) for run in group]
    rows = [ibench.merged(one.row) for one in found if one is not None and one.row is not None]
    if not rows or rows[0].tag != group[0]:
        return []
    return ibench.relative(rows)


def _source(archive: IbenchArchive, tables: MergedTables, step: str) -> str:
    """What the relative numbers are compared with."""
    found = [archive.runs.get(run, {}).get(step) for group in tables.groups for run in group]
    of_runs = any(one is not None and one.row_source == RUN_TABLE for one in found)
    return RUN_TABLE if of_runs else f"mrg.{step}"
