"""Findings about the host in words, which all formats share."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.store.finding import Finding, Severity
from slowdust.wording import listing

_BAD = (Severity.PROBLEM, Severity.WARNING)


def bad(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that make results worse."""
    return [finding for finding in findings if finding.severity in _BAD]


def finding_in_words(finding: Finding) -> str:
    """Return what was seen, and why it matters."""
    return " ".join(filter(None, (finding.state, finding.effect)))


def others(findings: Sequence[Finding]) -> str:
    """Return sentences on the notes, on what could not be read, and on what is good."""
    names = {
        severity: [finding.check for finding in findings if finding.severity == severity]
        for severity in Severity
    }
    parts = []
    if names[Severity.NOTE]:
        parts.append(f"Notes on {listing(names[Severity.NOTE])}.")
    if names[Severity.UNKNOWN]:
        parts.append(f"Could not be read: {listing(names[Severity.UNKNOWN])}.")
    count = len(names[Severity.OK])
    parts.append(f"{count} of {len(findings)} checks found a good state.")
    return " ".join(parts)
