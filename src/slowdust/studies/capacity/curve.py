"""What trials say of the contenders' capacities: the posterior of a psychometric function.

The probability that a trial at the rate r meets the SLA is

    p = g + (1 - l - g) Phi((theta_k + u_ks + d_t - ln r) / sigma_k)

with a threshold theta and a spread sigma of each contender k, a shift u of each start s of its
server, a drift d of the machine that all contenders have at the time t, and the share l of trials
that miss the SLA at any rate, as a stall of the machine makes them (a lapse: Wichmann & Hill 2001,
Perception & Psychophysics 63). g is the share that meets it at any rate. The shifts are normal with
the standard deviation tau; the drift is a stationary Gaussian process with delta, of which
neighbours in time have most in common. The capacity is the rate at which `SHARE` of the trials that
do not lapse meet the SLA: ln capacity = theta - z sigma.

The posterior is a mixture over a grid of (tau, delta, l), given each of which theta, ln sigma, u
and d are normal about their mode (the Laplace approximation, as in INLA: Rue, Martino & Chopin
2009, J. R. Stat. Soc. B 71).

A model knows the disturbances that it was made for. A burst of other load that spoils the trials of
one contender alone is none of them, and looks like a lower capacity. So the interval of a ratio is
at least that of the jackknife over the starts (Tukey 1958, Ann. Math. Stat. 29), which supposes
nothing but that starts are independent.
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
"""Time after which the drift of the machine has lost most of what it was."""
_SIGMA = (math.log(0.12), 0.7)
"""Prior mean and standard deviation of ln sigma, of all contenders together."""
_SIGMA_APART = 0.2
"""Prior standard deviation of what contenders differ by in ln sigma: the spread is mostly the
machine's. Without it a few unlucky trials widen the spread of one contender, and move its capacity.
"""
_THETA_SPREAD = 1.0
_MOST_SEGMENTS = 60
"""Values of the drift, at most: neighbouring turns share one where there are more of them."""
_STEPS = 40
_CLOSE = 1e-4
_LEAST = 1e-9
_FEWEST_STARTS = 3
"""Starts that tell anything of how much they differ."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Outcomes:
    """The trials as arrays of one length."""

    log_rate: FloatArray
    met: NDArray[np.bool_]
    contender: NDArray[np.int64]
    """Number of the contender, 0-based."""
    start: NDArray[np.int64]
    """Number of the start, 0-based."""
    time: FloatArray
    """Seconds of measuring before the trial."""
    contenders: int
    expected: FloatArray
    """ln of the rate at which each contender is expected to have its threshold."""


@dataclass(frozen=True)
class _Hyper:
    """What is given of a posterior: a point of the grid."""

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
        """The posterior at a usual point of the grid: quickly found, and enough to go on by."""
        usual = _Hyper(_USUAL_TAU, _USUAL_DELTA, _LAPSES[1], 0.0)
        return self._design.solve(usual, self._design.begin)

    def threshold_now(self, contender: int, start: int) -> tuple[float, float]:
        """Return theta of a contender in a start at the end of the trials, and its sigma."""
        design, mode = self._design, self._one_given.mode
        theta = mode[contender]
        if start < design.starts:
            theta = theta + mode[design.shift(contender, start)]
        if start == design.starts - 1:
            theta = theta + mode[-1]  # the last value of the drift
        return float(theta), float(np.exp(mode[design.contenders + contender]))

    def may_be_within(self, contenders: Sequence[int], half_width: float) -> bool:
        """Return whether the intervals of ln capacities may be so narrow: soon told where not.

        They hardly can where they are wider given that nothing but chance disturbs the trials.
        """
        quiet = _Hyper(_TAUS[0], _DELTAS[0], _LAPSES[0], 0.0)
        given = self._design.solve(quiet, self._design.begin)
        reach = float(ndtri((1 + CONFIDENCE) / 2)) * np.sqrt(np.diag(given.covariance))
        return all(reach[number] <= half_width for number in contenders)

    def capacity(self, contender: int) -> Mixed:
        """Return what is known of ln capacity."""
        gradient = self._gradients(contender)
        return self._mixed(
            [self._log_capacity(given, contender) for given in self._all_given], gradient
        )

    def log_ratio(self, contender: int, base: int) -> Mixed:
        """Return what is known of the logarithm of a capacity relative to the base's."""
        ours, theirs = self._gradients(contender), self._gradients(base)
        means = [
            self._log_capacity(given, contender) - self._log_capacity(given, base)
            for given in self._all_given
        ]
        return self._mixed(means, [a - b for a, b in zip(ours, theirs, strict=True)])

    def spread(self, contender: int) -> float:
        """Return sigma: how far the rates at which trials meet and miss the SLA overlap."""
        place = self._design.contenders + contender
        logs = [given.mode[place] for given in self._all_given]
        return float(np.exp(self._weights @ np.array(logs)))

    @property
    def lapse(self) -> float:
        """The share of trials that miss the SLA at any rate."""
        return float(self._weights @ self._lapses)

    @property
    def least_lapse(self) -> float:
        """The largest share of lapses of the grid that is reached with `CONFIDENCE`.

        It is that of the prior, the least, unless trials well below the threshold missed the SLA.
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
        """Return the value below which a share of the distribution lies."""
        low = float((self.mean - 9 * self.deviation).min())
        high = float((self.mean + 9 * self.deviation).max())
        for _ in range(80):
            middle = (low + high) / 2
            below = float(self.weight @ ndtr((middle - self.mean) / self.deviation))
            low, high = (middle, high) if below < share else (low, middle)
        return (low + high) / 2

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends that leave as much out on both sides."""
        outside = (1 - confidence) / 2
        return self.quantile(outside), self.quantile(1 - outside)


class _Design:
    """The trials' places among the parameters: theta, ln sigma, u by contender and start, d."""

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
        """Where to look for a mode: each theta where it parts most trials that met from others.

        Far from there all that a trial says is flat, and a search for the mode may stay.
        """
        begin = self.prior_mean.copy()
        for contender in range(self.contenders):
            own = self._outcomes.contender == contender
            if own.any():
                begin[contender] = _parting(self._outcomes.log_rate[own], self._outcomes.met[own])
        return begin

    def shift(self, contender: int, start: int) -> int:
        """Return the place of the shift of a contender's start."""
        return 2 * self.contenders + contender * self.starts + start

    def _shift_places(
        self, contender: NDArray[np.int64], start: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return 2 * self.contenders + contender * self.starts + start

    def solve(self, hyper: _Hyper, begin: FloatArray) -> _Given:
        """Return the mode given a point of the grid, by Fisher scoring, and what is around it."""
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
        """Return the prior's precision, and the logarithm of its determinant but for a constant."""
        precision = np.zeros((self._size, self._size))
        both, shifts = 2 * self.contenders, self._shifts
        diagonal = np.arange(self._size)
        precision[diagonal[: self.contenders], diagonal[: self.contenders]] = _THETA_SPREAD**-2
        spreads = diagonal[self.contenders : both]
        together = np.full((self.contenders, self.contenders), _SIGMA[1] ** 2)
        apart = _SIGMA_APART**2 * np.eye(self.contenders)
        precision[np.ix_(spreads, spreads)] = np.linalg.inv(together + apart)
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
        """Return the log likelihood, its gradient, and Fisher's information."""
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


def _parting(log_rate: FloatArray, met: NDArray[np.bool_]) -> float:
    """Return the middle of the ln rates at which fewest trials are on the wrong side."""
    beyond = log_rate[:, None] > log_rate[None, :]
    wrong = (beyond & met[:, None]).sum(axis=0) + (~beyond & ~met[:, None]).sum(axis=0)
    return float(np.median(log_rate[wrong == wrong.min()]))


def _without_spreads(at: FloatArray, contenders: int) -> FloatArray:
    """Return the parameters with 0 for ln sigma, which is not a summand of the threshold."""
    linear = at.copy()
    linear[contenders : 2 * contenders] = 0.0
    return linear


def _segments(outcomes: Outcomes) -> FloatArray:
    """Return the times at which the values of the drift begin."""
    times: FloatArray = np.unique(outcomes.time)
    if len(times) <= _MOST_SEGMENTS:
        return times
    places = np.linspace(0, len(times) - 1, _MOST_SEGMENTS).round().astype(int)
    chosen: FloatArray = times[np.unique(places)]
    return chosen


def curve_of(trials: Sequence[Trial], names: Sequence[str], sla: Sla) -> Curve:
    """Return what trials say of the contenders of these names."""
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
    """Return the ln ratio by all starts but one."""
    left = [trial for trial in trials if trial.start != start]
    places = {each: place for place, each in enumerate(sorted({t.start for t in left}), start=1)}
    renumbered = [msgspec.structs.replace(each, start=places[each.start]) for each in left]
    return curve_of(renumbered, names, sla).log_ratio(number, 0).quantile(0.5)
