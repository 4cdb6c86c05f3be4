"""Differences of neighbouring windows, with their interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from slowdust.analysis.comparison.location import trimmed_mean
from slowdust.analysis.model.waits import Difference

CONFIDENCE = 0.99
"""Higher than elsewhere, since every event is a chance to see a difference that is none."""
_FEWEST = 3


class Moment(NamedTuple):
    """The number of a window, the same for windows of all contenders that are neighbours."""

    incarnation: int
    repeat: int


def difference(
    base: Mapping[Moment, float], contender: Mapping[Moment, float]
) -> Difference | None:
    """Return the typical difference of the windows that both have; None with fewer than three.

    It is the trimmed mean, and its interval has the scatter of the windows and what sampling adds
    to it (Tukey and McLaughlin 1963, as for throughput). How far another start of the servers
    would move it is not in the interval.
    """
    both = sorted(base.keys() & contender.keys())
    if len(both) < _FEWEST:
        return None
    located = trimmed_mean(np.array([[contender[each] - base[each]] for each in both]))
    free = located.size - 1
    error = math.sqrt(located.squares / (located.size * free))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, free)) * error
    return Difference(
        base=typical([base[each] for each in both]),
        change=located.mean,
        low=located.mean - reach,
        high=located.mean + reach,
    )


def typical(values: Iterable[float]) -> float:
    """Return the trimmed mean of windows, which one stall of the machine does not move."""
    return trimmed_mean(np.array([[value] for value in values])).mean
