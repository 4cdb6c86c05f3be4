"""Recall and QPS of searches: a chart and two tables for each curve, and the indexes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import AtRecall, IndexResult, SearchComparison, SearchPoint
from slowdust.report.html.charts.recall import recall_chart
from slowdust.report.html.page import Page


@dataclass(frozen=True)
class EffortRow:
    """One test, on each of the curve's contenders that has it."""

    test: str
    points: tuple[SearchPoint | None, ...]


@dataclass(frozen=True)
class LevelRow:
    """One recall, on each of the curve's contenders."""

    recall: float
    cells: tuple[AtRecall, ...]


@dataclass(frozen=True)
class CurveView:
    """One curve of all contenders."""

    title: str
    contenders: tuple[str, ...]
    chart: Markup
    efforts: tuple[EffortRow, ...]
    levels: tuple[LevelRow, ...]


@dataclass(frozen=True)
class SearchesView:
    """What the section shows."""

    curves: tuple[CurveView, ...]
    indexes: Sequence[IndexResult]


def searches_view(page: Page) -> SearchesView | None:
    """Return the curves and the indexes; None without any."""
    report = page.report
    if not report.searches and not report.indexes:
        return None
    levels = {comparison.clients for comparison in report.searches}
    curves = [_curve(page, each, with_clients=len(levels) > 1) for each in report.searches]
    return SearchesView(tuple(curves), report.indexes)


def _curve(page: Page, comparison: SearchComparison, *, with_clients: bool) -> CurveView:
    title = comparison.curve + (f", {comparison.clients} clients" if with_clients else "")
    curves = comparison.contenders
    points = {(curve.contender, point.test): point for curve in curves for point in curve.points}
    tests = dict.fromkeys(point.test for curve in curves for point in curve.points)
    return CurveView(
        title=title,
        contenders=tuple(curve.contender for curve in curves),
        chart=recall_chart(comparison, page.marks),
        efforts=tuple(
            EffortRow(test, tuple(points.get((curve.contender, test)) for curve in curves))
            for test in tests
        ),
        levels=tuple(
            LevelRow(cells[0].recall, cells)
            for cells in zip(*(curve.at for curve in curves), strict=True)
        ),
    )
