"""Rates, searches, the mixed load and the main effects in Markdown."""

from __future__ import annotations

from textwrap import wrap

from slowdust.analysis.model import (
    FrontierPoint,
    IndexResult,
    Report,
    Result,
    SearchComparison,
    TestConcurrency,
)
from slowdust.analysis.results.main_effects import main_effects
from slowdust.analysis.results.results import by_step
from slowdust.analysis.sla import missed_its_sla
from slowdust.analysis.work import has_work
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import ratio
from slowdust.report.beside import FRONTIER, INTRODUCTION, BesideRow, rows_of
from slowdust.report.markdown.table import ABSENT, PALE, judged, or_absent, rate, table
from slowdust.store.count import SYSTEM_CALLS
from slowdust.wording import clients, rough_duration

WORK = (
    "Work: instructions per operation, relative to the base's, with its 95% interval; below 1 is",
    "less. It is exact on a busy machine, too. A change of at most 1% is the same.",
)


def throughput(report: Report) -> list[str]:
    others = report.contenders[1:]
    counted = has_work(report.results)
    rows = []
    for step, results in by_step(report.results).items():
        base = results.get(report.base)
        row = [step.test, str(step.clients), ABSENT if base is None else _rate(base)]
        if counted:
            row.append(_instructions(base))
        for name in others:
            row.append(_relative(results.get(name)))
            if counted:
                row.append(_relative_work(results.get(name)))
        rows.append(row)
    columns = [f"{name}{kind}" for name in others for kind in (["", " work"] if counted else [""])]
    of_base = [report.base, "instructions/o"] if counted else [report.base]
    header = ["test", "clients", *of_base, *columns]
    unsure = any(
        result.verdict == "unsure" or (result.work and result.work.verdict == "unsure")
        for result in report.results
    )
    explained = [*(WORK if counted else ()), *([PALE] if unsure else ())]
    head = ["## Throughput and work" if counted else "## Throughput", ""]
    head += [*_how_compared(report), *explained, ""]
    return [*head, *table(header, rows, left=1), *_all_time(report)]


def _how_compared(report: Report) -> list[str]:
    if not report.repeated:
        return ["Rate of the base, then relative rate: one run of each, so without intervals."]
    if any(map(measured_in_steps, report.benchmarks)):
        return [
            "Rate of the base (median of the incarnations), then relative rate with its 95% "
            "interval:",
            "an incarnation has one pair of each step.",
        ]
    return ["QPS of the base (total over time), then relative QPS with its 95% interval."]


def system_calls(report: Report) -> list[str]:
    rows = [
        [
            step.test,
            str(step.clients),
            *(or_absent(_system_calls(results.get(name)), rate) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(_system_calls(result) is not None for result in results.values())
    ]
    if not rows:
        return []
    return [
        "## System calls per operation",
        "",
        "Counted with the instructions, which have none of the kernel's in them.",
        "",
        *table(["test", "clients", *report.contenders], rows, left=1),
    ]


def _system_calls(result: Result | None) -> float | None:
    work = None if result is None else result.work
    return None if work is None else work.events.get(SYSTEM_CALLS)


def _instructions(base: Result | None) -> str:
    return or_absent(None if base is None or base.work is None else base.work.instructions, rate)


def _relative_work(result: Result | None) -> str:
    work = None if result is None else result.work
    if work is None or work.ratio is None:
        return ABSENT
    shown = judged(work.ratio, decimals=3)
    return f"{shown} {work.verdict or ''}".rstrip()


def _all_time(report: Report) -> list[str]:
    if all(result.typical_beside is None for result in report.results):
        return []
    return [
        "",
        "Where a typical ratio stands behind a verdict, stalls make all time differ from it: the",
        "ratio, interval and verdict are those of all operations over all time.",
    ]


def unsure(report: Report) -> list[str]:
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            f"{'more than ' if needed.more else ''}{needed.factor:g}",
            ABSENT if needed.more else or_absent(needed.extra_s, rough_duration),
        ]
        for result in report.results
        if (needed := result.needed) is not None
    ]
    if not rows:
        return []
    header = ["test", "clients", "contender", "times what was measured", "time to add"]
    return [
        "## What would decide the unsure results",
        "",
        "A forecast from noise and restarts so far: two of three such results then have a verdict.",
        "",
        *table(header, rows, left=1),
    ]


def _rate(base: Result) -> str:
    missed = " (SLA missed)" if missed_its_sla(base) else ""
    return f"{rate(base.qps)} {base.unit}{missed}"


def _relative(result: Result | None) -> str:
    if result is not None and missed_its_sla(result):
        return "SLA missed"
    if result is None or result.ratio is None:
        return ABSENT
    rqps = judged(result.ratio)
    typical = result.typical_beside
    beside = "" if typical is None else f", typical {ratio(typical)}"
    return f"{rqps} {result.verdict or ''}".rstrip() + beside


def response_times(report: Report) -> list[str]:
    rows = [
        [
            step.test,
            str(step.clients),
            *(_response_time(results.get(name), report.base) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(result.response_time for result in results.values())
    ]
    if not rows:
        return []
    return [
        "## Mean response time",
        "",
        "Of the base in microseconds; of the others relative to it (above 1 is slower), with its",
        "95% interval.",
        "",
        *table(["test", "clients", *report.contenders], rows, left=1),
    ]


def _response_time(result: Result | None, base: str) -> str:
    time = None if result is None else result.response_time
    if result is None or time is None:
        return ABSENT
    if result.contender == base:
        return f"{time.mean_us:,.0f} us"
    return judged(time.relative)


def concurrency(report: Report) -> list[str]:
    lines = [line for test in report.concurrency for line in _by_clients(test, report)]
    return ["## By number of clients", *lines] if lines else []


def _by_clients(test: TestConcurrency, report: Report) -> list[str]:
    others = report.contenders[1:]
    rows = [
        [str(step.clients), *(_relative(results.get(name)) for name in others)]
        for step, results in by_step(report.results).items()
        if (step.benchmark, step.test) == (test.benchmark, test.test)
    ]
    return [
        "",
        f"### {test.test}",
        "",
        *(f"- {course.contender}: {course.words}" for course in test.courses),
        "",
        *table(["clients", *others], rows, left=0),
    ]


_ABOUT = (
    "QPS of one effort are of other answers where contenders find other shares. At equal recall",
    "they are interpolated between the efforts, and compared where all starts of the servers reach",
    "it.",
)


def searches(report: Report) -> list[str]:
    if not report.searches:
        return []
    lines = ["## Recall and QPS", "", *_ABOUT]
    for comparison in report.searches:
        level = clients(comparison.clients)
        lines += ["", f"### {comparison.curve}, {level}", "", *_efforts(comparison), ""]
        lines += _at_equal_recall(comparison)
    return lines


def indexes(report: Report) -> list[str]:
    if not report.indexes:
        return []
    header = ["index", "contender", "build s", "relative", "verdict", "MB", "relative"]
    return ["## Indexes", "", *table(header, [_index(each) for each in report.indexes], left=2)]


def _efforts(comparison: SearchComparison) -> list[str]:
    points = {
        (curve.contender, point.test): point
        for curve in comparison.contenders
        for point in curve.points
    }
    tests = dict.fromkeys(point.test for curve in comparison.contenders for point in curve.points)
    names = [curve.contender for curve in comparison.contenders]
    header = ["test", *(f"{what} of {name}" for name in names for what in ("recall", "QPS"))]
    rows = []
    for test in tests:
        row = [test]
        for name in names:
            point = points.get((name, test))
            row += [ABSENT] * 2 if point is None else [f"{point.recall:.3f}", rate(point.qps)]
        rows.append(row)
    return table(header, rows, left=1)


def _at_equal_recall(comparison: SearchComparison) -> list[str]:
    rows = [
        [
            f"{at.recall:.2f}",
            curve.contender,
            f"{at.reached} of {at.starts}" if at.starts is not None else ABSENT,
            or_absent(at.qps, rate),
            judged(at.ratio),
            (at.ratio and at.ratio.verdict) or at.reason or "",
        ]
        for place in range(len(comparison.contenders[0].at))
        for curve in comparison.contenders
        for at in [curve.at[place]]
    ]
    header = ["recall", "contender", "starts that reach it", "QPS", "rqps", "verdict"]
    return table(header, rows, left=2)


def _index(result: IndexResult) -> list[str]:
    return [
        result.index,
        result.contender,
        or_absent(result.build_s, "{:.3g}".format),
        judged(result.relative),
        (result.relative and result.relative.verdict) or "",
        or_absent(None if result.bytes is None else result.bytes / 1e6, "{:.1f}".format),
        or_absent(result.bytes_relative, ratio),
    ]


_WIDTH = 100
"""Characters of a line of sentences."""
_HEADER = [
    *("test", "clients", "contender", "with", "alone/s", "beside/s", "relative"),
    *("beside it/s", "p50 us", "p95 us", "errors", "fresh p50 us", "fresh max us", "stale"),
]


def mixed_load(report: Report) -> list[str]:
    rows = rows_of(report)
    if not rows:
        return []
    introduction = wrap(INTRODUCTION, _WIDTH)
    return [
        "## Mixed load",
        "",
        *introduction,
        "",
        *table(_HEADER, [_row(row) for row in rows], left=4),
    ]


def _row(row: BesideRow) -> list[str]:
    result, beside = row.result, row.beside
    stale = ABSENT
    if beside.freshness_queries is not None:
        stale = f"{beside.stale_queries or 0:,} of {beside.freshness_queries:,}"
    return [
        result.test,
        str(result.clients),
        result.contender,
        row.work,
        or_absent(beside.alone_qps, rate),
        rate(result.qps),
        judged(beside.relative),
        rate(beside.qps),
        or_absent(beside.p50_us, rate),
        or_absent(beside.p95_us, rate),
        f"{beside.errors:,}",
        or_absent(beside.freshness_p50_us, rate),
        or_absent(beside.freshness_max_us, rate),
        stale,
    ]


def frontier(report: Report) -> list[str]:
    if not report.frontier:
        return []
    header = ["contender", "clients", "transactions/s", "queries/s", "fresh max us", "frontier"]
    rows = [_point(point) for point in report.frontier]
    return ["## Frontier", "", *wrap(FRONTIER, _WIDTH), "", *table(header, rows, left=2)]


def _point(point: FrontierPoint) -> list[str]:
    return [
        point.contender,
        f"t{point.transaction_clients} q{point.query_clients}",
        rate(point.transactions_per_s),
        rate(point.queries_per_s),
        or_absent(point.freshness_max_us, rate),
        "yes" if point.on_frontier else "",
    ]


ABOUT = (
    "What each value of an axis does to the rate: the geometric mean over all tests and over all "
    "combinations of the other axes, then the tests with the lowest and the highest ratio. "
    "These means have no interval and no verdict."
)


def effects(report: Report) -> list[str]:
    rows = [
        [
            f"{effect.axis}={effect.value}",
            effect.first,
            ratio(effect.ratio),
            ratio(effect.lowest),
            ratio(effect.highest),
            str(effect.combinations),
        ]
        for effect in main_effects(report)
    ]
    header = ["value", "relative to", "mean", "lowest", "highest", "combinations"]
    return ["## Main effects", "", ABOUT, "", *table(header, rows, left=2)] if rows else []
