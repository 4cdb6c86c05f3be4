"""Approximate searches in a report: recall beside QPS, and the indexes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slowdust.ratios import Keys, Ratio
from slowdust.units import Second


class SearchPoint(msgspec.Struct, kw_only=True):
    """A test on one contender: how much it finds, and how fast."""

    test: str
    effort: int
    recall: float
    """The share of the exact answers that is found, mean over the incarnations."""
    qps: float


class AtRecall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender where it finds a given share, between the efforts that were measured."""

    recall: float
    qps: float | None = None
    """Interpolated QPS, geometric mean over `starts`; absent where one of them has none."""
    ratio: Annotated[Ratio | None, Keys("rqps", "low", "high", "verdict")] = None
    """That QPS / the base's in the same starts; 1 for the base, absent where a start of either of
    the two has none."""
    reason: str | None = None
    """Why `qps` is absent, or why it is not compared."""
    starts: int | None = None
    """Incarnations that measured all efforts, of another than the base those that have both; absent
    in reports of earlier versions, as the next is."""
    reached: int | None = None
    """Incarnations of these in which it lies between two efforts that are close enough."""


class SearchCurve(msgspec.Struct, kw_only=True):
    """The tests of one curve on one contender, from the least effort to the most."""

    contender: str
    points: list[SearchPoint]
    at: list[AtRecall]


class SearchComparison(msgspec.Struct, kw_only=True):
    """A curve of recall and QPS with all contenders that have it, the base first."""

    benchmark: str
    curve: str
    """What is searched: `hnsw`, `ivfflat`, `hnsw.filter10` among 10% of the rows."""
    clients: int
    contenders: list[SearchCurve]


class IndexResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An index of one contender: how long it takes to be built, and how large it is."""

    index: str
    contender: str
    build_s: Second | None = None
    """Time to build and drop it; absent where it was not measured, as the next four are."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high", "verdict")] = None
    """That time / the base's, from the slices in pairs; above 1 if it takes longer. The verdict is
    that on the rate of builds: `faster` if it takes less time."""
    bytes: float | None = None
    """Size on disk, mean over the incarnations."""
    bytes_relative: float | None = None
