"""Graphs of time: the seconds of slices and of long steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from markupsafe import Markup

from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.curves import Curve, TimeCurves, ValueAxis
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import (
    BrokenTime,
    Linear,
    Logarithmic,
    broken_time,
    few_ticks,
    time_ticks,
    zero_based,
)
from slowdust.store.slice import Slice
from slowdust.units import Microsecond, Second

RATE_HEIGHT = 130.0
RESPONSE_HEIGHT = 100.0

MOST_SPANS = 3000
"""Spans of one chart; longer series are thinned by joining neighbours within a slice."""

SHORTEST_TAIL: Second = 0.5
"""A last second shorter than this is joined to the one before: its rate would be noise."""

CLOSEST_LABELS = 75.0
"""Drawing units between two labels of the time axis."""


@dataclass(frozen=True)
class Span:
    """A part of a slice: `start`..`end` (seconds of the experiment), rate, worst response."""

    contender: str
    start: Second
    end: Second
    rate: float
    max_us: Microsecond


def spans(slices: Sequence[Slice], origin: float) -> list[Span]:
    """Return the seconds of all slices, their times from `origin` (Unix time).

    Where there are too many, neighbours are one. Slices whose time is not known have none.
    """
    total = sum(max(1, len(record.measured.per_second)) for record in slices)
    joined = -(-total // MOST_SPANS)
    return [
        span
        for record in slices
        if record.measured.started is not None and record.measured.seconds is not None
        for span in _spans_of(
            record, record.measured.started - origin, record.measured.seconds, joined
        )
    ]


def _spans_of(record: Slice, opened: Second, length: Second, joined: int) -> list[Span]:
    contender, measured = record.place.contender, record.measured
    counted = sum(second.operations for second in measured.per_second)
    if counted == 0:
        worst = measured.latency.max_ns / 1e3 if measured.latency else 0.0
        return [Span(contender, opened, opened + length, record.qps, worst)]
    units_per_operation = record.qps * length / counted
    cuts: list[Second] = [float(at) for at in range(0, len(measured.per_second), joined)]
    if len(cuts) > 1 and length - cuts[-1] < SHORTEST_TAIL:
        cuts.pop()
    parts: list[Span] = []
    for start, end in zip(cuts, [*cuts[1:], length], strict=True):
        last = len(measured.per_second) if end == length else int(end)
        seconds = measured.per_second[int(start) : last]
        rate = sum(second.operations for second in seconds) * units_per_operation / (end - start)
        worst = max(second.max_ns for second in seconds) / 1e3
        parts.append(Span(contender, opened + start, opened + end, rate, worst))
    return parts


def seconds_chart(
    slices: Sequence[Slice], origin: float, marks: Mapping[str, Mark], unit: str
) -> Markup:
    """Return both graphs of one step's slices, one below the other; none if no operation ended."""
    measured = spans(slices, origin)
    if not measured:
        return Markup()
    x = broken_time([(span.start, span.end) for span in measured], svg.WIDTH)
    return Markup().join(
        (_slice_rates(measured, x, marks, unit), _slice_responses(measured, x, marks))
    )


def _slice_rates(
    measured: Sequence[Span], x: BrokenTime, marks: Mapping[str, Mark], unit: str
) -> Markup:
    high, ticks = zero_based(max(span.rate for span in measured), 4)
    y = Linear(0, high, RATE_HEIGHT, 0)
    axis = svg.value_axis([(y(tick), numbers.short(tick)) for tick in ticks])
    return svg.Frame(
        title=f"Rate in {unit} over time",
        height=RATE_HEIGHT,
        css_class="timeline tight",
        background=(*axis, *_cuts(x, RATE_HEIGHT)),
        marks=_strokes(marks, [(span, y(span.rate)) for span in measured], x),
    ).markup()


def _slice_responses(measured: Sequence[Span], x: BrokenTime, marks: Mapping[str, Mark]) -> Markup:
    answered = [span for span in measured if span.max_us > 0]
    if not answered:
        return Markup()
    worst = [span.max_us for span in answered]
    y = Logarithmic(min(worst) / 1.3, max(worst) * 1.3, RESPONSE_HEIGHT, 0)
    ticks = few_ticks(y.low, y.high)
    axis = svg.value_axis([(y(tick), numbers.brief_time(tick)) for tick in ticks])
    return svg.Frame(
        title="Largest response time over time",
        height=RESPONSE_HEIGHT,
        css_class="timeline",
        background=(*axis, *_cuts(x, RESPONSE_HEIGHT)),
        marks=_strokes(marks, [(span, y(span.max_us)) for span in answered], x),
        labels=tuple(_time_labels(x)),
    ).markup()


def _strokes(
    marks: Mapping[str, Mark], placed: Sequence[tuple[Span, float]], x: BrokenTime
) -> tuple[Markup, ...]:
    return tuple(
        svg.path(
            f"stroke {mark.css_class}",
            svg.dashes(
                (x(span.start), x(span.end), y) for span, y in placed if span.contender == name
            ),
        )
        for name, mark in marks.items()
    )


def _cuts(x: BrokenTime, height: float) -> list[Markup]:
    return [svg.upright(at, 0, height, "separator") for at in x.cuts]


def _time_labels(x: BrokenTime) -> list[Markup]:
    """Return the start of every stretch, and even steps in the long ones, where there is room."""
    wanted: list[float] = [start for start, _ in x.spans]
    for start, end in x.spans:
        most = int((end - start) * x.per_second / (2 * CLOSEST_LABELS))
        if most >= 2:
            wanted += time_ticks(start, end, most)
    taken: list[float] = []
    labels: list[Markup] = []
    for time in wanted:
        at = x(time)
        if all(abs(at - other) >= CLOSEST_LABELS for other in taken):
            taken.append(at)
            label = numbers.clock(time)
            labels.append(svg.text(svg.share(at), RESPONSE_HEIGHT + 14, "tick", label))
    return labels


STEP_RATE_HEIGHT = 84.0
STEP_RESPONSE_HEIGHT = 64.0
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
    """A contender in one start, with gaps where nothing was measured."""

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
    height = STEP_RESPONSE_HEIGHT if graph.response_time else STEP_RATE_HEIGHT
    y, ticks = _scale(graph, values, height)
    axis = svg.value_axis([(y(tick), label) for tick, label in ticks])
    if graph.target is not None:
        axis = (*axis, svg.level(y(graph.target), "target"))
    curves = TimeCurves(
        length=length,
        y=_value_axis(graph, y, ticks),
        curves=tuple(_curve(line, marks[line.contender]) for line in graph.lines if line.runs),
    )
    return svg.Frame(
        title=f"{graph.title} in each second of the step",
        height=height,
        css_class="seconds",
        background=(*axis, _times(length, height)),
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
    label = f"{line.contender}, start {line.incarnation}" if later else line.contender
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
