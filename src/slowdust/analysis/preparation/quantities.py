"""The quantities of prepared tables and of servers' work: what may differ, and by how much.

The floors are from loads and writes of one build beside itself (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from slowdust.analysis.model import EvidenceKind

ALIKE = 0.01
"""Relative difference up to which quantities are alike."""
ALIKE_AFTER_WRITES = 0.05
"""The same for the layout after writes: purge and page splits happen at times of their own."""


class Kind(Enum):
    """The contenders for which a quantity should be equal."""

    STATE = "state"
    """All of one DBMS and engine: what preparation should leave in the same state."""
    LAYOUT = "layout"
    """Contenders of one build with the same settings: other versions may store rows otherwise."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of a table, an index or a server."""

    words: str
    """What it counts, behind a number: 'pages'."""
    kind: Kind
    floor: float = 0.0
    """The largest difference that is never reported."""
    whole: str | None = None
    """The quantity of the same subject of which this is a part, and by which it is measured."""
    ends: bool = False
    """Whether preparation waits until nothing is left of it: what is above the floor then, and
    above 1% of the whole, preparation has not done, though all servers be alike in it."""


_EXTENT = 64.0
_FEW_PAGES = 8.0
_MB = float(1 << 20)

FACTS: Mapping[str, Quantity] = {
    "pages": Quantity("pages", Kind.LAYOUT, _FEW_PAGES),
    # Since version 16 a table grows by up to 64 pages at once, of which the last are empty.
    "pages_not_all_visible": Quantity(
        "pages not all-visible", Kind.STATE, _EXTENT, whole="pages", ends=True
    ),
    "rows": Quantity("rows", Kind.STATE, 100.0),
    "dead_rows": Quantity("dead rows", Kind.STATE, 100.0, whole="rows", ends=True),
    "documents": Quantity("documents", Kind.STATE, 100.0),
    "height": Quantity("levels of the index", Kind.LAYOUT),
    # When a page is split depends on when the purge came by.
    "leaf_pages": Quantity("leaf pages", Kind.LAYOUT, 2 * _FEW_PAGES),
    # An index of InnoDB grows by extents of 64 pages; one more or less says nothing.
    "allocated_pages": Quantity("allocated pages", Kind.LAYOUT, 2 * _EXTENT),
    # A server keeps a few pages of its own dirty.
    "dirty_pages": Quantity("dirty pages", Kind.STATE, 100.0, ends=True),
    # The floor is a guess: no mongod was at hand to measure what a checkpoint leaves.
    "dirty_bytes": Quantity("dirty bytes in the cache", Kind.STATE, 16 * _MB),
    # Purged logs leave the list in batches, in MySQL 5.6 of thousands.
    "undo_logs": Quantity("undo logs", Kind.STATE, 20_000.0, ends=True),
    # Nothing lets a session merge the change buffer, so that preparation cannot wait for its end.
    "change_buffer_pages": Quantity("pages of the change buffer", Kind.STATE, 10.0),
    # Below a tenth of the log of `default` (1 GB) no server begins to write pages because of it.
    "checkpoint_age_bytes": Quantity(
        "bytes since the checkpoint", Kind.STATE, 100 * _MB, ends=True
    ),
    "entries": Quantity("entries", Kind.LAYOUT, 1000.0),
    "tombstones": Quantity("tombstones", Kind.LAYOUT, 1000.0),
    "compaction_pending": Quantity("pending compactions", Kind.STATE, ends=True),
    "memtable_bytes": Quantity("bytes in memtables", Kind.STATE, _MB),
    "levels": Quantity("levels with files", Kind.LAYOUT),
    # Where a file ends depends on when a flush began.
    "files": Quantity("files", Kind.LAYOUT, 2.0),
    "lsm_bytes": Quantity("bytes in files", Kind.LAYOUT, _MB),
}
"""Quantity of a preparation -> what is known about it."""


class WorkQuantity(NamedTuple):
    """A quantity of a server's work."""

    words: str
    kind: EvidenceKind


WORK: Mapping[str, WorkQuantity] = {
    "heap_blocks": WorkQuantity("heap blocks read", "pages"),
    "index_blocks": WorkQuantity("index blocks read", "pages"),
    "rows_fetched": WorkQuantity("rows fetched", "rows"),
    "row_reads": WorkQuantity("rows read by the engine", "rows"),
    "row_writes": WorkQuantity("rows written by the engine", "rows"),
    "keys_examined": WorkQuantity("index keys examined", "rows"),
    "documents_examined": WorkQuantity("documents examined", "rows"),
    "documents_written": WorkQuantity("documents written", "rows"),
}
"""Quantity of a server's work -> what is known about it."""

WORK_OF_READS: Mapping[str, WorkQuantity] = {
    **WORK,
    "page_reads": WorkQuantity("pages read in the buffer pool", "pages"),
    "page_requests": WorkQuantity("pages requested from the cache", "pages"),
}
"""The same for tests that do not write. Where they do, those of the purge and of flushing are among
the page reads of InnoDB: one build beside itself differed by 44%, in reading tests by 0.1%."""
