"""How far a ratio of capacities moves where one start of the servers is left out.

A model knows the disturbances that it was made for. A burst of other load that spoils the trials of
one contender alone is none of them, and looks like a lower capacity. The jackknife over the starts
(Tukey 1958, Ann. Math. Stat. 29) supposes nothing but that starts are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from slowdust.capacity.curve import Curve
from slowdust.capacity.evidence import curve_of
from slowdust.capacity.record import Trial
from slowdust.capacity.sla import Sla

Ends = tuple[float, float]

FEWEST = 3
"""Starts that tell anything of how much they differ."""


def interval_of_ratio(
    trials: Sequence[Trial],
    names: Sequence[str],
    sla: Sla,
    curve: Curve,
    number: int,
    *,
    confidence: float,
) -> Ends:
    """Return the ends of the interval of a contender's ln ratio to the base's.

    It is that of the model, `curve`, or that of the starts, whichever reaches further.
    """
    ratio = curve.log_ratio(number, 0)
    low, high = ratio.interval(confidence)
    middle, reach = ratio.quantile(0.5), _reach(trials, names, sla, number, confidence)
    return min(low, middle - reach), max(high, middle + reach)


def _reach(
    trials: Sequence[Trial], names: Sequence[str], sla: Sla, number: int, confidence: float
) -> float:
    """Return the half-width of the jackknife's interval; 0 with too few starts to know.

    A start in which one of the two has no trial says nothing of their ratio.
    """
    from scipy.special import stdtrit

    ours, bases = (
        {trial.start for trial in trials if trial.contender == name}
        for name in (names[number], names[0])
    )
    starts = sorted(ours & bases)
    count = len(starts)
    if count < FEWEST:
        return 0.0
    shared = [trial for trial in trials if trial.start in starts]
    without = np.array([_ratio_without(shared, names, sla, number, start) for start in starts])
    error = math.sqrt((count - 1) / count * float(np.square(without - without.mean()).sum()))
    return float(stdtrit(count - 1, (1 + confidence) / 2)) * error


def _ratio_without(
    trials: Sequence[Trial], names: Sequence[str], sla: Sla, number: int, start: int
) -> float:
    """Return the ln ratio by all starts but one."""
    left = [trial for trial in trials if trial.start != start]
    places = {each: place for place, each in enumerate(sorted({t.start for t in left}), start=1)}
    renumbered = [msgspec.structs.replace(each, start=places[each.start]) for each in left]
    return curve_of(renumbered, names, sla).log_ratio(number, 0).quantile(0.5)
