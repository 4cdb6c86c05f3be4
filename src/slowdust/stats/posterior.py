"""The posterior of tau, the standard deviation between starts of the servers.

docs/statistics.md has the formulas, estimate.py the model and its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.common_shift import independent_share
from slowdust.stats.location import FloatArray
from slowdust.stats.mixture import Mixture

TAU_GRID = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 43)))
"""Grid of tau for the integrals: 0, and 0.01% to 100%."""


@dataclass(frozen=True)
class Expectation:
    """Prior of tau, before the experiment's own starts."""

    scale: float
    """Scale of the half-Student prior, in ln rqps."""
    prior_freedom: float
    """Degrees of freedom of that prior; fewer make a far larger tau more likely."""
    borrowed_freedom: float
    """Maximum degrees of freedom about tau that may come from other steps and contenders."""
    outsider_share: float
    """Prior probability that a step's tau is unrelated to the others'."""
    outsider_freedom: float = 1.0
    """Degrees of freedom of such a step's prior: half-Cauchy, so that its own starts can show a
    scatter of 10% or 40%. Its scale is the larger of `scale` and the noise: disturbances of the
    blocks may last longer than a start."""
    independent: Callable[[FloatArray, FloatArray, Sequence[str]], float] = independent_share
    """Function that returns the worth of another cell relative to an independent one."""


RESTARTS = Expectation(scale=0.015, prior_freedom=4.0, borrowed_freedom=8.0, outsider_share=0.2)
"""Prior for many short blocks with known noise: a restart moves rqps by 1% or 2%."""
CHUNKS = Expectation(scale=0.02, prior_freedom=3.0, borrowed_freedom=8.0, outsider_share=0.3)
"""Prior for long steps in chunks: tau is the effect of a restart and of new tables."""
LONG_STEPS = Expectation(scale=0.05, prior_freedom=2.0, borrowed_freedom=8.0, outsider_share=0.4)
"""Prior for one pair of long steps in each start: tau is all scatter, from restarts and noise: 1%
to 15% on a shared machine. Loads, indexes and queries have less in common with each other than
short tests do, so a step's own pairs soon count more than the others."""

HOSTS = Expectation(scale=0.01, prior_freedom=3.0, borrowed_freedom=8.0, outsider_share=0.3)
"""Prior for hosts in the place of starts (`hosts.py`): with one binary on machines of one model a
ratio usually differs by 1%, and sometimes by far more."""


@dataclass(frozen=True)
class Locations:
    """Starts of the cells as arrays of shape (cells, starts), 0 where missing."""

    mean: FloatArray
    variance: FloatArray
    present: FloatArray
    """1 if the cell has that start, else 0."""
    freedom: FloatArray
    """Degrees of freedom of `variance`, shared by the starts of a cell; shape (cells,)."""
    contender: Sequence[str]
    """Contender of each cell."""

    def noise(self) -> FloatArray:
        """Return the standard deviation of the noise of a start's mean, shape (cells,)."""
        variance = (self.present * self.variance).sum(axis=1) / self.present.sum(axis=1)
        noise: FloatArray = np.sqrt(variance)
        return noise

    def conditional(self) -> _Conditional:
        """Return the weighted means for each tau of the grid."""
        tau_squared = (TAU_GRID**2)[None, :, None]
        noise = self.variance[:, None, :]
        precision = self.present[:, None, :] / (tau_squared + noise)
        total = precision.sum(axis=2)
        center = (precision * self.mean[:, None, :]).sum(axis=2) / total
        # Satterthwaite: tau is given; only the noise part of the variance is estimated.
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
        """Return the distribution of theta with taus weighted by `weight`, shape (cells, taus)."""
        given = self.conditional()
        return Mixture(weight, given.center, given.scale, given.freedom)


@dataclass(frozen=True)
class _Conditional:
    """Estimates for each tau; arrays of shape (cells, taus), `precision` also by start.

    The means of the starts are a multivariate t about theta with the freedom of the noise.
    """

    precision: FloatArray
    center: FloatArray
    noise_freedom: FloatArray
    deviations: FloatArray
    """Weighted sum of squared deviations of the starts; its expectation is `contrasts`."""
    contrasts: FloatArray
    """Number of starts less 1; shape (cells, 1)."""

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the Student's t of theta."""
        return self.noise_freedom + self.contrasts

    @property
    def scale(self) -> FloatArray:
        """Scale of the Student's t of theta.

        If starts differ by more than noise and tau explain, the noise was underestimated; its few
        degrees of freedom limit the correction.
        """
        seen = (self.noise_freedom + self.deviations) / self.freedom
        scale: FloatArray = np.sqrt(seen / self.precision.sum(axis=2))
        return scale


def weigh_restarts(locations: Locations, expected: Expectation) -> FloatArray:
    """Return the weights of `TAU_GRID`, of shape (cells, taus); each cell's weights add up to 1.

    They combine the prior, the cell's own starts and, discounted, the starts of the other cells.
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

    It has the shape of `scale` with the taus in the last axis.
    """
    density = (1 + (TAU_GRID / scale) ** 2 / freedom) ** (-(freedom + 1) / 2)
    log_mass: FloatArray = np.log(density * np.gradient(TAU_GRID))
    return log_mass


def _restart_likelihood(locations: Locations, given: _Conditional) -> FloatArray:
    """Return ln of the restricted likelihood of tau, of shape (cells, taus).

    It is the likelihood of the contrasts between starts (theta integrated out), as Student's t with
    the freedom of the noise, so that underestimated noise is not taken for an effect of restarts.
    """
    present, precision = locations.present[:, None, :], given.precision
    log_scales = np.where(present > 0, np.log(np.where(present > 0, precision, 1.0)), 0.0)
    log_determinant = log_scales.sum(axis=2) - np.log(precision.sum(axis=2))
    log_likelihood: FloatArray = log_determinant / 2 - given.freedom / 2 * np.log1p(
        given.deviations / given.noise_freedom
    )
    return log_likelihood
