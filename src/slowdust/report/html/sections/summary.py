"""The summary of long steps: the classic tables, whose cells lead to the steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowdust.analysis.results.summary import Summary, summary_tables, titles_of
from slowdust.report.html.cells import sla_failure
from slowdust.report.html.page import Page
from slowdust.report.html.rows import Row


@dataclass(frozen=True)
class SummaryView:
    """The tables for each number of clients and hold, and the row of each long step."""

    summaries: tuple[tuple[str, Summary], ...]
    """Title of the tables, empty where nothing has to tell them from others, and the tables."""
    rows: Mapping[tuple[str, int], Row]
    """Test and clients -> row."""

    def anchor_of(self, test: str, clients: int) -> str:
        """Return the anchor of a step's section."""
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
