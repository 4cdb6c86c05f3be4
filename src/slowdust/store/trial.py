"""The record of a trial."""

from __future__ import annotations

import msgspec

from slowdust.units import Second

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Name -> the share of the operations whose response time is at most the value."""


class Trial(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contender at one offered rate for a short time, in an open loop."""

    contender: str
    start: int
    """Number of the servers' start, 1-based."""
    turn: int
    """Number of the turn in which all contenders had a trial, 0-based, over the whole search."""
    rate: float
    """Rate offered, per second."""
    seconds: Second
    """Time in which operations were due."""
    took: Second
    """Time from the first moment to the last completion."""
    operations: int
    times: dict[str, Second]
    """Percentile, or `max` -> response time since the operations were due."""
    errors: float = 0.0
    """Share of the operations that failed."""
    late: float = 0.0
    """Share of the operations that were due while their predecessor was under way."""
    kept_up: float = 1.0
    """Share of the offered rate that was done."""
    busiest_client: float | None = None
    """CPU time of the load generator's busiest thread, a share of the time; None where unknown."""
    wall: Second = 0.0
    """Share of the budget that it took, with what was discarded before it."""

    @property
    def values(self) -> dict[str, float]:
        """The value of each term of an SLA."""
        return {**self.times, "errors": self.errors, "late": self.late}
