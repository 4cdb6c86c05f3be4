"""Costs relative to each other as logarithms, in which measurements add up."""

from __future__ import annotations

import math

import msgspec

from slowdust.analysis.model import Result

TIME, WORK = "time", "work"
"""Time and instructions per operation, beside the keys of the compared metrics."""
_LEAST_ERROR = 1e-4
"""Standard error of a log ratio, at least: counts of one build differ by as much."""
_SIDES = 1.96
"""Standard errors from the middle of a 95% interval to its ends."""


class LogRatio(msgspec.Struct, frozen=True):
    """ln(cost / another cost), with its standard error."""

    log: float
    error: float

    @property
    def ratio(self) -> float:
        """Cost / the other cost."""
        return math.exp(self.log)

    @property
    def low(self) -> float:
        """The lower end of the 95% interval of `ratio`."""
        return math.exp(self.log - _SIDES * self.error)

    @property
    def high(self) -> float:
        """The upper end of the 95% interval of `ratio`."""
        return math.exp(self.log + _SIDES * self.error)


def log_ratio_of(result: Result, metric: str) -> LogRatio | None:
    """Return a result's cost relative to the base's in `TIME`, `WORK` or a compared metric.

    None where it has no ratio with an interval in this metric.
    """
    if metric == WORK:
        work = result.work
        found = None if work is None else (work.ratio, work.low, work.high)
    elif metric == TIME:
        found = (result.judged_rqps, *(result.judged_interval or (None, None)))
    else:
        compared = result.compared.get(metric)
        found = None if compared is None else (compared.ratio, compared.low, compared.high)
    if found is None:
        return None
    ratio, low, high = found
    if not ratio or not low or not high:
        return None
    sign = -1 if metric == TIME else 1
    error = max(math.log(high / low) / (2 * _SIDES), _LEAST_ERROR)
    return LogRatio(sign * math.log(ratio), error)
