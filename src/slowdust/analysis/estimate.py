"""Relative throughput with its interval, from blocks nested in incarnations.

The model, for one step and one contender, of the location m of incarnation i (`location.py`):

    m_i = theta + u_i + e_i        u_i ~ N(0, tau^2): what a restart does
                                   e_i ~ N(0, v_i):   what is left of the blocks' noise

Two to four incarnations say little about tau, and an interval that ignores this is absurdly wide
(Student's t with one degree of freedom) or far too narrow (tau estimated as 0). Hence tau is
integrated over its posterior instead of being estimated (Roever 2020, J. Stat. Softw. 93(6)):
a weakly informative half-Student prior (Gelman 2006, Bayesian Analysis 1) on the scale that
restarts are known to have, the incarnations of the step itself, and, discounted to a fixed
weight, those of the experiment's other steps and contenders: a power prior (Ibrahim and Chen
2000, Stat. Sci. 15) in the role of the shared variance of Smyth (2004, SAGMB 3). A step whose
restarts contradict the others' stands alone: a robust mixture (Schmidli et al. 2014, Biometrics
70). docs/statistics.md
has the formulas and how often the intervals hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.location import trimmed_mean
from slowdust.analysis.relative import BlockRatios, FloatArray, Step

RESTART_SCALE = 0.01
"""Scale of the prior on tau: restarts are expected to move rqps by up to about a percent."""
RESTART_PRIOR_FREEDOM = 4.0
"""Degrees of freedom of the half-Student prior: tau of several percent stays possible."""
BORROWED_FREEDOM = 8.0
"""At most this many degrees of freedom about tau come from the other steps and contenders."""
OUTSIDER_SHARE = 0.2
"""Prior probability that a step's restarts have nothing in common with the others'."""
SMALLEST_VARIANCE = 1e-12
"""Of a location (a millionth of its value, squared): keeps noiseless input finite."""
CONFIDENCE = 0.95
SETTLED_SAME = 0.99
"""Confidence at which an interim look may stop for `same` (`verdict.settled`)."""
SETTLED_DIFFERENT = 0.999
"""Confidence at which an interim look may stop for `faster` or `slower`."""

_WIDEST = 10.0
"""Of an interval, in ln rqps to each side: beyond a factor of 22,000 it only overflows."""

_TAU_GRID = np.concatenate(([0.0], np.geomspace(1e-4, 0.5, 40)))
"""Values of tau that the integrals sum over: none at all, and 0.01% to 50%."""
_HALVINGS = 20
"""Bisections of a half-width, from 100%: down to a millionth."""


@dataclass(frozen=True)
class Interval:
    """Bounds of relative throughput; 1 is the base."""

    low: float
    high: float

    def lies_inside(self, margin: float) -> bool:
        """Whether all of it is within `margin` of 1, seen from either contender."""
        return self.low >= 1 / (1 + margin) and self.high <= 1 + margin

    def excludes_one(self) -> bool:
        """Whether the base and the contender differ, as far as the interval tells."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True)
class Estimate:
    """One contender relative to the base in one step: its throughput, or its response time."""

    step: Step
    contender: str
    ratio: float | None
    """None where no block could be paired."""
    interval: Interval | None
    """At `CONFIDENCE`; None with fewer than two blocks."""
    sameness_interval: Interval | None
    """At `SETTLED_SAME`."""
    difference_interval: Interval | None
    """At `SETTLED_DIFFERENT`."""
    p_value: float
    """Two-sided, of 'the contender is like the base'; 1 without an interval."""
    blocks: int
    incarnations: int
    restart_spread: float | None
    """Standard deviation between the incarnations' ln ratios; None with one incarnation."""
    torn: int
    silent: int


@dataclass(frozen=True)
class _Locations:
    """The incarnations of the cells as arrays of shape (cells, incarnations), 0 where missing."""

    mean: FloatArray
    variance: FloatArray
    present: FloatArray
    """1 where the cell has that incarnation, else 0."""
    freedom: FloatArray
    """Shape (cells,): degrees of freedom of `variance`, which the cell's incarnations share."""


@dataclass(frozen=True)
class _Posterior:
    """Given each tau, theta has Student's t; arrays of shape (cells, taus)."""

    weight: FloatArray
    center: FloatArray
    scale: FloatArray
    freedom: FloatArray


def estimate_all(cells: Sequence[BlockRatios]) -> list[Estimate]:
    """Estimate each cell; the cells of one call share what they say about restarts.

    The result has the order of `cells`.
    """
    usable = [cell for cell in cells if cell.blocks >= 2]
    solved = iter(_solve(usable)) if usable else iter(())
    return [next(solved) if cell.blocks >= 2 else _without_interval(cell) for cell in cells]


def _without_interval(cell: BlockRatios) -> Estimate:
    ratio = math.exp(cell.by_incarnation[0][0]) if cell.blocks else None
    return Estimate(
        step=cell.step,
        contender=cell.contender,
        ratio=ratio,
        interval=None,
        sameness_interval=None,
        difference_interval=None,
        p_value=1.0,
        blocks=cell.blocks,
        incarnations=len(cell.by_incarnation),
        restart_spread=None,
        torn=cell.torn,
        silent=cell.silent,
    )


def _solve(cells: Sequence[BlockRatios]) -> list[Estimate]:
    locations = _locate(cells)
    posterior = _integrate_restarts(locations)
    center = (posterior.weight * posterior.center).sum(axis=1)
    # Symmetric about the posterior mean: what the centers differ by goes into the scale.
    scale = np.hypot(posterior.scale, posterior.center - center[:, None])
    tails = (1 - np.array([CONFIDENCE, SETTLED_SAME, SETTLED_DIFFERENT])) / 2
    reach = _half_widths(posterior.weight, scale, posterior.freedom, tails)
    p_values = 2 * _tail(posterior.weight, scale, posterior.freedom, np.abs(center)[:, None])[:, 0]
    return [
        Estimate(
            step=cell.step,
            contender=cell.contender,
            ratio=math.exp(center[index]),
            interval=_around(center[index], reach[index, 0]),
            sameness_interval=_around(center[index], reach[index, 1]),
            difference_interval=_around(center[index], reach[index, 2]),
            p_value=float(p_values[index]),
            blocks=cell.blocks,
            incarnations=len(cell.by_incarnation),
            restart_spread=_spread(locations, index),
            torn=cell.torn,
            silent=cell.silent,
        )
        for index, cell in enumerate(cells)
    ]


def _around(center: float, reach: float) -> Interval:
    reach = min(reach, _WIDEST)
    return Interval(math.exp(center - reach), math.exp(center + reach))


def _spread(locations: _Locations, index: int) -> float | None:
    means = locations.mean[index][locations.present[index] > 0]
    return float(means.std(ddof=1)) if len(means) > 1 else None


def _locate(cells: Sequence[BlockRatios]) -> _Locations:
    shape = (len(cells), max(len(cell.by_incarnation) for cell in cells))
    mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
    freedom = np.zeros(len(cells))
    for row, cell in enumerate(cells):
        found = [trimmed_mean(ratios) for ratios in cell.by_incarnation]
        freedom[row] = sum(location.kept - 1 for location in found)
        squares = sum(location.squares for location in found)
        if freedom[row] == 0:
            # One block per incarnation: noise and restarts cannot be told apart; all is noise.
            together = trimmed_mean(np.concatenate(cell.by_incarnation))
            freedom[row], squares = together.kept - 1, together.squares
        for column, location in enumerate(found):
            mean[row, column] = location.mean
            # Pooled over the incarnations: a few blocks alone say too little about their noise.
            pooled = squares / freedom[row] / location.kept
            variance[row, column] = max(pooled, SMALLEST_VARIANCE)
            present[row, column] = 1
    return _Locations(mean=mean, variance=variance, present=present, freedom=freedom)


def _integrate_restarts(locations: _Locations) -> _Posterior:
    """Weigh each tau by prior, own incarnations and, discounted, everyone else's."""
    tau_squared = (_TAU_GRID**2)[None, :, None]
    noise = locations.variance[:, None, :]
    precision = locations.present[:, None, :] / (tau_squared + noise)
    total = precision.sum(axis=2)
    center = (precision * locations.mean[:, None, :]).sum(axis=2) / total
    # Satterthwaite: tau is given, only the noise's share of the variance is itself estimated.
    share = (precision**2 * noise).sum(axis=2) / total
    freedom = locations.freedom[:, None] / np.square(share)
    log_likelihood = _restart_likelihood(locations, precision, center, freedom)

    contrasts = locations.present.sum(axis=1) - 1
    others = log_likelihood.sum(axis=0) - log_likelihood
    other_contrasts = contrasts.sum() - contrasts
    discount = np.minimum(1.0, BORROWED_FREEDOM / np.maximum(other_contrasts, 1.0))
    alone = _normalised(_log_prior()[None, :])
    borrowed = _normalised(_log_prior() + discount[:, None] * others)
    prior = (1 - OUTSIDER_SHARE) * borrowed + OUTSIDER_SHARE * alone
    return _Posterior(
        weight=_normalised(np.log(prior) + log_likelihood),
        center=center,
        scale=1 / np.sqrt(total),
        freedom=freedom,
    )


def _normalised(log_weight: FloatArray) -> FloatArray:
    """Weights that add up to 1 in each row."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    shares: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return shares


def _log_prior() -> FloatArray:
    """Half-Student density of tau times the width of each grid cell."""
    density = (1 + (_TAU_GRID / RESTART_SCALE) ** 2 / RESTART_PRIOR_FREEDOM) ** (
        -(RESTART_PRIOR_FREEDOM + 1) / 2
    )
    log_mass: FloatArray = np.log(density * np.gradient(_TAU_GRID))
    return log_mass


def _restart_likelihood(
    locations: _Locations, precision: FloatArray, center: FloatArray, freedom: FloatArray
) -> FloatArray:
    """ln of the restricted likelihood of tau, of shape (cells, taus).

    Of the contrasts between the incarnations (theta integrated out), as Student's t with the
    freedom of the noise, so that a noise that was underestimated is not taken for restarts.
    """
    present = locations.present[:, None, :]
    contrasts = present.sum(axis=2) - 1
    deviations = (precision * np.square(locations.mean[:, None, :] - center[:, :, None])).sum(
        axis=2
    )
    log_scales = np.where(present > 0, np.log(np.where(present > 0, precision, 1.0)), 0.0)
    log_determinant = log_scales.sum(axis=2) - np.log(precision.sum(axis=2))
    exponent = (freedom + contrasts) / 2
    log_likelihood: FloatArray = log_determinant / 2 - exponent * np.log1p(deviations / freedom)
    return log_likelihood


def _tail(
    weight: FloatArray, scale: FloatArray, freedom: FloatArray, reach: FloatArray
) -> FloatArray:
    """P(theta > center + reach) of shape (cells, reaches), for `reach` of that shape."""
    from scipy.special import stdtr

    scaled = reach[:, :, None] / scale[:, None, :]
    beyond: FloatArray = weight[:, None, :] * stdtr(freedom[:, None, :], -scaled)
    probability: FloatArray = beyond.sum(axis=2)
    return probability


def _half_widths(
    weight: FloatArray, scale: FloatArray, freedom: FloatArray, tails: FloatArray
) -> FloatArray:
    """Distance from the center beyond which each of `tails` lies, of shape (cells, tails)."""
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
