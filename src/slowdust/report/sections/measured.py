"""The rates of a test, and how they were measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowdust.analysis.model import Report, Result, Work, Writers
from slowdust.analysis.story.unsure import what_decides
from slowdust.analysis.work import has_work
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import Amount, interval, ratio, work_ratio
from slowdust.report import numbers
from slowdust.report.document import (
    STEP_OF_TEST,
    Cell,
    Cells,
    Column,
    Heads,
    Medium,
    Section,
    named,
    table,
)
from slowdust.report.markdown.table import or_absent
from slowdust.report.numbers import Band, band
from slowdust.store.measured import Schedule
from slowdust.units import known

MOST_BUSY = 0.9
"""The client was the limit if its busiest thread has a larger CPU share."""
ICONS: dict[Band, str] = {"slower": "▼", "faster": "▲", "between": "·"}
"""Signs of the bands for readers who do not see their colours."""
_AMOUNT_BANDS: dict[Amount | None, Band] = {"more": "slower", "less": "faster"}


def work_band(work: Work) -> Band:
    """Return the colour of work: less work has the colour of a faster test."""
    return _AMOUNT_BANDS.get(work.verdict, "between")


def sla_failure(writers: Writers | None) -> str:
    """Return 'SLA failed: 612 of 1,000 inserts/s' for the worse rate; empty if it was met."""
    if writers is None or writers.sla_met:
        return ""
    kept, what = writers.inserts, "inserts/s"
    if writers.deletes is not None and writers.deletes < kept:
        kept, what = writers.deletes, "deletes/s"
    return f"SLA failed: {numbers.count(kept)} of {numbers.count(writers.target)} {what}"


def rates(report: Report, results: Sequence[Result]) -> Section:
    """Return the rates of a test for a page; texts have one table of all tests."""
    with_work = has_work(results)
    timed = any(result.response_time for result in results)
    unit = numbers.time_unit(
        known(result.response_time.mean_us for result in results if result.response_time)
    )
    rows: list[Cells] = [
        [
            named(result.contender),
            _rate(result),
            _relative(result, report.base),
            *([_bounds(result, report.base)] if report.repeated else []),
            *([_work(result)] if with_work else []),
            *(_times(result, unit) if timed else []),
        ]
        for result in results
    ]
    heads: Heads = [
        "Contender",
        Column("Rate", unit=results[0].unit),
        "Relative",
        *(["95% interval"] if report.repeated else []),
        *([Column("Work", unit="instructions per operation")] if with_work else []),
        *(
            [
                Column("Mean response time", unit=unit.symbol),
                Column("Relative time", hint="Relative to the base; above 1 is slower"),
            ]
            if timed
            else []
        ),
    ]
    name = f"Rate and response time of {results[0].test}"
    return Section("", [table(heads, rows, left=1, name=name)], media=Medium.HTML)


def _rate(result: Result) -> Cell:
    missed = sla_failure(result.writers)
    return Cell(numbers.significant(result.qps), note=missed, shade="missed-sla" if missed else "")


def _relative(result: Result, base: str) -> Cell:
    if result.typical is None and result.writers:
        return Cell(note="not compared")
    if result.contender == base:
        return Cell("1")
    if result.ratio is None:
        return Cell()
    typical = result.typical_beside
    notes = [
        *([] if typical is None else [f"typical {ratio(typical)}"]),
        *([what_decides(result)] if result.needed else []),
    ]
    shade = band(result.ratio.value)
    return Cell(
        ratio(result.ratio.value),
        verdict=result.verdict or "",
        note="; ".join(notes),
        shade=shade,
        sign=ICONS[shade],
        is_pale=result.verdict == "unsure",
    )


def _bounds(result: Result, base: str) -> Cell:
    if result.contender == base:
        return Cell("")
    if result.ratio is None or result.ratio.interval is None:
        return Cell()
    return Cell(numbers.interval(*result.ratio.interval))


def _work(result: Result) -> Cell:
    work = result.work
    if work is None:
        return Cell()
    compared = work.ratio if work.verdict else None
    return Cell(
        numbers.significant(work.instructions),
        multiple=work_ratio(compared.value) if compared else "",
        verdict=work.verdict or "",
        interval=interval(compared, 3).strip() if compared else "",
        note="; ".join(
            f"{numbers.significant(amount)} {event.replace('_', ' ')}"
            for event, amount in work.events.items()
        ),
        shade=work_band(work),
        is_pale=work.verdict == "unsure",
    )


def _times(result: Result, unit: numbers.TimeUnit) -> list[Cell]:
    time = result.response_time
    if time is None:
        return [Cell(), Cell()]
    relative = Cell()
    if time.relative is not None:
        relative = Cell(ratio(time.relative.value), interval(time.relative).strip())
    return [Cell(numbers.response_time(time.mean_us, unit)), relative]


class _Quantity(NamedTuple):
    """A column about how a result was measured."""

    head: Column
    cell: Callable[[Result], Cell]
    field: str = ""
    """The field without which imported runs have no such column."""
    is_of_slices: bool = False


def _value(field: str, form: Callable[[float], str]) -> Callable[[Result], Cell]:
    return lambda result: Cell(or_absent(getattr(result, field), form))


def _errors(result: Result) -> Cell:
    states = [f"{state}: {numbers.count(n)}" for state, n in result.errors_by_state.items()]
    shown = or_absent(result.errors, numbers.count)
    return Cell(shown, note=", ".join(states), is_bad=bool(result.errors))


def _busiest(result: Result) -> Cell:
    busy = result.client_busiest_thread
    return Cell(or_absent(busy, numbers.percent), is_bad=(busy or 0.0) > MOST_BUSY)


_QUANTITIES = (
    _Quantity(Column("slices"), _value("slices", numbers.count), "slices", is_of_slices=True),
    _Quantity(Column("starts"), _value("incarnations", numbers.count), "incarnations"),
    _Quantity(Column("measured"), _value("measured_s", numbers.duration), "measured_s"),
    _Quantity(Column("errors"), _errors, "errors"),
    _Quantity(Column("retries"), _value("retries", numbers.count), "retries"),
    _Quantity(
        Column(
            "busiest client thread",
            hint="CPU share of the busiest thread of the load generator; the limit if above 90%",
        ),
        _busiest,
        "client_busiest_thread",
    ),
    _Quantity(
        Column(
            "idle servers' CPU",
            hint="CPU used by the contenders that should have been idle, relative to one core",
        ),
        _value("idle_cpu_share", numbers.percent),
        "idle_cpu_share",
    ),
    _Quantity(
        Column(
            "processes changed",
            hint="Server processes that started or exited inside the windows",
        ),
        _value("backends_changed", numbers.count),
        "backends_changed",
    ),
    _Quantity(
        Column("peak VSZ", unit="GB"), _value("peak_vsz_gb", numbers.significant), "peak_vsz_gb"
    ),
    _Quantity(
        Column("peak RSS", unit="GB"), _value("peak_rss_gb", numbers.significant), "peak_rss_gb"
    ),
)
_OF_IMPORTS = ("measured_s", "peak_vsz_gb", "peak_rss_gb")


def measured(report: Report, results: Sequence[Result]) -> Section | None:
    """Return how results were measured; of imported runs only what is known."""
    in_steps = any(measured_in_steps(result.benchmark) for result in results)
    fields = [each.field for each in _QUANTITIES]
    if not report.repeated:
        fields = [
            field
            for field in _OF_IMPORTS
            if any(getattr(result, field) is not None for result in results)
        ]
    chosen = [
        each
        for each in _QUANTITIES
        if each.field in fields and not (in_steps and each.is_of_slices)
    ]
    if not chosen:
        return None
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            *(each.cell(result) for each in chosen),
        ]
        for result in results
    ]
    heads: Heads = [*STEP_OF_TEST, *(each.head for each in chosen)]
    title = "How it was measured" if report.repeated else "Time and memory"
    shown = table(heads, rows, left=1, name=title)
    return Section(title, [shown], media=Medium.FILE)


class Kept(NamedTuple):
    """How a contender kept the schedule of an open loop."""

    contender: str
    schedules: Sequence[tuple[Schedule, int]]
    """Schedule and number of operations of each slice."""


def open_loop(kept: Sequence[Kept]) -> Section | None:
    """Return the schedule of a test with an open loop, for a page."""
    rows: list[Cells] = []
    for each in kept:
        operations = sum(count for _, count in each.schedules)
        if not operations:
            continue
        first = each.schedules[0][0]
        late = sum(schedule.late_operations for schedule, _ in each.schedules)
        lag = sum(schedule.mean_lag_ns * count for schedule, count in each.schedules)
        most = max(schedule.max_lag_ns for schedule, _ in each.schedules)
        rows.append(
            [
                named(each.contender),
                numbers.significant(first.rate),
                first.arrivals,
                Cell(numbers.count(late), is_bad=bool(late)),
                numbers.count(operations),
                numbers.response_time(lag / operations / 1e3),
                numbers.response_time(most / 1e3),
            ]
        )
    if not rows:
        return None
    heads: Heads = (
        *("Contender", Column("Requested", unit="operations/s"), Column("Arrivals", is_name=True)),
        *("Late", "of operations", "Mean lag", "Largest lag"),
    )
    shown = table(heads, rows, left=1, name="Schedule of the open loop")
    return Section("Schedule (open loop)", [shown], media=Medium.HTML)
