"""The hosts of a joined experiment as Markdown."""

from __future__ import annotations

import textwrap

from slowdust.analysis.model import Report
from slowdust.report.hosts import EXPLAINED, HEAD_OF_HOSTS, rows_of_hosts, table_by_host
from slowdust.report.markdown.table import table

_COLUMNS = 100


def by_host(report: Report) -> list[str]:
    """Return the hosts, and each result on each of them."""
    if not report.hosts:
        return []
    lines = ["## By host", "", *table(HEAD_OF_HOSTS, rows_of_hosts(report), left=4)]
    if (results := table_by_host(report)) is not None:
        header = ["test", "clients", "contender", *results.head]
        rows = [
            [row.test, str(row.clients), row.contender, *(cell.text for cell in row.cells)]
            for row in results.rows
        ]
        marked = any(cell.odd for row in results.rows for cell in row.cells)
        explained = f"{EXPLAINED} A host with ! disagrees with the others." if marked else EXPLAINED
        lines += ["", *textwrap.wrap(explained, _COLUMNS), "", *table(header, rows, left=1)]
    return lines
