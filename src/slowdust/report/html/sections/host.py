"""The state of the host: what made results worse, and how it is mended."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.analysis.model import Report
from slowdust.report import findings
from slowdust.store.finding import Finding


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
        bad=tuple(findings.bad(report.findings)),
        others=findings.others(report.findings),
    )
