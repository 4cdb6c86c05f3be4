"""Differences of neighbouring windows, with their interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.stats import t

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
    """Return the mean difference of the windows that both have; None with fewer than three.

    Its interval is that of Student's t, so it has the scatter of the windows and what sampling
    adds to it; how far another start of the servers would move the mean is not in it.
    """
    both = sorted(base.keys() & contender.keys())
    if len(both) < _FEWEST:
        return None
    differences = [contender[moment] - base[moment] for moment in both]
    change = fmean(differences)
    error = stdev(differences) / math.sqrt(len(both))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, len(both) - 1)) * error
    before = fmean(base[moment] for moment in both)
    return Difference(base=before, change=change, low=change - reach, high=change + reach)
