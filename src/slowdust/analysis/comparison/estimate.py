"""Relative throughput with its interval, from blocks nested in incarnations.

The model, for one step and one contender, of the location m of incarnation i (`trimmed_mean`):

    m_i = theta + u_i + e_i        u_i ~ N(0, tau^2): what a restart does
                                   e_i ~ N(0, v_i):   what is left of the blocks' noise

Two to four incarnations say little about tau, and an interval that ignores this is absurdly wide
(Student's t with one degree of freedom) or far too narrow (tau estimated as 0). Hence tau is
integrated over its posterior instead of being estimated (Roever 2020, J. Stat. Softw. 93(6)):
a weakly informative half-Student prior (Gelman 2006, Bayesian Analysis 1) on the scale that
restarts are known to have, the incarnations of the step itself, and, discounted to a fixed
weight, those of the experiment's other steps and contenders: a power prior (Ibrahim and Chen
2000, Stat. Sci. 15) in the role of the shared variance of Smyth (2004, SAGMB 3). A step whose
restarts contradict the others' counts alone: a robust mixture (Schmidli et al. 2014, Biometrics
70). docs/statistics.md has the formulas and how often the intervals hold.

Long steps have one pair in each incarnation, so that restarts and noise cannot be separated: u_i
is both, v_i next to nothing, and the prior on tau is that of long steps (`posterior.LONG_STEPS`).

The noise of a shared machine is heavy-tailed: a mean follows the few worst blocks. So the location
of an incarnation is the 20% trimmed mean, whose standard error comes from the winsorized sample
(Tukey and McLaughlin 1963, Sankhya A 25; Yuen 1974, Biometrika 61).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowdust.analysis.comparison.posterior import (
    LONG_STEPS,
    RESTARTS,
    Expectation,
    Locations,
    integrate_restarts,
)
from slowdust.analysis.comparison.relative import BlockRatios, FloatArray, Step

TRIMMED_SHARE = 0.2
"""Share of the values that is cut from each end."""
SMALLEST_VARIANCE = 1e-12
"""Least variance of a location (a millionth of its value, squared): for noiseless input."""
STEP_NOISE = 0.001
"""Least noise of a pair of long steps: the clock, the last statement and whole seconds of a load.
The rest is tau."""
KNOWN = 1e6
"""Degrees of freedom of a variance that is not estimated."""
CONFIDENCE = 0.95
SETTLED_SAME = 0.99
"""Confidence at which an interim look may stop for `same` (`verdict.settled`)."""
SETTLED_DIFFERENT = 0.999
"""Confidence at which an interim look may stop for `faster` or `slower`."""

_WIDEST = 10.0
"""Largest half-width of an interval, in ln rqps: beyond a factor of 22,000 it would overflow."""
_HALVINGS = 20
"""Bisections of a half-width, from 100%: down to a millionth."""


@dataclass(frozen=True)
class Interval:
    """Bounds of relative throughput; 1 is the base."""

    low: float
    high: float

    def lies_inside(self, margin: float) -> bool:
        """Return whether all of it is within `margin` of 1, seen from either contender."""
        return self.low >= 1 / (1 + margin) and self.high <= 1 + margin

    def excludes_one(self) -> bool:
        """Return whether all of it is on one side of 1."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One contender relative to the base in one step: its throughput, or its response time."""

    step: Step
    contender: str
    ratio: float | None
    """None if no block could be paired."""
    interval: Interval | None = None
    """Interval at `CONFIDENCE`; None with fewer than two blocks."""
    sameness_interval: Interval | None = None
    """Interval at `SETTLED_SAME`."""
    difference_interval: Interval | None = None
    """Interval at `SETTLED_DIFFERENT`."""
    p_value: float = 1.0
    """Two-sided p-value of 'the contender equals the base'; 1 without an interval."""
    blocks: int
    incarnations: int
    standard_error: float | None = None
    """Standard error of ln `ratio` with restarts of the most likely size; None without an
    interval. Of the interval it is the part that a longer experiment narrows as a square root;
    the rest, that restarts may be larger, goes sooner."""
    restart_spread: float | None = None
    """Standard deviation between the incarnations' ln ratios; None with one incarnation."""
    incomplete: int
    with_zero: int


def estimate_all(cells: Sequence[BlockRatios]) -> list[Estimate]:
    """Estimate each cell; the cells of one call inform each other about restarts.

    Cells of long steps inform only each other. The result has the order of `cells`.
    """
    usable = [cell for cell in cells if cell.blocks >= 2]
    short = _solve([cell for cell in usable if not cell.long_steps], _locate, RESTARTS)
    long = _solve([cell for cell in usable if cell.long_steps], _locate_steps, LONG_STEPS)
    solved = {id(cell): estimate for cell, estimate in [*short, *long]}
    return [solved.get(id(cell)) or _without_interval(cell) for cell in cells]


def _without_interval(cell: BlockRatios) -> Estimate:
    ratio = math.exp(cell.by_incarnation[0][0]) if cell.blocks else None
    return Estimate(
        step=cell.step,
        contender=cell.contender,
        ratio=ratio,
        blocks=cell.blocks,
        incarnations=len(cell.by_incarnation),
        incomplete=cell.incomplete,
        with_zero=cell.with_zero,
    )


def _solve(
    cells: Sequence[BlockRatios],
    locate: Callable[[Sequence[BlockRatios]], Locations],
    expected: Expectation,
) -> list[tuple[BlockRatios, Estimate]]:
    if not cells:
        return []
    locations = locate(cells)
    posterior = integrate_restarts(locations, expected)
    center = (posterior.weight * posterior.center).sum(axis=1)
    # Symmetric about the posterior mean: differences of the centers are added to the scale.
    scale = np.hypot(posterior.scale, posterior.center - center[:, None])
    tails = (1 - np.array([CONFIDENCE, SETTLED_SAME, SETTLED_DIFFERENT])) / 2
    reach = _half_widths(posterior.weight, scale, posterior.freedom, tails)
    p_values = 2 * _tail(posterior.weight, scale, posterior.freedom, np.abs(center)[:, None])[:, 0]
    return [
        (
            cell,
            replace(
                _without_interval(cell),
                ratio=math.exp(center[index]),
                interval=_around(center[index], reach[index, 0]),
                sameness_interval=_around(center[index], reach[index, 1]),
                difference_interval=_around(center[index], reach[index, 2]),
                p_value=float(p_values[index]),
                standard_error=float(_weighted_median(scale[index], posterior.weight[index])),
                restart_spread=_spread(locations, index),
            ),
        )
        for index, cell in enumerate(cells)
    ]


def _around(center: float, reach: float) -> Interval:
    reach = min(reach, _WIDEST)
    return Interval(math.exp(center - reach), math.exp(center + reach))


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(values[order][place])


def _spread(locations: Locations, index: int) -> float | None:
    means = locations.mean[index][locations.present[index] > 0]
    return float(means.std(ddof=1)) if len(means) > 1 else None


@dataclass(frozen=True)
class TrimmedMean:
    """A trimmed mean, and the terms of its standard error."""

    mean: float
    kept: int
    """Values left after trimming; the standard error has `kept - 1` degrees of freedom."""
    squares: float
    """Sum of squared deviations of the winsorized values: the squared standard error is
    `squares / (kept * (kept - 1))`."""


def trimmed_mean(values: FloatArray) -> TrimmedMean:
    """Return the trimmed mean of one or more values; fewer than five are not trimmed."""
    ordered = np.sort(values)
    cut = int(TRIMMED_SHARE * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    winsorized = np.clip(ordered, kept[0], kept[-1])
    return TrimmedMean(
        mean=float(kept.mean()),
        kept=len(kept),
        squares=float(((winsorized - winsorized.mean()) ** 2).sum()),
    )


def _locate(cells: Sequence[BlockRatios]) -> Locations:
    shape = (len(cells), max(len(cell.by_incarnation) for cell in cells))
    mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
    freedom = np.zeros(len(cells))
    for row, cell in enumerate(cells):
        means = [trimmed_mean(ratios) for ratios in cell.by_incarnation]
        freedom[row] = sum(location.kept - 1 for location in means)
        squares = sum(location.squares for location in means)
        if freedom[row] == 0:
            # One block per incarnation: noise and restarts cannot be separated; all is noise.
            together = trimmed_mean(np.concatenate(cell.by_incarnation))
            freedom[row], squares = together.kept - 1, together.squares
        for column, location in enumerate(means):
            mean[row, column] = location.mean
            # Pooled over the incarnations: a few blocks alone say too little about their noise.
            pooled = squares / freedom[row] / location.kept
            variance[row, column] = max(pooled, SMALLEST_VARIANCE)
            present[row, column] = 1
    return Locations(mean=mean, variance=variance, present=present, freedom=freedom)


def _locate_steps(cells: Sequence[BlockRatios]) -> Locations:
    """Return locations of one pair in each incarnation: noise and restarts together are tau."""
    shape = (len(cells), max(len(cell.by_incarnation) for cell in cells))
    mean, present = np.zeros(shape), np.zeros(shape)
    for row, cell in enumerate(cells):
        count = len(cell.by_incarnation)
        mean[row, :count] = [pairs.mean() for pairs in cell.by_incarnation]
        present[row, :count] = 1
    return Locations(
        mean=mean,
        variance=np.full(shape, STEP_NOISE**2),
        present=present,
        freedom=np.full(len(cells), KNOWN),
    )


def _tail(
    weight: FloatArray, scale: FloatArray, freedom: FloatArray, reach: FloatArray
) -> FloatArray:
    """Return P(theta > center + reach) for `reach` of shape (cells, reaches), in that shape."""
    from scipy.special import stdtr

    scaled = reach[:, :, None] / scale[:, None, :]
    beyond: FloatArray = weight[:, None, :] * stdtr(freedom[:, None, :], -scaled)
    probability: FloatArray = beyond.sum(axis=2)
    return probability


def _half_widths(
    weight: FloatArray, scale: FloatArray, freedom: FloatArray, tails: FloatArray
) -> FloatArray:
    """Return the distance from the center of each of `tails`, of shape (cells, tails)."""
    shape = (len(weight), len(tails))
    low, high = np.zeros(shape), np.full(shape, 1.0)
    while np.any(too_near := _tail(weight, scale, freedom, high) > tails):
        high = np.where(too_near, high * 2, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        outside = _tail(weight, scale, freedom, middle) < tails
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    half_widths: FloatArray = (low + high) / 2
    return half_widths
