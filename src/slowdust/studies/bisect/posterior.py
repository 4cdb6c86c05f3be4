"""The posterior of where a test changed, given the measurements.

The measured candidates divide the range into intervals. The log ratio of an interval (the cost of
its last candidate over the cost of the candidate before it) is drawn from one of several normal
distributions around 0. A narrow one describes builds that differ although nothing changed. The
others describe changes; their scales are a geometric series, so that changes have a heavy tail.
Most changes are a few percent; a factor of 10,000 is rare but possible. Each candidate has the same
prior probability of being a change. A measurement is the sum of the intervals between two
candidates, with its error. A few measurements are wrong by far more than their error; that
distribution has a heavy tail too. Given the distribution of each interval and each error,
everything is normal. The posterior is the sum over the likely combinations of distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

SURE = 0.95
"""Probability at which a change, or its absence, counts as certain."""
_CHANGE = {0.08: 0.87, 0.4: 0.07, 1.6: 0.04, 6.4: 0.02}
"""Standard deviation of the log of a change -> share of the changes."""
_WRONG = {0.1: 0.019, 0.8: 0.001}
"""Standard deviation of the error of a wrong measurement -> share of all measurements."""
_LEAST_ERROR = 1e-5
"""Minimum standard error of a measurement: exact ones could contradict each other."""
_EXPECTED = 1.5
"""Changes expected in the whole range before anything is measured."""
_KEPT = 32
"""Number of the likeliest combinations whose neighbours are examined."""
_UNLIKELY = 12.0
"""Log probability relative to the likeliest combination below which others are ignored."""
_MOST_MOMENTS = 256
"""Number of the likeliest combinations that ratios and their errors are computed from."""
_LEAST_FACTOR = 1e-12
"""Minimum factor of a determinant: smaller ones are rounding errors."""

_Combination = tuple[int, ...]
"""Index of the distribution of each interval, then of each measurement's error."""


@dataclass(frozen=True)
class MeasuredRatio:
    """A measured ratio of the costs of two candidates."""

    before: int
    """Place of the earlier candidate in the range."""
    after: int
    log_ratio: float
    """ln(cost of the later one / cost of the earlier one)."""
    error: float
    """Standard error of `log_ratio`."""


@dataclass(frozen=True)
class Belief:
    """The posterior of an interval: the candidates after a measured one, up to the next one."""

    before: int
    """Place of the measured candidate before the interval."""
    after: int
    """Place of its last candidate."""
    changed: float
    """Probability that one of them is a change."""
    log_ratio: float
    """Posterior mean of the logarithm of the ratio."""
    error: float
    """Posterior standard deviation of `log_ratio`."""

    @property
    def candidates(self) -> int:
        """Number of candidates that may be the change."""
        return self.after - self.before


@dataclass(frozen=True)
class Sum:
    """The log ratio of one measured candidate to the first one."""

    place: int
    log_ratio: float
    """Posterior mean."""
    error: float
    """Posterior standard deviation."""


def beliefs(evidence: Sequence[MeasuredRatio], last: int, drift: float) -> list[Belief]:
    """Return the posterior of each interval between measured candidates, in their order.

    `last` is the place of the last candidate of the range; the first one has place 0. `drift` is
    the standard deviation of the log ratio of an interval without a change.
    """
    intervals = _intervals(evidence)
    if not intervals:
        return []
    model = _Model(evidence, intervals, last, drift)
    changed = model.changed()
    weights, means, covariances = model.mixture()
    mean, spread = _mixed(weights, means, np.diagonal(covariances, axis1=1, axis2=2))
    return [
        Belief(*interval, float(changed[i]), float(mean[i]), float(spread[i]))
        for i, interval in enumerate(intervals)
    ]


def sums(evidence: Sequence[MeasuredRatio], last: int, drift: float) -> list[Sum]:
    """Return the log ratio of each measured candidate to the first one, without the first one.

    Arguments are as for `beliefs`. Neighbouring intervals are not independent: the sum of two that
    were measured together has a smaller error than either.
    """
    intervals = _intervals(evidence)
    if not intervals:
        return []
    weights, means, covariances = _Model(evidence, intervals, last, drift).mixture()
    upto = np.tril(np.ones((len(intervals), len(intervals))))
    variances = np.einsum("ij,cjk,ik->ci", upto, covariances, upto)
    mean, spread = _mixed(weights, means @ upto.T, variances)
    return [
        Sum(interval[1], float(mean[i]), float(spread[i])) for i, interval in enumerate(intervals)
    ]


def _intervals(evidence: Sequence[MeasuredRatio]) -> list[tuple[int, int]]:
    """Return the intervals between measured candidates, in their order."""
    return [*pairwise(sorted({place for each in evidence for place in (each.before, each.after)}))]


def _mixed(weights: Vector, means: Vector, variances: Vector) -> tuple[Vector, Vector]:
    """Return mean and standard deviation over combinations; means are (combinations, n)."""
    mean = weights @ means
    # Rounding may leave a variance slightly below 0.
    return mean, np.sqrt(weights @ (np.maximum(variances, 0.0) + (means - mean) ** 2))


class _Model:
    """The probability of each combination of distributions.

    The parts of a combination are the intervals, then the measurements. The vector of measured
    values is the sum over the parts of a column times a normal variable.
    """

    def __init__(
        self,
        evidence: Sequence[MeasuredRatio],
        intervals: Sequence[tuple[int, int]],
        last: int,
        drift: float,
    ) -> None:
        self._values = np.array([each.log_ratio for each in evidence])
        sums = [
            [float(each.before <= start and end <= each.after) for start, end in intervals]
            for each in evidence
        ]
        self._columns = np.hstack([np.array(sums), np.eye(len(evidence))])
        self._number = len(intervals)
        """Number of intervals."""
        none = (1 - min(0.5, _EXPECTED / last)) ** np.array([b - a for a, b in intervals])
        odds = np.log1p(-none) - np.log(none)
        errors = np.array([max(each.error, _LEAST_ERROR) for each in evidence]) ** 2
        right = np.full(len(evidence), -np.log1p(-sum(_WRONG.values())))
        width = 1 + max(len(_CHANGE), len(_WRONG))
        changes = _distributions(np.full(len(intervals), drift**2), _CHANGE, odds, width)
        wrong = _distributions(errors, _WRONG, right, width)
        self._variances, self._priors = (
            np.vstack(pair) for pair in zip(changes, wrong, strict=True)
        )
        self._scores = self._likely()

    def changed(self) -> Vector:
        """Return the probability that each interval has a change."""
        scores = np.array([*self._scores.values()])
        weights = np.exp(scores - scores.max())
        flags = np.array([each[: self._number] for each in self._scores]) > 0
        return np.asarray(weights @ flags / weights.sum())

    def mixture(self) -> tuple[Vector, Vector, Vector]:
        """Return weights, means and covariances of the likeliest combinations.

        The shapes are (combinations,), (combinations, intervals), and the last one with a
        covariance matrix of the intervals for each combination.
        """
        kept = sorted(self._scores, key=lambda each: -self._scores[each])[:_MOST_MOMENTS]
        scores = np.array([self._scores[each] for each in kept])
        weights = np.exp(scores - scores.max())
        columns, own = self._columns, self._columns[:, : self._number]
        variances = np.array([self._of(self._variances, each) for each in kept])
        shared = own * variances[:, None, : self._number]
        covariances = (columns * variances[:, None, :]) @ columns.T
        gains = np.linalg.solve(covariances, shared).transpose(0, 2, 1)
        left = variances[:, : self._number, None] * np.eye(self._number) - gains @ shared
        return weights / weights.sum(), gains @ self._values, left

    def _likely(self) -> dict[_Combination, float]:
        """Return the log probabilities of the combinations next to the likeliest ones."""
        start = (0,) * self._columns.shape[1]
        scores = {start: -np.inf}
        waiting = [(np.inf, start)]
        done: list[float] = []
        best = -np.inf
        while waiting:
            # The likeliest first: combinations reached from a poor one seldom matter.
            _, combination = heappop(waiting)
            around = scores[combination]
            if done and (around < best - _UNLIKELY or sum(s > around for s in done) >= _KEPT):
                break
            root = self._root(combination)
            scores[combination] = self._score(combination, root)
            done.append(scores[combination])
            best = max(best, done[-1])
            for near, gain in self._neighbours(combination, root, best - _UNLIKELY - done[-1]):
                if near not in scores:
                    scores[near] = done[-1] + gain
                    heappush(waiting, (-scores[near], near))
        return {each: score for each, score in scores.items() if score > best - _UNLIKELY}

    def _root(self, combination: _Combination) -> Vector:
        """Return the Cholesky factor of the covariance of the measured values."""
        columns = self._columns
        covariance = (columns * self._of(self._variances, combination)) @ columns.T
        return np.asarray(np.linalg.cholesky(covariance))

    def _of(self, values: Vector, combination: _Combination) -> Vector:
        """Return the value of each part, from an array of parts by distributions."""
        return np.asarray(values[np.arange(len(combination)), combination])

    def _score(self, combination: _Combination, root: Vector) -> float:
        scaled = np.linalg.solve(root, self._values)
        prior = self._of(self._priors, combination).sum()
        return float(prior - 0.5 * scaled @ scaled - np.log(np.diag(root)).sum())

    def _neighbours(
        self, combination: _Combination, root: Vector, least: float
    ) -> Iterator[tuple[_Combination, float]]:
        """Yield the neighbours that gain more than `least` in log probability, with the gain.

        A neighbour differs in the distribution of one part, or has two adjacent parts exchanged.
        The gains come from updates of rank 1 and 2 of the covariance.
        """
        chosen = np.array(combination)
        variances = self._of(self._variances, combination)
        priors = self._of(self._priors, combination)
        columns = np.linalg.solve(root, self._columns)
        products = columns.T @ columns
        lengths = np.diag(products)
        along = columns.T @ np.linalg.solve(root, self._values)

        more = self._variances - variances[:, None]
        factors = np.maximum(1 + more * lengths[:, None], _LEAST_FACTOR)
        gains = self._priors - priors[:, None] - 0.5 * np.log(factors)
        gains += 0.5 * more * along[:, None] ** 2 / factors
        gains[np.arange(len(chosen)), chosen] = -np.inf
        for part, other in np.argwhere(gains > least).tolist():
            near = (*combination[:part], other, *combination[part + 1 :])
            yield near, float(gains[part, other])

        first = np.flatnonzero(chosen[:-1] != chosen[1:])
        first = first[first != self._number - 1]  # exchange intervals with intervals only
        then = first + 1
        a = self._variances[first, chosen[then]] - variances[first]
        b = self._variances[then, chosen[first]] - variances[then]
        between = products[first, then]
        one, two = 1 + a * lengths[first], 1 + b * lengths[then]
        factors = np.maximum(one * two - a * b * between**2, _LEAST_FACTOR)
        squares = a * along[first] * (two * along[first] - b * between * along[then])
        squares += b * along[then] * (one * along[then] - a * between * along[first])
        gains = self._priors[first, chosen[then]] + self._priors[then, chosen[first]]
        gains += 0.5 * squares / factors - 0.5 * np.log(factors) - priors[first] - priors[then]
        for part, gain in zip(first.tolist(), gains.tolist(), strict=True):
            if gain > least:
                swapped = (combination[part + 1], combination[part])
                yield (*combination[:part], *swapped, *combination[part + 2 :]), gain


def _distributions(
    usual: Vector, others: Mapping[float, float], odds: Vector, width: int
) -> tuple[Vector, Vector]:
    """Return variances and log prior odds of parts, by distribution.

    A part has its usual variance, or that plus the square of one of the other scales, with log odds
    `odds` plus the log of the scale's share. Distributions up to `width` are filled with impossible
    ones.
    """
    variances, priors = np.ones((len(usual), width)), np.full((len(usual), width), -np.inf)
    variances[:, 0], priors[:, 0] = usual, 0.0
    for place, (scale, share) in enumerate(others.items(), start=1):
        variances[:, place] = usual + scale**2
        priors[:, place] = odds + np.log(share)
    return variances, priors


_SIDES = 1.96
_OF_SIZE = 0.10
"""Difference allowed between measurements of a change, as a share of its log ratio."""


@dataclass(frozen=True)
class Direct:
    """The log ratio of a change from its direct comparison with the candidate before it.

    The search knows a change from many measurements over longer intervals. This is the one that a
    reader can repeat.
    """

    log_ratio: float
    error: float
    work: tuple[float, float] | None = None
    """Log ratio of the instructions in the same experiment and its error, if time decides."""

    def contradicts(self, change: float, margin: float) -> bool:
        """Return whether this measurement contradicts a change of this log ratio.

        It does if its 95% interval excludes the change, and either includes no change or the
        opposite one, or differs from the change by more than `margin` and a tenth of the change. It
        also does if it shows no change in time, and the instructions changed in the other
        direction.
        """
        along = math.copysign(1.0, change)
        least, most = (along * self.log_ratio + side * self.error for side in (-_SIDES, _SIDES))
        size = abs(change)
        if self.work is not None and least <= 0:
            work, error = self.work
            if along * work + _SIDES * error < 0:
                return True
        beyond = max(least - size, size - most)
        return beyond > 0 and (least <= 0 or beyond > max(margin, _OF_SIZE * size))
