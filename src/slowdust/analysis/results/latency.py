"""Response times: percentiles over the slices' histograms, and means relative to the base's.

The headline of some benchmarks, and of every open loop, is the mean response time: the average wait
of a client. In a closed loop it is clients / throughput, so it includes waits for locks that a
median hides. It is paired by blocks like throughput, so its interval has the same meaning.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np

from slowdust.analysis.comparison import block_ratios, mean_response, step_of
from slowdust.analysis.metrics import PERCENTILES
from slowdust.analysis.model import Report, ResponseTime, Result
from slowdust.benchmarks import BENCHMARKS
from slowdust.benchmarks.model import Headline
from slowdust.ratios import Ratio
from slowdust.stats.blocks import Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.store.latency import Histogram, LatencyUs
from slowdust.store.slice import Slice
from slowdust.units import known

_NS_PER_US = 1000.0
_MEASURED_TIMES = (*(percentile.field for percentile in PERCENTILES), "max")
_BUCKET_BITS = 8
"""Leading bits of a value that determine its bucket in the driver's histograms."""


def shown_times(report: Report, results: Sequence[Result]) -> tuple[str, ...]:
    """Return the fields of `LatencyUs` that a table shows as columns.

    For imported runs, these are the fields that any result has.
    """
    if report.repeated:
        return _MEASURED_TIMES
    times = known(result.latency_us for result in results)
    names = ("mean", *_MEASURED_TIMES)
    return tuple(name for name in names if any(getattr(time, name) is not None for time in times))


def latency_us(histograms: Sequence[Histogram]) -> LatencyUs | None:
    """Return percentiles over all operations of all slices; None without operations.

    A percentile is the value of the bucket with the operation of that rank (nearest rank), so it
    has the histogram's two significant digits. The maximum is exact and bounds the percentiles.
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

    times = {point.field: percentile(point.share) for point in PERCENTILES}
    return LatencyUs(**times, max=largest / _NS_PER_US)


def percentile_ns(histograms: Sequence[Histogram], share: float) -> float | None:
    """Return a percentile over all operations, interpolated in its bucket; None without any.

    The driver's buckets (HdrHistogram with two significant digits: 128 for each doubling) follow
    from their values. Within a bucket, operations are assumed to be spread evenly; otherwise
    percentiles would move in steps of 0.4% to 0.8%.
    """
    values, counts = _merged(histograms)
    reached = list(accumulate(counts))
    if not reached or reached[-1] == 0:
        return None
    rank = share * reached[-1]
    place = bisect_left(reached, rank)
    width = 1 << max(0, values[place].bit_length() - _BUCKET_BITS)
    bottom = values[place] // width * width
    within = (rank - reached[place] + counts[place]) / counts[place]
    return float(min(bottom + width * within, max(histogram.max_ns for histogram in histograms)))


def _merged(histograms: Sequence[Histogram]) -> tuple[list[int], list[int]]:
    if len(histograms) == 1:
        return histograms[0].values_ns, histograms[0].counts
    merged: Counter[int] = Counter()
    for histogram in histograms:
        for value, count in zip(histogram.values_ns, histogram.counts, strict=True):
            merged[value] += count
    values = sorted(merged)
    return values, [merged[value] for value in values]


def add_response_times(
    results: Sequence[Result],
    slices: Sequence[Slice],
    contenders: Sequence[str],
    hosts: Hosts = ONE_HOST,
) -> None:
    """Set `response_time` of the results whose headline it is; `contenders[0]` is the base."""
    timed = [record for record in slices if _has_time_as_headline(record)]
    if not timed:
        return
    means = _means_us(timed)
    cells = block_ratios(timed, contenders[0], contenders, mean_response)
    estimates = {estimate.place: estimate for estimate in estimate_all(cells, hosts=hosts)}
    for result in results:
        step = Step.of(result)
        if (mean := means.get((step, result.contender))) is None:
            continue
        result.response_time = ResponseTime(mean_us=mean)
        if result.contender == contenders[0]:
            result.response_time.relative = Ratio(1.0)
        elif estimate := estimates.get((step, result.contender)):
            result.response_time.relative = estimate.judged()


def _has_time_as_headline(record: Slice) -> bool:
    benchmark = BENCHMARKS.get(record.place.benchmark)
    headline = benchmark.headline if benchmark else Headline.RATE
    return headline is Headline.RESPONSE_TIME or record.measured.schedule is not None


def _means_us(slices: Sequence[Slice]) -> dict[tuple[Step, str], float]:
    total: dict[tuple[Step, str], float] = defaultdict(float)
    counted: dict[tuple[Step, str], int] = defaultdict(int)
    for record in slices:
        if record.measured.latency is None:
            continue
        count = sum(record.measured.latency.counts)
        total[step_of(record), record.place.contender] += record.measured.latency.mean_ns * count
        counted[step_of(record), record.place.contender] += count
    return {key: total[key] / count / _NS_PER_US for key, count in counted.items() if count}
