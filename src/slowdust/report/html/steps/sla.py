"""The SLA of the writers beside the queries, in words."""

from __future__ import annotations

from slowdust.analysis.model import RoleReport, Writers
from slowdust.analysis.sla import SHARE
from slowdust.report.html import numbers


def under_target(use: RoleReport) -> bool:
    """Whether a paced writer kept less than its SLA."""
    return use.target is not None and use.rate is not None and use.rate < SHARE * use.target


def sla_failure(writers: Writers | None) -> str:
    """'SLA failed: 612 of 1,000 inserts/s', of what was kept worse; empty where it was met."""
    if writers is None or writers.sla_met:
        return ""
    kept, what = writers.inserts, "inserts/s"
    if writers.deletes is not None and writers.deletes < kept:
        kept, what = writers.deletes, "deletes/s"
    return f"SLA failed: {numbers.count(kept)} of {numbers.count(writers.target)} {what}"
