"""Per-second graphs: rate and largest response time at their real times, idle stretches cut out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.report.html import numbers
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import (
    BrokenTime,
    Linear,
    Logarithmic,
    broken_time,
    few_ticks,
    time_ticks,
    zero_based,
)
from slowdust.store.slice import Slice
from slowdust.units import Second

RATE_HEIGHT = 130.0
RESPONSE_HEIGHT = 100.0

MOST_PIECES = 3000
"""Pieces of one chart; longer series are thinned by joining neighbours within a slice."""

SHORTEST_TAIL: Second = 0.5
"""A last second shorter than this is joined to the one before: its rate would be noise."""

CLOSEST_LABELS = 75.0
"""Drawing units between two labels of the time axis."""


@dataclass(frozen=True)
class Piece:
    """A stretch of a slice: `start`..`end` (seconds of the experiment), rate, worst response."""

    contender: str
    start: Second
    end: Second
    rate: float
    max_us: float


def pieces(slices: Sequence[Slice], origin: float) -> list[Piece]:
    """Seconds of all `slices`, their times from `origin` (Unix time); thinned where too many.

    Slices of which nothing says when they were have none.
    """
    total = sum(max(1, len(one.measured.per_second)) for one in slices)
    joined = -(-total // MOST_PIECES)
    return [
        record
        for one in slices
        if one.measured.started is not None and one.measured.seconds is not None
        for record in _of_slice(one, one.measured.started - origin, one.measured.seconds, joined)
    ]


def _of_slice(one: Slice, opened: Second, length: Second, joined: int) -> list[Piece]:
    counted = sum(second.operations for second in one.measured.per_second)
    if counted == 0:
        worst = one.measured.latency.max_ns / 1e3 if one.measured.latency else 0.0
        return [Piece(one.place.contender, opened, opened + length, one.qps, worst)]
    units_per_operation = one.qps * length / counted
    cuts: list[Second] = [float(at) for at in range(0, len(one.measured.per_second), joined)]
    if len(cuts) > 1 and length - cuts[-1] < SHORTEST_TAIL:
        cuts.pop()
    ends = [*cuts[1:], length]
    found: list[Piece] = []
    for start, end in zip(cuts, ends, strict=True):
        last = len(one.measured.per_second) if end == length else int(end)
        seconds = one.measured.per_second[int(start) : last]
        rate = sum(second.operations for second in seconds) * units_per_operation / (end - start)
        worst = max(second.max_ns for second in seconds) / 1e3
        found.append(Piece(one.place.contender, opened + start, opened + end, rate, worst))
    return found


def seconds_chart(
    slices: Sequence[Slice], origin: float, marks: Mapping[str, Mark], unit: str
) -> Markup:
    """Both graphs, one below the other, of one step's slices."""
    drawn = pieces(slices, origin)
    x = broken_time([(record.start, record.end) for record in drawn], svg.WIDTH)
    return Markup().join((_rates(drawn, x, marks, unit), _responses(drawn, x, marks)))


def _rates(drawn: Sequence[Piece], x: BrokenTime, marks: Mapping[str, Mark], unit: str) -> Markup:
    high, ticks = zero_based(max(record.rate for record in drawn), 4)
    y = Linear(0, high, RATE_HEIGHT, 0)
    behind = [svg.level(y(tick), "grid") for tick in ticks]
    behind += [svg.text("0", y(tick) + 4, "tick end", numbers.short(tick), dx=-8) for tick in ticks]
    return svg.Frame(
        title=f"Rate in {unit} over time",
        height=RATE_HEIGHT,
        css_class="timeline tight",
        behind=(*behind, *_cuts(x, RATE_HEIGHT)),
        marks=_strokes(marks, [(record, y(record.rate)) for record in drawn], x),
    ).markup()


def _responses(drawn: Sequence[Piece], x: BrokenTime, marks: Mapping[str, Mark]) -> Markup:
    measured = [record for record in drawn if record.max_us > 0]
    if not measured:
        return Markup()
    worst = [record.max_us for record in measured]
    y = Logarithmic(min(worst) / 1.3, max(worst) * 1.3, RESPONSE_HEIGHT, 0)
    ticks = few_ticks(y.low, y.high)
    behind = [svg.level(y(tick), "grid") for tick in ticks]
    behind += [
        svg.text("0", y(tick) + 4, "tick end", numbers.brief_time(tick), dx=-8) for tick in ticks
    ]
    return svg.Frame(
        title="Largest response time over time",
        height=RESPONSE_HEIGHT,
        css_class="timeline",
        behind=(*behind, *_cuts(x, RESPONSE_HEIGHT)),
        marks=_strokes(marks, [(record, y(record.max_us)) for record in measured], x),
        labels=tuple(_time_labels(x)),
    ).markup()


def _strokes(
    marks: Mapping[str, Mark], placed: Sequence[tuple[Piece, float]], x: BrokenTime
) -> tuple[Markup, ...]:
    return tuple(
        svg.path(
            f"stroke {mark.css_class}",
            svg.dashes(
                (x(record.start), x(record.end), y)
                for record, y in placed
                if record.contender == name
            ),
        )
        for name, mark in marks.items()
    )


def _cuts(x: BrokenTime, height: float) -> list[Markup]:
    return [svg.upright(at, 0, height, "separator") for at in x.cuts]


def _time_labels(x: BrokenTime) -> list[Markup]:
    """The start of every span, and even steps inside the long ones, while they do not touch."""
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
