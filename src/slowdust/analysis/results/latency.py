"""Response times: percentiles of the slices' histograms, and means relative to the base's.

The headline of some benchmarks, and of every open loop, is the mean response time, because a client
waits for it on average: with every client in a closed loop it is clients / throughput, so
that it moves with the waits for a lock that a median hides. It is paired by blocks as throughput
is, so that its interval has the same meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

import numpy as np

from slowdust.analysis.comparison.estimate import estimate_all
from slowdust.analysis.comparison.relative import Step, block_ratios, mean_response, step_of
from slowdust.analysis.model import ResponseTime, Result
from slowdust.benchmarks import BENCHMARKS
from slowdust.benchmarks.model import Headline
from slowdust.store.latency import Histogram, LatencyUs
from slowdust.store.slice import Slice

_NS_PER_US = 1000.0


def latency_us(histograms: Sequence[Histogram]) -> LatencyUs | None:
    """Return percentiles over all operations of all slices; None if there was none.

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


def add_response_times(
    results: Sequence[Result], slices: Sequence[Slice], contenders: Sequence[str]
) -> None:
    """Set `response_time` of the results that have it as headline; `contenders[0]` is the base."""
    timed = [record for record in slices if _has_time_as_headline(record)]
    if not timed:
        return
    means = _means_us(timed)
    estimates = {
        (estimate.step, estimate.contender): estimate
        for estimate in estimate_all(block_ratios(timed, contenders[0], contenders, mean_response))
    }
    for result in results:
        step = Step(result.benchmark, result.test, result.clients)
        if (mean := means.get((step, result.contender))) is None:
            continue
        result.response_time = ResponseTime(mean_us=mean)
        if result.contender == contenders[0]:
            result.response_time.relative = 1.0
        elif estimate := estimates.get((step, result.contender)):
            result.response_time.relative = estimate.ratio
            if estimate.interval is not None:
                result.response_time.low = estimate.interval.low
                result.response_time.high = estimate.interval.high


def _has_time_as_headline(record: Slice) -> bool:
    benchmark = BENCHMARKS.get(record.place.benchmark)
    headline = benchmark.headline if benchmark else Headline.RATE
    return headline is Headline.RESPONSE_TIME or record.measured.schedule is not None


def _means_us(slices: Sequence[Slice]) -> dict[tuple[Step, str], float]:
    """Return the mean response time of the successful operations of each step and contender."""
    total: dict[tuple[Step, str], float] = defaultdict(float)
    counted: dict[tuple[Step, str], int] = defaultdict(int)
    for record in slices:
        if record.measured.latency is None:
            continue
        count = sum(record.measured.latency.counts)
        total[step_of(record), record.place.contender] += record.measured.latency.mean_ns * count
        counted[step_of(record), record.place.contender] += count
    return {key: total[key] / count / _NS_PER_US for key, count in counted.items() if count}
