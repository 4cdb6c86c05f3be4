"""Response times: the slices' histograms as one, and its percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from slowdust.analysis.model import Result
from slowdust.store.latency import Histogram, LatencyUs

_NS_PER_US = 1000.0


_MEASURED = ("p50", "p95", "p99", "max")


def columns_of_latency(results: Iterable[Result], imported: str | None) -> tuple[str, ...]:
    """Fields of `LatencyUs` for a table: those measured here, or those that archived runs have.

    `imported` is the report's.
    """
    if imported is None:
        return _MEASURED
    found = [result.latency_us for result in results if result.latency_us is not None]
    return tuple(
        name
        for name in ("mean", *_MEASURED)
        if any(getattr(one, name) is not None for one in found)
    )


def latency_us(histograms: Sequence[Histogram]) -> LatencyUs | None:
    """Percentiles over all operations of all slices; None if there was none.

    A percentile is the value of the bucket that holds the operation of that rank (nearest
    rank), so it has the histogram's two significant digits; the maximum is exact, and no
    percentile lies above it.
    """
    values = np.array(list(chain.from_iterable(h.values_ns for h in histograms)), dtype=np.int64)
    counts = np.array(list(chain.from_iterable(h.counts for h in histograms)), dtype=np.int64)
    total = int(counts.sum())
    if total == 0:
        return None
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    largest = max(histogram.max_ns for histogram in histograms)

    def percentile(share: float) -> float:
        rank = max(1, int(np.ceil(share * total)))
        bucket = values[order][np.searchsorted(reached, rank)]
        return float(min(bucket, largest)) / _NS_PER_US

    return LatencyUs(
        p50=percentile(0.50),
        p95=percentile(0.95),
        p99=percentile(0.99),
        max=largest / _NS_PER_US,
    )
