"""The classic files of an Insert Benchmark; of an imported one those published, to the last digit.

o.sum.t.<tag> for each run; in each directory of tables mrg.<step>, rel.<step> and the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slowdust.formats.insert import html as ibench_html
from slowdust.formats.insert import tables as ibench
from slowdust.formats.insert.names import without_size
from slowdust.formats.insert.tables import MERGED_TABLES, RUN_TABLE, SEPARATOR, Row
from slowdust.store.manifest import ArchivedTable, Imported
from slowdust.store.slice import Slice

SUMMARY = "summary_tables.html"

Rows = dict[str, dict[str, Row]]
"""Step -> run -> its row."""


def classic_files(imported: Imported, slices: Sequence[Slice]) -> dict[Path, str]:
    """Path, relative to the archive's directory, and content of each file."""
    clients = max((record.place.clients for record in slices), default=1)
    return files_of(imported.tables, _rows(slices), clients)


def files_of(tables: Sequence[ArchivedTable], rows: Rows, clients: int) -> dict[Path, str]:
    """Path and content of the files of `tables`; `clients` tell what the writers' SLA is."""
    return dict(_files(tables, rows, clients))


def _files(tables: Sequence[ArchivedTable], rows: Rows, clients: int) -> Iterator[tuple[Path, str]]:
    for table in tables:
        if table.kind == RUN_TABLE:
            yield from _run(table, rows)
        elif table.kind == MERGED_TABLES:
            yield from _merged(table, rows)
    merged = [table for table in tables if table.kind == MERGED_TABLES]
    for folder in dict.fromkeys(table.folder for table in merged):
        of_folder = [table for table in merged if table.folder == folder]
        if (summary := _summary(of_folder, rows, clients)) is not None:
            yield Path(folder, SUMMARY), summary


def _rows(slices: Sequence[Slice]) -> Rows:
    found: Rows = {}
    for record in slices:
        classic = record.archived.classic if record.archived else None
        if classic is not None and classic.file and classic.table_row:
            of_step = found.setdefault(classic.file, {})
            of_step[classic.run] = Row(tuple(classic.table_row))
    return found


def _run(table: ArchivedTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    """NA stands for steps of which nothing is known: lines without names keep their places."""
    run = without_size(table.tag)
    found = [rows.get(step, {}).get(run) for step in table.rows]
    if any(found):
        nothing = ibench.printed({}, table.tag)
        made = [Row((*(row or nothing).cells[:-1], table.tag)) for row in found]
        yield Path(table.folder, f"o.sum.t.{table.tag}"), ibench.write([made])


def _merged(table: ArchivedTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    for step in table.rows:
        groups = [
            [ibench.merged(rows[step][run]) for run in group if run in rows.get(step, {})]
            for group in _groups(table.runs)
        ]
        groups = [group for group in groups if group]
        if groups:
            yield Path(table.folder, f"mrg.{step}"), ibench.write(groups)
            relative = [ibench.relative(group) for group in groups]
            yield Path(table.folder, f"rel.{step}"), ibench.write(relative)


def _summary(tables: Sequence[ArchivedTable], rows: Rows, clients: int) -> str | None:
    """Of the runs that have every step; None where there are none."""
    steps = {
        step: {
            run: ibench.merged(row)
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
    return ibench_html.render(ibench_html.columns_of(steps, clients), runs)


def _groups(lines: Iterable[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for line in lines:
        if line == SEPARATOR:
            groups.append([])
        else:
            groups[-1].append(line)
    return groups
