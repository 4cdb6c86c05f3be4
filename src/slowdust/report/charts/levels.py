"""Relative rates over the number of clients: a line for each contender, the base at 1."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from slowdust.analysis.model import Result
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.ratio_lines import (
    EDGE,
    Axes,
    RatioLine,
    RatioPoint,
    axis_of_ratios,
    draw,
)
from slowdust.report.charts.scale import Logarithmic

HEIGHT = 190.0
CLOSEST_LABELS = 60.0
"""Drawing units between two labels of the axis."""


def levels_chart(
    test: str,
    steps: Mapping[int, Mapping[str, Result]],
    marks: Mapping[str, Mark],
    base: str,
    margin: float,
) -> Markup:
    """Return the lines of a test; `steps` has the results by contender for each number of clients.

    Both axes are logarithmic. Nothing without two numbers of clients.
    """
    lines = [
        RatioLine(
            f"{name}, rqps by clients",
            mark,
            tuple(
                RatioPoint(
                    cell.ratio,
                    at=level,
                    unsure=cell.verdict == "unsure",
                )
                for level, results in sorted(steps.items())
                if (cell := results.get(name)) is not None
                if cell.ratio and cell.ratio.value
            ),
        )
        for name, mark in marks.items()
        if name != base
    ]
    lines = [line for line in lines if line.points]
    levels = sorted({point.at for line in lines for point in line.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], EDGE, svg.WIDTH - EDGE)
    axes = Axes(x, axis_of_ratios(lines, margin, HEIGHT), levels, margin, HEIGHT)
    title = f"Rate of {test} relative to {base}, by number of clients"
    labels = svg.place_labels(levels, x, HEIGHT, CLOSEST_LABELS, "{:.0f}".format)
    return draw(title, lines, axes, "{:.0f}".format, labels)
