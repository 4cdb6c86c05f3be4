"""The use of the storage as Markdown."""

from __future__ import annotations

import textwrap

from slowdust.analysis.model import Report
from slowdust.report.markdown.table import table
from slowdust.report.storage import tables_of_storage

_COLUMNS = 100


def storage(report: Report) -> list[str]:
    """Return what tests beyond the page caches took of the storage, beside what it gives."""
    lines = []
    for part in tables_of_storage(report):
        header = ["test", "clients", "contender", *part.head]
        rows = [
            [row.test, str(row.clients), row.contender, *(cell.text for cell in row.cells)]
            for row in part.rows
        ]
        explained = textwrap.wrap(part.explained, _COLUMNS)
        lines += ["", f"### {part.title}", "", *explained, "", *table(header, rows, left=1)]
    return ["## Storage", *lines] if lines else []
