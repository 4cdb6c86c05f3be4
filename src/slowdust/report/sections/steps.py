"""Long steps: the summary tables, and the details of each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from slowdust.analysis.model import BUCKETS_US, Report, Result, RoleReport, Stall, StepRun
from slowdust.analysis.results.summary import (
    Shade,
    SummaryCell,
    SummaryTable,
    summary_tables,
    titles_of,
)
from slowdust.analysis.sla import SHARE
from slowdust.benchmarks.steps import in_order
from slowdust.ratios import ratio
from slowdust.report.document import (
    ABSENT,
    STEP,
    STEP_OF_TEST,
    Block,
    Cell,
    Cells,
    Code,
    Column,
    Folded,
    Heads,
    Items,
    Medium,
    Section,
    Table,
    named,
    table,
    text,
)
from slowdust.report.markdown.table import or_absent, rate
from slowdust.report.numbers import brief_time
from slowdust.units import Second, known
from slowdust.wording import listing

AROUND_A_STALL = 10
"""Seconds before and after a stall that its link zooms to."""
MOST_STALLS = 40
"""The rows of the list of stalls; the JSON report has all."""
_MARKS = {
    Shade.PLAIN: "",
    Shade.BEST: "+",
    Shade.FASTER: "+",
    Shade.WORST: "-",
    Shade.SLOWER: "-",
    Shade.SLA_MISSED: "*",
    Shade.UNSURE: "?",
}
NARROWEST = 0.6
"""Width of the bar of a single statement, in percent of its cell."""
_PER_GB = 1 << 30
_US_PER_MS = 1000
_US_PER_S = 1_000_000

_Key = tuple[str, int, str]
_INCARNATION = "start"
_OF_SIZES = "Medians over the starts; settling is maintenance and waiting after the step."
_OLD_VERSIONS = (("history_length", "history list"), ("dead_rows", "dead rows"))
"""Fields of a run, and the titles of their columns."""
_OF_OLD_VERSIONS = (
    "Old versions of rows before settling: undo logs in InnoDB's history list, and dead rows by\n"
    "the statistics of Postgres. Engines such as MyRocks report neither."
)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _runs(report: Report, results: Sequence[Result]) -> list[StepRun]:
    """Return the runs of the steps of results."""
    steps = {(result.benchmark, result.test, result.clients) for result in results}
    return [run for run in report.step_runs if (run.benchmark, run.test, run.clients) in steps]


LONGEST_LOG = 8
"""Lines of a log of a failed step that a page unfolds."""


def failed_steps(report: Report) -> Section | None:
    """Return the steps that failed, their reasons and the last lines of their logs."""
    rows: list[Cells] = []
    logs: list[Block] = []
    for step in report.failed_steps:
        reason, _, log = step.reason.strip().partition("\n")
        lines = log.strip("\n").splitlines()
        rows.append(
            [
                Cell(step.test, step=(step.test, step.clients)),
                *(str(step.clients), named(step.contender), str(step.incarnation)),
                *(f"{step.after_s:.1f}", Cell(reason, is_bad=True)),
            ]
        )
        if lines:
            title = f"Log of {step.test} on {step.contender}, start {step.incarnation}"
            logs.append(Folded(title, [Code(lines)], is_open=len(lines) <= LONGEST_LOG))
    if not rows:
        return None
    heads: Heads = (*STEP, _INCARNATION, "after s", Column("reason", is_name=True))
    title = "Steps that failed"
    shown = table(heads, rows, left=1, name=title)
    return Section(title, [shown, *logs], "failed-steps", "Failed steps")


def writers(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the rates of the concurrent writers compared with their targets."""
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            _count(kept.target),
            rate(kept.inserts),
            or_absent(kept.deletes, rate),
            or_absent(kept.insert_backlog, _count),
            or_absent(kept.delete_backlog, _count),
            or_absent(kept.max_lag_s, "{:.2f}".format),
            Cell("met" if kept.sla_met else "MISSED", is_bad=not kept.sla_met),
        ]
        for result in results
        if (kept := result.writers)
    ]
    if not rows:
        return None
    heads: Heads = ("target rows/s", "inserts/s", "deletes/s")
    kept_heads = ("inserts due", "deletes due", "lag s", "SLA")
    sla = "The SLA is 95% of the target for inserts and for deletes."
    repeated = (
        f"Of the worst start. Due: rows of the schedule that were not written by the end.\n{sla}"
    )
    about = text(repeated if report.repeated else sla, role="lead")
    title = "Concurrent writers"
    return Section(title, [about, _step_table(report, (*heads, *kept_heads), rows, title)])


def roles(report: Report, results: Sequence[Result]) -> Section | None:
    """Return rates, response times and errors of each role, run by run."""
    rows: list[Cells] = [
        [
            *(run.test, str(run.clients), named(run.contender), role.role, str(run.incarnation)),
            or_absent(run.seconds, "{:.1f}".format),
            Cell(
                ABSENT if role.rate is None else f"{rate(role.rate)} {role.unit}",
                is_bad=_is_under_target(role),
            ),
            *(or_absent(value, _count) for value in (role.p50_us, role.p99_us, role.max_us)),
            or_absent(role.client_cpu_us, "{:.3g}".format),
            *(or_absent(count, str) for count in (role.errors, role.retries)),
            *_particulars(role),
        ]
        for run in _runs(report, results)
        for role in run.roles
    ]
    if not rows:
        return None
    heads: Heads = (
        "seconds",
        "rate",
        "p50 us",
        "p99 us",
        "max us",
        "client cpu us",
        "errors",
        "retries",
    )
    of_page = ("target", "connections", "statements", "rows", "backlog", "late", "max lag s")
    by = "start by start" if report.repeated else "role by role"
    about = "Response times of statements; client CPU in microseconds per row or query."
    columns: Heads = [
        Column("role", media=Medium.HTML),
        *(_INCARNATION, *heads),
        *(Column(title, media=Medium.HTML) for title in of_page),
    ]
    shown = _step_table(report, columns, rows, "Steps by role")
    return Section(f"Steps, {by}", [text(about, role="lead"), shown])


def _is_under_target(role: RoleReport) -> bool:
    """Return whether a paced writer kept less than its SLA."""
    return role.target is not None and role.rate is not None and role.rate < SHARE * role.target


def _particulars(role: RoleReport) -> list[str]:
    """Return the details of a role that texts have no room for."""
    counts = (role.statements, role.rows, role.backlog, role.late_statements)
    statements, rows, backlog, late = (or_absent(count, _count) for count in counts)
    return [
        or_absent(role.target, rate),
        str(role.connections),
        *(statements, rows, backlog, late),
        or_absent(role.max_lag_s, "{:.2f}".format),
    ]


def _step_table(
    report: Report,
    heads: Heads,
    rows: Sequence[Sequence[str | Cell]],
    name: str,
) -> Table:
    """Return the table; of single runs without columns that are empty."""
    whole: list[str | Column] = [*STEP_OF_TEST, *heads]
    places = [
        place
        for place, head in enumerate(whole)
        if (
            (is_page := isinstance(head, Column) and Medium.TEXT not in head.media)
            and any(row[place] != ABSENT for row in rows)
        )
        or (
            not is_page
            and (
                report.repeated
                or (head != _INCARNATION and any(_text(row[place]) != ABSENT for row in rows))
            )
        )
    ]
    chosen = [[row[place] for place in places] for row in rows]
    return table([whole[place] for place in places], chosen, left=1, name=name)


def _text(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def buckets(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the histograms of response times, which a page draws as bars."""
    by_role: dict[tuple[_Key, str], list[RoleReport]] = {}
    for run in _runs(report, results):
        for role in run.roles:
            if role.buckets is not None:
                by_role.setdefault((_key(run), role.role), []).append(role)
    if not by_role:
        return None
    rows: list[Cells] = [
        [
            *_named(key),
            name,
            *map("{:,}".format, np.sum(known(role.buckets for role in roles), axis=0).tolist()),
            or_absent(max(known(role.max_us for role in roles), default=None), _count),
        ]
        for (key, name), roles in by_role.items()
    ]
    starts = ", over all starts" if report.repeated else ""
    heads: Heads = (*STEP_OF_TEST, "role", *map(_bound, BUCKETS_US), "more", "max us")
    about = text(f"Statements up to each bound{starts}.", role="lead")
    title = "Response times of statements"
    shown = replace(table(heads, rows, left=1, name=title), media=Medium.TEXT)
    return Section(title, [about, shown, *_histograms(by_role)])


def _histograms(by_role: Mapping[tuple[_Key, str], Sequence[RoleReport]]) -> list[Section]:
    """Return a table of bars for each role, for a page."""
    sections = []
    for role in in_order(dict.fromkeys(name for _, name in by_role)):
        counts = {
            key: np.sum(known(each.buckets for each in reports), axis=0).tolist()
            for (key, name), reports in by_role.items()
            if name == role.name
        }
        filled = [at for own in counts.values() for at, count in enumerate(own) if count]
        if not filled:
            continue
        rows: list[Cells] = [
            [
                _bucket_label(at),
                *(_bar(own[at], sum(own), contender) for (_, _, contender), own in counts.items()),
            ]
            for at in range(min(filled), max(filled) + 1)
        ]
        test = next(iter(counts))[0]
        heads: Heads = ["took", *(Column(key[2], contender=key[2]) for key in counts)]
        shown = table(heads, rows, left=1, name=f"Response times of {role.name} in {test}")
        sections.append(Section(role.statements, [shown], media=Medium.HTML))
    return sections


def _bar(count: int, total: int, contender: str) -> Cell:
    if not count:
        return Cell("0")
    share = count / total * 100
    digits = max(1, -math.floor(math.log10(share)))  # since the tail matters
    return Cell(f"{count:,}", note=f"{share:.{digits}f}%", bar=(max(share, NARROWEST), contender))


def _bucket_label(at: int) -> str:
    """Return '≤ 256 µs', and '> 16 s' after the last bound."""
    if at < len(BUCKETS_US):
        return f"\N{LESS-THAN OR EQUAL TO} {brief_time(BUCKETS_US[at])}"
    return f"> {brief_time(BUCKETS_US[-1])}"


def _bound(bound_us: int) -> str:
    if bound_us >= _US_PER_S:
        return f"{bound_us // _US_PER_S}s"
    return f"{bound_us // _US_PER_MS}ms" if bound_us >= _US_PER_MS else f"{bound_us}us"


def sizes(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the size of the data after each step, and the time to settle."""
    step_runs = _runs(report, results)
    by_contender: dict[_Key, list[StepRun]] = {}
    for run in step_runs:
        by_contender.setdefault(_key(run), []).append(run)
    left = [
        (name, title)
        for name, title in _OLD_VERSIONS
        if any(getattr(run, name) is not None for run in step_runs)
    ]
    rows: list[Cells] = [
        [
            *_named(key),
            Cell(
                _median((run.rows_counted for run in runs), 1, ",.0f"),
                is_bad=any(_is_miscounted(run) for run in runs),
            ),
            *(
                _median((getattr(run, name) for run in runs), _PER_GB, ".3f")
                for name in ("table_bytes", "index_bytes", "data_bytes")
            ),
            _median((run.size_ratio for run in runs), 1, ".3f"),
            *(_median((getattr(run, name) for run in runs), 1, ",.0f") for name, _ in left),
            _median((run.settled_s for run in runs), 1, ".1f"),
            _median((run.rows_expected for run in runs), 1, ",.0f"),
        ]
        for key, runs in by_contender.items()
    ]
    if not any(_text(cell) != ABSENT for row in rows for cell in row[len(STEP_OF_TEST) : -1]):
        return None
    heads = ["rows", "tables GB", "indexes GB", "database GB", "/ base"]
    heads += [*(title for _, title in left), "settling s"]
    lead = [*([_OF_SIZES] if report.repeated else []), *([_OF_OLD_VERSIONS] if left else [])]
    title = "Sizes at the end of each step"
    columns: Heads = [*heads, Column("rows expected", media=Medium.HTML)]
    return Section(
        title,
        [
            *([text(*lead, role="lead")] if lead else []),
            _step_table(report, columns, rows, title),
        ],
    )


def _is_miscounted(run: StepRun) -> bool:
    counts = run.rows_counted, run.rows_expected
    return None not in counts and run.rows_counted != run.rows_expected


def _median(values: Iterable[float | None], unit: int, spec: str) -> str:
    measured = known(values)
    return f"{median(measured) / unit:{spec}}" if measured else ABSENT


def stalls(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the stalls of roles, with the values of probes in these seconds."""
    all_stalls = [(run, stall) for run in _runs(report, results) for stall in run.stalls]
    if not all_stalls:
        return None
    first = all_stalls[:MOST_STALLS]
    left = len(all_stalls) - len(first)
    heads = [_INCARNATION, "second", "role", "rate", "median", "server CPUs", "host CPUs"]
    heads += ["iowait", "steal", "rMB/s", "wMB/s", "host wMB/s", "cs/s"]
    length = max(known(run.seconds for run, _ in all_stalls), default=math.inf)
    rows = [_stall(run, stall, length) for run, stall in first]
    logged = [
        f"{run.test}, {run.contender}, start {run.incarnation}, second {stall.second}: {line}"
        for run, stall in first
        for line in stall.log
    ]
    about = (
        "Whole seconds with less than a tenth of the median of a role, in rows of inserts\n"
        "and deletes and in queries, with the values of probes. A role with fewer than ten\n"
        "statements in its median second stalls only in a second without a finished\n"
        "statement, during a statement of a second or more."
    )
    more = [f"The first {MOST_STALLS}; the JSON report has {left} more."] if left else []
    logs: list[Block] = [
        text("In the logs of the servers at these times:"),
        Items([*dict.fromkeys(logged)]),
    ]
    return Section(
        "Stalls",
        [
            text(about, *more, role="lead"),
            _step_table(report, heads, rows, "Stalls"),
            *(logs if logged else []),
        ],
    )


def _stall(run: StepRun, stall: Stall, length: Second) -> Cells:
    start, end = stall.second - AROUND_A_STALL, stall.second + 1 + AROUND_A_STALL
    cpus = (stall.server_cpu, stall.host_cpu, stall.iowait, stall.steal)
    megabytes = (stall.read_mb, stall.write_mb, stall.host_write_mb)
    return [
        *_named(_key(run)),
        str(run.incarnation),
        Cell(str(stall.second), zoom=f"{max(0, start)},{min(length, end):g}"),
        stall.role,
        rate(stall.rate),
        rate(stall.median),
        *(or_absent(value, "{:.2f}".format) for value in (*cpus, *megabytes)),
        or_absent(stall.context_switches, _count),
    ]


def _key(run: StepRun) -> _Key:
    return run.test, run.clients, run.contender


def _named(key: _Key) -> Cells:
    test, count, contender = key
    return [test, str(count), named(contender)]


_SHADES = {
    Shade.BEST: "faster",
    Shade.FASTER: "faster",
    Shade.WORST: "slower",
    Shade.SLOWER: "slower",
    Shade.UNSURE: "unsure",
}


def summaries(report: Report) -> list[Section]:
    """Return tables of contenders by steps."""
    all_summaries = summary_tables(report)
    sections = [
        _summary(
            *(report, shown, summary.clients, f", {title}" if title else ""),
            # Here the rate itself missed its target.
            missed="slower" if shown is summary.insert_rate else "missed-sla",
        )
        for summary, title in zip(all_summaries, titles_of(all_summaries), strict=True)
        for shown in summary.tables
    ]
    return [
        replace(section, anchor="" if place else "summary", link="" if place else "Summary")
        for place, section in enumerate(sections)
    ]


def _summary(
    report: Report, summary: SummaryTable, levels: int, at: str, *, missed: str
) -> Section:
    failed = {(step.test, step.clients, step.contender) for step in report.failed_steps}
    heads: Heads = [
        "contender",
        *(Column(column.test, step=(column.test, levels)) for column in summary.columns),
    ]
    show = ratio if any(column.unit.startswith("x ") for column in summary.columns) else rate
    rows: list[Cells] = []
    for row in summary.rows:
        name = named(row.name) if row.name in report.contenders else row.name
        cells = [_cell(cell, show) for cell in row.cells]
        for place, column in enumerate(summary.columns):
            if row.cells[place].shade is Shade.SLA_MISSED:
                cells[place] = replace(cells[place], shade=missed)
            if (column.test, levels, row.name) in failed and cells[place].text == ABSENT:
                cells[place] = replace(cells[place], note="failed", is_bad=True)
        rows.append([name, *cells])
    marks = [f"{_MARKS[shade]} {words}" for shade, words in summary.legend]
    about = [
        f"{summary.caption} {_units(summary)}",
        *([f"Marks: {'; '.join(marks)}."] if marks else []),
    ]
    title = f"{summary.title}{at}"
    return Section(title, [text(*about, role="lead"), table(heads, rows, left=1, name=title)])


def _units(summary: SummaryTable) -> str:
    tests: dict[str, list[str]] = {}
    for column in summary.columns:
        tests.setdefault(column.unit, []).append(column.test)
    if len(tests) == 1:
        return f"In {next(iter(tests))}."
    return "; ".join(f"{listing(names)}: {unit}" for unit, names in tests.items()) + "."


def _cell(cell: SummaryCell, show: Callable[[float], str]) -> Cell:
    mark = _MARKS[cell.shade] + ("*" if cell.missed_sla and cell.shade is Shade.WORST else "")
    return Cell(
        f"{or_absent(cell.value, show)}{mark}",
        shade="unsure" if cell.unsure else _SHADES.get(cell.shade, ""),
        note="SLA failed" if cell.missed_sla else "",
    )
