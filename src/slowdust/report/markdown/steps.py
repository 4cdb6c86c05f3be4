"""The long steps of a report as Markdown: the summary tables, and the particulars of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

import numpy as np

from slowdust.analysis.model import BUCKETS_US, Report, RoleReport, Stall, StepRun
from slowdust.analysis.results.summary import (
    Shade,
    SummaryCell,
    SummaryTable,
    summary_tables,
    titles_of,
)
from slowdust.ratios import ratio
from slowdust.report.document import ABSENT
from slowdust.report.markdown.table import or_absent, rate, table
from slowdust.units import known
from slowdust.wording import clients, listing

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
_PER_GB = 1 << 30
_US_PER_MS = 1000
_US_PER_S = 1_000_000
_STEP = ("test", "clients", "contender")

_Key = tuple[str, int, str]

_INCARNATION = "incarnation"
_OF_SIZES = "Medians of the incarnations; settling is maintenance and waiting after the step."
_OLD_VERSIONS = (("history_length", "history list"), ("dead_rows", "dead rows"))
"""Fields of a run, and the titles of their columns."""
_OF_OLD_VERSIONS = (
    "What was left of old versions of rows before settling: undo logs in InnoDB's history list,",
    "and dead rows by the statistics of Postgres. Engines such as MyRocks report neither.",
)


def summaries(report: Report) -> list[str]:
    all_summaries = summary_tables(report)
    lines: list[str] = []
    for summary, title in zip(all_summaries, titles_of(all_summaries), strict=True):
        at = f", {title}" if title else ""
        for summary_table in summary.tables:
            lines += ["", *_summary(summary_table, at)]
    return lines[1:]


def _summary(summary: SummaryTable, at: str) -> list[str]:
    header = ["contender", *(column.test for column in summary.columns)]
    relative = any(column.unit.startswith("x ") for column in summary.columns)
    show = ratio if relative else rate
    rows = [[row.name, *(_cell(cell, show) for cell in row.cells)] for row in summary.rows]
    marks = [f"{_MARKS[shade]} {words}" for shade, words in summary.legend]
    return [
        f"## {summary.title}{at}",
        "",
        f"{summary.caption} {_units(summary)}",
        *([f"Marks: {'; '.join(marks)}."] if marks else []),
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
    return f"{or_absent(cell.value, show)}{mark}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def failed_steps(report: Report) -> list[str]:
    lines = [
        f"- {step.test}, {clients(step.clients)}, {step.contender}, "
        f"incarnation {step.incarnation}, after {step.after_s:.1f} s: {step.reason}"
        for step in report.failed_steps
    ]
    return ["## Steps that failed", "", *lines] if lines else []


def writers(report: Report) -> list[str]:
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            _count(kept.target),
            rate(kept.inserts),
            or_absent(kept.deletes, rate),
            or_absent(kept.insert_backlog, _count),
            or_absent(kept.delete_backlog, _count),
            or_absent(kept.max_lag_s, "{:.2f}".format),
            "met" if kept.sla_met else "MISSED",
        ]
        for result in report.results
        if (kept := result.writers)
    ]
    if not rows:
        return []
    header = [*_STEP, "target rows/s", "inserts/s", "deletes/s"]
    header += ["inserts due", "deletes due", "lag s", "SLA"]
    sla = "The SLA is 95% of the target for inserts and for deletes."
    repeated = [
        "Of the worst incarnation. Due: rows that the schedule had and that were not written by",
        f"the end. {sla}",
    ]
    return [
        "## Writers beside the queries",
        "",
        *(repeated if report.repeated else [sla]),
        "",
        *_step_table(report, header, rows),
    ]


def roles(report: Report) -> list[str]:
    rows = [
        [
            run.test,
            str(run.clients),
            run.contender,
            str(run.incarnation),
            or_absent(run.seconds, "{:.1f}".format),
            ABSENT if role.rate is None else f"{rate(role.rate)} {role.unit}",
            *(or_absent(value, _count) for value in (role.p50_us, role.p99_us, role.max_us)),
            or_absent(role.client_cpu_us, "{:.3g}".format),
            *(or_absent(count, str) for count in (role.errors, role.retries)),
        ]
        for run in report.step_runs
        for role in run.roles
    ]
    if not rows:
        return []
    header = [*_STEP, _INCARNATION, "seconds", "rate", "p50 us", "p99 us", "max us"]
    header += ["client cpu us", "errors", "retries"]
    by = "incarnation by incarnation" if report.repeated else "role by role"
    return [
        f"## Steps, {by}",
        "",
        "Response times are of statements; client CPU is microseconds per row, or per query.",
        "",
        *_step_table(report, header, rows),
    ]


def _step_table(report: Report, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the table; of single runs without incarnations and what none of them has."""
    columns = [
        place
        for place, title in enumerate(header)
        if report.repeated or (title != _INCARNATION and any(row[place] != ABSENT for row in rows))
    ]
    rows = [[row[place] for place in columns] for row in rows]
    return table([header[place] for place in columns], rows, left=1)


def buckets(report: Report) -> list[str]:
    by_role: dict[tuple[_Key, str], list[RoleReport]] = {}
    for run in report.step_runs:
        for role in run.roles:
            if role.buckets is not None:
                by_role.setdefault((_key(run), role.role), []).append(role)
    if not by_role:
        return []
    rows = [
        [
            *_named(key),
            name,
            *map("{:,}".format, np.sum(known(role.buckets for role in roles), axis=0).tolist()),
            or_absent(max(known(role.max_us for role in roles), default=None), _count),
        ]
        for (key, name), roles in by_role.items()
    ]
    incarnations = ", of all incarnations" if report.repeated else ""
    header = [*_STEP, "role", *map(_bound, BUCKETS_US), "more", "max us"]
    return [
        "## Response times of statements",
        "",
        f"Statements up to each bound{incarnations}.",
        "",
        *table(header, rows, left=1),
    ]


def _bound(bound_us: int) -> str:
    if bound_us >= _US_PER_S:
        return f"{bound_us // _US_PER_S}s"
    return f"{bound_us // _US_PER_MS}ms" if bound_us >= _US_PER_MS else f"{bound_us}us"


def sizes(report: Report) -> list[str]:
    by_contender: dict[_Key, list[StepRun]] = {}
    for run in report.step_runs:
        by_contender.setdefault(_key(run), []).append(run)
    left = [
        (name, title)
        for name, title in _OLD_VERSIONS
        if any(getattr(run, name) is not None for run in report.step_runs)
    ]
    rows = [
        [
            *_named(key),
            _median((run.rows_counted for run in runs), 1, ",.0f"),
            *(
                _median((getattr(run, name) for run in runs), _PER_GB, ".3f")
                for name in ("table_bytes", "index_bytes", "data_bytes")
            ),
            _median((run.size_ratio for run in runs), 1, ".3f"),
            *(_median((getattr(run, name) for run in runs), 1, ",.0f") for name, _ in left),
            _median((run.settled_s for run in runs), 1, ".1f"),
        ]
        for key, runs in by_contender.items()
    ]
    if not any(cell != ABSENT for row in rows for cell in row[len(_STEP) :]):
        return []
    header = [*_STEP, "rows", "tables GB", "indexes GB", "database GB", "/ base"]
    header += [*(title for _, title in left), "settling s"]
    lead = [*([_OF_SIZES] if report.repeated else []), *(_OF_OLD_VERSIONS if left else [])]
    return [
        "## Sizes at the end of each step",
        "",
        *([*lead, ""] if lead else []),
        *_step_table(report, header, rows),
    ]


def _median(values: Iterable[float | None], unit: int, spec: str) -> str:
    measured = known(values)
    return f"{median(measured) / unit:{spec}}" if measured else ABSENT


def stalls(report: Report) -> list[str]:
    all_stalls = [(run, stall) for run in report.step_runs for stall in run.stalls]
    if not all_stalls:
        return []
    first = all_stalls[:MOST_STALLS]
    left = len(all_stalls) - len(first)
    header = [*_STEP, _INCARNATION, "second", "role", "rate", "median", "server CPUs", "host CPUs"]
    header += ["iowait", "steal", "rMB/s", "wMB/s", "host wMB/s", "cs/s"]
    rows = [_stall(run, stall) for run, stall in first]
    logged = [
        f"- {run.test}, {run.contender}, incarnation {run.incarnation}, second {stall.second}: "
        f"{line}"
        for run, stall in first
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
        *_step_table(report, header, rows),
        *(["", "In the servers' logs meanwhile:", "", *dict.fromkeys(logged)] if logged else []),
    ]


def _stall(run: StepRun, stall: Stall) -> list[str]:
    cpus = (stall.server_cpu, stall.host_cpu, stall.iowait, stall.steal)
    megabytes = (stall.read_mb, stall.write_mb, stall.host_write_mb)
    return [
        *_named(_key(run)),
        str(run.incarnation),
        str(stall.second),
        stall.role,
        rate(stall.rate),
        rate(stall.median),
        *(or_absent(value, "{:.2f}".format) for value in (*cpus, *megabytes)),
        or_absent(stall.context_switches, _count),
    ]


def _key(run: StepRun) -> _Key:
    return run.test, run.clients, run.contender


def _named(key: _Key) -> list[str]:
    test, count, contender = key
    return [test, str(count), contender]
