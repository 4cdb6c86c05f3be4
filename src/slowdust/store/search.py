"""Records of how well searches find, and of the indexes that they search in."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slowdust.store.bounds import Natural, Ordinal

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
