"""The posterior over tau, the standard deviation of what differs from incarnation to incarnation.

docs/statistics.md has the formulas, estimate.py the model and its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.location import FloatArray
from slowdust.stats.mixture import Mixture
from slowdust.stats.together import independent_share

TAU_GRID = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 43)))
"""Values of tau that the integrals sum over: none at all, and 0.01% to 100%."""


@dataclass(frozen=True)
class Expectation:
    """Prior beliefs about tau, before an experiment's own incarnations."""

    scale: float
    """Scale of the half-Student prior, in ln rqps."""
    prior_freedom: float
    """Degrees of freedom of that prior; with fewer, a far larger tau is more likely."""
    borrowed_freedom: float
    """Most degrees of freedom about tau that come from other steps and contenders."""
    outsider_share: float
    """Prior probability that a step's tau has nothing in common with the others'."""
    outsider_freedom: float = 1.0
    """Degrees of freedom of such a step's prior: half-Cauchy, so that its own incarnations can
    show that they scatter by 10% or 40%. Its scale is that of the noise, where this is larger than
    `scale`: what disturbs the blocks may last longer than an incarnation has blocks."""
    independent: Callable[[FloatArray, FloatArray, Sequence[str]], float] = independent_share
    """Function that says what another cell is worth, of an independent one."""


RESTARTS = Expectation(scale=0.015, prior_freedom=4.0, borrowed_freedom=8.0, outsider_share=0.2)
"""Prior for many short blocks with known noise: a restart moves rqps by a percent or two."""
CHUNKS = Expectation(scale=0.02, prior_freedom=3.0, borrowed_freedom=8.0, outsider_share=0.3)
"""Prior for long steps in chunks: tau is what a restart and new tables do."""
LONG_STEPS = Expectation(scale=0.05, prior_freedom=2.0, borrowed_freedom=8.0, outsider_share=0.4)
"""Prior for a pair of long steps in each incarnation: tau is all scatter, restart and noise, from
1% to 15% on a shared machine. Loads, indexes and queries have less in common with each other than
short tests have: a step's own pairs soon count more than the others."""

HOSTS = Expectation(scale=0.01, prior_freedom=3.0, borrowed_freedom=8.0, outsider_share=0.3)
"""Prior for hosts in the place of incarnations (`hosts.py`): with one binary on machines of one
kind a ratio differs by a percent, and on some by far more."""


@dataclass(frozen=True)
class Locations:
    """Incarnations of the cells as arrays of shape (cells, incarnations), 0 where missing."""

    mean: FloatArray
    variance: FloatArray
    present: FloatArray
    """1 where the cell has that incarnation, else 0."""
    freedom: FloatArray
    """Degrees of freedom of `variance`, which a cell's incarnations share; shape (cells,)."""
    contender: Sequence[str]
    """Contender of each cell."""

    def noise(self) -> FloatArray:
        """Return the standard deviation of the noise of an incarnation's mean, shape (cells,)."""
        variance = (self.present * self.variance).sum(axis=1) / self.present.sum(axis=1)
        noise: FloatArray = np.sqrt(variance)
        return noise

    def conditional(self) -> _Conditional:
        """Return the usual weighted means, given each tau of the grid."""
        tau_squared = (TAU_GRID**2)[None, :, None]
        noise = self.variance[:, None, :]
        precision = self.present[:, None, :] / (tau_squared + noise)
        total = precision.sum(axis=2)
        center = (precision * self.mean[:, None, :]).sum(axis=2) / total
        # Satterthwaite: tau is given, only the noise's share of the variance is itself estimated.
        share = (precision**2 * noise).sum(axis=2) / total
        distance = self.mean[:, None, :] - center[:, :, None]
        return _Conditional(
            precision=precision,
            center=center,
            noise_freedom=self.freedom[:, None] / np.square(share),
            deviations=(precision * np.square(distance)).sum(axis=2),
            contrasts=self.present.sum(axis=1)[:, None] - 1,
        )

    def mixture(self, weight: FloatArray) -> Mixture:
        """Return theta with tau weighed by `weight`, of shape (cells, taus)."""
        given = self.conditional()
        return Mixture(weight, given.center, given.scale, given.freedom)


@dataclass(frozen=True)
class _Conditional:
    """What is known given each tau; arrays of shape (cells, taus), `precision` by incarnation, too.

    The incarnations' means are a multivariate t about theta, with the freedom of the noise.
    """

    precision: FloatArray
    center: FloatArray
    noise_freedom: FloatArray
    deviations: FloatArray
    """Weighted sum of squares of the incarnations' deviations: that of `contrasts` expected."""
    contrasts: FloatArray
    """Number of incarnations less 1; shape (cells, 1)."""

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the Student's t of theta."""
        return self.noise_freedom + self.contrasts

    @property
    def scale(self) -> FloatArray:
        """Scale of the Student's t of theta.

        Incarnations that differ by more than noise and tau explain say that the noise was
        underestimated, by as much as its few degrees of freedom leave open.
        """
        seen = (self.noise_freedom + self.deviations) / self.freedom
        scale: FloatArray = np.sqrt(seen / self.precision.sum(axis=2))
        return scale


def weigh_restarts(locations: Locations, expected: Expectation) -> FloatArray:
    """Return the weights of `TAU_GRID`, of shape (cells, taus), which add up to 1 in each cell.

    They come from the prior, a cell's incarnations and, discounted, those of the other cells.
    """
    log_likelihood = _restart_likelihood(locations, locations.conditional())
    log_prior = _log_prior(np.array(expected.scale), expected.prior_freedom)
    outsider_scale = np.maximum(expected.scale, locations.noise())[:, None]
    contrasts = locations.present.sum(axis=1) - 1
    others = log_likelihood.sum(axis=0) - log_likelihood
    other_contrasts = contrasts.sum() - contrasts
    discount = np.minimum(
        expected.independent(locations.mean, locations.present, locations.contender),
        expected.borrowed_freedom / np.maximum(other_contrasts, 1.0),
    )
    own = _normalised(_log_prior(outsider_scale, expected.outsider_freedom))
    borrowed = _normalised(log_prior + discount[:, None] * others)
    prior = (1 - expected.outsider_share) * borrowed + expected.outsider_share * own
    return _normalised(np.log(prior) + log_likelihood)


def _normalised(log_weight: FloatArray) -> FloatArray:
    """Return weights that add up to 1 in each row."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    shares: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return shares


def _log_prior(scale: FloatArray, freedom: float) -> FloatArray:
    """Return the half-Student density of tau times the width of each grid cell.

    The shape is that of `scale` with the taus last.
    """
    density = (1 + (TAU_GRID / scale) ** 2 / freedom) ** (-(freedom + 1) / 2)
    log_mass: FloatArray = np.log(density * np.gradient(TAU_GRID))
    return log_mass


def _restart_likelihood(locations: Locations, given: _Conditional) -> FloatArray:
    """Return ln of the restricted likelihood of tau, of shape (cells, taus).

    It is that of the contrasts between incarnations (theta integrated out), as Student's t with the
    freedom of the noise, so that noise that was underestimated is not taken for restarts.
    """
    present, precision = locations.present[:, None, :], given.precision
    log_scales = np.where(present > 0, np.log(np.where(present > 0, precision, 1.0)), 0.0)
    log_determinant = log_scales.sum(axis=2) - np.log(precision.sum(axis=2))
    log_likelihood: FloatArray = log_determinant / 2 - given.freedom / 2 * np.log1p(
        given.deviations / given.noise_freedom
    )
    return log_likelihood
