"""The report as one self-contained HTML page: readable without network and without JavaScript."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

from msgspec.structs import replace

from slowdust.analysis.model import Report
from slowdust.report.html.environment import chart_library, environment, shipped
from slowdust.report.html.page import Page, page_of
from slowdust.report.html.sections import Section, sections_of
from slowdust.report.report import renamed
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice


def render(report: Report, slices: Sequence[Slice], profiles: Sequence[Profile] = ()) -> str:
    """Return the page: tables from the report, charts from the slices it was computed from, flame
    graphs from the profiles."""
    report, slices, profiles = _renamed(report, slices, profiles)
    page = page_of(report)
    template = environment().get_template("page.html")
    sections = sections_of(page, slices, profiles)
    return template.render(
        page=page,
        report=report,
        sections=sections,
        later=_later_parts(page, sections),
        style=shipped("page.css", "steps.css", "uplot/uPlot.min.css", "charts.css"),
        script=chart_library()
        + shipped("page.js", "later.js", "charts.js", "save.js", "flames.js"),
    )


def _renamed(
    report: Report, slices: Sequence[Slice], profiles: Sequence[Profile]
) -> tuple[Report, Sequence[Slice], Sequence[Profile]]:
    """Return the records with the contenders' names for readers."""
    names, shown = report.names, renamed(report)
    if shown is report:
        return report, slices, profiles
    placed = [
        replace(each, place=replace(each.place, contender=names[each.place.contender]))
        for each in slices
    ]
    own = [replace(each, contender=names[each.contender]) for each in profiles]
    return shown, placed, own


_RAW_DEFLATE = -15
"""The window of zlib without a head, which browsers call `deflate-raw`."""


def _later_parts(page: Page, sections: Sequence[Section]) -> str:
    """Return the parts that are drawn when they are unfolded, as JSON, compressed, in base64.

    `data-later` names them. Empty for a page that has few results.
    """
    if not page.has_many_cells:
        return ""
    views = {section.name: section.view for section in sections}
    forest, body = (environment().get_template(f"{name}.html") for name in ("forest", "test_body"))
    plots, tests = views.get("intervals"), views["tests"]
    parts: dict[str, str] = {}
    if isinstance(plots, list):
        for place, plot in enumerate(plots):
            parts[f"forest-{place}"] = forest.render(page=page, report=page.report, forest=plot)
    if isinstance(tests, list):
        for test in tests:
            parts[test.row.anchor] = body.render(page=page, report=page.report, test=test)
    packer = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE)
    data = packer.compress(json.dumps(parts).encode()) + packer.flush()
    return base64.b64encode(data).decode("ascii")
