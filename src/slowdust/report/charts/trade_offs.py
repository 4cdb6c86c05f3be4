"""Two quantities against each other: the frontier of a mixed load, and QPS over recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from slowdust.analysis.model import FrontierPoint, SearchComparison, SearchCurve, SearchPoint
from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import Linear, Logarithmic, ratio_ticks, zero_based
from slowdust.report.markdown.table import rate

HEIGHT = 280.0
_EDGE = 24.0
"""Drawing units that are free at both sides, so that no dot and no label is cut off."""
_FREE = 8.0
"""Pixels that are free at the top, so that no dot is cut off."""
_BELOW = 18.0
"""Pixels from the chart to the labels below it."""


def frontier_chart(points: Sequence[FrontierPoint], marks: Mapping[str, Mark]) -> Markup:
    """Return the chart: both axes begin at 0, a dot for each point, a line along each frontier."""
    most_x, ticks_x = zero_based(max(point.transactions_per_s for point in points))
    most_y, ticks_y = zero_based(max(point.queries_per_s for point in points))
    x = Linear(0, most_x, _EDGE, svg.WIDTH - _EDGE)
    y = Linear(0, most_y, HEIGHT, _FREE)
    labels = [
        svg.text(svg.share(x(tick)), HEIGHT + _BELOW, "tick middle", f"{tick:,g}")
        for tick in ticks_x
    ]
    return svg.Frame(
        title="Transactions per second against queries per second",
        height=HEIGHT,
        css_class="clients",
        background=(
            *(svg.level(y(tick), "grid") for tick in ticks_y),
            *(svg.upright(x(tick), _FREE, HEIGHT, "grid") for tick in ticks_x),
        ),
        marks=tuple(
            _contender(name, mark, [point for point in points if point.contender == name], x, y)
            for name, mark in marks.items()
        ),
        labels=tuple(labels),
        axis=tuple(svg.text("100%", y(t) + 4, "tick end", f"{t:,g}", dx=-8) for t in ticks_y),
    ).markup()


def _contender(
    name: str, mark: Mark, points: Sequence[FrontierPoint], x: Linear, y: Linear
) -> Markup:
    def place(point: FrontierPoint) -> tuple[float, float]:
        return x(point.transactions_per_s), y(point.queries_per_s)

    line = pairwise(place(point) for point in envelope(points, name))
    words = "; ".join(
        f"{point.transaction_clients} and {point.query_clients} clients: "
        f"{rate(point.transactions_per_s)} transactions/s, {rate(point.queries_per_s)} queries/s"
        for point in points
    )
    return Markup('<g class="{}"><title>{}</title>{}{}</g>').format(
        mark.css_class,
        f"{name}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in line)),
        svg.path("dot big", svg.dots([place(point) for point in points])),
    )


RECALL_HEIGHT = 240.0
_RECALL_EDGE = 40.0
"""Free drawing units before the first dot and after the last one."""
_BEYOND = 0.005
"""Distance of the axis' end from a recall of 1, which a logarithm of what is missed needs."""
_STOPS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
_CLOSEST_LABELS = 75.0
_MOST_TICKS = 6
_RECALL_FREE = 1.15
"""Space above and below the curves, as a ratio."""


class RecallAxis:
    """Positions by the logarithm of what is missed: from 0.98 to 0.99 is as far as to halve it."""

    def __init__(self, lowest: float) -> None:
        """Start the axis at the lowest recall; it ends at 1."""
        low = min(lowest, 0.9)
        self._missed = Logarithmic(
            1 - low + _BEYOND, _BEYOND, _RECALL_EDGE, svg.WIDTH - _RECALL_EDGE
        )
        self.stops = [low, *(stop for stop in _STOPS if stop > low)]

    def __call__(self, recall: float) -> float:
        return self._missed(1 - recall + _BEYOND)


def recall_chart(comparison: SearchComparison, marks: Mapping[str, Mark]) -> Markup:
    """Return the curves of all contenders in one chart; nothing where none has a point."""
    points = [point for curve in comparison.contenders for point in curve.points if point.qps > 0]
    if not points:
        return Markup()
    x = RecallAxis(min(point.recall for point in points))
    rates = [point.qps for point in points]
    y = Logarithmic(min(rates) / _RECALL_FREE, max(rates) * _RECALL_FREE, RECALL_HEIGHT, 0.0)
    ticks = [(y(tick), numbers.short(tick)) for tick in ratio_ticks(y.low, y.high, _MOST_TICKS)]
    return svg.Frame(
        title=f"QPS of {comparison.curve} over its recall, by contender",
        height=RECALL_HEIGHT,
        css_class="clients",
        background=(
            *(svg.level(place, "grid") for place, _ in ticks),
            *(svg.upright(x(stop), 0, RECALL_HEIGHT, "grid") for stop in x.stops),
        ),
        marks=tuple(_curve(curve, marks[curve.contender], x, y) for curve in comparison.contenders),
        labels=svg.place_labels(x.stops, x, RECALL_HEIGHT, _CLOSEST_LABELS, _recall),
        axis=tuple(svg.text("100%", place + 4, "tick end", text, dx=-8) for place, text in ticks),
    ).markup()


def _curve(curve: SearchCurve, mark: Mark, x: RecallAxis, y: Logarithmic) -> Markup:
    points = [point for point in curve.points if point.qps > 0]
    placed = [(x(point.recall), y(point.qps)) for point in points]
    words = "; ".join(_words(point) for point in points)
    return Markup('<g class="{}"><title>{}</title>{}{}</g>').format(
        mark.css_class,
        f"{curve.contender}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(placed))),
        svg.path("dot big", svg.dots(placed)),
    )


def _words(point: SearchPoint) -> str:
    return f"{point.test}: {point.recall:.3f}, {numbers.short(point.qps)}/s"


def _recall(stop: float) -> str:
    return f"{stop:.2f}".removesuffix("0") if stop < 1 else "1"


def envelope(points: Sequence[FrontierPoint], contender: str) -> list[FrontierPoint]:
    own = [point for point in points if point.contender == contender and point.on_frontier]
    return sorted(own, key=lambda point: (point.transactions_per_s, -point.queries_per_s))
