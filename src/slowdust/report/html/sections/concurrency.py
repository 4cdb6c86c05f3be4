"""The results by number of clients: a chart, a table and a sentence for each test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import Course
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.ratio_lines import (
    EDGE,
    Axes,
    RatioLine,
    RatioPoint,
    axis_of_ratios,
    draw,
)
from slowdust.report.html.charts.scale import Logarithmic
from slowdust.report.html.page import Page
from slowdust.report.html.rows import Row

HEIGHT = 190.0

CLOSEST_LABELS = 60.0
"""Drawing units between two labels of the axis."""


@dataclass(frozen=True)
class ConcurrencyView:
    """One test at all its numbers of clients; `rows` in ascending order of them."""

    test: str
    anchor: str
    courses: tuple[Course, ...]
    rows: tuple[Row, ...]
    chart: Markup


def concurrency_views(page: Page) -> list[ConcurrencyView]:
    """Return a view of every test that has several numbers of clients."""
    views = []
    for test in page.report.concurrency:
        rows = sorted(
            (row for row in page.rows if row.step[:2] == (test.benchmark, test.test)),
            key=lambda row: row.step.clients,
        )
        views.append(
            ConcurrencyView(
                test=test.test,
                anchor=f"clients-{rows[0].anchor.removeprefix('test-')}",
                courses=tuple(test.courses),
                rows=tuple(rows),
                chart=_chart(page, rows, test.test),
            )
        )
    return views


def _chart(page: Page, rows: Sequence[Row], test: str) -> Markup:
    """Return a line for each contender, the base at 1; nothing without two numbers of clients.

    Both axes are logarithmic.
    """
    lines = [
        RatioLine(
            f"{name}, rqps by clients",
            page.marks[name],
            tuple(
                RatioPoint(
                    cell.judged_rqps,
                    *cell.judged_interval,
                    at=row.step.clients,
                    unsure=cell.verdict == "unsure",
                )
                for row in rows
                for cell in row.cells
                if cell is not None and cell.contender == name and cell.judged_rqps
            ),
        )
        for name in page.others
    ]
    lines = [line for line in lines if line.points]
    levels = sorted({point.at for line in lines for point in line.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], EDGE, svg.WIDTH - EDGE)
    margin = page.report.margin
    axes = Axes(x, axis_of_ratios(lines, margin, HEIGHT), levels, margin, HEIGHT)
    title = f"Rate of {test} relative to {page.report.base}, by number of clients"
    return draw(title, lines, axes, "{:.0f}".format, _level_labels(levels, x))


def _level_labels(levels: Sequence[float], x: Logarithmic) -> list[Markup]:
    """Return the numbers of clients below the chart, without those that would touch another."""
    labels: list[Markup] = []
    last = -CLOSEST_LABELS
    for level in levels:
        if x(level) - last >= CLOSEST_LABELS:
            last = x(level)
            labels.append(svg.text(svg.share(last), HEIGHT + 15, "tick middle", f"{level:.0f}"))
    return labels
