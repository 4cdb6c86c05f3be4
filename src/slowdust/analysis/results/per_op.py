"""Hardware per operation: totals over slices / operations, and their ratios to the base's.

An operation is one transaction of the test, even if throughput is in rows/s: in `scan` it is one
scan of a whole table. A value uses only the slices that measured it, and the operations of those
slices; it is absent if no slice measured it. It is not the mean of the slices' quotients, which
would weigh short slices with few operations like full ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from slowdust.analysis.comparison import total_of
from slowdust.analysis.metrics import METRICS, Metric, PerOperation
from slowdust.store.measured import Counters
from slowdust.store.slice import Slice
from slowdust.units import known

CLOCK = "GHz"
"""The first counter: rates at different clock rates are not comparable."""


def per_operation(slices: Sequence[Slice]) -> PerOperation:
    """Return totals over `slices` (of one step and contender) / operations, by metric.

    Single runs have no totals; for them it is the mean of the printed values.
    """
    means = [run.per_operation for run in known(record.printed for record in slices)]
    values: PerOperation = {}
    for metric in METRICS:
        printed = known(use.get(metric.key) for use in means)
        value = fmean(printed) if printed else _quotient(slices, metric)
        if value is not None:
            values[metric.key] = value
    return values


def _quotient(slices: Sequence[Slice], metric: Metric) -> float | None:
    total, operations = 0.0, 0
    for record in slices:
        value = metric.total(record.measured)
        if value is not None and record.measured.operations is not None:
            total += value
            operations += record.measured.operations
    return total * metric.factor / operations if operations else None


def relative_to(base: PerOperation, contender: PerOperation) -> PerOperation:
    """Return each value / the base's; absent if the base's is 0 or absent."""
    return {key: value / base[key] for key, value in contender.items() if base.get(key)}


def relative_counters(base: Counters | None, contender: Counters | None) -> dict[str, float] | None:
    """Return each counter / the base's: the clock rate, the other ratios, then the events.

    Both are of the same kind, so an inconsistency such as counting one process of many but all
    operations cancels out. None if either has no counters, or only relative ones. A counter that is
    missing, or 0 on the base, is skipped.
    """
    if base is None or contender is None or base.relative_to != contender.relative_to:
        return None
    base_values = base.ratios | base.per_operation
    values = contender.ratios | contender.per_operation
    names = sorted(values, key=lambda name: name != CLOCK)
    return {name: values[name] / base_values[name] for name in names if base_values.get(name)}


def rate_of(slices: Sequence[Slice]) -> float:
    """Return total amount / total time of one step and contender (`total_of`), in the slices' unit.

    Without totals, as in long steps, it is the median of the rates.
    """
    totals = [total_of(record) for record in slices]
    amounts = known(amount for amount, _ in totals)
    lengths = known(seconds for _, seconds in totals)
    if min(len(amounts), len(lengths)) < len(slices) or sum(lengths) <= 0:
        return median(record.qps for record in slices)
    return sum(amounts) / sum(lengths)
