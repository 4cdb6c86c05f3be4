"""The results by number of clients: a chart, a table and a sentence for each test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import Course
from slowdust.report.html.charts.concurrency import concurrency_chart
from slowdust.report.html.charts.ratio_lines import RatioLine, RatioPoint
from slowdust.report.html.page import Page
from slowdust.report.html.rows import Row


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
    lines = [
        RatioLine(
            f"{name}, rqps by clients",
            page.marks[name],
            tuple(
                RatioPoint(cell.rqps, cell.low, cell.high, row.step.clients)
                for row in rows
                for cell in row.cells
                if cell is not None and cell.contender == name and cell.rqps
            ),
        )
        for name in page.others
    ]
    title = f"Rate of {test} relative to {page.report.base}, by number of clients"
    return concurrency_chart([line for line in lines if line.points], page.report.margin, title)
