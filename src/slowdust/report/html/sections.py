"""One section for each test: its charts and what its tables need beyond the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.metrics import ESSENTIAL, Metric
from slowdust.analysis.metrics import shown as shown_metrics
from slowdust.analysis.model import PlanDifference, Report
from slowdust.analysis.results.latency import columns_of_latency
from slowdust.analysis.results.notes import ONE_RUN
from slowdust.report.html.charts.blocks import Compared, layout, rate_chart, ratio_chart
from slowdust.report.html.charts.marks import Looks, Mark
from slowdust.report.html.charts.seconds import seconds_chart
from slowdust.report.html.numbers import TimeUnit, time_unit
from slowdust.report.html.rows import Row
from slowdust.report.html.steps.failures import Failure
from slowdust.report.html.steps.view import StepView, step_view
from slowdust.store.latency import LatencyUs
from slowdust.store.measured import Schedule
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import operation


@dataclass(frozen=True)
class OpenLoop:
    """How a contender kept the schedule of an open-loop run, over all its slices."""

    contender: str
    rate: float
    arrivals: str
    operations: int
    late_operations: int
    mean_lag_us: float
    max_lag_us: float


@dataclass(frozen=True)
class Note:
    """A note and whom it is about; nobody named: all that were compared."""

    words: str
    contenders: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Everything about one step."""

    row: Row
    latency_unit: TimeUnit
    latency: tuple[str, ...]
    """Fields of `LatencyUs` that are columns."""
    response_times: bool
    """Whether its results are told in response times."""
    metrics: tuple[Metric, ...]
    rate_chart: Markup
    ratio_chart: Markup
    seconds_chart: Markup
    open_loop: tuple[OpenLoop, ...]
    plans: tuple[PlanDifference, ...]
    notes: tuple[Note, ...]
    operation: str
    """What one of its operations is: 'operation', 'insert', 'query'."""
    step: StepView | None
    """Of a long step, which has no charts of slices."""
    counters: tuple[str, ...]
    """Hardware counters that any contender's can be compared of with the base's."""


def sections_of(
    report: Report,
    rows: Sequence[Row],
    slices: Sequence[Slice],
    looks: Looks,
    failures: Sequence[Failure],
) -> tuple[Section, ...]:
    """A section for every one of `rows`, in their order, its charts drawn from `slices`."""
    by_step: dict[Step, list[Slice]] = {}
    for one in slices:
        by_step.setdefault(step_of(one), []).append(one)
    origin = min(known(one.measured.started for one in slices), default=0.0)
    return tuple(
        _section(
            report,
            row,
            by_step.get(row.step, []),
            origin=origin,
            looks=looks,
            failures=failures,
        )
        for row in rows
    )


def _section(
    report: Report,
    row: Row,
    slices: Sequence[Slice],
    *,
    origin: float,
    looks: Looks,
    failures: Sequence[Failure],
) -> Section:
    results = row.results
    step = step_view(report, row, slices, looks, failures)
    slices = [one for one in slices if one.archived is None]
    present = {one.place.contender for one in slices}
    shown = {name: mark for name, mark in looks.marks.items() if name in present}
    unit = results[0].unit
    rates = ratios = seconds = Markup()
    if shown and step is None:
        plan = layout(slices)
        compared = {
            one.contender: Compared(one.rqps, one.low, one.high)
            for one in row.cells
            if one is not None and one.rqps
        }
        rates = rate_chart(plan, shown, report.base, unit)
        ratios = ratio_chart(plan, shown, report.base, report.margin, compared)
        seconds = seconds_chart(slices, origin, shown, unit)
    return Section(
        row=row,
        latency_unit=time_unit(known(_typical(one.latency_us) for one in results)),
        latency=columns_of_latency(results, report.imported),
        response_times=any(one.response_time for one in results),
        metrics=tuple(
            shown_metrics(
                (one.per_op for one in results), ESSENTIAL if report.imported is None else ()
            )
        ),
        rate_chart=rates,
        ratio_chart=ratios,
        seconds_chart=seconds,
        open_loop=tuple(_open_loop(shown, slices)),
        plans=tuple(plan for plan in report.plan_differences if plan.test == row.step.test),
        notes=_notes(row),
        operation=operation(unit),
        step=step,
        counters=tuple(
            dict.fromkeys(name for one in results for name in one.counters_relative or {})
        ),
    )


def _typical(latency: LatencyUs | None) -> float | None:
    return None if latency is None else latency.p50 or latency.mean


def _notes(row: Row) -> tuple[Note, ...]:
    """The same note about several contenders once."""
    raised: dict[str, list[str]] = {}
    for result in row.results:
        for words in result.notes:
            if words != ONE_RUN:  # the head of the page says so of all
                raised.setdefault(words, []).append(result.contender)
    compared = {one.contender for one in row.cells if one is not None}
    return tuple(
        Note(words, () if compared and compared <= set(names) else tuple(names))
        for words, names in raised.items()
    )


def _open_loop(names: Mapping[str, Mark], slices: Sequence[Slice]) -> list[OpenLoop]:
    found = []
    for name in names:
        kept: list[tuple[Schedule, int]] = [
            (one.measured.schedule, one.measured.operations)
            for one in slices
            if one.place.contender == name
            and one.measured.schedule is not None
            and one.measured.operations is not None
        ]
        operations = sum(count for _, count in kept)
        if operations:
            lag = sum(schedule.mean_lag_ns * count for schedule, count in kept)
            found.append(
                OpenLoop(
                    contender=name,
                    rate=kept[0][0].rate,
                    arrivals=kept[0][0].arrivals,
                    operations=operations,
                    late_operations=sum(schedule.late_operations for schedule, _ in kept),
                    mean_lag_us=lag / operations / 1e3,
                    max_lag_us=max(schedule.max_lag_ns for schedule, _ in kept) / 1e3,
                )
            )
    return found
