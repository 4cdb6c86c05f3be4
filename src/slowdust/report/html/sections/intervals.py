"""The forest plots: all intervals of the relative rates on one axis, and those of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import Result
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.page import MOST_IN_ONE_FOREST, Page
from slowdust.units import known


@dataclass(frozen=True)
class Forest:
    """A forest plot, and its contender where each has a plot of its own."""

    contender: str | None
    chart: Markup
    work: Markup
    """The plot of the ratios of instructions; empty where nothing was counted."""


def forests(page: Page) -> list[Forest]:
    """Return one plot for few contenders, and one for each of many."""
    together = len(page.others) <= MOST_IN_ONE_FOREST
    panels: list[tuple[str | None, Sequence[str]]] = (
        [(None, page.others)] if together else [(name, [name]) for name in page.others]
    )
    base, margin = page.report.base, page.report.margin
    plots = []
    for contender, names in panels:
        whose = f"{contender or 'each contender'} relative to {base}, by test"
        chart = forest(_groups(page, names, _point_of_time), margin, f"Rate of {whose}")
        work = forest(_groups(page, names, _point_of_work), page.work_margin, f"Work of {whose}")
        if chart or work:
            plots.append(Forest(contender, chart, work))
    return plots


PointOf = Callable[[Result, Mark], ForestPoint | None]
"""Function of a result and its contender's mark: what is drawn of it, if anything is known."""


def _groups(page: Page, names: Sequence[str], point_of: PointOf) -> list[ForestGroup]:
    groups = []
    for group in page.groups:
        rows = []
        for row in group.rows:
            cells = [cell for cell in row.cells if cell is not None and cell.contender in names]
            points = known(point_of(cell, page.marks[cell.contender]) for cell in cells)
            if points:
                rows.append(ForestRow(row.label, row.anchor, tuple(points)))
        if rows:
            groups.append(ForestGroup(group.title, tuple(rows)))
    return groups


def _point_of_time(cell: Result, mark: Mark) -> ForestPoint | None:
    if not cell.judged_rqps:
        return None
    return ForestPoint(
        cell.judged_rqps,
        *cell.judged_interval,
        contender=cell.contender,
        mark=mark,
        verdict=cell.verdict or "not judged",
    )


def _point_of_work(cell: Result, mark: Mark) -> ForestPoint | None:
    if cell.work is None or cell.work.ratio is None:
        return None
    return ForestPoint(
        *(cell.work.ratio, cell.work.low, cell.work.high),
        contender=cell.contender,
        mark=mark,
        verdict=cell.work.verdict or "not judged",
    )
