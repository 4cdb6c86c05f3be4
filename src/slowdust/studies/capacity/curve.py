"""The posterior of the contenders' capacities: a psychometric function of the trials.

The probability that a trial at the rate r meets the SLA is

    p = g + (1 - l - g) Phi((theta_k + u_ks + d_t - ln r) / sigma_k)

with a threshold theta and a spread sigma for each contender k, a shift u for each start s of its
server, a drift d of the machine at the time t that all contenders share, and the share l of trials
that miss the SLA at any rate, because the machine stalls (a lapse: Wichmann & Hill 2001, Perception
& Psychophysics 63). g is the share of trials that meet the SLA at any rate. The shifts are normal
with the standard deviation tau. The drift is a stationary Gaussian process with the standard
deviation delta, whose correlation decays with time. The capacity is the rate at which `SHARE` of
the trials that do not lapse meet the SLA: ln capacity = theta - z sigma.

The posterior is a mixture over a grid of (tau, delta, l). Given a point of the grid, theta, ln
sigma, u and d are normal about their mode (the Laplace approximation, as in INLA: Rue, Martino &
Chopin 2009, J. R. Stat. Soc. B 71).

The model does not include a burst of other load that spoils the trials of one contender only; it
would look like a lower capacity. So the interval of a ratio is at least as wide as the jackknife
interval over the starts (Tukey 1958, Ann. Math. Stat. 29), which assumes only that starts are
independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from slowdust.stats.relative import CONFIDENCE
from slowdust.store.trial import Trial
from slowdust.studies.capacity.sla import Sla, meets
from slowdust.units import Second

FloatArray = NDArray[np.float64]

SHARE = 0.9
"""Share of the trials that meet the SLA at the capacity."""
_Z = float(ndtri(SHARE))
_GUESS = 0.02
"""Share of the trials far beyond the capacity that meet the SLA: the machine was fast just then."""
_TAUS = (0.005, 0.02, 0.06, 0.16)
_DELTAS = (0.01, 0.05, 0.12, 0.3)
_LAPSES = (0.01, 0.06, 0.15, 0.3, 0.5)
_LAPSE_PRIOR = (0.4, 0.3, 0.15, 0.1, 0.05)
_USUAL_TAU = 0.03
_USUAL_DELTA = 0.08
_FREEDOM = 3.0
_MEMORY: Second = 20.0
"""Time constant of the correlation of the drift."""
_SIGMA = (math.log(0.12), 0.7)
"""Prior mean and standard deviation of the ln sigma that contenders share."""
_SIGMA_DIFFERENCE = 0.2
"""Prior standard deviation of the difference in ln sigma between contenders. It is small because
the spread comes mostly from the machine. Without it a few unlucky trials would widen the spread of
one contender, and change its capacity."""
_THETA_SPREAD = 1.0
_MOST_SEGMENTS = 60
"""Maximum number of values of the drift: with more turns, neighbouring turns share one."""
_STEPS = 40
_CLOSE = 1e-4
_LEAST = 1e-9
_FEWEST_STARTS = 3
"""Minimum number of starts for an estimate of how much they differ."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Outcomes:
    """The trials as arrays of one length."""

    log_rate: FloatArray
    met: NDArray[np.bool_]
    contender: NDArray[np.int64]
    """Index of the contender, 0-based."""
    start: NDArray[np.int64]
    """Index of the start, 0-based."""
    time: FloatArray
    """Seconds of measuring before the trial."""
    contenders: int
    expected: FloatArray
    """ln of the expected threshold of each contender."""


@dataclass(frozen=True)
class _Hyper:
    """A point of the grid."""

    tau: float
    delta: float
    lapse: float
    log_prior: float


@dataclass(frozen=True)
class _Given:
    """The posterior given a point of the grid."""

    hyper: _Hyper
    mode: FloatArray
    covariance: FloatArray
    log_evidence: float


def _half_student(value: float, scale: float, width: float) -> float:
    return math.log(width) - (_FREEDOM + 1) / 2 * math.log1p((value / scale) ** 2 / _FREEDOM)


def _grid() -> list[_Hyper]:
    tau_widths, delta_widths = np.gradient(_TAUS), np.gradient(_DELTAS)
    return [
        _Hyper(
            tau,
            delta,
            lapse,
            _half_student(tau, _USUAL_TAU, float(tau_width))
            + _half_student(delta, _USUAL_DELTA, float(delta_width))
            + math.log(prior),
        )
        for (tau, tau_width), (delta, delta_width), (lapse, prior) in product(
            zip(_TAUS, tau_widths, strict=True),
            zip(_DELTAS, delta_widths, strict=True),
            zip(_LAPSES, _LAPSE_PRIOR, strict=True),
        )
    ]


_GRID = _grid()


class Curve:
    """The posterior of all contenders' psychometric functions."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._design = _Design(outcomes)

    @cached_property
    def _all_given(self) -> list[_Given]:
        """The posterior given each point of the grid."""
        found: list[_Given] = []
        mode = self._design.begin
        for hyper in _GRID:
            found.append(given := self._design.solve(hyper, mode))
            mode = given.mode
        return found

    @cached_property
    def _weights(self) -> FloatArray:
        log_weight = np.array([each.log_evidence for each in self._all_given])
        weight = np.exp(log_weight - log_weight.max())
        shares: FloatArray = weight / weight.sum()
        return shares

    @cached_property
    def _one_given(self) -> _Given:
        """The posterior at a typical point of the grid: fast, and good enough to choose rates."""
        usual = _Hyper(_USUAL_TAU, _USUAL_DELTA, _LAPSES[1], 0.0)
        return self._design.solve(usual, self._design.begin)

    def threshold_now(self, contender: int, start: int) -> tuple[float, float]:
        """Return theta of a contender in a start, at the time of the last trial, and its sigma."""
        design, mode = self._design, self._one_given.mode
        theta = mode[contender]
        if start < design.starts:
            theta = theta + mode[design.shift(contender, start)]
        if start == design.starts - 1:
            theta = theta + mode[-1]  # the last value of the drift
        return float(theta), float(np.exp(mode[design.contenders + contender]))

    def may_be_within(self, contenders: Sequence[int], half_width: float) -> bool:
        """Return whether the intervals of ln capacities may be this narrow; fast if they are not.

        They cannot be if they are wider even without shifts, drift and lapses.
        """
        quiet = _Hyper(_TAUS[0], _DELTAS[0], _LAPSES[0], 0.0)
        given = self._design.solve(quiet, self._design.begin)
        reach = float(ndtri((1 + CONFIDENCE) / 2)) * np.sqrt(np.diag(given.covariance))
        return all(reach[number] <= half_width for number in contenders)

    def capacity(self, contender: int) -> Mixed:
        """Return the posterior of ln capacity."""
        gradient = self._gradients(contender)
        return self._mixed(
            [self._log_capacity(given, contender) for given in self._all_given], gradient
        )

    def log_ratio(self, contender: int, base: int) -> Mixed:
        """Return the posterior of the ln ratio of a capacity to the base's."""
        ours, theirs = self._gradients(contender), self._gradients(base)
        means = [
            self._log_capacity(given, contender) - self._log_capacity(given, base)
            for given in self._all_given
        ]
        return self._mixed(means, [a - b for a, b in zip(ours, theirs, strict=True)])

    def spread(self, contender: int) -> float:
        """Return sigma: the overlap of the rates that meet and that miss the SLA."""
        place = self._design.contenders + contender
        logs = [given.mode[place] for given in self._all_given]
        return float(np.exp(self._weights @ np.array(logs)))

    @property
    def lapse(self) -> float:
        """The share of trials that miss the SLA at any rate."""
        return float(self._weights @ self._lapses)

    @property
    def least_lapse(self) -> float:
        """The largest share of lapses in the grid that is exceeded with `CONFIDENCE`.

        It is the smallest one unless trials well below the threshold missed the SLA.
        """
        reached = [
            lapse for lapse in _LAPSES if self._weights[self._lapses >= lapse].sum() >= CONFIDENCE
        ]
        return max(reached, default=_LAPSES[0])

    @property
    def _lapses(self) -> FloatArray:
        return np.array([given.hyper.lapse for given in self._all_given])

    def _log_capacity(self, given: _Given, contender: int) -> float:
        sigma = np.exp(given.mode[self._design.contenders + contender])
        return float(given.mode[contender] - _Z * sigma)

    def _gradients(self, contender: int) -> list[FloatArray]:
        found = []
        for given in self._all_given:
            gradient = np.zeros(len(given.mode))
            gradient[contender] = 1.0
            place = self._design.contenders + contender
            gradient[place] = -_Z * np.exp(given.mode[place])
            found.append(gradient)
        return found

    def _mixed(self, means: Sequence[float], gradients: Sequence[FloatArray]) -> Mixed:
        variances = [
            float(gradient @ given.covariance @ gradient)
            for gradient, given in zip(gradients, self._all_given, strict=True)
        ]
        return Mixed(self._weights, np.array(means), np.sqrt(np.maximum(variances, _LEAST**2)))


@dataclass(frozen=True)
class Mixed:
    """A mixture of normal distributions."""

    weight: FloatArray
    mean: FloatArray
    deviation: FloatArray

    def quantile(self, share: float) -> float:
        """Return the quantile of the mixture, by bisection."""
        low = float((self.mean - 9 * self.deviation).min())
        high = float((self.mean + 9 * self.deviation).max())
        for _ in range(80):
            middle = (low + high) / 2
            below = float(self.weight @ ndtr((middle - self.mean) / self.deviation))
            low, high = (middle, high) if below < share else (low, middle)
        return (low + high) / 2

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the equal-tailed interval."""
        outside = (1 - confidence) / 2
        return self.quantile(outside), self.quantile(1 - outside)


class _Design:
    """The design matrix; parameters are theta, ln sigma, u by contender and start, and d."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self.contenders = outcomes.contenders
        self.starts = int(outcomes.start.max()) + 1
        times = _segments(outcomes)
        self._segment = np.searchsorted(times, outcomes.time, side="right") - 1
        distance = np.abs(times[:, None] - times[None, :])
        correlation = np.exp(-distance / _MEMORY) + 1e-6 * np.eye(len(times))
        self._drift_precision = np.linalg.inv(correlation)
        self._drift_log_det = float(np.linalg.slogdet(correlation)[1])
        self._shifts = self.contenders * self.starts
        self._size = 2 * self.contenders + self._shifts + len(times)
        self.prior_mean = np.zeros(self._size)
        self.prior_mean[: self.contenders] = outcomes.expected
        self.prior_mean[self.contenders : 2 * self.contenders] = _SIGMA[0]
        rows = np.arange(len(outcomes.log_rate))
        self._linear = np.zeros((len(rows), self._size))
        self._linear[rows, outcomes.contender] = 1.0
        self._linear[rows, self._shift_places(outcomes.contender, outcomes.start)] = 1.0
        self._linear[rows, 2 * self.contenders + self._shifts + self._segment] = 1.0

    @property
    def begin(self) -> FloatArray:
        """Start values for the mode: each theta separates met from missed trials best.

        Far away from there the likelihood is flat, and the search for the mode may not move.
        """
        begin = self.prior_mean.copy()
        for contender in range(self.contenders):
            own = self._outcomes.contender == contender
            if own.any():
                begin[contender] = _separate(self._outcomes.log_rate[own], self._outcomes.met[own])
        return begin

    def shift(self, contender: int, start: int) -> int:
        """Return the index of the shift of a contender's start."""
        return 2 * self.contenders + contender * self.starts + start

    def _shift_places(
        self, contender: NDArray[np.int64], start: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return 2 * self.contenders + contender * self.starts + start

    def solve(self, hyper: _Hyper, begin: FloatArray) -> _Given:
        """Return the mode and its covariance given a point of the grid, by Fisher scoring."""
        precision, log_det = self._prior(hyper)
        mode = begin
        value, gradient, information = self._likelihood(hyper, mode)
        value -= self._penalty(precision, mode)
        for _ in range(_STEPS):
            slope = gradient - precision @ (mode - self.prior_mean)
            step = np.linalg.solve(information + precision, slope)
            for _ in range(12):
                tried, *more = self._likelihood(hyper, mode + step)
                tried -= self._penalty(precision, mode + step)
                if tried >= value - 1e-9:
                    break
                step = step / 2
            else:
                break
            mode, value, (gradient, information) = mode + step, tried, more
            if np.abs(step).max() < _CLOSE:
                break
        curvature: FloatArray = information + precision
        covariance = np.linalg.inv(curvature).astype(np.float64)
        log_evidence = value + log_det / 2 - float(np.linalg.slogdet(curvature)[1]) / 2
        return _Given(hyper, mode, covariance, log_evidence + hyper.log_prior)

    def _prior(self, hyper: _Hyper) -> tuple[FloatArray, float]:
        """Return the prior's precision, and the log of its determinant up to a constant."""
        precision = np.zeros((self._size, self._size))
        both, shifts = 2 * self.contenders, self._shifts
        diagonal = np.arange(self._size)
        precision[diagonal[: self.contenders], diagonal[: self.contenders]] = _THETA_SPREAD**-2
        spreads = diagonal[self.contenders : both]
        together = np.full((self.contenders, self.contenders), _SIGMA[1] ** 2)
        differences = _SIGMA_DIFFERENCE**2 * np.eye(self.contenders)
        precision[np.ix_(spreads, spreads)] = np.linalg.inv(together + differences)
        middle = diagonal[both : both + shifts]
        precision[middle, middle] = hyper.tau**-2
        last = both + shifts
        precision[last:, last:] = self._drift_precision / hyper.delta**2
        drifts = self._size - last
        log_det = (
            -2 * shifts * math.log(hyper.tau)
            - 2 * drifts * math.log(hyper.delta)
            - self._drift_log_det
        )
        return precision, log_det

    def _penalty(self, precision: FloatArray, at: FloatArray) -> float:
        distance = at - self.prior_mean
        return float(distance @ precision @ distance) / 2

    def _likelihood(self, hyper: _Hyper, at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log likelihood, its gradient, and the Fisher information."""
        outcomes = self._outcomes
        logs = np.clip(at[self.contenders : 2 * self.contenders], -7.0, 2.0)
        sigma = np.exp(logs)[outcomes.contender]
        z = np.clip(
            (self._linear @ _without_spreads(at, self.contenders) - outcomes.log_rate) / sigma,
            -30.0,
            30.0,
        )
        scale = 1 - hyper.lapse - _GUESS
        p = _GUESS + scale * ndtr(z)
        density = scale * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        value = float(np.log(np.where(outcomes.met, p, 1 - p)).sum())
        jacobian = self._linear / sigma[:, None]
        rows = np.arange(len(z))
        jacobian[rows, self.contenders + outcomes.contender] = -z
        gradient = jacobian.T @ (np.where(outcomes.met, 1 / p, -1 / (1 - p)) * density)
        weight = density**2 / (p * (1 - p))
        return value, gradient, (jacobian * weight[:, None]).T @ jacobian


def _separate(log_rate: FloatArray, met: NDArray[np.bool_]) -> float:
    """Return the ln rate with the fewest trials on the wrong side; the median of several."""
    beyond = log_rate[:, None] > log_rate[None, :]
    wrong = (beyond & met[:, None]).sum(axis=0) + (~beyond & ~met[:, None]).sum(axis=0)
    return float(np.median(log_rate[wrong == wrong.min()]))


def _without_spreads(at: FloatArray, contenders: int) -> FloatArray:
    """Return the parameters with 0 for ln sigma, which is not part of the threshold."""
    linear = at.copy()
    linear[contenders : 2 * contenders] = 0.0
    return linear


def _segments(outcomes: Outcomes) -> FloatArray:
    """Return the start times of the segments of the drift."""
    times: FloatArray = np.unique(outcomes.time)
    if len(times) <= _MOST_SEGMENTS:
        return times
    places = np.linspace(0, len(times) - 1, _MOST_SEGMENTS).round().astype(int)
    chosen: FloatArray = times[np.unique(places)]
    return chosen


def fit_curve(trials: Sequence[Trial], names: Sequence[str], sla: Sla) -> Curve:
    """Return the posterior of the contenders of these names."""
    return Curve(_outcomes_of(trials, names, sla))


def _outcomes_of(trials: Sequence[Trial], names: Sequence[str], sla: Sla) -> Outcomes:
    """Return the trials as arrays."""
    spent = 0.0
    began: dict[int, Second] = {}
    for trial in trials:
        began.setdefault(trial.turn, spent)
        spent += trial.wall
    rates = {name: [t.rate for t in trials if t.contender == name] for name in names}
    anybody = [trial.rate for trial in trials]
    middle = {name: math.sqrt(min(own) * max(own)) for name, own in rates.items() if own}
    return Outcomes(
        log_rate=np.log(anybody),
        met=np.array([meets(sla, trial) for trial in trials], dtype=bool),
        contender=np.array([names.index(trial.contender) for trial in trials], dtype=np.int64),
        start=np.array([trial.start - 1 for trial in trials], dtype=np.int64),
        time=np.array([began[trial.turn] for trial in trials]),
        contenders=len(names),
        expected=np.log([middle.get(name, max(anybody)) for name in names]),
    )


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

    Each end is the wider one of the model, `curve`, and of the jackknife over starts.
    """
    ratio = curve.log_ratio(number, 0)
    low, high = ratio.interval(confidence)
    middle, reach = ratio.quantile(0.5), _reach(trials, names, sla, number, confidence)
    return min(low, middle - reach), max(high, middle + reach)


def _reach(
    trials: Sequence[Trial], names: Sequence[str], sla: Sla, number: int, confidence: float
) -> float:
    """Return the half-width of the jackknife interval; 0 with too few starts.

    Only starts with trials of both contenders count.
    """
    ours, bases = (
        {trial.start for trial in trials if trial.contender == name}
        for name in (names[number], names[0])
    )
    starts = sorted(ours & bases)
    count = len(starts)
    if count < _FEWEST_STARTS:
        return 0.0
    shared = [trial for trial in trials if trial.start in starts]
    without = np.array([_ratio_without(shared, names, sla, number, start) for start in starts])
    error = math.sqrt((count - 1) / count * float(np.square(without - without.mean()).sum()))
    return float(stdtrit(count - 1, (1 + confidence) / 2)) * error


def _ratio_without(
    trials: Sequence[Trial], names: Sequence[str], sla: Sla, number: int, start: int
) -> float:
    """Return the ln ratio without one start."""
    left = [trial for trial in trials if trial.start != start]
    places = {each: place for place, each in enumerate(sorted({t.start for t in left}), start=1)}
    renumbered = [msgspec.structs.replace(each, start=places[each.start]) for each in left]
    return fit_curve(renumbered, names, sla).log_ratio(number, 0).quantile(0.5)
