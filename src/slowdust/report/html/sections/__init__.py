"""The sections of the page, in one list; each is a template, and the view that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.results.main_effects import main_effects
from slowdust.analysis.story.changes import changes_beside_tldr
from slowdust.report.html.page import Page
from slowdust.report.html.sections.beside import beside_view
from slowdust.report.html.sections.calibration import calibration_view
from slowdust.report.html.sections.concurrency import concurrency_views
from slowdust.report.html.sections.contenders import contenders_view
from slowdust.report.html.sections.host import host_view
from slowdust.report.html.sections.hosts import hosts_view
from slowdust.report.html.sections.intervals import forests
from slowdust.report.html.sections.searches import searches_view
from slowdust.report.html.sections.storage import storage_view
from slowdust.report.html.sections.summary import summary_view
from slowdust.report.html.sections.tests import test_views
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice


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
