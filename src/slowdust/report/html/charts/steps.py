"""Per-second graphs of a long step: one below the other, all contenders in each, one time axis.

Marks are in units of their own: seconds along x, each value in the middle of its second, and tenths
of a pixel along y. So a path has whole, short coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from markupsafe import Markup

from slowdust.report.html import numbers
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.curves import Curve, TimeCurves, ValueAxis
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Linear, Logarithmic, few_ticks, time_ticks, zero_based
from slowdust.units import Second

RATE_HEIGHT = 84.0
RESPONSE_HEIGHT = 64.0
_FINE = 10
"""Units of the marks in a pixel of height."""
_TIME_LABELS = 9
MOST_DRAWN = 600
"""Points of a static line: two for each of as many pixels as a narrow page has."""
_HEADROOM = 1.06
"""The end of an axis / the highest value: a line along the edge would be cut."""


Point = tuple[int, float]
"""A second since the beginning of the step, and the value in it."""
Run = tuple[Point, ...]


@dataclass(frozen=True)
class Line:
    """A contender in one incarnation, broken where nothing was measured."""

    contender: str
    incarnation: int
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Graph:
    """The content of one graph."""

    title: str
    """The title, which has the unit: 'inserts/s'."""
    lines: tuple[Line, ...]
    response_time: bool = False
    """Whether values are microseconds on a logarithmic axis; else the axis begins at 0."""
    target: float | None = None


def step_graph(graph: Graph, length: Second, marks: Mapping[str, Mark]) -> Markup:
    """Return a graph of the first `length` seconds of a step; nothing where none was measured."""
    values = [value for line in graph.lines for run in line.runs for _, value in run]
    if not values:
        return Markup()
    height = RESPONSE_HEIGHT if graph.response_time else RATE_HEIGHT
    y, ticks = _scale(graph, values, height)
    behind = svg.value_axis([(y(tick), label) for tick, label in ticks])
    if graph.target is not None:
        behind = (*behind, svg.level(y(graph.target), "target"))
    curves = TimeCurves(
        length=length,
        y=_value_axis(graph, y, ticks),
        curves=tuple(_curve(line, marks[line.contender]) for line in graph.lines if line.runs),
    )
    return svg.Frame(
        title=f"{graph.title} in each second of the step",
        height=height,
        css_class="seconds",
        behind=(*behind, _times(length, height)),
        marks=tuple(_line(line, marks[line.contender], y) for line in graph.lines),
        view=f"-0.5 0 {svg.brief(length)} {svg.brief(height * _FINE)}",
        values=curves.markup(),
    ).markup()


def _value_axis(
    graph: Graph, y: Linear | Logarithmic, ticks: Sequence[tuple[float, str]]
) -> ValueAxis:
    return ValueAxis(
        unit="time" if graph.response_time else "count",
        low=y.low,
        high=y.high,
        ticks=tuple(ticks),
        logarithmic=graph.response_time,
        dashed=graph.target,
    )


def _curve(line: Line, mark: Mark) -> Curve:
    later = line.incarnation > 1
    label = f"{line.contender}, incarnation {line.incarnation}" if later else line.contender
    return Curve(label, mark.css_class, line.runs, later)


def _scale(
    graph: Graph, values: Sequence[float], height: float
) -> tuple[Linear | Logarithmic, list[tuple[float, str]]]:
    if graph.response_time:
        times = Logarithmic(min(values) / 1.3, max(values) * 1.3, height, 0)
        ticks = few_ticks(times.low, times.high)
        return times, [(tick, numbers.brief_time(tick)) for tick in ticks]
    highest = max(*values, graph.target or 0.0, 0.0)
    end, ticks = zero_based(highest, 4)
    y = Linear(0, max(end, _HEADROOM * highest), height, 0)
    return y, [(tick, numbers.short(tick)) for tick in ticks]


def _times(length: Second, height: float) -> Markup:
    """Return lines and labels of the time axis."""
    drawn = []
    for tick in time_ticks(0, length, _TIME_LABELS):
        at = tick / length * svg.WIDTH
        drawn.append(svg.upright(at, 0, height, "grid"))
        # Centred, the first one would run into the lowest label of the other axis.
        place = "tick middle" if tick else "tick"
        drawn.append(svg.text(svg.share(at), height + 15, place, numbers.clock(tick)))
    return Markup('<g class="times">{}</g>').format(Markup().join(drawn))


def _line(line: Line, mark: Mark, y: Linear | Logarithmic) -> Markup:
    """Return lines through the runs, and a dot for a second that stands alone."""
    style = f"{mark.css_class} later" if line.incarnation > 1 else mark.css_class
    runs = [
        [(second, round(_FINE * y(value))) for second, value in run]
        for run in thinned_runs(line.runs, MOST_DRAWN)
    ]
    joined = "".join(_joined(run) for run in runs if len(run) > 1)
    alone = svg.dots(run[0] for run in runs if len(run) == 1)
    return svg.path(f"course {style}", joined) + svg.path(f"small dot {style}", alone)


def thinned_runs(runs: tuple[Run, ...], most: int) -> tuple[Run, ...]:
    """Return `runs` with at most about `most` points.

    Neighbours are reduced to their lowest and highest, each at its own second.
    """
    present = sum(len(run) for run in runs)
    if present <= most:
        return runs
    joined = -(-2 * present // most)
    return tuple(_ends_kept(run, joined) for run in runs)


def _ends_kept(run: Run, joined: int) -> Run:
    kept: list[Point] = []
    for start in range(0, len(run), joined):
        neighbours = run[start : start + joined]
        kept += sorted({min(neighbours, key=itemgetter(1)), max(neighbours, key=itemgetter(1))})
    return tuple(kept)


def _joined(points: Sequence[tuple[int, int]]) -> str:
    """Return path data of a line through whole coordinates, each relative to the one before."""
    steps = []
    for (x, y), (next_x, next_y) in pairwise(points):
        rise = next_y - y
        steps.append(f"{next_x - x}{rise}" if rise < 0 else f"{next_x - x} {rise}")
    return f"M{points[0][0]} {points[0][1]}l{' '.join(steps)}"
