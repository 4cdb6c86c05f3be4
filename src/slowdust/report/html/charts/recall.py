"""QPS over recall: a curve for each contender, whose dots are the efforts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from markupsafe import Markup

from slowdust.analysis.model import SearchComparison, SearchCurve, SearchPoint
from slowdust.report.html import numbers
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Logarithmic, ratio_ticks

HEIGHT = 240.0
_EDGE = 40.0
"""Drawing units that are free beside the first dot and the last."""
_BEYOND = 0.005
"""Distance of the axis' end from a recall of 1, which a logarithm of what is missed needs."""
_STOPS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
_CLOSEST_LABELS = 75.0
_MOST_TICKS = 6
_FREE = 1.15
"""Space above and below the curves, as a ratio."""


class RecallAxis:
    """Positions by the logarithm of what is missed: from 0.98 to 0.99 is as far as to halve it."""

    def __init__(self, lowest: float) -> None:
        """Begin with the lowest recall; the end is 1."""
        low = min(lowest, 0.9)
        self._missed = Logarithmic(1 - low + _BEYOND, _BEYOND, _EDGE, svg.WIDTH - _EDGE)
        self.stops = [low, *(stop for stop in _STOPS if stop > low)]

    def __call__(self, recall: float) -> float:
        """Return the position of a recall."""
        return self._missed(1 - recall + _BEYOND)


def recall_chart(comparison: SearchComparison, marks: Mapping[str, Mark]) -> Markup:
    """Return the curves of all contenders in one chart; nothing where none has a point."""
    points = [point for curve in comparison.contenders for point in curve.points if point.qps > 0]
    if not points:
        return Markup()
    x = RecallAxis(min(point.recall for point in points))
    rates = [point.qps for point in points]
    y = Logarithmic(min(rates) / _FREE, max(rates) * _FREE, HEIGHT, 0.0)
    ticks = [(y(tick), numbers.short(tick)) for tick in ratio_ticks(y.low, y.high, _MOST_TICKS)]
    return svg.Frame(
        title=f"QPS of {comparison.curve} over its recall, by contender",
        height=HEIGHT,
        css_class="clients",
        behind=(
            *(svg.level(place, "grid") for place, _ in ticks),
            *(svg.upright(x(stop), 0, HEIGHT, "grid") for stop in x.stops),
        ),
        marks=tuple(_curve(curve, marks[curve.contender], x, y) for curve in comparison.contenders),
        labels=tuple(_labels(x)),
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


def _labels(x: RecallAxis) -> list[Markup]:
    labels: list[Markup] = []
    last = -_CLOSEST_LABELS
    for stop in x.stops:
        if x(stop) - last >= _CLOSEST_LABELS:
            last = x(stop)
            text = f"{stop:.2f}".removesuffix("0") if stop < 1 else "1"
            labels.append(svg.text(svg.share(last), HEIGHT + 15, "tick middle", text))
    return labels
