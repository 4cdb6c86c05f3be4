"""Absolute rates of slices."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slowdust.analysis.comparison.relative import total_of
from slowdust.store.slice import Slice
from slowdust.units import known


def rate_of(slices: Sequence[Slice]) -> float:
    """Return the total of one step and contender over its time (`total_of`), in the slices' unit.

    Where a slice has no total, as a long step has none, it is the median of the rates.
    """
    totals = [total_of(record) for record in slices]
    amounts = known(amount for amount, _ in totals)
    lengths = known(seconds for _, seconds in totals)
    if min(len(amounts), len(lengths)) < len(slices) or sum(lengths) <= 0:
        return median(record.qps for record in slices)
    return sum(amounts) / sum(lengths)
