"""The sections of the page, in one list; each is a template, and the view that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import (
    Report,
    Result,
    SearchComparison,
)
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.analysis.results.main_effects import main_effects
from slowdust.analysis.results.summary import Summary, summary_tables, titles_of
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.report import answer
from slowdust.report.beside import FRONTIER, INTRODUCTION, rows_of
from slowdust.report.calibration import explanations, sentences, tally_table, test_table
from slowdust.report.html.cells import sla_failure
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.ratio_lines import (
    EDGE,
    Axes,
    RatioLine,
    RatioPoint,
    axis_of_ratios,
    draw,
)
from slowdust.report.html.charts.scale import Logarithmic
from slowdust.report.html.charts.trade_offs import frontier_chart, recall_chart
from slowdust.report.html.page import MOST_IN_ONE_FOREST, Page, Row
from slowdust.report.html.test_views import test_views
from slowdust.report.tables import HEAD_OF_HOSTS, rows_of_hosts, table_by_host, tables_of_storage
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.units import known

View = Mapping[str, object]
"""The names that a section's template knows as `view`."""


def beside_view(page: Page) -> View | None:
    """Return the view; None where nothing ran beside a test, and no frontier was measured."""
    rows, points = rows_of(page.report), page.report.frontier
    if not rows and not points:
        return None
    return {
        "rows": rows,
        "points": points,
        "chart": frontier_chart(points, page.marks) if points else "",
        "introduction": INTRODUCTION,
        "about_frontier": FRONTIER,
    }


def calibration_view(report: Report) -> View | None:
    """Return the sentences, and the tables with their names for those who do not see them."""
    if report.calibration is None:
        return None
    shown = [report.calibration]
    return {
        "sentences": sentences(shown),
        "tables": [
            ("Verdicts by known delay", tally_table(shown)),
            ("Noise and times by test", test_table(shown)),
        ],
        "explanations": explanations(shown),
    }


HEIGHT = 190.0

CLOSEST_LABELS = 60.0
"""Drawing units between two labels of the axis."""


def concurrency_views(page: Page) -> list[View]:
    """Return a view for each test; its rows are in ascending order of their clients."""
    views: list[View] = []
    for test in page.report.concurrency:
        rows = sorted(
            (row for row in page.rows if row.step[:2] == (test.benchmark, test.test)),
            key=lambda row: row.step.clients,
        )
        views.append(
            {
                "test": test.test,
                "anchor": f"clients-{rows[0].anchor.removeprefix('test-')}",
                "courses": test.courses,
                "rows": rows,
                "chart": _chart_by_clients(page, rows, test.test),
            }
        )
    return views


def _chart_by_clients(page: Page, rows: Sequence[Row], test: str) -> Markup:
    """Return a line for each contender, the base at 1; nothing without two numbers of clients.

    Both axes are logarithmic.
    """
    lines = [
        RatioLine(
            f"{name}, rqps by clients",
            page.marks[name],
            tuple(
                RatioPoint(
                    *(cell.ratio.value, cell.ratio.low, cell.ratio.high),
                    at=row.step.clients,
                    unsure=cell.verdict == "unsure",
                )
                for row in rows
                for cell in row.cells
                if cell is not None and cell.contender == name
                if cell.ratio and cell.ratio.value
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
    return draw(
        title,
        lines,
        axes,
        "{:.0f}".format,
        svg.place_labels(levels, x, HEIGHT, CLOSEST_LABELS, "{:.0f}".format),
    )


def contenders_view(report: Report) -> View:
    """Return the columns of the tables of contenders: particulars (title -> by contender), and the
    names of settings."""
    infos = report.contender_info
    particulars = {
        "Engine": {info.name: info.engine for info in infos},
        "Environment": {info.name: ", ".join(info.environment) or None for info in infos},
        "Allocator": {info.name: info.allocator for info in infos},
    }
    return {
        "particulars": {
            title: named for title, named in particulars.items() if any(named.values())
        },
        "differing_settings": sorted({name for info in infos for name in info.differing}),
        "all_settings": sorted({name for info in infos for name in info.settings}),
        "unknown_settings": unknown_settings(infos),
    }


def host_view(report: Report) -> View | None:
    """Return the bad states, and a sentence on the other findings; None without a check."""
    if not report.findings:
        return None
    return {"bad": answer.bad(report.findings), "others": answer.others(report.findings)}


def hosts_view(report: Report) -> View | None:
    """Return the view; None unless the experiment was joined."""
    if not report.hosts:
        return None
    results = table_by_host(report)
    return {"head": HEAD_OF_HOSTS, "hosts": rows_of_hosts(report), "results": results}


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
        chart = forest(_forest_groups(page, names, _point_of_time), margin, f"Rate of {whose}")
        work = forest(
            _forest_groups(page, names, _point_of_work), page.work_margin, f"Work of {whose}"
        )
        if chart or work:
            plots.append(Forest(contender, chart, work))
    return plots


PointOf = Callable[[Result, Mark], ForestPoint | None]
"""Function of a result and its contender's mark: what is drawn of it, if anything is known."""


def _forest_groups(page: Page, names: Sequence[str], point_of: PointOf) -> list[ForestGroup]:
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
    if cell.ratio is None or not cell.ratio.value:
        return None
    return ForestPoint(
        *(cell.ratio.value, cell.ratio.low, cell.ratio.high),
        contender=cell.contender,
        mark=mark,
        verdict=cell.verdict or "not judged",
    )


def _point_of_work(cell: Result, mark: Mark) -> ForestPoint | None:
    if cell.work is None or cell.work.ratio is None:
        return None
    return ForestPoint(
        *(cell.work.ratio.value, cell.work.ratio.low, cell.work.ratio.high),
        contender=cell.contender,
        mark=mark,
        verdict=cell.work.verdict or "not judged",
    )


def searches_view(page: Page) -> View | None:
    """Return the curves and the indexes; None without any."""
    report = page.report
    if not report.searches and not report.indexes:
        return None
    levels = {comparison.clients for comparison in report.searches}
    curves = [_curve(page, each, with_clients=len(levels) > 1) for each in report.searches]
    return {"curves": curves, "indexes": report.indexes}


def _curve(page: Page, comparison: SearchComparison, *, with_clients: bool) -> View:
    """Return one curve of all contenders, with its points by test and by recall."""
    curves = comparison.contenders
    points = {(curve.contender, point.test): point for curve in curves for point in curve.points}
    tests = dict.fromkeys(point.test for curve in curves for point in curve.points)
    return {
        "title": comparison.curve + (f", {comparison.clients} clients" if with_clients else ""),
        "contenders": [curve.contender for curve in curves],
        "chart": recall_chart(comparison, page.marks),
        "efforts": {
            test: [points.get((curve.contender, test)) for curve in curves] for test in tests
        },
        "levels": [*zip(*(curve.at for curve in curves), strict=True)],
    }


@dataclass(frozen=True)
class SummaryView:
    """The tables for each number of clients and hold, and the row of each long step."""

    summaries: tuple[tuple[str, Summary], ...]
    """Title of the tables, empty where nothing has to tell them from others, and the tables."""
    rows: Mapping[tuple[str, int], Row]
    """Test and clients -> row."""

    def anchor_of(self, test: str, clients: int) -> str:
        return self.rows[test, clients].anchor

    def sla_failure_of(self, test: str, clients: int, contender: str) -> str:
        """Return how the writers of a step failed: '612 of 1,000 inserts/s'."""
        results = self.rows[test, clients].results
        return next(sla_failure(each.writers) for each in results if each.contender == contender)


def summary_view(page: Page) -> SummaryView | None:
    """Return the view; None without long steps."""
    rows = {(row.step.test, row.step.clients): row for row in page.rows if row.long}
    if not rows:
        return None
    summaries = summary_tables(page.report)
    return SummaryView(tuple(zip(titles_of(summaries), summaries, strict=True)), rows)


@dataclass(frozen=True)
class Section:
    """A section of the page: the template `name`.html shows its view."""

    name: str
    link: str
    """The words of its link in the navigation; empty where it has none."""
    view: object
    """What the template shows; None: the section is left out."""


def sections_of(
    page: Page, slices: Sequence[Slice], profiles: Sequence[Profile] = ()
) -> list[Section]:
    """Return the sections of a page that have something to show, in their order."""
    sections = (
        Section("summary", "Summary", summary_view(page)),
        Section("calibration", "Calibration", calibration_view(page.report)),
        Section("results", "Results", page),
        Section("effects", "Main effects", main_effects(page.report) or None),
        Section("hosts", "By host", hosts_view(page.report)),
        Section("intervals", page.heading_of_intervals, forests(page) or None),
        Section("versions", "", changes_beside_tldr(page.report) or None),
        Section("searches", "Recall and QPS", searches_view(page)),
        Section("concurrency", "Clients", concurrency_views(page) or None),
        Section("beside", "Mixed load", beside_view(page)),
        Section("memory", "Memory", page.report.memory or None),
        Section("storage", "Storage", tables_of_storage(page.report) or None),
        Section("tests", "Tests", test_views(page, slices, profiles)),
        Section("host", "Host", host_view(page.report)),
        Section("contenders", "Contenders", contenders_view(page.report)),
        Section("method", "Method", page.report),
        Section("reading", "How to read this page", page),
    )
    return [section for section in sections if section.view is not None]
