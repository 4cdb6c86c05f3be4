"""Relative rate over the number of clients, both on logarithmic axes: who overtakes whom, where."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from slowdust.report.html.charts import svg
from slowdust.report.html.charts.ratio_lines import EDGE, Axes, RatioLine, axis_of_ratios, draw
from slowdust.report.html.charts.scale import Logarithmic

HEIGHT = 190.0

CLOSEST_LABELS = 60.0
"""Drawing units between two numbers of clients on the axis."""


def concurrency_chart(courses: Sequence[RatioLine], margin: float, title: str) -> Markup:
    """One line for each contender, the base the level at 1; nothing without two levels.

    `margin` is the share around 1 within which a difference does not matter.
    """
    levels = sorted({point.at for one in courses for point in one.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], EDGE, svg.WIDTH - EDGE)
    ground = Axes(x, axis_of_ratios(courses, margin, HEIGHT), levels, margin, HEIGHT)
    return draw(title, courses, ground, _clients, _level_labels(levels, x))


def _clients(level: float) -> str:
    return f"{level:.0f}"


def _level_labels(levels: Sequence[float], x: Logarithmic) -> list[Markup]:
    """The numbers of clients below the chart, while they do not touch."""
    labels: list[Markup] = []
    last = -CLOSEST_LABELS
    for level in levels:
        if x(level) - last >= CLOSEST_LABELS:
            last = x(level)
            labels.append(svg.text(svg.share(last), HEIGHT + 15, "tick middle", _clients(level)))
    return labels
