"""Response times: histograms and percentiles."""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Natural
from slowdust.units import Microsecond


class Histogram(msgspec.Struct, kw_only=True):
    """Response times as sparse buckets of fixed bounds (two significant digits).

    `values_ns` has the buckets' representative values in ascending order, `counts` their
    populations; both have the same length. `max_ns` is exact, not a bucket.
    """

    values_ns: list[Natural]
    counts: list[Natural]
    max_ns: Natural
    mean_ns: Amount

    def __post_init__(self) -> None:
        """Raise ValueError unless there are as many values as counts."""
        values, counts = len(self.values_ns), len(self.counts)
        if values != counts:
            raise ValueError(f"a histogram has {values} values and {counts} counts")


class LatencyUs(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Response times in microseconds, of a contender's slices or printed by another program.

    Printed values have a mean, and only some of the percentiles.
    """

    p50: Microsecond | None = None
    p75: Microsecond | None = None
    p95: Microsecond | None = None
    p99: Microsecond | None = None
    max: Microsecond | None = None
    mean: Microsecond | None = None
