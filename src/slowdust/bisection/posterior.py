"""What the measurements say of where a test changed.

The measured candidates cut the range into intervals. The logarithm of an interval's ratio, the cost
behind it over that before it, is drawn from one of two normal distributions around 0: a narrow one,
for what builds differ by when nothing changed, and a wide one, for changes. Each candidate is a
change with the same prior probability. A measurement is the sum of the intervals between two
candidates, with its error, or, rarely, a wrong one with a far larger error. The posterior is the
sum over the combinations of changed intervals and wrong measurements that are likely at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

_CHANGE = 0.10
"""Standard deviation of the logarithm of a change."""
_WRONG = 0.02
"""Prior probability that a measurement is wrong beyond its error."""
_WRONG_ERROR = 0.10
"""Standard deviation of the error of a wrong measurement."""
_LEAST_ERROR = 1e-5
"""Standard error below which no measurement is taken for exact: two may contradict each other."""
_EXPECTED = 1.5
"""Changes expected in the whole range before anything is measured."""
_KEPT = 16
"""Number of the likeliest combinations whose neighbours are looked at."""
_UNLIKELY = 12.0
"""Difference of log probabilities from the likeliest beyond which a combination does not count."""


@dataclass(frozen=True)
class Evidence:
    """A measured ratio of the costs of two candidates."""

    before: int
    """Place of the earlier candidate in the range."""
    after: int
    log_ratio: float
    """Logarithm of the cost of the later one / that of the earlier one."""
    error: float
    """Standard error of `log_ratio`."""


@dataclass(frozen=True)
class Belief:
    """What is known of the candidates behind one measured candidate, up to the next one."""

    before: int
    """Place of the last candidate before the interval."""
    after: int
    """Place of its last candidate."""
    changed: float
    """Probability that one of them is a change."""
    log_ratio: float
    """Posterior mean of the logarithm of the ratio."""
    error: float
    """Posterior standard deviation of it."""

    @property
    def candidates(self) -> int:
        """Number of candidates of which one may be the change."""
        return self.after - self.before


@dataclass(frozen=True)
class Sum:
    """The log ratio of one measured candidate to the first one."""

    place: int
    log_ratio: float
    """Posterior mean."""
    error: float
    """Posterior standard deviation."""


def beliefs(evidence: Sequence[Evidence], last: int, drift: float) -> list[Belief]:
    """Return what the evidence says of each interval between measured candidates, in their order.

    `last` is the place of the last candidate of the range, of which the first has place 0; `drift`
    the standard deviation of the log ratio of an interval without a change.
    """
    intervals = _intervals(evidence)
    if not intervals:
        return []
    model = _Model(evidence, intervals, last, drift)
    weights, means, covariances, changed = model.mixture()
    mean, spread = _mixed(weights, means, np.diagonal(covariances, axis1=1, axis2=2))
    share = weights @ changed
    return [
        Belief(*interval, float(share[i]), float(mean[i]), float(spread[i]))
        for i, interval in enumerate(intervals)
    ]


def sums(evidence: Sequence[Evidence], last: int, drift: float) -> list[Sum]:
    """Return the log ratio of each measured candidate to the first one, which is left out.

    Arguments as of `beliefs`. Neighbouring intervals are not independent: what was measured over
    both of them is surer than either.
    """
    intervals = _intervals(evidence)
    if not intervals:
        return []
    weights, means, covariances, _ = _Model(evidence, intervals, last, drift).mixture()
    upto = np.tril(np.ones((len(intervals), len(intervals))))
    variances = np.einsum("ij,cjk,ik->ci", upto, covariances, upto)
    mean, spread = _mixed(weights, means @ upto.T, variances)
    return [
        Sum(interval[1], float(mean[i]), float(spread[i])) for i, interval in enumerate(intervals)
    ]


def _intervals(evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
    """Return the intervals between measured candidates, in their order."""
    return [*pairwise(sorted({place for each in evidence for place in (each.before, each.after)}))]


def _mixed(weights: Vector, means: Vector, variances: Vector) -> tuple[Vector, Vector]:
    """Return mean and standard deviation over combinations; the last two are (combinations, n)."""
    mean = weights @ means
    # Rounding may leave a variance slightly below 0.
    return mean, np.sqrt(weights @ (np.maximum(variances, 0.0) + (means - mean) ** 2))


class _Model:
    """The probability of each combination of changed intervals and wrong measurements."""

    def __init__(
        self,
        evidence: Sequence[Evidence],
        intervals: Sequence[tuple[int, int]],
        last: int,
        drift: float,
    ) -> None:
        self._values = np.array([each.log_ratio for each in evidence])
        self._errors = np.array([max(each.error, _LEAST_ERROR) for each in evidence]) ** 2
        self._sums = np.array(
            [
                [float(each.before <= start and end <= each.after) for start, end in intervals]
                for each in evidence
            ]
        )
        self._drift = drift**2
        none = (1 - min(0.5, _EXPECTED / last)) ** np.array([b - a for a, b in intervals])
        self._log_changed = np.log1p(-none) - np.log(none)
        """Log prior odds of a change in each interval."""
        self._log_wrong = np.log(_WRONG / (1 - _WRONG))

    def mixture(self) -> tuple[Vector, Vector, Vector, Vector]:
        """Return weights, means, covariances and changed intervals of the likely combinations.

        The shapes are (combinations,), (combinations, intervals), the same with a covariance matrix
        for each, and (combinations, intervals).
        """
        scores = self._likely()
        best = max(scores.values())
        kept = [flags for flags, score in scores.items() if score > best - _UNLIKELY]
        weights = np.exp(np.array([scores[flags] for flags in kept]) - best)
        moments = [self._moments(flags) for flags in kept]
        number = len(self._log_changed)
        return (
            weights / weights.sum(),
            np.array([mean for mean, _ in moments]),
            np.array([covariance for _, covariance in moments]),
            np.array([flags[:number] for flags in kept], dtype=float),
        )

    def _likely(self) -> dict[tuple[bool, ...], float]:
        """Return the log probabilities of the combinations next to the likeliest ones."""
        start = (False,) * (len(self._log_changed) + len(self._values))
        scores = {start: self._score(start)}
        done: set[tuple[bool, ...]] = set()
        while True:
            top = sorted(scores, key=lambda flags: -scores[flags])[:_KEPT]
            best = scores[top[0]]
            fresh = [f for f in top if f not in done and scores[f] > best - _UNLIKELY]
            if not fresh:
                return scores
            # From the likeliest on: what a poor start leads to seldom matters.
            flags = fresh[0]
            done.add(flags)
            for near in _neighbours(flags):
                if near not in scores:
                    scores[near] = self._score(near)

    def _covariance(self, flags: tuple[bool, ...]) -> tuple[Vector, Vector]:
        """Return the variances of the intervals and the covariance of the measurements."""
        number = len(self._log_changed)
        changed, wrong = np.array(flags[:number]), np.array(flags[number:])
        variances = self._drift + changed * _CHANGE**2
        errors = self._errors + wrong * _WRONG_ERROR**2
        return variances, (self._sums * variances) @ self._sums.T + np.diag(errors)

    def _score(self, flags: tuple[bool, ...]) -> float:
        _, covariance = self._covariance(flags)
        root = np.linalg.cholesky(covariance)
        scaled = np.linalg.solve(root, self._values)
        number = len(self._log_changed)
        prior = self._log_changed @ np.array(flags[:number], dtype=float)
        prior += self._log_wrong * sum(flags[number:])
        return float(prior - 0.5 * scaled @ scaled - np.log(np.diag(root)).sum())

    def _moments(self, flags: tuple[bool, ...]) -> tuple[Vector, Vector]:
        """Return means and covariances of the intervals' log ratios under one combination."""
        variances, covariance = self._covariance(flags)
        gain = (self._sums * variances).T @ np.linalg.inv(covariance)
        left = np.diag(variances) - gain @ (self._sums * variances)
        return gain @ self._values, left


def _neighbours(flags: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
    """Yield the combinations that differ in one place, or by one that moves to the next."""
    for place, flag in enumerate(flags):
        yield (*flags[:place], not flag, *flags[place + 1 :])
    for place in range(len(flags) - 1):
        if flags[place] != flags[place + 1]:
            yield (*flags[:place], flags[place + 1], flags[place], *flags[place + 2 :])
