"""What the section of a long step shows: bars, per-second graphs, roles, histograms, stalls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from slowdust.analysis.model import Report, RoleReport, Stall, StepRun
from slowdust.analysis.results.steps import ROLES
from slowdust.analysis.sla import paced_seconds
from slowdust.report.html.charts.bars import Bar, bars_chart
from slowdust.report.html.charts.histogram import RoleHistogram, histograms
from slowdust.report.html.charts.marks import Looks, Mark
from slowdust.report.html.charts.steps import Graph, step_graph
from slowdust.report.html.rows import Row
from slowdust.report.html.steps import series
from slowdust.report.html.steps.failures import Failure, of_step
from slowdust.report.html.steps.series import Line
from slowdust.report.html.steps.sla import sla_failure
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, StepDetail, WriteSchedule
from slowdust.units import Second, known

PER_SECOND = ("query", "insert", "delete")
"""Those that finish enough for a graph: an index takes minutes."""

STATEMENTS = {
    "query": "queries",
    "index": "CREATE INDEX",
    "insert": "commits of inserts",
    "delete": "commits of deletes",
    "transaction": "long transactions",
}
"""What a role's response times are of."""

MOST_POINTS = 2000
"""Of one line; a step of half an hour is drawn to the second."""
MOST_IN_A_GRAPH = 8000
"""Points of all its lines."""
FEWEST_POINTS = 300

SHORTEST_WITH_GRAPHS: Second = 2.0
"""A step that took less has at most one whole second: a point, and no course."""

LEAST_LATENESS: Second = 0.2
"""How late a write must have begun for lateness and backlog to be worth graphs."""

AROUND_A_STALL = 10
"""Seconds before and after it that its link zooms to."""

MOST_STALLS = 12
"""Lines of the list of stalls that are shown unfolded."""


@dataclass(frozen=True)
class DrawnGraph:
    """A per-second graph and its caption."""

    title: str
    chart: Markup


@dataclass(frozen=True)
class RoleLine:
    """What one role of one contender did in one incarnation."""

    run: StepRun
    use: RoleReport


@dataclass(frozen=True)
class StallLine:
    """A stall, and the stretch of the graphs that shows it."""

    run: StepRun
    stall: Stall
    unit: str
    zoom: str
    """Seconds from and to: '105,135'."""


@dataclass(frozen=True)
class StepView:
    """Everything about one long step that a section of a sliced one has not."""

    statements: str
    """What the response times of its results are of."""
    length: Second | None
    """Of the slowest contender: where the time axis ends."""
    too_short: bool
    """For graphs by the second."""
    several_incarnations: bool
    bars: Markup
    graphs: tuple[DrawnGraph, ...]
    targets: bool
    """Whether writers kept to a rate."""
    roles: tuple[RoleLine, ...]
    histograms: tuple[RoleHistogram, ...]
    runs: tuple[StepRun, ...]
    stalls: tuple[StallLine, ...]
    stalls_unfolded: int
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class _Detailed:
    """A slice that certainly is a long step."""

    contender: str
    incarnation: int
    rate: float
    seconds: Second | None
    detail: StepDetail


def step_view(
    report: Report,
    row: Row,
    slices: Sequence[Slice],
    looks: Looks,
    failures: Sequence[Failure],
) -> StepView | None:
    """The view of `row`'s step, which has `slices`; None where it is a sliced one."""
    found = [
        _Detailed(
            one.place.contender, one.place.incarnation, one.qps, one.measured.seconds, one.step
        )
        for one in slices
        if one.step is not None
    ]
    if not found:
        return None
    places = {name: place for place, name in enumerate(report.contenders)}
    found.sort(key=lambda one: (places[one.contender], one.incarnation))
    step = row.step
    runs = tuple(
        run
        for run in report.step_runs
        if (run.benchmark, run.test, run.clients) == (step.benchmark, step.test, step.clients)
    )
    roles = [role for role in ROLES if any(role in one.detail.roles for one in found)]
    units = {use.role: use.unit for run in runs for use in run.roles}
    length = max(known(one.seconds for one in found), default=None)
    own_failures = of_step(failures, step)
    return StepView(
        statements=STATEMENTS[roles[0]],
        length=length,
        too_short=length is not None and length < SHORTEST_WITH_GRAPHS,
        several_incarnations=len({one.incarnation for one in found}) > 1,
        bars=_bars(row, found, looks, own_failures),
        graphs=tuple(_drawn(_graphs(found, roles, units), length, looks.marks)),
        targets=any(one.detail.target is not None for one in found),
        roles=tuple(
            RoleLine(run, use)
            for role in roles
            for run in runs
            for use in run.roles
            if use.role == role
        ),
        histograms=histograms(runs, roles),
        runs=runs,
        stalls=tuple(_stall(run, stall, units, length) for run in runs for stall in run.stalls),
        stalls_unfolded=MOST_STALLS,
        failures=own_failures,
    )


def _bars(
    row: Row,
    found: Sequence[_Detailed],
    looks: Looks,
    failures: Sequence[Failure],
) -> Markup:
    results = {one.contender: one for one in row.results}
    failed = {one.step.contender for one in failures}
    bars = []
    for name, mark in looks.marks.items():
        result = results.get(name)
        if result is None and name not in failed:
            continue
        rates = tuple(one.rate for one in found if one.contender == name)
        rate = None if result is None else result.qps
        remark = "" if result is None else sla_failure(result.writers)
        bars.append(Bar(looks.shown[name], mark, rate, rates, remark))
    return bars_chart(bars, row.results[0].unit)


def _drawn(
    graphs: Sequence[Graph], length: Second | None, marks: Mapping[str, Mark]
) -> list[DrawnGraph]:
    if length is None or length < SHORTEST_WITH_GRAPHS:
        return []
    drawn = [DrawnGraph(graph.title, step_graph(graph, length, marks)) for graph in graphs]
    return [graph for graph in drawn if graph.chart]


def _graphs(
    found: Sequence[_Detailed], roles: Sequence[str], units: Mapping[str, str]
) -> list[Graph]:
    """Rate and response time of each role, then how far it fell behind, then the server's use."""
    graphs: list[Graph] = []
    for role in filter(PER_SECOND.__contains__, roles):
        lines = _of_role(found, role, partial(series.rates, role))
        graphs.append(Graph(units[role], lines, target=_target(found, role)))
        worst = _of_role(found, role, series.worst_us)
        title = f"Maximum response time of {STATEMENTS[role]}"
        graphs.append(Graph(title, worst, response_time=True))
    for role in filter(PER_SECOND.__contains__, roles):
        if _lateness(found, role) >= LEAST_LATENESS:
            late = _of_role(found, role, series.late_us)
            title = f"How late {STATEMENTS[role]} began"
            graphs.append(Graph(title, late, response_time=True))
            behind = _of_role(found, role, lambda use, _: series.backlog(use))
            graphs.append(Graph(f"Backlog of {role}s, rows", behind))
    cpus = _lines(found, lambda one: series.server_cpus(one.detail.samples))
    written = _lines(found, lambda one: series.server_written_mb(one.detail.samples))
    graphs.append(Graph("CPUs used by the server", cpus))
    graphs.append(Graph("MB/s written to storage by the server", written))
    return graphs


def _schedules(found: Sequence[_Detailed], role: str) -> list[WriteSchedule]:
    uses = (one.detail.roles[role] for one in found if role in one.detail.roles)
    return [use.schedule for use in uses if use.schedule is not None]


def _target(found: Sequence[_Detailed], role: str) -> float | None:
    return next((kept.rate for kept in _schedules(found, role)), None)


def _lateness(found: Sequence[_Detailed], role: str) -> Second:
    return max((kept.max_lag_ns / 1e9 for kept in _schedules(found, role)), default=0.0)


def _of_role(
    found: Sequence[_Detailed],
    role: str,
    read: Callable[[RoleUse, Second], list[float | None]],
) -> tuple[Line, ...]:
    """`read` is given what the role did, and for how long it had work to do."""

    def of_one(one: _Detailed) -> list[float | None]:
        use = one.detail.roles[role]
        if use.rate is not None and not use.per_second:
            return []  # of an archived run, of which only the whole is known
        # Beside queries there is work until the end; without, the last row of a role ends it.
        beside = one.detail.target is not None
        worked = paced_seconds(use, one.seconds) if beside else use.seconds
        return [] if worked is None else read(use, worked)

    return _lines([one for one in found if role in one.detail.roles], of_one)


def _lines(
    found: Sequence[_Detailed], read: Callable[[_Detailed], list[float | None]]
) -> tuple[Line, ...]:
    most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_IN_A_GRAPH // max(1, len(found))))
    return tuple(
        Line(one.contender, one.incarnation, series.thinned(read(one), most)) for one in found
    )


def _stall(
    run: StepRun, stall: Stall, units: Mapping[str, str], length: Second | None
) -> StallLine:
    start = max(0, stall.second - AROUND_A_STALL)
    end = min(known((length, stall.second + 1 + AROUND_A_STALL)))
    return StallLine(run, stall, units[stall.role], f"{start},{end:g}")
