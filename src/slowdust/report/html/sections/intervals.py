"""The forest plots: all intervals of the relative rates on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.page import MOST_IN_ONE_FOREST, Page
from slowdust.report.html.rows import TableGroup


@dataclass(frozen=True)
class Forest:
    """A forest plot, and its contender where each has a plot of its own."""

    contender: str | None
    chart: Markup


def forests(page: Page) -> list[Forest]:
    """Return one plot for few contenders, and one for each of many."""
    together = len(page.others) <= MOST_IN_ONE_FOREST
    panels: list[tuple[str | None, Sequence[str]]] = (
        [(None, page.others)] if together else [(name, [name]) for name in page.others]
    )
    base, margin = page.report.base, page.report.margin
    plots = []
    for contender, names in panels:
        title = f"Rate of {contender or 'each contender'} relative to {base}, by test"
        groups = [
            ForestGroup(group.title, tuple(_rows(group, names, page))) for group in page.groups
        ]
        chart = forest([group for group in groups if group.rows], margin, title)
        if chart:
            plots.append(Forest(contender, chart))
    return plots


def _rows(group: TableGroup, names: Sequence[str], page: Page) -> list[ForestRow]:
    rows = []
    for row in group.rows:
        points = tuple(
            ForestPoint(
                cell.judged_rqps,
                *cell.judged_interval,
                contender=cell.contender,
                mark=page.marks[cell.contender],
                verdict=cell.verdict or "not judged",
            )
            for cell in row.cells
            if cell is not None and cell.judged_rqps and cell.contender in names
        )
        if points:
            rows.append(ForestRow(row.label, row.anchor, points))
    return rows
