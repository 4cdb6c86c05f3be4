"""The sections of the page: sections of the document, and views that templates draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.model import Result
from slowdust.report import document
from slowdust.report.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.charts.marks import Mark
from slowdust.report.html.blocks import drawn
from slowdust.report.html.page import MOST_IN_ONE_FOREST, Page
from slowdust.report.html.test_views import test_views
from slowdust.report.report import SECTIONS, OfTests, calibrated
from slowdust.report.sections.reading import reading
from slowdust.report.sections.steps import summaries
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
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
        chart = forest(_forest_groups(page, names, _point_of_time), margin, f"Rate of {whose}")
        work = forest(
            _forest_groups(page, names, _point_of_work), page.work_margin, f"Work of {whose}"
        )
        if chart or work:
            plots.append(Forest(contender, chart, work))
    return plots


PointOf = Callable[[Result, Mark], ForestPoint | None]
"""Function that returns the point of a result, given the mark of its contender."""


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
        cell.ratio,
        contender=cell.contender,
        mark=mark,
        verdict=cell.verdict or "not judged",
    )


def _point_of_work(cell: Result, mark: Mark) -> ForestPoint | None:
    if cell.work is None or cell.work.ratio is None:
        return None
    return ForestPoint(
        cell.work.ratio,
        contender=cell.contender,
        mark=mark,
        verdict=cell.work.verdict or "not judged",
    )


@dataclass(frozen=True)
class Section:
    """A section of the page: the template `name`.html shows its view."""

    name: str
    link: str
    """The words of its link in the navigation; empty where it has none."""
    view: object
    """The view of the template, or the drawn section; None without content."""

    @property
    def is_drawn(self) -> bool:
        return isinstance(self.view, Markup)


def sections_of(
    page: Page, slices: Sequence[Slice], profiles: Sequence[Profile] = ()
) -> list[Section]:
    """Return the sections of a page that have something to show, in their order.

    The tests stand at the place of the last section that is split by tests.
    """
    sections = [
        *(
            shown
            for section in (*summaries(page.report), calibrated(page.report))
            for shown in _drawn(page, section)
        ),
        Section("results", "Results", page),
        Section("intervals", page.heading_of_intervals, forests(page) or None),
    ]
    of_tests = [each.describe for each in SECTIONS if isinstance(each, OfTests)]
    last = max(place for place, each in enumerate(SECTIONS) if isinstance(each, OfTests))
    for place, each in enumerate(SECTIONS):
        if isinstance(each, OfTests):
            if place == last:
                views = test_views(page, slices, profiles, of_tests)
                sections.append(Section("tests", "Tests", views))
        else:
            sections += _drawn(page, each(page.report))
    sections += _drawn(page, reading(page.report))
    return [section for section in sections if section.view is not None]


def _drawn(page: Page, section: document.Section | None) -> list[Section]:
    """Return a section of the report as a section of the page."""
    if section is None or not (shown := drawn([section], page.look)):
        return []
    return [Section(section.anchor, section.link, shown)]
