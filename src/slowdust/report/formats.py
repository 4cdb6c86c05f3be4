"""The formats of reports, of histories and of sizes, one line each.

A format is `render`, or another function, of a module of this package. It is loaded when something
is rendered, so that the command line can list all formats without loading any.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, TypeVarTuple, cast

if TYPE_CHECKING:
    from slowdust.analysis.blame import Blame
    from slowdust.analysis.diff import Diff
    from slowdust.analysis.explanation.one_result import Explained
    from slowdust.analysis.history.model import History
    from slowdust.analysis.model import Report
    from slowdust.analysis.sizes import SizesReport
    from slowdust.store.profile import Profile
    from slowdust.store.slice import Slice

_Content = TypeVarTuple("_Content")


class Destination(Enum):
    """The place to which a command writes a format."""

    OUTPUT = auto()
    FILE = auto()


@dataclass(frozen=True)
class Format(Generic[*_Content]):
    """A format: its command-line option, and its renderer."""

    name: str
    help: str
    renderer: str
    """A module of this package that has `render`, or MODULE:FUNCTION."""
    destination: Destination = Destination.OUTPUT

    def render(self, *content: *_Content) -> str:
        text: str = self._loaded()(*content)
        return text

    def _loaded(self) -> Callable[[*_Content], Any]:
        module, _, function = self.renderer.partition(":")
        loaded = importlib.import_module(f"slowdust.report.{module}")
        return cast("Callable[[*_Content], Any]", getattr(loaded, function or "render"))


class DocumentFormat(Format[*_Content]):
    """A page or Markdown, whose `renderer` returns a `Document`."""

    def render(self, *content: *_Content) -> str:
        from slowdust.report.html import blocks
        from slowdust.report.markdown import document as markdown
        from slowdust.report.markdown.table import escaped

        make = self._loaded()
        if self.destination is Destination.FILE:
            return blocks.render(make(*content))
        return markdown.render(make(*escaped(content)))


REPORTS: tuple[Format[Report, Sequence[Slice], Sequence[Profile]], ...] = (
    Format("html", "Write the page to FILE.", "html", Destination.FILE),
    Format("md", "Print Markdown.", "markdown.report"),
    Format("csv", "Print CSV, one row per result.", "csv"),
    Format("json", "Print JSON (docs/report.schema.json).", "json"),
    Format("junit", "Write JUnit XML to FILE.", "junit", Destination.FILE),
)
"""The formats of a report; each gets it, and the slices and profiles that it was computed from."""

SHORT_REPORTS: tuple[Format[Report, Sequence[Slice], Sequence[Profile]], ...] = (
    Format("md", "Print Markdown that fits a comment.", "markdown.report:render_short"),
)
"""The format of `slowdust report --md --short`."""

HISTORIES: tuple[Format[History], ...] = (
    DocumentFormat("html", "Write the page to FILE.", "history:document", Destination.FILE),
    DocumentFormat("md", "Print Markdown, test by test.", "history:document"),
    Format("json", "Print JSON (docs/history.schema.json).", "json"),
)

EXPLANATIONS: tuple[Format[Explained], ...] = (
    Format("json", "Print JSON (docs/explain.schema.json).", "json"),
)

BLAMES: tuple[Format[Blame], ...] = (
    DocumentFormat("html", "Write the page to FILE.", "blame:document", Destination.FILE),
    DocumentFormat("md", "Print Markdown.", "blame:document"),
    Format("json", "Print JSON (docs/blame.schema.json).", "json"),
)

DIFFS: tuple[Format[Diff], ...] = (
    DocumentFormat("html", "Write the page to FILE.", "diff:document", Destination.FILE),
    DocumentFormat("md", "Print Markdown.", "diff:document"),
    Format("json", "Print JSON (docs/diff.schema.json).", "json"),
)

SIZES: tuple[Format[SizesReport], ...] = (
    DocumentFormat("html", "Write a page with charts to FILE.", "sizes:document", Destination.FILE),
    DocumentFormat("md", "Print Markdown with all columns.", "sizes:document"),
    Format("csv", "Print CSV, one row per build.", "sizes:render_csv"),
    Format("json", "Print JSON.", "json"),
)


def render_as(name: str, formats: Sequence[Format[*_Content]], *content: *_Content) -> str:
    """Return the content in the format of that name, which has to be one of `formats`."""
    return next(form for form in formats if form.name == name).render(*content)
