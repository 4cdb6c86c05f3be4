"""Hardware per operation: totals over slices / operations.

An operation is one transaction of the test, also where the throughput is in rows/s: for `scan`
it is one scan of a whole table. Each value counts the slices that measured it, and the
operations of those slices alone; what no slice measured is absent. Over the totals, not the mean
of the slices' quotients: short slices with few operations would weigh as much as full ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowdust.analysis.metrics import METRICS, Metric, PerOperation
from slowdust.store.slice import Slice
from slowdust.units import known


def per_operation(slices: Sequence[Slice]) -> PerOperation:
    """Return totals over `slices` (of one step and contender) / operations, by metric.

    Archived runs have no totals: for these it is the mean of the values that they printed.
    """
    archived = [record.archived.per_operation for record in slices if record.archived]
    values: PerOperation = {}
    for metric in METRICS:
        printed = known(use.get(metric.key) for use in archived)
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
    """Return each value of the contender / the base's; absent where the base's is 0 or absent."""
    return {key: value / base[key] for key, value in contender.items() if base.get(key)}
