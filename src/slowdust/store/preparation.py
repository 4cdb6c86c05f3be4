"""Records of tables and indexes, of recall, and of servers' counters."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slowdust.store.bounds import Natural, Ordinal

WRITTEN_BYTES = "written_bytes"
"""Bytes that a server wrote to storage, including pending writes."""
LOG_BYTES = "log_bytes"
"""Bytes that a server wrote to its log, by its own counter."""
SERVER = "server"
"""The subject of facts that do not belong to one table or index."""


class Preparation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Physical facts of one contender's tables after their preparation."""

    contender: str
    incarnation: int
    moment: int
    """Number within the experiment, 1-based: records of the same moment are compared."""
    after: str
    """`load`, `writes`, or `restart` of servers with tables of an earlier load."""
    facts: dict[str, dict[str, float]]
    """Table, index (`sbtest1.k_1`) or `server` -> quantity -> value.

    Quantities that a server does not report are absent. `analysis/preparation.py` lists them."""
    repeated: int = 0
    """Number of times that all tables were prepared again because contenders differed."""
    steps: list[str] = []
    """`TEST@CLIENTS` that were measured on the tables afterwards."""


class ServerCounters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counters of a contender's server in the operations of a step in one incarnation."""

    step: str
    """`TEST@CLIENTS`."""
    contender: str
    incarnation: int
    operations: int
    amounts: dict[str, float]
    """Quantity of `analysis/preparation.py` -> total of all operations."""


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Recall(msgspec.Struct, kw_only=True):
    """Recall of a contender in a test's queries, in one incarnation."""

    test: str
    contender: str
    incarnation: Ordinal
    queries: Ordinal
    k: Ordinal
    """Neighbours that each query asked for."""
    recall: Share
    """Share of the exact answers that were found, over all queries."""


class IndexSize(msgspec.Struct, kw_only=True):
    """The size of an index on disk in one incarnation."""

    index: str
    """The kind of index: `hnsw`, `ivfflat`."""
    contender: str
    incarnation: Ordinal
    bytes: Natural
