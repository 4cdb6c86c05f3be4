"""Rates, searches, the mixed load and the main effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

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
from slowdust.analysis.story.changes import changes_of
from slowdust.analysis.work import has_work
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import Amount, Verdict, ratio
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
from slowdust.stats.blocks import Step
from slowdust.store.count import SYSTEM_CALLS
from slowdust.wording import clients, counted, rough_duration

WORK = (
    "Work: instructions per operation relative to the base, with its 95% interval. It is\n"
    "exact on a busy machine, too. A change of at most 1% is the same."
)


def in_steps(report: Report) -> list[Result]:
    """Return the results test by test."""
    return [result for found in by_step(report.results).values() for result in found.values()]


def _contenders(names: Sequence[str]) -> list[Column]:
    """Return the heads of columns that are about contenders."""
    return [Column(name, contender=name) for name in names]


def throughput(report: Report) -> Section:
    """Return the rate of the base and the relative rates, which a page has in a table to sort."""
    with_work = has_work(report.results)
    unsure = any(
        result.verdict == "unsure" or (result.work and result.work.verdict == "unsure")
        for result in report.results
    )
    about = [_how_compared(report), *([WORK] if with_work else []), *([PALE] if unsure else [])]
    all_time = (
        "Where a typical ratio follows a verdict, the base or the contender stalled: the ratio,\n"
        "the interval and the verdict are about all operations over all time."
    )
    is_typical = any(result.typical_beside is not None for result in report.results)
    return Section(
        "Throughput and work" if with_work else "Throughput",
        [
            text(*about),
            tests(report, report.names),
            *([text(all_time)] if is_typical else []),
        ],
        media=Medium.MARKDOWN,
    )


def tests(
    report: Report, names: Mapping[str, str], named_already: Collection[tuple[Step, str]] = ()
) -> Table:
    """Return a row for each test: the rate of the base, and the relative rates.

    `names` are the titles of the columns. Tests are excluded if all their results are in `named`.
    """
    base_name, *others = report.contenders
    with_work = has_work(report.results)
    steps = {
        step: found
        for step, found in by_step(report.results).items()
        if not named_already
        or any((step, name) not in named_already for name in found if name != base_name)
    }
    units = {base.unit for found in steps.values() if (base := found.get(base_name))}
    unit = next(iter(units)) if len(units) == 1 else None
    rows: list[Cells] = []
    for step, found in steps.items():
        base = found.get(base_name)
        counts = None if base is None or base.work is None else base.work.instructions
        rows.append(
            [
                *(step.test, str(step.clients)),
                ABSENT if base is None else _rate(base, has_unit=unit is None),
                *([or_absent(counts, rate)] if with_work else []),
                *(
                    cell
                    for name in others
                    for cell in (
                        relative(found.get(name)),
                        *([relative_work(found.get(name))] if with_work else []),
                    )
                ),
            ]
        )
    several = len({result.clients for result in report.results}) > 1
    levels = Column("clients", media=Medium.ALL if several else Medium.FILE)
    of_base: Heads = [
        Column(names[base_name], unit=unit or ""),
        *([Column("instructions/o", media=Medium.FILE)] if with_work else []),
    ]
    heads = [
        head
        for name in others
        for head in (
            Column(names[name]),
            *([Column(f"{names[name]} work", is_brief=True)] if with_work else []),
        )
    ]
    return table(["test", levels, *of_base, *heads], rows, left=1)


_VERDICTS: tuple[Verdict, ...] = ("slower", "faster", "same", "unsure")
_FEW_CONTENDERS = 3
"""Contenders other than the base whose results need no counts if all are named."""


def tallies(report: Report) -> Section | None:
    """Return the number of verdicts by contender, where the lines of the answer are too few."""
    others = report.contenders[1:]
    judged = any(result.verdict for result in report.results)
    if len(others) < 2 or not judged:
        return None
    if len(others) <= _FEW_CONTENDERS and changes_of(report).are_all_named:
        return None
    amounts: tuple[Amount, ...] = ("more", "less") if has_work(report.results) else ()
    names = report.short_names
    rows: list[Cells] = []
    for name in others:
        own = [result for result in report.results if result.contender == name]
        verdicts = Counter(result.verdict for result in own)
        works = Counter(result.work.verdict for result in own if result.work is not None)
        rates = [result.ratio.value for result in own if result.ratio is not None]
        spread = (median(rates), min(rates), max(rates)) if rates else (None, None, None)
        rows.append(
            [
                Cell(names[name], contender=name),
                *(str(verdicts[verdict]) for verdict in _VERDICTS),
                *(str(works[amount]) for amount in amounts),
                *(or_absent(value, ratio) for value in spread),
            ]
        )
    heads: Heads = ["contender", *_VERDICTS, *(f"{amount} work" for amount in amounts)]
    ends = (Column("rqps", hint="The median of all tests"), "lowest", "highest")
    title = "Verdicts by contender"
    shown = replace(table([*heads, *ends], rows, left=1, name=title), fits=True)
    return Section(title, [shown], "tallies")


def _how_compared(report: Report) -> str:
    if not report.repeated:
        return "Rate of the base, then relative rate of single runs, without intervals."
    if any(map(measured_in_steps, report.benchmarks)):
        return (
            "Rate of the base (median of the starts), then relative rate with its 95% interval:\n"
            "each start has one pair of each step."
        )
    return "QPS of the base (total over time), then relative QPS with its 95% interval."


def _rate(base: Result, *, has_unit: bool) -> str:
    unit = base.unit if has_unit else ""
    missed = "(SLA missed)" if missed_its_sla(base) else ""
    return " ".join(filter(None, (rate(base.qps), unit, missed)))


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
    about = "Counted with the instructions, which exclude instructions of the kernel."
    heads: Heads = ("test", "clients", *_contenders(report.contenders))
    title = "System calls per operation"
    shown = table(heads, rows, left=1, name=title)
    # A page has them in its table of results.
    return Section(title, [text(about, role="lead"), shown], media=Medium.TEXT)


def _calls(result: Result | None) -> float | None:
    work = None if result is None else result.work
    return None if work is None else work.events.get(SYSTEM_CALLS)


def unsure(report: Report) -> Section | None:
    """Return the time that would decide the unsure results."""
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
    about = "A forecast from the noise: two of three such results have a verdict after that time."
    heads: Heads = (*STEP, "times what was measured", "time to add")
    title = "Time to decide the unsure results"
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
        "The base in microseconds; the others relative to it (above 1 is slower), with 95%\n"
        "intervals."
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
    "QPS at the same effort are not comparable if recalls differ. QPS at equal recall are\n"
    "interpolated between efforts, and compared if all starts of the servers reach the recall."
)


def searches(report: Report) -> Section | None:
    """Return the recall at each effort, and QPS at equal recall."""
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
    """Return the build times and the sizes of indexes."""
    if not report.indexes:
        return None
    heads: Heads = ("index", "contender", "build s", "relative", "verdict", "MB", "relative")
    about = "The time to build and drop an index, in slices in pairs; the size on disk."
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
    "Relative: the rate of the test with concurrent load / without it, in adjacent slices of the "
    "same contender, with its 95% interval. Freshness: the start of the last query of an operation "
    "minus the commit of the first transaction that it does not see; 0 if it sees all."
)
_ABOUT_FRONTIER = (
    "Rates of transactions and queries on each contender, by their numbers of clients. Contenders "
    "can be compared at the same point; points were measured at different times, so points of a "
    "contender can be compared if the machine was equally fast."
)


def mixed_load(report: Report) -> Section | None:
    """Return the tests with concurrent load."""
    rows = [_mixed(result, result.beside) for result in report.results if result.beside is not None]
    if not rows:
        return None
    # A page has clients and load below the test, and the maximum below the median.
    clients_head, work, most = (
        Column(title, media=Medium.TEXT) for title in ("clients", "with", "fresh max us")
    )
    heads: Heads = (
        *("test", clients_head, "contender", work, "alone/s", "with load/s", "relative"),
        *("load/s", "p50 us", "p95 us", "errors"),
        *(Column("fresh p50 us", hint="Below it the maximum"), most, "stale"),
    )
    shown = table(heads, rows, left=4, name="Tests with concurrent load")
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
    """Return the rates of transactions and queries by their numbers of clients."""
    if not report.frontier:
        return None
    marks = marks_of(report.contenders, report.base)
    drawn = (
        "Transactions per second from left to right, queries per second upwards. A line joins the "
        "points of the frontier: no other point is better in both."
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
    """Return the effect of each value of an axis of a matrix on the rate."""
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
        "The effect of each value of an axis on the rate: the geometric mean over all tests and "
        "all combinations of the other axes, and the lowest and the highest ratio of a test. Means "
        "have no interval and no verdict."
    )
    heads: Heads = ("value", "relative to", "mean", "lowest", "highest", "combinations")
    shown = table(heads, rows, left=2, name="Main effects of the axes")
    return Section("Main effects", [text(about, role="lead"), shown], "effects", "Main effects")
