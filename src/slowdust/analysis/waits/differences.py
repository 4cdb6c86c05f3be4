"""Differences of neighbouring windows, with their interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from slowdust.analysis.comparison.location import Location, trimmed_mean
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

    It is the contender's trimmed mean less the base's, so that amounts and their change agree;
    its interval is that of dependent samples, from the winsorized values of the same windows (Yuen
    1974, Biometrika 61; Wilcox 2012, Introduction to Robust Estimation, section 5.9.5). It has the
    scatter of the windows and what sampling adds to it. How far another start of the servers would
    move the difference is not in the interval.
    """
    # Not scipy.stats, whose import takes half a second.
    from scipy.special import stdtrit

    both = sorted(base.keys() & contender.keys())
    if len(both) < _FEWEST:
        return None
    first, second = (_located(values[each] for each in both) for values in (base, contender))
    change = Location(second.mean - first.mean, second.size, second.influence - first.influence)
    free = change.size - 1
    error = math.sqrt(change.squares / (change.size * free))
    reach = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * error
    return Difference(
        base=first.mean,
        change=change.mean,
        low=change.mean - reach,
        high=change.mean + reach,
    )


def typical(values: Iterable[float]) -> float:
    """Return the trimmed mean of windows, which one stall of the machine does not move."""
    return _located(values).mean


def _located(values: Iterable[float]) -> Location:
    return trimmed_mean(np.array([[value] for value in values]))
