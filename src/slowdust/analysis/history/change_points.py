"""Where a series of versions changes its level, and where it is only noise.

The series x of versions 1..n are ln rqps with the noise s of each. Optimal partitioning (PELT:
Killick, Fearnhead and Eckley 2012, J. Am. Stat. Assoc. 107; the library ruptures: Truong, Oudre
and Vayatis 2020, Signal Processing 167) minimises

    sum over segments of  sum ((x - mean)^2 / s^2)   +   penalty * (number of segments - 1)

with means weighted by 1 / s^2. Without a change the most that one split can save is the largest
of n - 1 variables that are the square of Student's t, whose degrees of freedom are those of s
(the chi-squared where s is known); the penalty is the quantile that this exceeds with a
probability of `FALSE_ALARM` over all series of a history together (Bonferroni). What is below
the noise is so hardly ever found, however many series there are.

Of a few single runs the noise is not known. All that can be said there is which changes are large
enough to matter (`changes_by_size`); whether they are noise is not told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from slowdust.analysis.history.partition import FloatArray, segment_ends
from slowdust.analysis.story.bands import Bands
from slowdust.analysis.story.bands import Change as Band

FALSE_ALARM = 0.05
"""Probability of any change point in a history in which nothing changed."""
FEWEST_WITHOUT_INTERVALS = 6
"""Versions from which the scatter of single runs says how large their noise is."""
LEAST_SCATTER = 0.01
"""Noise that a single run has at least, in ln rqps, however alike a few happen to be."""
_DECIDED_MOVES = 1e-9


@dataclass(frozen=True)
class Change:
    """From `place` (an index into the series, at least 1) on, the level is another."""

    place: int
    shift: float
    """Mean of the segment that begins there less that of the one before it."""
    versions: int
    """In these two segments."""


@dataclass(frozen=True)
class NoiseOf:
    """Standard deviations of the independent errors of a series, one for each version."""

    deviations: Sequence[float]
    freedom: float
    """Degrees of freedom with which they are known."""


def changes(
    series: Sequence[float], noise: NoiseOf, count: int, least: float = 0.0
) -> list[Change]:
    """The changes of level of one of `count` series, in ln rqps.

    Changes smaller than `least` do not count. Raises `ChangePointsUnavailableError`.
    """
    if len(series) < 2:
        return []
    values = np.asarray(series, dtype=np.float64)
    weights = np.asarray(noise.deviations, dtype=np.float64) ** -2.0
    pen = penalty(len(series), count, noise.freedom)
    smallest = max(least, _DECIDED_MOVES)
    return _changes(values, weights, pen, lambda shift: abs(shift) >= smallest)


def changes_by_size(series: Sequence[float], bands: Bands) -> list[Change]:
    """The changes of level of a series whose noise nobody knows: those that are no small ones.

    A lone step between two levels is found if and only if `bands` call it a change, wherever it
    is: at the ends of n versions, where it saves least, a step d saves d^2 (n - 1) / n. Raises
    `ChangePointsUnavailableError`.
    """
    if len(series) < 2:
        return []
    values = np.asarray(series, dtype=np.float64)
    pen = bands.least_log**2 * (1 - 1 / len(series)) * (1 - _DECIDED_MOVES)
    return _changes(
        values,
        np.ones_like(values),
        pen,
        lambda shift: bands.of(math.exp(shift)) is not Band.NONE,
    )


def penalty(length: int, count: int, freedom: float = math.inf) -> float:
    """What a segment more has to save, in units of the noise's variance."""
    from scipy.special import ndtri, stdtrit

    tail = FALSE_ALARM / count / (length - 1) / 2
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail)) ** 2


def _changes(
    values: FloatArray, weights: FloatArray, pen: float, counts: Callable[[float], bool]
) -> list[Change]:
    """Where segments meet, but for the smallest steps, one by one, as long as they do not count."""
    ends = segment_ends(values, weights, pen)
    while True:
        starts = [0, *ends[:-1]]
        means = [
            float(np.average(values[start:end], weights=weights[start:end]))
            for start, end in zip(starts, ends, strict=True)
        ]
        found = [
            Change(place, after - before, end - start)
            for place, start, end, (before, after) in zip(
                starts[1:], starts[:-1], ends[1:], pairwise(means), strict=True
            )
        ]
        too_small = [change for change in found if not counts(change.shift)]
        if not too_small:
            return found
        ends.remove(min(too_small, key=lambda change: abs(change.shift)).place)


def noise_of_intervals(reaches: Sequence[float | None]) -> NoiseOf | None:
    """The noise of ratios to one version, from the half-widths in ln rqps of 95% intervals.

    None stands for that version itself. A ratio has the noise of two versions, each taken for
    half of its variance; the version that all are relative to has the median one. None if any
    other version has no interval.
    """
    others = [reach for reach in reaches if reach is not None]
    if not others or len(others) < len(reaches) - 1:
        return None
    scale = 1.959964 * math.sqrt(2)
    typical = median(others)
    deviations = [max(typical if reach is None else reach, 1e-6) / scale for reach in reaches]
    return NoiseOf(deviations, math.inf)


def noise_of_scatter(all_series: Sequence[Sequence[float]]) -> list[NoiseOf | None]:
    """The noise of each series of single runs, from what neighbouring versions differ by.

    The largest difference of a series is left out: it may be a true change. A series is taken to
    be at least as noisy as the typical one, and as `LEAST_SCATTER`. None for series of fewer than
    `FEWEST_WITHOUT_INTERVALS` versions.
    """
    own = [_scatter(series) for series in all_series]
    known = [one for one in own if one is not None]
    typical = median(known) if known else 0.0
    return [
        None
        if one is None
        else NoiseOf([max(one, typical, LEAST_SCATTER)] * len(series), len(series) - 2)
        for one, series in zip(own, all_series, strict=True)
    ]


def _scatter(series: Sequence[float]) -> float | None:
    if len(series) < FEWEST_WITHOUT_INTERVALS:
        return None
    steps = sorted(abs(step) for step in np.diff(series))[:-1]
    return math.sqrt(sum(step**2 for step in steps) / len(steps) / 2)
