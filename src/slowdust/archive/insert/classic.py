"""The classic files of an Insert Benchmark; for imported runs as published, to the last digit.

There is o.sum.t.<tag> for each run, and in each directory of tables mrg.<step>, rel.<step> and the
summary as HTML, with cells and colours as published. A summary has the rates of all steps; with two
loops at each rate, of the second loop. Since 2023 a second table has the rates relative to the
first row. The last table has the insert rates during the queries, and their targets.

For measured experiments, the columns have the same meaning (`tables.COLUMNS`). Rates are taken
from the report: the median over the starts of the servers, but the worst for rows inserted during
queries, as for the SLA. Hardware and sizes are over all starts together, per second of exactly the
measured windows. Values that were not measured are NA: the directory with logs (dbgb2), the longest
statement of an index creation as seen by its client, and percentiles of seconds in steps without a
complete second.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby, product
from pathlib import Path

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.summary import Shade, shade_column
from slowdust.analysis.sla import SHARE
from slowdust.archive.classic import ClassicTable, Row, classic_of, tables_of
from slowdust.archive.insert.names import in_order, main_role, rate_of, without_size
from slowdust.archive.insert.tables import (
    MERGED_TABLES,
    RUN_TABLE,
    SEPARATOR,
    merged_row,
    rate_kept,
    relative_rows,
    row_of_values,
    table_row,
    write_table,
)
from slowdust.benchmarks.insert import INSERT
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, name_with_hold, split_hold
from slowdust.units import known

_HEAD = """\
<style type="text/css">
{colours}
  td {{
    text-align:right
  }}
</style>
<table border="1" cellpadding="8" >
"""
_RATES = _HEAD.format(
    colours="""\
  table td#cmin { background-color:#FF9A9A }
  table td#cmax { background-color:#81FFA6 }
  table td#csla { background-color:#FFC172 }
  table td#cgray { background-color:#D7D7D7 }"""
)
_RELATIVE = _HEAD.format(
    colours="""\
  table td#clo { background-color:#FFFF99 }
  table td#chi { background-color:#99CCFF }"""
)
_GREY = """\
<style type="text/css">
  td.unsure { background-color:#eeeeee !important; color:#707070 }
</style>
"""
_COLOURS = {Shade.WORST: "cmin", Shade.BEST: "cmax", Shade.SLA_MISSED: "cgray", Shade.PLAIN: None}
_LOW, _HIGH = 95, 105
"""Percent of the base below and above which a relative rate is coloured."""
_FIRST_LOOP, _SECOND_LOOP = ".1", ".2"


SummaryCell = tuple[str, str]
"""A step and a tag."""


@dataclass(frozen=True)
class SummaryColumn:
    """A step: the merged rows of its runs, by tag."""

    step: str
    rows: Mapping[str, Row]
    target: int | None
    """Inserts per second of all clients; None for a step without queries."""

    def rate(self, tag: str) -> int:
        return int(self.rows[tag]["ips" if self.target is None else "qps"])

    def inserts(self, tag: str) -> int:
        return int(self.rows[tag]["ips"])

    def meets_sla(self, tag: str) -> bool:
        """Return whether the inserters kept 95% of their rate, rounded to an integer."""
        return self.target is None or self.inserts(tag) >= round(SHARE * self.target)


def summary_columns(steps: Mapping[str, Mapping[str, Row]], clients: int) -> list[SummaryColumn]:
    shown = [
        step
        for step in in_order(steps)
        if step.removesuffix(_FIRST_LOOP) + _SECOND_LOOP not in steps or step.endswith(_SECOND_LOOP)
    ]
    return [
        SummaryColumn(
            step, steps[step], None if (rate := rate_of(step)) is None else rate * clients
        )
        for step in shown
    ]


def render_summary(
    columns: Sequence[SummaryColumn],
    tags: Sequence[str],
    unsure: Collection[SummaryCell] = frozenset(),
) -> str:
    """Write the tables with `tags` as rows; each column has all of them.

    Cells in `unsure` are grey, including relative ones; imported runs have none.
    """

    def table(
        head: str,
        of: Sequence[SummaryColumn],
        cell: Callable[[SummaryColumn, str], tuple[str, str | None]],
        *more: str,
        separator: str = " ",
        greyed: Collection[SummaryCell] = unsure,
    ) -> str:
        lines = [f"{head}<tr><th>dbms</th>{''.join(f'<th>{each.step}</th>' for each in of)}</tr>"]
        for tag in tags:
            cells = ""
            for column in of:
                text, colour = cell(column, tag)
                pale = ' class="unsure"' if (column.step, tag) in greyed else ""
                shade = f' id="{colour}"' if colour else ""
                cells += f"<td{pale}{shade}>{text}</td>"
            lines.append(f"<tr><td>{escape(tag)}</td>{separator}{cells}</tr>")
        return "\n".join([*lines, *more, "</table>\n"])

    shades = {
        column.step: shade_column(
            {tag: column.rate(tag) for tag in tags},
            {tag for tag in tags if not column.meets_sla(tag)},
        )
        for column in columns
    }

    def rate(column: SummaryColumn, tag: str) -> tuple[str, str | None]:
        return str(column.rate(tag)), _COLOURS[shades[column.step][tag]]

    def relative(column: SummaryColumn, tag: str) -> tuple[str, str | None]:
        if not (base := column.rate(tags[0])):
            return "NA", None
        percent = round(100 * column.rate(tag) / base)
        colour = "chi" if percent > _HIGH else "clo" if percent < _LOW else None
        return f"{column.rate(tag) / base:.2f}", colour

    def inserts(column: SummaryColumn, tag: str) -> tuple[str, str | None]:
        return str(column.inserts(tag)), None if column.meets_sla(tag) else "cmin"

    page = table(f"{_GREY}{_RATES}" if unsure else _RATES, columns, rate)
    if not any(column.step.endswith(_SECOND_LOOP) for column in columns):
        page += table(_RELATIVE, columns, relative)
    if queries := [column for column in columns if column.target is not None]:
        targets = "".join(f"<td id=cgray>{column.target}</td>" for column in queries)
        last = f"<tr><td>target</td>{targets}</tr>"
        page += table(_RATES, queries, inserts, last, separator="", greyed=())
    return page


SUMMARY = "summary_tables.html"

Rows = dict[str, dict[str, Row]]
"""Step -> run -> row."""


def published_files(manifest: Manifest, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path, relative to the archive's directory -> content of each file."""
    clients = max((record.place.clients for record in slices), default=1)
    rows: Rows = {}
    for record in slices:
        if (classic := classic_of(record)) and classic.file and classic.table_row:
            rows.setdefault(classic.file, {})[classic.run] = table_row(classic.table_row)
    return files_of(tables_of(manifest), rows, clients)


def files_of(
    tables: Sequence[ClassicTable],
    rows: Rows,
    clients: int,
    unsure: Collection[SummaryCell] = frozenset(),
) -> dict[Path, str]:
    """Return path -> content of the files of `tables`, with the SLA of the writers of `clients`.

    Cells in `unsure` are grey in the summary.
    """
    files: dict[Path, str] = {}
    for table in tables:
        files.update(_run(table, rows) if table.kind == RUN_TABLE else _merged(table, rows))
    merged = [table for table in tables if table.kind == MERGED_TABLES]
    for folder in dict.fromkeys(table.folder for table in merged):
        of_folder = [table for table in merged if table.folder == folder]
        steps = {
            step: {
                run: merged_row(row)
                for run, row in rows[step].items()
                if row.number("ips") is not None and row.number("qps") is not None
            }
            for table in of_folder
            for step in table.rows
            if step in rows
        }
        listed = dict.fromkeys(run for table in of_folder for run in table.runs if run != SEPARATOR)
        runs = [run for run in listed if all(run in of_step for of_step in steps.values())]
        if steps and runs:  # only runs with every step
            summary = render_summary(summary_columns(steps, clients), runs, unsure)
            files[Path(folder, SUMMARY)] = summary
    return files


def _run(table: ClassicTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    """Write NA for unknown steps: lines have no names, so their positions matter."""
    run = without_size(table.tag)
    of_run = [rows.get(step, {}).get(run) for step in table.rows]
    if any(of_run):
        nothing = row_of_values({}, table.tag)
        tagged = [replace(row or nothing, run=table.tag) for row in of_run]
        yield Path(table.folder, f"o.sum.t.{table.tag}"), write_table([tagged])


def _merged(table: ClassicTable, rows: Rows) -> Iterator[tuple[Path, str]]:
    parted = groupby(table.runs, SEPARATOR.__eq__)
    runs = [list(group) for separates, group in parted if not separates]
    for step in table.rows:
        of_step = rows.get(step, {})
        groups = [[merged_row(of_step[run]) for run in group if run in of_step] for group in runs]
        if groups := [group for group in groups if group]:
            yield Path(table.folder, f"mrg.{step}"), write_table(groups)
            relative = [relative_rows(group) for group in groups]
            yield Path(table.folder, f"rel.{step}"), write_table(relative)


_NS_PER_S = 1e9
_BYTES_PER_MB = 1 << 20
_BYTES_PER_GB = 1 << 30
_BYTES_PER_KB = 1024


def measured_files(manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path -> content of each file, with a directory for each number of clients if several.

    Each time for which a transaction was held open also has a directory: `hold60`, `c8.hold60`.
    """
    files: dict[Path, str] = {}
    results = {(each.clients, each.test, each.contender): each for each in report.results}
    numbers = sorted({clients for clients, _, _ in results})
    holds = sorted({split_hold(test)[1] for test in manifest.tests})
    tags = {name: name.replace(" ", "_").replace("/", "_") for name in report.contenders}
    places: dict[tuple[int, str, str], list[Slice]] = {}
    for record in slices:
        place = record.place
        places.setdefault((place.clients, place.test, place.contender), []).append(record)
    for clients, hold in product(numbers, holds):
        of_clients = f"c{clients}" if len(numbers) > 1 else ""
        folder = name_with_hold(of_clients, hold).removeprefix(".")
        steps = _classic_names([test for test in manifest.tests if split_hold(test)[1] == hold])
        rows: Rows = {}
        unsure = set()
        for (test, step), (contender, tag) in product(steps.items(), tags.items()):
            key = (clients, test, contender)
            result = results.get(key)
            values = {} if result is None else _values(result, places[key])
            rows.setdefault(step, {})[tag] = row_of_values(values, tag)
            if result is not None and result.verdict == "unsure":
                unsure.add((step, tag))
        names = list(steps.values())
        tables = [
            ClassicTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=names, folder=folder)
            for tag in tags.values()
        ]
        tables.append(
            ClassicTable(
                kind=MERGED_TABLES, tag="", runs=[*tags.values()], rows=names, folder=folder
            )
        )
        files |= files_of(tables, rows, clients, unsure)
    return files


def _classic_names(tests: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for test in tests:
        step = INSERT.test(test)
        loops = sum(1 for name in names.values() if ".L" in name)
        plain = split_hold(test)[0]
        names[test] = f"{plain}.L{loops + 1}" if step is not None and step.rate else plain
    return names


def _values(result: Result, slices: Sequence[Slice]) -> dict[str, float | None]:
    main = main_role(split_hold(result.test)[0])
    queries, index = main == "query", main == "index"
    lengths = known(record.measured.probe_seconds or record.measured.seconds for record in slices)
    rows = [role.rows for role in _roles(slices, "index" if index else "insert")]
    inserted = None if len(rows) < len(slices) or None in rows else sum(known(rows))

    def per(amount: float | None, *quantities: str) -> float | None:
        """Return what the host used per `amount`; None unless the probe measured each window."""
        amounts = known(record.measured.used("host", *quantities) for record in slices)
        return sum(amounts) / amount if amount and len(amounts) == len(slices) else None

    def per_second(quantity: str, unit: float = 1.0) -> float | None:
        return per(sum(lengths) * unit, quantity)

    def rate_of_seconds(share: float) -> float | None:
        whole = [
            second.statements if queries else second.rows
            for role in _roles(slices, main)
            for second in role.per_second[: int(role.seconds or 0)]
        ]
        return None if index else rate_kept(whole, share)

    busy = per(1.0, "cpu_user_s", "cpu_system_s")
    idle = per(1.0, "cpu_idle_s", "cpu_iowait_s", "cpu_steal_s")
    cpus_s = 0.0 if busy is None or idle is None else busy + idle
    longest = [role.latency.max_ns for role in _roles(slices, main) if role.latency]
    inserts = result.writers.inserts if result.writers else None
    use = result.per_op
    return {
        "ips": inserts if queries else result.qps,
        "qps": result.qps if queries else 0.0,
        "rps": per_second("reads"),
        "rmbps": per_second("read_bytes", _BYTES_PER_MB),
        "wps": per_second("writes"),
        "wmbps": per_second("write_bytes", _BYTES_PER_MB),
        "rpq": use.get("reads"),
        "rkbpq": use.get("host_read_kb"),
        "wpi": per(inserted, "writes"),
        "wkbpi": per((inserted or 0) * _BYTES_PER_KB, "write_bytes"),
        "csps": per_second("context_switches"),
        "cpups": 100 * busy / cpus_s if busy is not None and cpus_s else None,
        "cspq": use.get("host_cs"),
        "cpupq": use.get("host_cpu_us"),
        "dbgb1": _largest_gb(record.step.data_bytes for record in slices if record.step),
        "rss": _largest_gb(record.measured.used("server", "rss_bytes") for record in slices),
        "maxop": max(longest) / _NS_PER_S if longest and not index else None,
        "p50": rate_of_seconds(0.50),
        "p99": rate_of_seconds(0.99),
    }


def _roles(slices: Iterable[Slice], name: str) -> list[RoleUse]:
    return known(record.step.roles.get(name) for record in slices if record.step)


def _largest_gb(sizes: Iterable[float | None]) -> float | None:
    largest = max(known(sizes), default=None)
    return None if largest is None else largest / _BYTES_PER_GB
