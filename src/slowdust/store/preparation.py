"""Records of the contenders' tables and indexes, of recall, and of what their servers counted."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slowdust.store.bounds import Natural, Ordinal

WRITTEN_BYTES = "written_bytes"
"""What a server wrote to storage until nothing was left to be written."""
LOG_BYTES = "log_bytes"
"""What a server wrote into its log, as it counts."""
SERVER = "server"
"""The subject of facts that are not about one table or index."""


class Preparation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Physical facts of one contender's tables, read when their preparation had ended."""

    contender: str
    incarnation: int
    moment: int
    """Number within the experiment, 1-based: records of one moment are compared."""
    after: str
    """`load`, `writes`, or `restart` of servers that keep the tables of an earlier load."""
    facts: dict[str, dict[str, float]]
    """Table, index (`sbtest1.k_1`) or `server` -> quantity -> value.

    A server that does not report a quantity lacks it. `analysis/preparation.py` has
    them."""
    repeated: int = 0
    """Number of times that all tables were prepared again because contenders differed."""
    steps: list[str] = []
    """`TEST@CLIENTS` that were measured on the tables from then on."""


class ServerCounters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a contender's server counted for the operations of a step in one incarnation."""

    step: str
    """`TEST@CLIENTS`."""
    contender: str
    incarnation: int
    operations: int
    amounts: dict[str, float]
    """Quantity of `analysis/preparation.py` -> amount of all operations together."""


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Recall(msgspec.Struct, kw_only=True):
    """How much of the right answers a contender gave to a test's queries in one incarnation."""

    test: str
    contender: str
    incarnation: Ordinal
    queries: Ordinal
    k: Ordinal
    """Neighbours that each query asked for."""
    recall: Share
    """The share of the exact answers that was found, over all queries."""


class IndexSize(msgspec.Struct, kw_only=True):
    """The size of an index on disk in one incarnation."""

    index: str
    """The kind of index: `hnsw`, `ivfflat`."""
    contender: str
    incarnation: Ordinal
    bytes: Natural
