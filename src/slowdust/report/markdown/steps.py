"""The long steps of a report as Markdown: the summary tables, and each step's particulars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

import numpy as np

from slowdust.analysis.model import BUCKETS_US, Report, RoleReport, Stall, StepRun
from slowdust.analysis.results.summary import Shade, SummaryCell, SummaryTable, summary_tables
from slowdust.report.markdown.table import ABSENT, known_columns, rate, ratio, table
from slowdust.units import known
from slowdust.wording import clients, listing

MOST_STALLS = 40
"""Rows of the list of stalls; the JSON report has all."""
_MARKS = {
    Shade.PLAIN: "",
    Shade.BEST: "+",
    Shade.FASTER: "+",
    Shade.WORST: "-",
    Shade.SLOWER: "-",
    Shade.SLA_MISSED: "*",
}
_PER_GB = 1 << 30
_US_PER_MS = 1000
_US_PER_S = 1_000_000
_STEP = ("test", "clients", "contender")

_Key = tuple[str, int, str]

_INCARNATION = "incarnation"
_OF_SIZES = "Medians of the incarnations; settling is maintenance and waiting after the step."


def summaries(report: Report) -> list[list[str]]:
    """The three tables for each number of clients; none without long steps."""
    found = summary_tables(report)
    return [
        lines
        for summary in found
        for one in summary.tables
        for lines in [_summary(one, summary.clients if len(found) > 1 else None)]
    ]


def _summary(summary: SummaryTable, count: int | None) -> list[str]:
    """`count` is the number of clients where there are several."""
    at = "" if count is None else f", {clients(count)}"
    header = ["contender", *(column.test for column in summary.columns)]
    relative = any(column.unit == "x the base" for column in summary.columns)
    show = ratio if relative else rate
    rows = [[row.name, *(_cell(cell, show) for cell in row.cells)] for row in summary.rows]
    marks = [f"{_MARKS[shade]} {words}" for shade, words in summary.legend]
    return [
        f"## {summary.title}{at}",
        "",
        f"{summary.caption} {_units(summary)}",
        f"Marks: {'; '.join(marks)}.",
        "",
        *table(header, rows, left=1),
    ]


def _units(summary: SummaryTable) -> str:
    tests: dict[str, list[str]] = {}
    for column in summary.columns:
        tests.setdefault(column.unit, []).append(column.test)
    if len(tests) == 1:
        return f"In {next(iter(tests))}."
    return "; ".join(f"{listing(names)}: {unit}" for unit, names in tests.items()) + "."


def _cell(cell: SummaryCell, show: Callable[[float], str]) -> str:
    mark = _MARKS[cell.shade] + ("*" if cell.missed_sla and cell.shade is Shade.WORST else "")
    return f"{ABSENT if cell.value is None else show(cell.value)}{mark}"


def _known(value: float | None, show: Callable[[float], str]) -> str:
    return ABSENT if value is None else show(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def details_of_steps(report: Report) -> list[list[str]]:
    """What is told of long steps alone; sections without content are left out."""
    return [
        lines
        for section in (_failed, _writers, _roles, _buckets, _sizes, _stalls)
        if (lines := section(report))
    ]


def _failed(report: Report) -> list[str]:
    if not report.failed_steps:
        return []
    lines = [
        f"- {one.test}, {clients(one.clients)}, {one.contender}, incarnation {one.incarnation}, "
        f"after {one.after_s:.1f} s: {one.reason}"
        for one in report.failed_steps
    ]
    return ["## Steps that failed", "", *lines]


def _writers(report: Report) -> list[str]:
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            f"{writers.target:,.0f}",
            rate(writers.inserts),
            _known(writers.deletes, rate),
            _known(writers.insert_backlog, _count),
            _known(writers.delete_backlog, _count),
            _known(writers.max_lag_s, "{:.2f}".format),
            "met" if writers.sla_met else "MISSED",
        ]
        for result in report.results
        if (writers := result.writers)
    ]
    if not rows:
        return []
    header = [
        *_STEP,
        "target rows/s",
        "inserts/s",
        "deletes/s",
        "inserts due",
        "deletes due",
        "lag s",
        "SLA",
    ]
    told = [
        "Of the worst incarnation. Due: rows that the schedule had and that were not written by",
        "the end. The SLA is 95% of the target for inserts and for deletes.",
    ]
    if report.imported:
        header, rows = _of_archive(header, rows)
        told = ["The SLA is 95% of the target for inserts and for deletes."]
    return [
        "## Writers beside the queries",
        "",
        *told,
        "",
        *table(header, rows, left=1),
    ]


def _roles(report: Report) -> list[str]:
    rows = [
        [
            run.test,
            str(run.clients),
            run.contender,
            str(run.incarnation),
            ABSENT if run.seconds is None else f"{run.seconds:.1f}",
            ABSENT if role.rate is None else f"{rate(role.rate)} {role.unit}",
            *(_us(value) for value in (role.p50_us, role.p99_us, role.max_us)),
            ABSENT if role.client_cpu_us is None else f"{role.client_cpu_us:.3g}",
            *(ABSENT if count is None else str(count) for count in (role.errors, role.retries)),
        ]
        for run in report.step_runs
        for role in run.roles
    ]
    if not rows:
        return []
    header = [*_STEP, _INCARNATION, "seconds", "rate", "p50 us", "p99 us", "max us"]
    header += ["client cpu us", "errors", "retries"]
    title = "## Steps, incarnation by incarnation"
    if report.imported:
        header, rows = _of_archive(header, rows)
        title = "## Steps, role by role"
    return [
        title,
        "",
        "Response times are of statements; client CPU is microseconds per row, or per query.",
        "",
        *table(header, rows, left=1),
    ]


def _of_archive(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """A table without what archives lack; each of their runs is an incarnation of its own."""
    hidden = [
        [ABSENT if title == _INCARNATION else cell for title, cell in zip(header, row, strict=True)]
        for row in rows
    ]
    return known_columns(header, hidden)


def _us(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"


def _buckets(report: Report) -> list[str]:
    """Response times by the classic bounds, all incarnations of a step together."""
    found: dict[tuple[_Key, str], list[RoleReport]] = {}
    for run in report.step_runs:
        for role in run.roles:
            if role.buckets is not None:
                found.setdefault((_key(run), role.role), []).append(role)
    if not found:
        return []
    rows = [
        [*_named(key), name, *_counts(roles), _us(_largest(role.max_us for role in roles))]
        for (key, name), roles in found.items()
    ]
    header = [*_STEP, "role", *map(_bound, BUCKETS_US), "more", "max us"]
    return [
        "## Response times of statements",
        "",
        f"Statements up to each bound{'' if report.imported else ', of all incarnations'}.",
        "",
        *table(header, rows, left=1),
    ]


def _counts(roles: Sequence[RoleReport]) -> list[str]:
    totals = np.sum(known(role.buckets for role in roles), axis=0)
    return [f"{count:,}" for count in totals.tolist()]


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _bound(bound_us: int) -> str:
    if bound_us >= _US_PER_S:
        return f"{bound_us // _US_PER_S}s"
    return f"{bound_us // _US_PER_MS}ms" if bound_us >= _US_PER_MS else f"{bound_us}us"


def _sizes(report: Report) -> list[str]:
    """Medians over the incarnations."""
    found: dict[_Key, list[StepRun]] = {}
    for run in report.step_runs:
        found.setdefault(_key(run), []).append(run)
    rows = [
        [
            *_named(key),
            _median((run.rows_counted for run in runs), 1, ",.0f"),
            *(
                _median((getattr(run, name) for run in runs), _PER_GB, ".3f")
                for name in ("table_bytes", "index_bytes", "data_bytes")
            ),
            _median((run.settled_s for run in runs), 1, ".1f"),
        ]
        for key, runs in found.items()
    ]
    if not any(cell != ABSENT for row in rows for cell in row[len(_STEP) :]):
        return []
    header = [*_STEP, "rows", "tables GB", "indexes GB", "database GB", "settling s"]
    if report.imported:
        header, rows = _of_archive(header, rows)
    return [
        "## Sizes at the end of each step",
        "",
        *([] if report.imported else [_OF_SIZES, ""]),
        *table(header, rows, left=1),
    ]


def _median(values: Iterable[float | None], unit: int, spec: str) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known) / unit:{spec}}" if known else ABSENT


def _stalls(report: Report) -> list[str]:
    found = [(run, stall) for run in report.step_runs for stall in run.stalls]
    if not found:
        return []
    shown = found[:MOST_STALLS]
    left = len(found) - len(shown)
    header = [
        *_STEP,
        _INCARNATION,
        "second",
        "role",
        "rate",
        "median",
        "server CPUs",
        "host CPUs",
        "iowait",
        "steal",
        "rMB/s",
        "wMB/s",
        "host wMB/s",
        "cs/s",
    ]
    rows = [_stall(run, stall) for run, stall in shown]
    if report.imported:
        header, rows = _of_archive(header, rows)
    logged = [
        f"- {run.test}, {run.contender}, incarnation {run.incarnation}, second {stall.second}: "
        f"{line}"
        for run, stall in shown
        for line in stall.log
    ]
    return [
        "## Stalls",
        "",
        "Whole seconds in which a role did less than a tenth of its median, in rows of inserts and",
        "deletes and in queries, and what the probes saw then. Of a role with fewer than ten",
        "statements in its median second, only those in which it finished none and waited: the",
        "statement that ended the silence took a second or more.",
        *([f"The first {MOST_STALLS}; {left} more are in the JSON report."] if left else []),
        "",
        *table(header, rows, left=1),
        *(["", "In the servers' logs meanwhile:", "", *dict.fromkeys(logged)] if logged else []),
    ]


def _stall(run: StepRun, stall: Stall) -> list[str]:
    seen = (
        stall.server_cpu,
        stall.host_cpu,
        stall.iowait,
        stall.steal,
        stall.read_mb,
        stall.write_mb,
        stall.host_write_mb,
    )
    return [
        *_named(_key(run)),
        str(run.incarnation),
        str(stall.second),
        stall.role,
        rate(stall.rate),
        rate(stall.median),
        *(ABSENT if value is None else f"{value:.2f}" for value in seen),
        ABSENT if stall.context_switches is None else f"{stall.context_switches:,.0f}",
    ]


def _key(run: StepRun) -> _Key:
    return run.test, run.clients, run.contender


def _named(key: _Key) -> list[str]:
    test, count, contender = key
    return [test, str(count), contender]
