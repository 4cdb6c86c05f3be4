"""Tail probabilities and quantiles of mixtures of Student's t that share their center."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowdust.stats.location import FloatArray

_SMALLEST_WEIGHT = 1e-7
"""Components whose weight is below this in all cells are dropped."""
_STEPS = 30
"""Maximum number of steps of the quantile search."""
_PRECISION = 1e-5
"""Relative error of the tail probability at which the quantile search stops."""


@dataclass(frozen=True)
class Mixture:
    """Distributions of ln rqps; arrays of shape (cells, components)."""

    weight: FloatArray
    center: FloatArray
    scale: FloatArray
    freedom: FloatArray

    def mean(self) -> FloatArray:
        """Return the mean of each cell, shape (cells,)."""
        mean: FloatArray = (self.weight * self.center).sum(axis=1)
        return mean


@dataclass(frozen=True)
class Symmetric:
    """A mixture about its mean: the distance of a component from the mean widens its scale."""

    weight: FloatArray
    scale: FloatArray
    freedom: FloatArray

    @classmethod
    def about_mean(cls, mixture: Mixture) -> Symmetric:
        matters = mixture.weight.max(axis=0) > _SMALLEST_WEIGHT
        distance = mixture.center - mixture.mean()[:, None]
        return cls(
            weight=mixture.weight[:, matters],
            scale=np.hypot(mixture.scale, distance)[:, matters],
            freedom=mixture.freedom[:, matters],
        )

    def error(self) -> list[float]:
        """Return the scale of the median component, by weight, of each cell."""
        order = np.argsort(self.scale, axis=1)
        below = np.cumsum(np.take_along_axis(self.weight, order, axis=1), axis=1)
        place = (below < below[:, -1:] / 2).sum(axis=1, keepdims=True)
        scales: FloatArray = np.take_along_axis(self.scale, order, axis=1)
        errors: list[float] = np.take_along_axis(scales, place, axis=1)[:, 0].tolist()
        return errors

    def tail(self, reach: FloatArray) -> FloatArray:
        from scipy.special import stdtr

        scaled = reach[:, :, None] / self.scale[:, None, :]
        beyond: FloatArray = self.weight[:, None, :] * stdtr(self.freedom[:, None, :], -scaled)
        probability: FloatArray = beyond.sum(axis=2)
        return probability

    def reach(self, tails: FloatArray) -> FloatArray:
        """Return the distance from the mean that has `tails` beyond it, shape (cells, tails).

        The logarithm of a tail is nearly linear in the logarithm of the distance. The search is
        regula falsi on these, in the Illinois variant (Dowell and Jarratt 1971, BIT 11), which
        moves both ends of the bracket.
        """
        from scipy.special import ndtri

        goal = np.log(tails)
        spread = np.sqrt((self.weight * self.scale**2).sum(axis=1))
        normal = np.log(spread)[:, None] + np.log(-ndtri(tails))[None, :]
        low, above = self._bracket(normal - 0.5, goal, -1.0)
        high, below = self._bracket(normal + 0.5, goal, 1.0)
        was_near = was_far = np.zeros(low.shape, dtype=bool)
        middle = low
        for _ in range(_STEPS):
            middle = low + (high - low) * above / (above - below)
            excess = self._excess(middle, goal)
            if np.abs(excess).max() < _PRECISION:
                break
            near = excess > 0
            # An end that stays twice would stay forever: halve its value.
            below = np.where(near, np.where(was_near, below / 2, below), excess)
            above = np.where(near, excess, np.where(was_far, above / 2, above))
            low, high = np.where(near, middle, low), np.where(near, high, middle)
            was_near, was_far = near, ~near
        distance: FloatArray = np.exp(middle)
        return distance

    def _bracket(
        self, log_reach: FloatArray, goal: FloatArray, direction: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return a log distance below (`direction` -1) or above (1) the goal's, and its excess."""
        excess = self._excess(log_reach, goal)
        while np.any(wrong := excess * direction > 0):
            log_reach = np.where(wrong, log_reach + direction, log_reach)
            excess = self._excess(log_reach, goal)
        return log_reach, excess

    def _excess(self, log_reach: FloatArray, goal: FloatArray) -> FloatArray:
        excess: FloatArray = np.log(np.maximum(self.tail(np.exp(log_reach)), 1e-300)) - goal
        return excess
