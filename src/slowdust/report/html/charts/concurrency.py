"""Relative rate over the number of clients, both on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from slowdust.report.html.charts import svg
from slowdust.report.html.charts.ratio_lines import EDGE, Axes, RatioLine, axis_of_ratios, draw
from slowdust.report.html.charts.scale import Logarithmic

HEIGHT = 190.0

CLOSEST_LABELS = 60.0
"""Drawing units between two labels of the axis."""


def concurrency_chart(lines: Sequence[RatioLine], margin: float, title: str) -> Markup:
    """Return a line for each contender, the base at 1; nothing without two numbers of clients.

    `margin` is the share around 1 within which a difference does not matter.
    """
    levels = sorted({point.at for line in lines for point in line.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], EDGE, svg.WIDTH - EDGE)
    axes = Axes(x, axis_of_ratios(lines, margin, HEIGHT), levels, margin, HEIGHT)
    return draw(title, lines, axes, _clients, _level_labels(levels, x))


def _clients(level: float) -> str:
    return f"{level:.0f}"


def _level_labels(levels: Sequence[float], x: Logarithmic) -> list[Markup]:
    """Return the numbers of clients below the chart, without those that would touch another."""
    labels: list[Markup] = []
    last = -CLOSEST_LABELS
    for level in levels:
        if x(level) - last >= CLOSEST_LABELS:
            last = x(level)
            labels.append(svg.text(svg.share(last), HEIGHT + 15, "tick middle", _clients(level)))
    return labels
