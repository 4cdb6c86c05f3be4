"""The section about the hosts of a joined experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import Report
from slowdust.report.hosts import (
    EXPLAINED,
    HEAD_OF_HOSTS,
    HostTable,
    rows_of_hosts,
    table_by_host,
)


@dataclass(frozen=True)
class HostsView:
    """The hosts, and the results on each."""

    head: Sequence[str]
    hosts: Sequence[Sequence[str]]
    results: HostTable | None
    explained: str = EXPLAINED


def hosts_view(report: Report) -> HostsView | None:
    """Return the view; None unless the experiment was joined."""
    if not report.hosts:
        return None
    return HostsView(HEAD_OF_HOSTS, rows_of_hosts(report), table_by_host(report))
