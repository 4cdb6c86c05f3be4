"""Reading the tables of an archived Insert Benchmark: o.sum, and mrg and rel, made of it.

The source of a table counts; a table that was cut, or that differs, has a problem.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowdust.archive.insert.archive import InsertArchive, MergedTables, RunTable, TextFile
from slowdust.archive.problems import Cell, differing
from slowdust.formats.insert.names import in_order, rate_of, step_of_directory, without_size
from slowdust.formats.insert.tables import (
    COLUMNS,
    RUN_TABLE,
    Row,
    merged_row,
    read_groups,
    read_steps,
    relative_rows,
)
from slowdust.wording import counted

Groups = tuple[tuple[str, ...], ...]
"""Runs, as a table has them."""
_STEPS_2021 = (
    "l.i0", "l.x", "l.i1",
    *(f"q{rate}.{loop}" for rate in (100, 200, 400, 600, 800, 1000) for loop in (1, 2)),
)  # fmt: skip
_STEPS_2022 = ("l.i0", "l.x", "l.i1", "q100.1", "q500.1", "q1000.1")
_STEPS_2024 = (
    "l.i0", "l.x", "l.i1", "l.i2",
    "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
)  # fmt: skip
SEQUENCES = (_STEPS_2021, _STEPS_2022, _STEPS_2024)
"""The steps in the order in which they ran, of different years."""
_ALIKE = 0.01
"""Relative difference of rates that may be rounding or a hand's."""
_REACHED = 0.95
"""The part of a rate from which on it counts as reached."""

Rows = Sequence[Row | None]
"""The rows of a file; None is a damaged one."""


@dataclass(frozen=True)
class _Merged:
    """A file mrg."""

    file: TextFile
    groups: list[list[Row]]
    damage: list[str]

    @property
    def step(self) -> str:
        return self.file.name.step or ""

    @property
    def runs(self) -> Groups:
        return tuple(tuple(without_size(row.tag) for row in group) for group in self.groups)


def take_tables(
    archive: InsertArchive,
    runs: Sequence[TextFile],
    merged: Sequence[TextFile],
    relative: Sequence[TextFile],
) -> None:
    """Read all tables: those of runs first, of which the others are made."""
    named = {file.name.step for file in [*merged, *relative] if file.name.step}
    _take_runs(archive, runs, tuple(in_order(named)))
    _take_merged(archive, merged)
    for file in relative:
        _take_relative(archive, file)


def _take_runs(archive: InsertArchive, files: Sequence[TextFile], named: tuple[str, ...]) -> None:
    tables = [_rows(file) for file in files]
    names = name_steps([rows for rows, _ in tables], named)
    for file, (rows, damaged), steps in zip(files, tables, names, strict=True):
        if steps is None or not any(rows):
            unknown = f"{counted(len(rows), 'step')}: which is not known"
            archive.skip(file.path, unknown if any(rows) else "torn")
            continue
        tag = next((row.tag for row in rows if row is not None), file.name.tag or "")
        if any(step.row is not None for step in archive.runs.get(without_size(tag), {}).values()):
            reason = "the same run at another size: import each size from its own directory"
            archive.skip(file.path, reason)
            continue
        archive.table_paths[without_size(tag)] = file.path
        for name, row in zip(steps.names, rows, strict=True):
            if row is not None:
                step = archive.step(tag, name)
                step.row, step.row_source = row, RUN_TABLE
        damage = file.damage(damaged)
        if steps.cut_short or (steps.expected is None and _has_others(archive, tag, steps)):
            of = f" of {steps.expected}" if steps.expected else ""
            done = max(place for place, row in enumerate(rows, 1) if row is not None)
            damage = [f"ends after {done}{of} steps", *damage]
        archive.use(file.path, damage)
        if not damage:
            archive.run_tables.append(RunTable(tag, steps.names))
        elif steps.expected is not None:
            archive.cut_tables[without_size(tag)] = steps.expected


def _has_others(archive: InsertArchive, tag: str, steps: Steps) -> bool:
    """Return whether the run has directories of other steps than its table."""
    of_run = [names for folder, names in archive.folders.items() if folder.name == tag]
    there = {step_of_directory(name, names) for names in of_run for name in names} - {None}
    return not there <= set(steps.names)


def _rows(file: TextFile) -> tuple[list[Row | None], list[str]]:
    """Return the steps, of which the last may be torn, and the damaged lines."""
    rows, damaged = read_steps(file.lines)
    return [*rows, None] if file.torn else rows, damaged


def _take_merged(archive: InsertArchive, files: Sequence[TextFile]) -> None:
    tables = []
    for file in files:
        groups, damaged = read_groups(file.lines)
        table = _Merged(file, groups, file.damage(damaged))
        if (other := _of_other_condition(archive, table)) is not None:
            archive.skip(
                file.path,
                f"other rates of the same runs than {other}, so of another condition: import its "
                "directory alone",
            )
            continue
        tables.append(table)
        for row in (row for group in groups for row in group):
            step = archive.step(row.tag, table.step)
            if step.row is None:
                step.row, step.row_source = row, f"{_folder(archive, file)}/{file.path.name}"
    for folder in dict.fromkeys(table.file.path.parent for table in tables):
        of_folder = [table for table in tables if table.file.path.parent == folder]
        usual = _usual([table.runs for table in of_folder if table.runs])
        for table in of_folder:
            _take_groups(archive, table, usual)
    for table in tables:
        for source, cells in _cells_by_source(archive, table).items():
            archive.problems += differing(table.file.path, cells, source)


def _of_other_condition(archive: InsertArchive, table: _Merged) -> str | None:
    """Return the merged table with other rates of most of the same runs, if there is one.

    One contender's row would be from it, and another's from this one.
    """
    alike: Counter[str] = Counter()
    for row in (row for group in table.groups for row in group):
        known = archive.runs.get(without_size(row.tag), {}).get(table.step)
        if known is not None and known.row is not None and known.row_source != RUN_TABLE:
            alike[known.row_source] += 1 if _same_rates(row, known.row) else -1
    return next((source for source, more in alike.items() if more < 0), None)


def _same_rates(row: Row, other: Row) -> bool:
    pairs = [(row.number(column), other.number(column)) for column in ("ips", "qps")]
    return all(
        ours is None or theirs is None or math.isclose(ours, theirs, rel_tol=_ALIKE)
        for ours, theirs in pairs
    )


def _usual(candidates: Sequence[Groups]) -> Groups:
    """Return the runs that most tables of a directory have; of as many tables, the more runs."""
    counts = Counter(candidates)
    return max(counts, key=lambda runs: (counts[runs], sum(map(len, runs))), default=())


def _take_groups(archive: InsertArchive, table: _Merged, usual: Groups) -> None:
    """Take the runs of a table, those that it lacks from their own tables.

    A table that lacks some of the usual runs is one that was cut.
    """
    runs = table.runs
    if not runs:
        archive.skip(table.file.path, "; ".join(table.damage) or "nothing in it")
        return
    ours, all_ = [run for group in runs for run in group], [run for group in usual for run in group]
    cut = len(ours) < len(all_) and ours == [run for run in all_ if run in ours]
    rows = [f"{len(ours)} of {len(all_)} rows"] if cut else []
    archive.use(table.file.path, [*rows, *table.damage])
    folder = _folder(archive, table.file)
    groups = usual if cut else runs
    for tables in archive.merged_tables:
        if (tables.folder, tables.groups) == (folder, groups):
            tables.steps.append(table.step)
            break
    else:
        archive.merged_tables.append(MergedTables(folder, groups, [table.step]))


def _cells_by_source(archive: InsertArchive, table: _Merged) -> dict[str, list[Cell]]:
    """Return the cells of rows that are in another table, too, by that table."""
    by_source: dict[str, list[Cell]] = {}
    for row in (row for group in table.groups for row in group):
        known = archive.step(row.tag, table.step)
        if known.row is not None and known.row is not row:
            cells = by_source.setdefault(known.row_source, [])
            cells += _cells(row, merged_row(known.row))
    return by_source


def _cells(there: Row, expected: Row) -> Iterator[Cell]:
    for column, *cells in zip(COLUMNS[:-1], there.cells, expected.cells, strict=False):
        yield f"{column} of {without_size(there.tag)}", cells[0], cells[1]


def _take_relative(archive: InsertArchive, file: TextFile) -> None:
    """Compare a file rel with mrg; nothing is taken from it."""
    groups, damaged = read_groups(file.lines)
    there = {without_size(row.tag): row for group in groups for row in group}
    step = file.name.step or ""
    tables = _tables_of(archive, _folder(archive, file), step)
    runs = tables.groups if tables else ()
    expected = [row for group in runs for row in _relative(archive, group, step)]
    if tables is None or not (expected or step in tables.steps):
        archive.skip(file.path, f"relative numbers alone: there is no mrg.{step} beside it")
        return
    if damage := file.damage(damaged):
        archive.skip(file.path, "; ".join(damage))
        return
    archive.used += 1
    cells: list[Cell] = []
    for row in expected:
        known = there.get(row.tag)
        cells += _cells(known, row) if known else [(f"the row of {row.tag}", "", "one")]
    others = there.keys() - {run for group in runs for run in group[1:]}
    cells += [(f"the row of {run}", "one", "") for run in there if run in others]
    archive.problems += differing(file.path, cells, _source(archive, tables, step))


def _folder(archive: InsertArchive, file: TextFile) -> str:
    return str(file.path.parent.relative_to(archive.path))


def _tables_of(archive: InsertArchive, folder: str, step: str) -> MergedTables | None:
    """Return the tables with a step in a directory; where its own is missing, the largest."""
    of_folder = [tables for tables in archive.merged_tables if tables.folder == folder]
    own = [tables for tables in of_folder if step in tables.steps]
    return own[0] if own else max(of_folder, key=lambda tables: len(tables.steps), default=None)


def _relative(archive: InsertArchive, group: Sequence[str], step: str) -> list[Row]:
    """Return the rows of a group; none without its first, to which they are relative."""
    steps = archive.steps_of(group, step)
    rows = [merged_row(known.row) for known in steps if known.row is not None]
    return relative_rows(rows) if rows and rows[0].tag == group[0] else []


def _source(archive: InsertArchive, tables: MergedTables, step: str) -> str:
    """Return the name of the table that relative numbers are compared with."""
    of_runs = any(known.row_source == RUN_TABLE for known in archive.steps_of(tables.runs, step))
    return RUN_TABLE if of_runs else f"mrg.{step}"


@dataclass(frozen=True)
class Steps:
    """The steps of the rows of a file."""

    names: tuple[str, ...]
    expected: int | None
    """Number of steps of a whole file; None where it is not known: several runs begin like this."""

    @property
    def cut_short(self) -> bool:
        """Whether the file is known to end early."""
        return self.expected not in (None, len(self.names))


def name_steps(tables: Sequence[Rows], named: tuple[str, ...]) -> list[Steps | None]:
    """Return the steps of each table of a run, which has no names; None where they are not known.

    They follow from how many there are, which of them have queries, how many rows were inserted
    beside these, and the files around the table. `named` are those that have files of their own.
    A table is rather the beginning of these, or of the steps of longer tables, than a whole one of
    other steps, unless its insert rates differ.
    """
    steps_by_place: dict[int, Steps | None] = {}
    around = [named] if named else []
    for place in sorted(range(len(tables)), key=lambda place: -len(tables[place])):
        steps = _steps_of(tables[place], around)
        whole = steps is not None and steps.expected == len(steps.names)
        if steps is not None and whole and steps.names not in around:
            around.append(steps.names)
        steps_by_place[place] = steps
    return [steps_by_place[place] for place in range(len(tables))]


def _steps_of(rows: Rows, around: Sequence[tuple[str, ...]]) -> Steps | None:
    sequences = [steps for steps in dict.fromkeys([*around, *SEQUENCES]) if _fits(rows, steps)]
    if not sequences:
        return None

    def likeness(sequence: tuple[str, ...]) -> tuple[int, bool, bool]:
        return _reached(rows, sequence), sequence in around, len(sequence) == len(rows)

    best = max(map(likeness, sequences))
    alike = [sequence for sequence in sequences if likeness(sequence) == best]
    names = {sequence[: len(rows)] for sequence in alike}
    if len(names) > 1 and not any(best[1:]):
        return None
    expected = len(alike[0]) if len(alike) == 1 or any(best[1:]) else None
    return Steps(alike[0][: len(rows)], expected)


def _fits(rows: Rows, steps: Sequence[str]) -> bool:
    pairs = zip(rows, steps, strict=False)
    return 0 < len(rows) <= len(steps) and all(
        row is None or row.queries == (rate_of(step) is not None) for row, step in pairs
    )


def _reached(rows: Rows, steps: Sequence[str]) -> int:
    """Count the steps with queries that had the insert rate in their names.

    That is the rate of each client; there were as many as the step that did best needs.
    """
    pairs = [(row, rate_of(step)) for row, step in zip(rows, steps, strict=False)]
    parts = [
        inserts / rate
        for row, rate in pairs
        if row is not None and rate and (inserts := row.number("ips"))
    ]
    return sum(part >= _REACHED * max(parts) for part in parts)
