"""The record of a trial."""

from __future__ import annotations

import msgspec

from slowdust.units import Second

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Name -> quantile of the response times."""


class Trial(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A short open-loop run of one contender at one offered rate."""

    contender: str
    start: int
    """Number of the start of the servers, 1-based."""
    turn: int
    """Number of the turn within the search, 0-based; each contender has one trial per turn."""
    rate: float
    """Rate offered, per second."""
    seconds: Second
    """Length of the schedule."""
    took: Second
    """Time from the start of the schedule to the last completion."""
    operations: int
    times: dict[str, Second]
    """Percentile, or `max` -> response time from the scheduled start."""
    errors: float = 0.0
    """Share of the operations that failed."""
    late: float = 0.0
    """Share of the operations that were due before their predecessor finished."""
    kept_up: float = 1.0
    """Share of the offered rate that was completed."""
    busiest_client: float | None = None
    """CPU time of the load generator's busiest thread, as a share of the time; None if unknown."""
    wall: Second = 0.0
    """Time of the budget that it took, including the discarded time before it."""

    @property
    def values(self) -> dict[str, float]:
        """Term of an SLA -> value."""
        return {**self.times, "errors": self.errors, "late": self.late}
