"""The sections of the page, in one list; each is a template, and the view that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import (
    AtRecall,
    Course,
    FrontierPoint,
    IndexResult,
    Report,
    Result,
    SearchComparison,
    SearchPoint,
)
from slowdust.analysis.results.contenders import unknown_settings
from slowdust.analysis.results.main_effects import main_effects
from slowdust.analysis.results.summary import Summary, summary_tables, titles_of
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.report import answer
from slowdust.report.beside import FRONTIER, INTRODUCTION, BesideRow, rows_of
from slowdust.report.calibration import Table, explanations, sentences, tally_table, test_table
from slowdust.report.hosts import EXPLAINED, HEAD_OF_HOSTS, HostTable, rows_of_hosts, table_by_host
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
from slowdust.report.storage import StorageTable, tables_of_storage
from slowdust.store.finding import Finding
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.units import known


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


@dataclass(frozen=True)
class CalibrationView:
    """The sentences and tables of a calibration."""

    sentences: Sequence[str]
    tables: Sequence[tuple[str, Table]]
    """Each with its name for those who do not see it."""
    explanations: Sequence[str]


def calibration_view(report: Report) -> CalibrationView | None:
    """Return the view of a report's calibration; None if it is none."""
    if report.calibration is None:
        return None
    shown = [report.calibration]
    return CalibrationView(
        sentences=sentences(shown),
        tables=[
            ("Verdicts by known delay", tally_table(shown)),
            ("Noise and times by test", test_table(shown)),
        ],
        explanations=explanations(shown),
    )


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
                chart=_chart_by_clients(page, rows, test.test),
            )
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


@dataclass(frozen=True)
class ContendersView:
    """The columns of the tables of contenders."""

    particulars: Mapping[str, Mapping[str, str | None]]
    """Engine, environment and allocator, those that any contender has: title -> by contender."""
    differing_settings: tuple[str, ...]
    all_settings: tuple[str, ...]
    unknown_settings: tuple[str, ...]
    """Sentences: which version does not know which optional settings."""


def contenders_view(report: Report) -> ContendersView:
    infos = report.contender_info
    particulars: dict[str, dict[str, str | None]] = {
        "Engine": {info.name: info.engine for info in infos},
        "Environment": {info.name: ", ".join(info.environment) or None for info in infos},
        "Allocator": {info.name: info.allocator for info in infos},
    }
    return ContendersView(
        particulars={title: known for title, known in particulars.items() if any(known.values())},
        differing_settings=_names(info.differing for info in infos),
        all_settings=_names(info.settings for info in infos),
        unknown_settings=tuple(unknown_settings(infos)),
    )


def _names(settings: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({name for some in settings for name in some}))


@dataclass(frozen=True)
class HostView:
    """The bad states, and a sentence on the other findings."""

    bad: tuple[Finding, ...]
    others: str


def host_view(report: Report) -> HostView | None:
    """Return the view of the findings; None where the host was not checked."""
    if not report.findings:
        return None
    return HostView(
        bad=tuple(answer.bad(report.findings)),
        others=answer.others(report.findings),
    )


@dataclass(frozen=True)
class HostsView:
    """The hosts, and the results on each."""

    head: Sequence[str]
    hosts: Sequence[Sequence[str]]
    results: HostTable | None
    explained: str = EXPLAINED


def hosts_view(report: Report) -> HostsView | None:
    """Return the view; None unless the experiment was joined."""
    if not report.hosts:
        return None
    return HostsView(HEAD_OF_HOSTS, rows_of_hosts(report), table_by_host(report))


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


@dataclass(frozen=True)
class StorageView:
    """The tables of the storage's use."""

    tables: Sequence[StorageTable]


def storage_view(report: Report) -> StorageView | None:
    """Return the tables; None without tests of data beyond the page caches."""
    tables = tables_of_storage(report)
    return StorageView(tables) if tables else None


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
        Section("storage", "Storage", storage_view(page.report)),
        Section("tests", "Tests", test_views(page, slices, profiles)),
        Section("host", "Host", host_view(page.report)),
        Section("contenders", "Contenders", contenders_view(page.report)),
        Section("method", "Method", page.report),
        Section("reading", "How to read this page", page),
    )
    return [section for section in sections if section.view is not None]
