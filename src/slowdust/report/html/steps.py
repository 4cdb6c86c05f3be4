"""The view of a long step: its seconds and its bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from slowdust.analysis.sla import paced_seconds
from slowdust.benchmarks.steps import Role, in_order
from slowdust.report.charts.bars import Bar, bars_chart
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.seconds import Graph, Line, Point, Run, step_graph, thinned_runs
from slowdust.report.html.page import Page, Row
from slowdust.report.sections.measured import sla_failure
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond, RoleUse, Sample, StepDetail, WriteSchedule
from slowdust.units import Second, known

SHORTEST_TAIL: Second = 0.5
"""A last second shorter than this has no rate: it would be noise."""

BYTES_PER_MB = 1 << 20
"""The bytes of a MB, as for stalls and for kB per operation."""

_NOTHING = RoleSecond(0, 0, 0, 0)


def rates(role: Role, use: RoleUse, worked: Second) -> list[float | None]:
    """Return rows, or statements, per second over the time that the role had work to do.

    Seconds after its last completion are 0. A short last second is scaled up, and a very short one
    is omitted.
    """
    length = _seconds_of(worked)
    work = enumerate([*use.per_second, *([_NOTHING] * length)][:length])
    return [
        getattr(done, role.counts) / min(1.0, worked - second)
        for second, done in work
        if worked > second
    ]


def worst_us(use: RoleUse, worked: Second) -> list[float | None]:
    """Return the largest response time of each second in microseconds; None where nothing ended.

    Statements that ended after the last second with a rate count in that one.
    """
    return _largest_us([done.max_ns for done in use.per_second], worked)


def late_us(use: RoleUse, worked: Second) -> list[float | None]:
    """Return how late the latest statement of each second began; None where all were in time."""
    return _largest_us([done.late_ns for done in use.per_second], worked)


def _seconds_of(worked: Second) -> int:
    """Return the seconds that have a rate: a last one shorter than `SHORTEST_TAIL` has none."""
    return max(1, math.floor(worked + 1 - SHORTEST_TAIL))


def _largest_us(values_ns: Sequence[int], worked: Second) -> list[float | None]:
    last = _seconds_of(worked) - 1
    by_second = [*values_ns[:last], max(values_ns[last:], default=0)]
    return [value / 1e3 if value else None for value in by_second]


def backlog(use: RoleUse) -> list[float | None]:
    """Return the rows of a paced writer that were due by the end of each second but not written."""
    if use.schedule is None:
        return []
    rate, due = use.schedule.rate, use.schedule.due
    by_second: list[float | None] = []
    written = 0
    for second in range(math.ceil(due / rate)):
        written += sum(done.rows for done in use.per_second[second : second + 1])
        by_second.append(max(0.0, min(rate * (second + 1), due) - written))
    return by_second


def server_cpus(samples: Sequence[Sample]) -> list[float | None]:
    return _by_second(samples, "cpu_s", 1)


def server_written_mb(samples: Sequence[Sample]) -> list[float | None]:
    return _by_second(samples, "write_bytes", BYTES_PER_MB)


def _by_second(samples: Sequence[Sample], quantity: str, unit: int) -> list[float | None]:
    """Return amounts of samples, which are about a second long, as rates of the nearest second."""
    rates: dict[int, float] = {}
    for sample in samples:
        rate = sample.per_second("server", quantity)
        if rate is not None and sample.seconds >= SHORTEST_TAIL:
            rates[round(sample.start)] = rate / unit
    return [rates.get(second) for second in range(max(rates, default=-1) + 1)]


def thinned(values: Sequence[float | None], most: int) -> tuple[Run, ...]:
    """Return `values` by second, at most about `most` of them, in unbroken runs.

    A stall or a peak of a single second is still there.
    """
    runs: list[list[Point]] = []
    for second, value in enumerate(values):
        if value is None:
            continue
        if not runs or runs[-1][-1][0] != second - 1:
            runs.append([])
        runs[-1].append((second, value))
    return thinned_runs(tuple(map(tuple, runs)), most)


MOST_POINTS = 2000
"""Points of one line: a step of half an hour is drawn to the second."""
MOST_IN_A_GRAPH = 8000
FEWEST_POINTS = 300

SHORTEST_WITH_GRAPHS: Second = 2.0
"""A shorter step has at most one whole second: a point, and no line."""

LEAST_LATENESS: Second = 0.2
"""The smallest lateness of a write that has graphs of lateness and backlog."""


@dataclass(frozen=True)
class StepView:
    """Everything about a long step that the section of a sliced one does not have."""

    length: Second | None
    """The time of the slowest contender, at which the time axis ends."""
    too_short: bool
    """Whether it is too short for graphs by the second."""
    several_incarnations: bool
    bars: Markup
    graphs: tuple[tuple[str, Markup], ...]
    """The titles of the per-second graphs, and the graphs."""
    targets: bool
    """Whether writers kept to a rate."""


@dataclass(frozen=True)
class _Detailed:
    """A slice of a long step, with its detail."""

    record: Slice
    detail: StepDetail


def step_view(page: Page, row: Row, slices: Sequence[Slice]) -> StepView | None:
    """Return the view of a row's step, which has these slices; None where it is a sliced one."""
    measured = [_Detailed(record, record.step) for record in slices if record.step is not None]
    if not measured:
        return None
    places = {name: place for place, name in enumerate(page.report.contenders)}
    measured.sort(
        key=lambda run: (places[run.record.place.contender], run.record.place.incarnation)
    )
    runs = tuple(
        run
        for run in page.report.step_runs
        if (run.benchmark, run.test, run.clients) == tuple(row.step)
    )
    roles = in_order(name for run in measured for name in run.detail.roles)
    units = {use.role: use.unit for run in runs for use in run.roles}
    length = max(known(run.record.measured.seconds for run in measured), default=None)
    failed = set(page.failed_in[row.anchor])
    return StepView(
        length=length,
        too_short=length is not None and length < SHORTEST_WITH_GRAPHS,
        several_incarnations=len({run.record.place.incarnation for run in measured}) > 1,
        bars=_bars(page, row, measured, failed),
        graphs=tuple(_drawn(_graphs(measured, roles, units), length, page.marks)),
        targets=any(run.detail.target is not None for run in measured),
    )


def _bars(page: Page, row: Row, measured: Sequence[_Detailed], failed: Collection[str]) -> Markup:
    results = {result.contender: result for result in row.results}
    bars = []
    for name, mark in page.marks.items():
        result = results.get(name)
        if result is None and name not in failed:
            continue
        rates = tuple(run.record.qps for run in measured if run.record.place.contender == name)
        rate = None if result is None else result.qps
        note = "" if result is None else sla_failure(result.writers)
        bars.append(Bar(page.names[name], mark, rate, rates, note))
    return bars_chart(bars, row.results[0].unit)


def _drawn(
    graphs: Sequence[Graph], length: Second | None, marks: Mapping[str, Mark]
) -> list[tuple[str, Markup]]:
    if length is None or length < SHORTEST_WITH_GRAPHS:
        return []
    drawn = [(graph.title, step_graph(graph, length, marks)) for graph in graphs]
    return [(title, chart) for title, chart in drawn if chart]


def _graphs(
    runs: Sequence[_Detailed], roles: Sequence[Role], units: Mapping[str, str]
) -> list[Graph]:
    graphs: list[Graph] = []
    drawn = [role for role in roles if role.by_second]
    for role in drawn:
        lines = _role_lines(runs, role, partial(rates, role))
        target = next((kept.rate for kept in _schedules(runs, role)), None)
        graphs.append(Graph(units[role.name], lines, target=target))
        worst = _role_lines(runs, role, worst_us)
        title = f"Maximum response time of {role.statements}"
        graphs.append(Graph(title, worst, response_time=True))
    for role in drawn:
        if any(kept.max_lag_ns / 1e9 >= LEAST_LATENESS for kept in _schedules(runs, role)):
            late = _role_lines(runs, role, late_us)
            graphs.append(Graph(f"How late {role.statements} began", late, response_time=True))
            due = _role_lines(runs, role, lambda use, _: backlog(use))
            graphs.append(Graph(f"Backlog of {role.name}s, rows", due))
    cpus = _lines(runs, lambda run: server_cpus(run.detail.samples))
    written = _lines(runs, lambda run: server_written_mb(run.detail.samples))
    graphs.append(Graph("CPUs used by the server", cpus))
    graphs.append(Graph("MB/s written to storage by the server", written))
    return graphs


def _schedules(runs: Sequence[_Detailed], role: Role) -> list[WriteSchedule]:
    uses = (run.detail.roles[role.name] for run in runs if role.name in run.detail.roles)
    return [use.schedule for use in uses if use.schedule is not None]


def _role_lines(
    runs: Sequence[_Detailed], role: Role, read: Callable[[RoleUse, Second], list[float | None]]
) -> tuple[Line, ...]:
    """Return the lines of a role; `read` gets its use and the time that it had work to do."""

    def values_of(run: _Detailed) -> list[float | None]:
        use = run.detail.roles[role.name]
        if use.printed is not None and not use.per_second:
            return []  # only its rate is known
        # A paced role has work until the end of the step, another one until its last row.
        is_paced = run.detail.target is not None
        worked = paced_seconds(use, run.record.measured.seconds) if is_paced else use.seconds
        return [] if worked is None else read(use, worked)

    return _lines([run for run in runs if role.name in run.detail.roles], values_of)


def _lines(
    runs: Sequence[_Detailed], read: Callable[[_Detailed], list[float | None]]
) -> tuple[Line, ...]:
    most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_IN_A_GRAPH // max(1, len(runs))))
    return tuple(
        Line(place.contender, place.incarnation, thinned(read(run), most))
        for run in runs
        for place in (run.record.place,)
    )
