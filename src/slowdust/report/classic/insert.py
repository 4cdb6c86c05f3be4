"""The classic files of an Insert Benchmark; of an archived one the published, to the last digit.

o.sum.t.<tag> for each run; in each directory of tables mrg.<step>, rel.<step> and the summary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from slowdust.analysis.origin import tables_of
from slowdust.formats.insert.names import without_size
from slowdust.formats.insert.tables import (
    MERGED_TABLES,
    RUN_TABLE,
    SEPARATOR,
    Row,
    merged_row,
    relative_rows,
    row_of_values,
    write_table,
)
from slowdust.report.classic import insert_summary
from slowdust.store.manifest import ArchivedTable, Manifest
from slowdust.store.slice import Slice

SUMMARY = "summary_tables.html"

Rows = dict[str, dict[str, Row]]
"""Step -> run -> its row."""


def archived_files(manifest: Manifest, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path, relative to the archive's directory, and content of each file."""
    clients = max((record.place.clients for record in slices), default=1)
    return files_of(tables_of(manifest), _rows(slices), clients)


def files_of(
    tables: Sequence[ArchivedTable],
    rows: Rows,
    clients: int,
    unsure: Collection[insert_summary.Cell] = frozenset(),
) -> dict[Path, str]:
    """Return path and content of the files of `tables`; the writers' SLA is that of `clients`.

    Cells in `unsure` are grey in the summary.
    """
    return dict(_files(tables, rows, clients, unsure))


def _files(
    tables: Sequence[ArchivedTable],
    rows: Rows,
    clients: int,
    unsure: Collection[insert_summary.Cell],
) -> Iterator[tuple[Path, str]]:
    for table in tables:
        if table.kind == RUN_TABLE:
            yield from _run(table, rows)
        elif table.kind == MERGED_TABLES:
            yield from _merged(table, rows)
    merged = [table for table in tables if table.kind == MERGED_TABLES]
    for folder in dict.fromkeys(table.folder for table in merged):
        of_folder = [table for table in merged if table.folder == folder]
        if (summary := _summary(of_folder, rows, clients, unsure)) is not None:
            yield Path(folder, SUMMARY), summary


def _rows(slices: Sequence[Slice]) -> Rows:
    rows: Rows = {}
    for record in slices:
        classic = record.archived.classic if record.archived else None
        if classic is not None and classic.file and classic.table_row:
            of_step = rows.setdefault(classic.file, {})
            of_step[classic.run] = Row(tuple(classic.table_row))
    return rows


def _run(table: ArchivedTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    """Write NA for steps of which nothing is known: lines without names keep their places."""
    run = without_size(table.tag)
    of_run = [rows.get(step, {}).get(run) for step in table.rows]
    if any(of_run):
        nothing = row_of_values({}, table.tag)
        tagged = [Row((*(row or nothing).cells[:-1], table.tag)) for row in of_run]
        yield Path(table.folder, f"o.sum.t.{table.tag}"), write_table([tagged])


def _merged(table: ArchivedTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    for step in table.rows:
        groups = [
            [merged_row(rows[step][run]) for run in group if run in rows.get(step, {})]
            for group in _groups(table.runs)
        ]
        groups = [group for group in groups if group]
        if groups:
            yield Path(table.folder, f"mrg.{step}"), write_table(groups)
            relative = [relative_rows(group) for group in groups]
            yield Path(table.folder, f"rel.{step}"), write_table(relative)


def _summary(
    tables: Sequence[ArchivedTable],
    rows: Rows,
    clients: int,
    unsure: Collection[insert_summary.Cell],
) -> str | None:
    """Write the summary of the runs that have every step; None where there are none."""
    steps = {
        step: {
            run: merged_row(row)
            for run, row in rows[step].items()
            if row.number("ips") is not None and row.number("qps") is not None
        }
        for table in tables
        for step in table.rows
        if step in rows
    }
    listed = dict.fromkeys(run for table in tables for run in table.runs if run != SEPARATOR)
    runs = [run for run in listed if all(run in of_step for of_step in steps.values())]
    if not steps or not runs:
        return None
    return insert_summary.render(insert_summary.columns_of(steps, clients), runs, unsure)


def _groups(lines: Iterable[str]) -> list[list[str]]:
    parted = groupby(lines, SEPARATOR.__eq__)
    return [list(group) for separates, group in parted if not separates]
