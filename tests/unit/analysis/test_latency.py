from __future__ import annotations

import numpy as np

from slowdust.analysis.results.latency import latency_us, percentile_ns
from slowdust.store.latency import Histogram, LatencyUs
from tests.unit.synthetic_times import histogram_of


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
    for share, percentile in (
        (0.5, latency.p50),
        (0.75, latency.p75),
        (0.95, latency.p95),
        (0.99, latency.p99),
    ):
        assert percentile == everything[int(np.ceil(share * everything.size)) - 1]


def test_the_maximum_is_exact_and_bounds_the_percentiles() -> None:
    latency = latency_us([histogram({1000: 1}, 990), histogram({500: 1}, 505)])

    assert latency == LatencyUs(p50=0.5, p75=0.99, p95=0.99, p99=0.99, max=0.99)


def test_no_operation_has_no_latency() -> None:
    assert latency_us([]) is None
    assert latency_us([histogram({}, 0)]) is None
    assert percentile_ns([], 0.5) is None
    assert percentile_ns([histogram({}, 0)], 0.5) is None


def test_a_percentile_is_interpolated_within_its_bucket() -> None:
    times = np.random.default_rng(2).lognormal(np.log(200_000), 0.3, 100_000)
    halves = [histogram_of(times[:50_000]), histogram_of(times[50_000:])]

    for share in (0.5, 0.75, 0.95, 0.99):
        exact = float(np.quantile(times, share))
        interpolated = percentile_ns(halves, share)
        assert interpolated is not None
        assert abs(interpolated / exact - 1) < 0.001


def test_a_shift_that_is_smaller_than_a_bucket_moves_a_percentile() -> None:
    times = np.random.default_rng(3).lognormal(np.log(200_000), 0.3, 100_000)

    before, after = (percentile_ns([histogram_of(times * f)], 0.5) for f in (1.0, 1.002))

    assert before is not None
    assert after is not None
    assert 1.001 < after / before < 1.003


def test_no_percentile_lies_above_the_maximum() -> None:
    assert percentile_ns([histogram({1_000_000: 4}, 998_000)], 0.99) == 998_000
