"""Ratios of costs as logarithms, which add up over measurements."""

from __future__ import annotations

import math

import msgspec

from slowdust.analysis.model import Result
from slowdust.ratios import Ratio

TIME, WORK = "time", "work"
"""Time and instructions per operation, in addition to the keys of the compared metrics."""
_LEAST_ERROR = 1e-4
"""Smallest standard error of a log ratio: counts of one build differ by this much."""
_SIDES = 1.96
"""Standard errors between the middle and the ends of a 95% interval."""


class LogRatio(msgspec.Struct, frozen=True):
    """ln(cost / another cost), with its standard error."""

    log: float
    error: float

    @property
    def ratio(self) -> Ratio:
        """Cost / the other cost, with its 95% interval."""
        reach = _SIDES * self.error
        value, low, high = map(math.exp, (self.log, self.log - reach, self.log + reach))
        return Ratio(value, low, high)


def log_ratio_of(result: Result, metric: str) -> LogRatio | None:
    """Return a result's cost relative to the base's in `TIME`, `WORK` or a compared metric.

    None without a ratio, or an interval, in this metric.
    """
    if metric == WORK:
        ratio = None if result.work is None else result.work.ratio
    else:
        ratio = result.ratio if metric == TIME else result.compared.get(metric)
    if ratio is None or not ratio.value or ratio.half_width is None:
        return None
    sign = -1 if metric == TIME else 1
    error = max(ratio.half_width / _SIDES, _LEAST_ERROR)
    return LogRatio(sign * math.log(ratio.value), error)
