"""Shapes of what ran beside a test, and of the frontier of two sides."""

from __future__ import annotations

import msgspec


class BesideResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The work beside a test, and the test's own relative to what it does alone."""

    test: str
    """The work: `transactions` or `queries`."""
    clients: int
    rate: float | None = None
    """Operations per second that were wanted of it; absent for a closed loop."""
    qps: float
    """Operations per second that it did."""
    alone_qps: float | None = None
    """The test's own rate without it, in slices next to those with it."""
    relative: float | None = None
    """The test's own rate with it / without it, of typical slices."""
    low: float | None = None
    high: float | None = None
    """95% interval of `relative`."""
    p50_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    """Response times of the work beside the test, from when it was due."""
    errors: int
    retries: int
    late_operations: int | None = None
    """Operations that were due while their predecessor was under way; absent for a closed loop."""
    freshness_queries: int | None = None
    """Operations of queries whose freshness was measured, that of the last query of each; absent,
    as below, where that of none was."""
    stale_queries: int | None = None
    """Operations whose last query did not see a transaction that was committed before it began."""
    freshness_p50_us: float | None = None
    freshness_p99_us: float | None = None
    """The 99th percentile; absent where fewer than a hundred were measured."""
    freshness_max_us: float | None = None
    """Ages of the data that these queries saw; 0 where all that was committed is seen."""


class FrontierPoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The rates of both sides on one contender, with so many clients of each."""

    contender: str
    transaction_clients: int
    query_clients: int
    transactions_per_s: float
    queries_per_s: float
    freshness_max_us: float | None = None
    on_frontier: bool
    """Whether no other point of the contender has more of both, or more of one and as much of
    the other."""
