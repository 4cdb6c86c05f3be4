"""The frontier of two sides: transactions against queries, with a line along each frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from slowdust.analysis.model import FrontierPoint
from slowdust.report.beside import envelope
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Linear, zero_based
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
        behind=(
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
