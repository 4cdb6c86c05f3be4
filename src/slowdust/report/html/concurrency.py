"""The page's view by number of clients: a chart, a table and a sentence for each test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import Course, Report
from slowdust.report.html.charts.concurrency import concurrency_chart
from slowdust.report.html.charts.courses import Course as Line
from slowdust.report.html.charts.courses import CoursePoint
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.rows import Row


@dataclass(frozen=True)
class ConcurrencyView:
    """One test at all its numbers of clients; `rows` in ascending order of them."""

    test: str
    anchor: str
    courses: tuple[Course, ...]
    rows: tuple[Row, ...]
    chart: Markup


def concurrency_views(
    report: Report, rows: Sequence[Row], marks: Mapping[str, Mark]
) -> tuple[ConcurrencyView, ...]:
    """A view of every test whose course by number of clients is known."""
    views = []
    for one in report.concurrency:
        own = sorted(
            (row for row in rows if row.step[:2] == (one.benchmark, one.test)),
            key=lambda row: row.step.clients,
        )
        views.append(
            ConcurrencyView(
                test=one.test,
                anchor=f"clients-{own[0].anchor.removeprefix('test-')}",
                courses=tuple(one.courses),
                rows=tuple(own),
                chart=_chart(report, own, marks, one.test),
            )
        )
    return tuple(views)


def _chart(report: Report, rows: Sequence[Row], marks: Mapping[str, Mark], test: str) -> Markup:
    lines = [
        Line(
            f"{name}, rqps by clients",
            marks[name],
            tuple(
                CoursePoint(row.step.clients, cell.rqps, cell.low, cell.high)
                for row in rows
                for cell in row.cells
                if cell is not None and cell.contender == name and cell.rqps
            ),
        )
        for name in report.contenders
        if name != report.base
    ]
    title = f"Rate of {test} relative to {report.base}, by number of clients"
    return concurrency_chart([one for one in lines if one.points], report.margin, title)
