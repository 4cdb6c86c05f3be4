"""Rates, searches, the mixed load and the main effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from slowdust.analysis.model import (
    BesideResult,
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
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.ratio_lines import levels_chart
from slowdust.report.charts.trade_offs import frontier_chart, recall_chart
from slowdust.report.document import (
    ABSENT,
    STEP,
    Cell,
    Cells,
    Chart,
    Column,
    Heads,
    Items,
    Medium,
    Section,
    Table,
    judged,
    named,
    paragraph,
    shaded,
    table,
    text,
)
from slowdust.report.markdown.table import PALE, or_absent, rate
from slowdust.report.numbers import band
from slowdust.store.count import SYSTEM_CALLS
from slowdust.wording import clients, counted, rough_duration

WORK = (
    "Work: instructions per operation, relative to the base's, with its 95% interval; below 1 is\n"
    "less. It is exact on a busy machine, too. A change of at most 1% is the same."
)


def in_steps(report: Report) -> list[Result]:
    """Return the results test by test."""
    return [result for found in by_step(report.results).values() for result in found.values()]


def _contenders(names: Sequence[str]) -> list[Column]:
    """Return the heads of columns that are about contenders."""
    return [Column(name, contender=name) for name in names]


def throughput(report: Report) -> Section:
    """Return the rate of the base and the relative rates, which a page has in a table to sort."""
    others = report.contenders[1:]
    with_work = has_work(report.results)
    rows = []
    for step, results in by_step(report.results).items():
        base = results.get(report.base)
        row: Cells = [step.test, str(step.clients)]
        row.append(ABSENT if base is None else _rate(base))
        if with_work:
            instructions = None if base is None or base.work is None else base.work.instructions
            row.append(or_absent(instructions, rate))
        for name in others:
            row.append(relative(results.get(name)))
            if with_work:
                row.append(relative_work(results.get(name)))
        rows.append(row)
    kinds = ["", " work"] if with_work else [""]
    heads = [f"{name}{kind}" for name in others for kind in kinds]
    of_base = [report.base, "instructions/o"] if with_work else [report.base]
    unsure = any(
        result.verdict == "unsure" or (result.work and result.work.verdict == "unsure")
        for result in report.results
    )
    about = [_how_compared(report), *([WORK] if with_work else []), *([PALE] if unsure else [])]
    all_time = (
        "Where a typical ratio stands behind a verdict, stalls make all time differ from it: the\n"
        "ratio, interval and verdict are those of all operations over all time."
    )
    is_typical = any(result.typical_beside is not None for result in report.results)
    return Section(
        "Throughput and work" if with_work else "Throughput",
        [
            text(*about),
            table(["test", "clients", *of_base, *heads], rows, left=1),
            *([text(all_time)] if is_typical else []),
        ],
        media=Medium.MARKDOWN,
    )


def _how_compared(report: Report) -> str:
    if not report.repeated:
        return "Rate of the base, then relative rate: one run of each, so without intervals."
    if any(map(measured_in_steps, report.benchmarks)):
        return (
            "Rate of the base (median of the incarnations), then relative rate with its 95% "
            "interval:\nan incarnation has one pair of each step."
        )
    return "QPS of the base (total over time), then relative QPS with its 95% interval."


def _rate(base: Result) -> str:
    missed = " (SLA missed)" if missed_its_sla(base) else ""
    return f"{rate(base.qps)} {base.unit}{missed}"


def relative(result: Result | None) -> Cell:
    """Return a relative rate with its verdict."""
    if result is not None and missed_its_sla(result):
        return Cell("SLA missed")
    if result is None or result.ratio is None:
        return Cell()
    cell = replace(judged(result.ratio), shade=band(result.ratio.value))
    if (typical := result.typical_beside) is None:
        return cell
    return replace(cell, verdict=f"{cell.verdict}, typical {ratio(typical)}")


def relative_work(result: Result | None) -> Cell:
    """Return the ratio of instructions with its verdict."""
    work = None if result is None else result.work
    return judged(None if work is None else work.ratio, decimals=3)


def system_calls(report: Report) -> Section | None:
    """Return the system calls per operation of each contender."""
    rows: list[Cells] = [
        [
            *(step.test, str(step.clients)),
            *(or_absent(_calls(results.get(name)), rate) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(_calls(result) is not None for result in results.values())
    ]
    if not rows:
        return None
    about = "Counted with the instructions, which have none of the kernel's in them."
    heads: Heads = ("test", "clients", *_contenders(report.contenders))
    title = "System calls per operation"
    shown = table(heads, rows, left=1, name=title)
    # A page has them in its table of results.
    return Section(title, [text(about, role="lead"), shown], media=Medium.TEXT)


def _calls(result: Result | None) -> float | None:
    work = None if result is None else result.work
    return None if work is None else work.events.get(SYSTEM_CALLS)


def unsure(report: Report) -> Section | None:
    """Return what would decide the unsure results."""
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            f"{'more than ' if needed.more else ''}{needed.factor:g}",
            ABSENT if needed.more else or_absent(needed.extra_s, rough_duration),
        ]
        for result in report.results
        if (needed := result.needed) is not None
    ]
    if not rows:
        return None
    about = (
        "A forecast from noise and restarts so far: two of three such results then have a verdict."
    )
    heads: Heads = (*STEP, "times what was measured", "time to add")
    title = "What would decide the unsure results"
    shown = table(heads, rows, left=1, name=title)
    # A page says it below each test.
    return Section(title, [text(about, role="lead"), shown], media=Medium.TEXT)


def response_times(report: Report) -> Section | None:
    """Return the mean response times."""
    rows: list[Cells] = [
        [
            *(step.test, str(step.clients)),
            *(_response_time(results.get(name), report.base) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(result.response_time for result in results.values())
    ]
    if not rows:
        return None
    about = (
        "Of the base in microseconds; of the others relative to it (above 1 is slower), with its\n"
        "95% interval."
    )
    heads: Heads = ("test", "clients", *_contenders(report.contenders))
    title = "Mean response time"
    shown = table(heads, rows, left=1, name=title)
    # A page has them in its table of results.
    return Section(title, [text(about, role="lead"), shown], media=Medium.TEXT)


def _response_time(result: Result | None, base: str) -> Cell:
    time = None if result is None else result.response_time
    if result is None or time is None:
        return Cell()
    if result.contender == base:
        return Cell(f"{time.mean_us:,.0f} us")
    return judged(time.relative)


def concurrency(report: Report) -> Section | None:
    """Return the tests by number of clients."""
    parts = [_by_clients(test, report) for test in report.concurrency]
    return Section("By number of clients", parts, "concurrency", "Clients") if parts else None


def _by_clients(test: TestConcurrency, report: Report) -> Section:
    others = report.contenders[1:]
    steps = {
        step.clients: results
        for step, results in by_step(report.results).items()
        if (step.benchmark, step.test) == (test.benchmark, test.test)
    }
    rows: list[Cells] = [
        [
            Cell(str(level), step=(test.test, level)),
            *(_with_work(results.get(name)) for name in others),
        ]
        for level, results in steps.items()
    ]
    marks = marks_of(report.contenders, report.base)
    chart = Chart(
        partial(levels_chart, test.test, steps, marks, report.base, report.margin),
        legend=[(marks[name].css_class, name) for name in others],
    )
    courses = [f"{course.contender}: {course.words}" for course in test.courses]
    heads: Heads = ("clients", *_contenders(others))
    return Section(
        test.test,
        [
            *([Items(courses)] if courses else []),
            chart,
            table(heads, rows, left=0, name=f"{test.test} by number of clients"),
        ],
        f"clients-{test.test}",
    )


def _with_work(result: Result | None) -> Cell:
    """Return a relative rate, on a page with the work below it."""
    work = relative_work(result)
    words = "" if work.text == ABSENT else f"work {work.text} {work.verdict}"
    return replace(relative(result), note=words.rstrip())


_ABOUT_SEARCHES = (
    "QPS of one effort are of other answers where contenders find other shares. At equal recall\n"
    "they are interpolated between the efforts, and compared where all starts of the servers reach"
    "\nit."
)


def searches(report: Report) -> Section | None:
    """Return what contenders find at each effort, and how fast they are at equal recall."""
    if not report.searches:
        return None
    marks = marks_of(report.contenders, report.base)
    parts = []
    for comparison in report.searches:
        names = [curve.contender for curve in comparison.contenders]
        chart = Chart(
            partial(recall_chart, comparison, marks),
            legend=[(marks[name].css_class, name) for name in names],
        )
        blocks = [_efforts(comparison, names), chart, _at_equal_recall(comparison)]
        parts.append(Section(f"{comparison.curve}, {clients(comparison.clients)}", blocks))
    about = text(_ABOUT_SEARCHES, role="lead")
    return Section("Recall and QPS", [about, *parts], "searches", "Recall and QPS")


def _efforts(comparison: SearchComparison, names: Sequence[str]) -> Table:
    points = {
        (curve.contender, point.test): point
        for curve in comparison.contenders
        for point in curve.points
    }
    tests = dict.fromkeys(point.test for curve in comparison.contenders for point in curve.points)
    heads: Heads = ["test", *(f"{what} of {name}" for name in names for what in ("recall", "QPS"))]
    rows = []
    for test in tests:
        row = [test]
        for name in names:
            point = points.get((name, test))
            row += [ABSENT] * 2 if point is None else [f"{point.recall:.3f}", rate(point.qps)]
        rows.append(row)
    return table(heads, rows, left=1, name=f"{comparison.curve} by effort")


def _at_equal_recall(comparison: SearchComparison) -> Table:
    rows: list[Cells] = [
        [
            f"{at.recall:.2f}",
            named(curve.contender),
            f"{at.reached} of {at.starts}" if at.starts is not None else ABSENT,
            or_absent(at.qps, rate),
            shaded(at.ratio),
            (at.ratio and at.ratio.verdict) or at.reason or "",
        ]
        for place in range(len(comparison.contenders[0].at))
        for curve in comparison.contenders
        for at in [curve.at[place]]
    ]
    heads: Heads = ("recall", "contender", "starts that reach it", "QPS", "rqps", "verdict")
    return table(heads, rows, left=2, name=f"{comparison.curve} at equal recall")


def indexes(report: Report) -> Section | None:
    """Return how long indexes take to build, and how large they are."""
    if not report.indexes:
        return None
    heads: Heads = ("index", "contender", "build s", "relative", "verdict", "MB", "relative")
    about = (
        "The time is that of building and dropping one, in slices in pairs; the size is on disk."
    )
    rows = [_index(each) for each in report.indexes]
    shown = table(heads, rows, left=2, name="Indexes by contender")
    return Section(
        "Indexes", [text(about, role="lead", media=Medium.HTML), shown], "indexes", "Indexes"
    )


def _index(result: IndexResult) -> Cells:
    return [
        result.index,
        named(result.contender),
        or_absent(result.build_s, "{:.3g}".format),
        shaded(result.relative),
        (result.relative and result.relative.verdict) or "",
        or_absent(None if result.bytes is None else result.bytes / 1e6, "{:.1f}".format),
        or_absent(result.bytes_relative, ratio),
    ]


_ABOUT_MIXED_LOAD = (
    "Relative: the rate of the test with the work beside it / without it, in slices next to each "
    "other on the same contender, with the 95% interval. Freshness: the start of the last query "
    "of an operation less the commit of the first transaction that it does not see; 0 where it "
    "sees all."
)
_ABOUT_FRONTIER = (
    "Rates of both sides on each contender, by the clients of each. Points were measured at "
    "different moments: contenders can be compared at one point, points of a contender only as far "
    "as the machine was as fast."
)


def mixed_load(report: Report) -> Section | None:
    """Return the tests with other work beside them."""
    rows = [_mixed(result, result.beside) for result in report.results if result.beside is not None]
    if not rows:
        return None
    # A page has clients and the work below the test, and the maximum below the median.
    clients_head, work, most = (
        Column(title, media=Medium.TEXT) for title in ("clients", "with", "fresh max us")
    )
    heads: Heads = (
        *("test", clients_head, "contender", work, "alone/s", "beside/s", "relative"),
        *("beside it/s", "p50 us", "p95 us", "errors"),
        *(Column("fresh p50 us", hint="Below it the maximum"), most, "stale"),
    )
    shown = table(heads, rows, left=4, name="Tests with others beside them")
    return Section("Mixed load", [paragraph(_ABOUT_MIXED_LOAD), shown], "beside", "Mixed load")


def _mixed(result: Result, beside: BesideResult) -> Cells:
    at_rate = "" if beside.rate is None else f", at {beside.rate:g}/s"
    late = beside.late_operations
    stale = ABSENT
    if beside.freshness_queries is not None:
        stale = f"{beside.stale_queries or 0:,} of {beside.freshness_queries:,}"
    work = f"{beside.test}, {counted(beside.clients, 'client')}{at_rate}"
    return [
        Cell(result.test, note=f"{clients(result.clients)}, with {work}"),
        str(result.clients),
        named(result.contender),
        work,
        or_absent(beside.alone_qps, rate),
        rate(result.qps),
        judged(beside.relative),
        Cell(rate(beside.qps), note="" if late is None else f"{late:,} late"),
        or_absent(beside.p50_us, rate),
        or_absent(beside.p95_us, rate),
        f"{beside.errors:,}",
        Cell(
            or_absent(beside.freshness_p50_us, rate),
            note=or_absent(beside.freshness_max_us, rate),
        ),
        or_absent(beside.freshness_max_us, rate),
        stale,
    ]


def frontier(report: Report) -> Section | None:
    """Return the rates of both sides of the mixed load, by the clients of each."""
    if not report.frontier:
        return None
    marks = marks_of(report.contenders, report.base)
    drawn = (
        "The chart has transactions per second from left to right, and queries per second upwards; "
        "a line joins the points of a frontier, none of which is surpassed in both."
    )
    chart = Chart(
        partial(frontier_chart, report.frontier, marks),
        caption=drawn,
        legend=[(marks[name].css_class, name) for name in report.contenders],
    )
    heads: Heads = (
        "contender",
        "clients",
        "transactions/s",
        "queries/s",
        "fresh max us",
        "frontier",
    )
    rows = [_point(point) for point in report.frontier]
    shown = table(heads, rows, left=2, name="Points of the frontier")
    return Section("Frontier", [paragraph(_ABOUT_FRONTIER), chart, shown], "frontier", "Frontier")


def _point(point: FrontierPoint) -> Cells:
    return [
        named(point.contender),
        f"t{point.transaction_clients} q{point.query_clients}",
        rate(point.transactions_per_s),
        rate(point.queries_per_s),
        or_absent(point.freshness_max_us, rate),
        "yes" if point.on_frontier else "",
    ]


def effects(report: Report) -> Section | None:
    """Return what each value of an axis of a matrix does to the rate."""
    rows: list[Cells] = [
        [
            f"{effect.axis}={effect.value}",
            effect.first,
            Cell(ratio(effect.ratio), shade=band(effect.ratio)),
            ratio(effect.lowest),
            ratio(effect.highest),
            str(effect.combinations),
        ]
        for effect in main_effects(report)
    ]
    if not rows:
        return None
    about = (
        "What each value of an axis does to the rate: the geometric mean over all tests and over "
        "all combinations of the other axes, then the tests with the lowest and the highest ratio. "
        "These means have no interval and no verdict."
    )
    heads: Heads = ("value", "relative to", "mean", "lowest", "highest", "combinations")
    shown = table(heads, rows, left=2, name="Main effects of the axes")
    return Section("Main effects", [text(about, role="lead"), shown], "effects", "Main effects")
