"""The mixed load: the sides relative to running alone, and the frontier of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import FrontierPoint
from slowdust.report.beside import FRONTIER, INTRODUCTION, BesideRow, rows_of
from slowdust.report.html.charts.frontier import frontier_chart
from slowdust.report.html.page import Page


@dataclass(frozen=True)
class BesideView:
    """The rows of tests with others beside them, and the points of the frontier."""

    rows: Sequence[BesideRow]
    points: Sequence[FrontierPoint]
    chart: Markup
    introduction: str = INTRODUCTION
    about_frontier: str = FRONTIER


def beside_view(page: Page) -> BesideView | None:
    """Return the view; None where nothing ran beside a test, and no frontier was measured."""
    rows, points = rows_of(page.report), page.report.frontier
    if not rows and not points:
        return None
    return BesideView(rows, points, frontier_chart(points, page.marks) if points else Markup())
