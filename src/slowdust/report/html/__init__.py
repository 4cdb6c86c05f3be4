"""The report as one self-contained HTML page: readable without network and without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Report
from slowdust.report.html.environment import chart_library, environment, shipped
from slowdust.report.html.later import later_parts
from slowdust.report.html.page import page_of
from slowdust.report.html.sections import sections_of
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice


def render(report: Report, slices: Sequence[Slice], profiles: Sequence[Profile] = ()) -> str:
    """Return the page: tables from the report, charts from the slices it was computed from, flame
    graphs from the profiles."""
    page = page_of(report)
    template = environment().get_template("page.html")
    sections = sections_of(page, slices, profiles)
    return template.render(
        page=page,
        report=report,
        sections=sections,
        later=later_parts(page, sections),
        style=shipped("page.css", "steps.css", "uplot/uPlot.min.css", "charts.css"),
        script=chart_library()
        + shipped("page.js", "later.js", "charts.js", "save.js", "flames.js"),
    )
