"""The mean response time relative to the base's, where results are told in response times.

The mean, because it is what a client waits on average: with every client in a closed loop it is
clients / throughput, so it moves with the waits for a lock that a median hides. It is paired by
blocks as throughput is, so that its interval has the same meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from slowdust.analysis.comparison.estimate import estimate_all
from slowdust.analysis.comparison.relative import Step, block_ratios, mean_response, step_of
from slowdust.analysis.model import ResponseTime, Result
from slowdust.benchmarks import BENCHMARKS
from slowdust.benchmarks.model import Headline
from slowdust.store.slice import Slice

_NS_PER_US = 1000.0


def add_response_times(
    results: Sequence[Result], slices: Sequence[Slice], contenders: Sequence[str]
) -> None:
    """Give `response_time` to the results that are told in it; `contenders[0]` is the base."""
    told = [record for record in slices if _is_told_in_response_times(record)]
    if not told:
        return
    means = _means_us(told)
    estimates = {
        (estimate.step, estimate.contender): estimate
        for estimate in estimate_all(block_ratios(told, contenders[0], contenders, mean_response))
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


def _is_told_in_response_times(record: Slice) -> bool:
    benchmark = BENCHMARKS.get(record.place.benchmark)
    headline = benchmark.headline if benchmark else Headline.RATE
    return headline is Headline.RESPONSE_TIME or record.measured.schedule is not None


def _means_us(slices: Sequence[Slice]) -> dict[tuple[Step, str], float]:
    """Mean response time over the successful operations of each step and contender."""
    total: dict[tuple[Step, str], float] = defaultdict(float)
    counted: dict[tuple[Step, str], int] = defaultdict(int)
    for record in slices:
        if record.measured.latency is None:
            continue
        count = sum(record.measured.latency.counts)
        total[step_of(record), record.place.contender] += record.measured.latency.mean_ns * count
        counted[step_of(record), record.place.contender] += count
    return {key: total[key] / count / _NS_PER_US for key, count in counted.items() if count}
