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
    return Markup().join((_rates(measured, x, marks, unit), _responses(measured, x, marks)))


def _rates(measured: Sequence[Span], x: BrokenTime, marks: Mapping[str, Mark], unit: str) -> Markup:
    high, ticks = zero_based(max(span.rate for span in measured), 4)
    y = Linear(0, high, RATE_HEIGHT, 0)
    axis = svg.value_axis([(y(tick), numbers.short(tick)) for tick in ticks])
    return svg.Frame(
        title=f"Rate in {unit} over time",
        height=RATE_HEIGHT,
        css_class="timeline tight",
        behind=(*axis, *_cuts(x, RATE_HEIGHT)),
        marks=_strokes(marks, [(span, y(span.rate)) for span in measured], x),
    ).markup()


def _responses(measured: Sequence[Span], x: BrokenTime, marks: Mapping[str, Mark]) -> Markup:
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
        behind=(*axis, *_cuts(x, RESPONSE_HEIGHT)),
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
