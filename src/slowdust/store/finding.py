"""Findings about the host, from `slowdust doctor` and in every experiment."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """Severity of a finding."""

    PROBLEM = "problem"
    """Timed results are unreliable, or an experiment may fail."""
    WARNING = "warning"
    """Timed results are noisier than necessary, or biased."""
    NOTE = "note"
    """A state that helps to read results, or a feature that is not available."""
    UNKNOWN = "unknown"
    """The state cannot be read on this host."""
    OK = "ok"


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The result of a check of the host."""

    check: str
    """The subject: 'Frequency governor'."""
    severity: Severity
    state: str
    """A sentence about the state, or about why it cannot be read."""
    effect: str | None = None
    """A sentence about the effect on results, with its size if known."""
    remedy: str | None = None
    """The command that fixes it, or shows what to fix, if there is one."""


_OF_A_PROCESS = "kill "
_SHOWS_NOW = "slowdust doctor"


def lasting(findings: list[Finding]) -> list[Finding]:
    """Return findings for a stored report: no remedy has a process id.

    When the report is read, the id may belong to another process.
    """
    return [
        msgspec.structs.replace(finding, remedy=_SHOWS_NOW)
        if (finding.remedy or "").startswith(_OF_A_PROCESS)
        else finding
        for finding in findings
    ]


def by_severity(findings: list[Finding]) -> list[Finding]:
    """Return findings sorted by severity, the most severe first."""
    order = list(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))
