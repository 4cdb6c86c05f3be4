"""Findings about the host: what `slowdust doctor` sees, and every experiment keeps."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """Severity of a finding."""

    PROBLEM = "problem"
    """Results of time cannot be trusted, or an experiment may fail."""
    WARNING = "warning"
    """Results of time are noisier than they need to be, or biased."""
    NOTE = "note"
    """A state to know when results are read, or a feature that is not available."""
    UNKNOWN = "unknown"
    """The state cannot be read on this host, which says nothing about it."""
    OK = "ok"


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The result of a check of the host."""

    check: str
    """The subject: 'Frequency governor'."""
    severity: Severity
    state: str
    """A sentence on what was seen, or on why nothing could be."""
    effect: str | None = None
    """A sentence on why it matters, and by how much where that is known."""
    remedy: str | None = None
    """The command that mends it, or shows what to mend; absent where there is none."""


_OF_A_PROCESS = "kill "
_SHOWS_NOW = "slowdust doctor"


def lasting(findings: list[Finding]) -> list[Finding]:
    """Return findings as a saved report has them: no remedy names a process of that time.

    The number of a process may be another's by the time that a report is read.
    """
    return [
        msgspec.structs.replace(finding, remedy=_SHOWS_NOW)
        if (finding.remedy or "").startswith(_OF_A_PROCESS)
        else finding
        for finding in findings
    ]


def by_severity(findings: list[Finding]) -> list[Finding]:
    """Return findings, the most severe first, and those of a severity in their order."""
    order = list(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))
