from __future__ import annotations

import numpy as np

from slowdust.analysis.results.latency import latency_us
from slowdust.store.latency import Histogram, LatencyUs


def histogram(buckets: dict[int, int], max_ns: int) -> Histogram:
    return Histogram(
        values_ns=list(buckets), counts=list(buckets.values()), max_ns=max_ns, mean_ns=0.0
    )


def test_merged_histograms_agree_with_the_sorted_operations() -> None:
    rng = np.random.default_rng(1)
    operations = rng.integers(1, 60, (3, 500)) * 1000
    parts = []
    for row in operations:
        values, counts = np.unique(row, return_counts=True)
        parts.append(histogram(dict(zip(values.tolist(), counts.tolist(), strict=True)), 59_000))

    latency = latency_us(parts)

    assert latency is not None
    everything = np.sort(operations, axis=None) / 1000
    for share, percentile in ((0.5, latency.p50), (0.95, latency.p95), (0.99, latency.p99)):
        assert percentile == everything[int(np.ceil(share * everything.size)) - 1]


def test_the_maximum_is_exact_and_bounds_the_percentiles() -> None:
    latency = latency_us([histogram({1000: 1}, 990), histogram({500: 1}, 505)])

    assert latency == LatencyUs(p50=0.5, p95=0.99, p99=0.99, max=0.99)


def test_no_operation_has_no_latency() -> None:
    assert latency_us([]) is None
    assert latency_us([histogram({}, 0)]) is None
