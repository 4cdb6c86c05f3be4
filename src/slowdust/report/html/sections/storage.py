"""The section about the use of the storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import Report
from slowdust.report.storage import StorageTable, tables_of_storage


@dataclass(frozen=True)
class StorageView:
    """The tables of the storage's use."""

    tables: Sequence[StorageTable]


def storage_view(report: Report) -> StorageView | None:
    """Return the tables; None without tests of data beyond the page caches."""
    tables = tables_of_storage(report)
    return StorageView(tables) if tables else None
