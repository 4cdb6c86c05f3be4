"""What would decide the unsure results: in multiples of what was measured, and in time to add."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from slowdust.analysis.comparison.ratio import CONFIDENCE, EQUIVALENCE, Relative
from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.comparison.verdict import (
    DIFFERENT,
    FALSE_DISCOVERIES,
    Judgement,
)
from slowdust.analysis.model import Needed, Result
from slowdust.benchmarks import measured_in_steps
from slowdust.store.manifest import Method
from slowdust.store.slice import Slice
from slowdust.units import Second, known

FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0)
"""Multiples of the budget that a forecast chooses from: its precision, and how far it looks."""
CHANCE = 2 / 3
"""Chance of a verdict that the multiple has to give."""
USUAL_DIFFERENCE = 0.05
"""Standard deviation of the differences that are expected before anything is measured, in ln."""

_NORMAL = NormalDist()
_REACH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
_LEAST_LEVEL = 1e-12
"""Least p-value that is asked for: below it the normal quantile would not be finite."""


@dataclass(frozen=True)
class Forecast:
    """Multiple of the budget, and of the incarnations, that would decide an unsure test."""

    factor: float
    more: bool = False
    """Whether more than `factor` is needed, the largest of `FACTORS`."""


def forecast_all(judgements: Sequence[Judgement]) -> list[Forecast | None]:
    level = _level_of_next_discovery(judgements)
    return [
        forecast(judgement.relative, judgement.margin, level)
        if judgement.verdict == "unsure"
        else None
        for judgement in judgements
    ]


def forecast(relative: Relative, margin: float, level: float) -> Forecast | None:
    """Forecast one ratio, whose difference has to have a p-value of at most `level`.

    None without an interval, and where that is inside the margin, so that the ratio is unsure for
    another reason: stalls of which it is open whose they are.
    """
    outlook = _outlook(relative)
    if outlook is None or (
        relative.equivalence_interval is not None
        and relative.equivalence_interval.lies_inside(margin)
    ):
        return None
    for factor in FACTORS:
        if outlook.chance(factor, margin, level) >= CHANCE:
            return Forecast(factor)
    return Forecast(FACTORS[-1], more=True)


@dataclass(frozen=True)
class _Outlook:
    """A ratio as far as its future depends on it; in ln rqps."""

    center: float
    error: float
    """Standard error with restarts of the most likely size."""
    half_width: float
    """Half-width of the interval at `CONFIDENCE`."""

    def next_center(self, factor: float) -> NormalDist:
        """Return the distribution of the ratio after `factor` times the budget."""
        new = 1 - 1 / factor
        believed = USUAL_DIFFERENCE**2 / (USUAL_DIFFERENCE**2 + self.error**2)
        variance = self.error**2 * new * (new * believed + 1 / factor)
        return NormalDist(self.center * (1 - new * (1 - believed)), math.sqrt(variance))

    def next_error(self, factor: float) -> float:
        """Return half the interval's width in standard errors after `factor` times the budget."""
        normal = self.error * _REACH
        return (normal + (self.half_width - normal) / factor) / math.sqrt(factor) / _REACH

    def chance(self, factor: float, margin: float, level: float) -> float:
        """Return the chance of a verdict after `factor` times the budget."""
        center, error = self.next_center(factor), self.next_error(factor)
        # Where it is decides: within `near` of 1 it is the same, beyond `far` a difference.
        near = math.log1p(margin) - error * _NORMAL.inv_cdf((1 + EQUIVALENCE) / 2)
        far = error * max(_REACH, _reach_of(level, near / error))
        different = center.cdf(-far) + 1 - center.cdf(far)
        return different + (center.cdf(near) - center.cdf(-near) if near > 0 else 0.0)


def _reach_of(level: float, near: float) -> float:
    """Return how far a difference has to be from 1, in errors, of those that are beyond `near`.

    Only those are judged together, by a p-value given that they are (`verdict.judge_estimates`).
    """
    beyond = 2 * _NORMAL.cdf(-max(0.0, near))
    return -_NORMAL.inv_cdf(max(_LEAST_LEVEL, level * beyond) / 2)


def _outlook(relative: Relative) -> _Outlook | None:
    if relative.ratio is None or relative.interval is None or relative.standard_error is None:
        return None
    return _Outlook(
        center=math.log(relative.ratio),
        error=relative.standard_error,
        half_width=relative.interval.half_width,
    )


def _level_of_next_discovery(judgements: Sequence[Judgement]) -> float:
    """Return the p-value that one more difference needs beside those that there are.

    It is that of Benjamini and Hochberg's procedure for the next rank (`discovery_threshold`).
    """
    tests = sum(judgement.verdict != "same" for judgement in judgements)
    differences = sum(judgement.verdict in DIFFERENT for judgement in judgements)
    return FALSE_DISCOVERIES * (differences + 1) / max(tests, 1)


def needed_of(
    judgements: Sequence[Judgement], slices: Sequence[Slice], method: Method
) -> dict[tuple[Step, str], Needed]:
    """Return step and contender -> what would decide it, of the unsure ones with an interval."""
    forecasts = forecast_all(judgements)
    keys = [judgement.estimate.place for judgement in judgements]
    times = _times(slices)
    whole = sum(times.values())
    return {
        key: _needed(forecast, each.estimate.incarnations, times.get(key[0], 0.0), whole, method)
        for key, forecast, each in zip(keys, forecasts, judgements, strict=True)
        if forecast is not None
    }


def _times(slices: Sequence[Slice]) -> dict[Step, Second]:
    """Return step -> the time that was measured of all its contenders."""
    times: dict[Step, list[Second | None]] = {}
    for record in slices:
        times.setdefault(step_of(record), []).append(record.measured.seconds)
    return {step: sum(known(lengths)) for step, lengths in times.items()}


def _needed(
    forecast: Forecast, incarnations: int, own: Second, all_steps: Second, method: Method
) -> Needed:
    needed = Needed(
        factor=forecast.factor,
        more=forecast.more,
        incarnations=math.ceil(forecast.factor * incarnations),
    )
    if method.steps is not None:
        spent: Second | None = method.budget_s or all_steps
    else:  # the part of the budget that was this test's
        spent = method.budget_s * own / all_steps if method.budget_s and all_steps else None
    if spent and not forecast.more:
        needed.extra_s = (forecast.factor - 1) * spent
    return needed


def time_to_decide(unsure: Iterable[Result], share: float = 1.0) -> Second | None:
    """Return the time to add that would decide a share of the unsure results.

    Tests that are unsure get equal parts of it, until each has what it needs and leaves the rest to
    the others. Long steps all get the whole of it. None where it is not foreseen of so many.
    """
    results = list(unsure)
    extras = sorted(map(_extra, _slowest_of_each_test(results)))
    if not extras:
        return None
    decided = math.ceil(share * len(extras))
    last = extras[decided - 1]
    if math.isinf(last):
        return None
    if measured_in_steps(results[0].benchmark):
        return last
    return sum(extras[:decided]) + (len(extras) - decided) * last


def _slowest_of_each_test(results: Sequence[Result]) -> list[Result]:
    """Return of each step the contender that needs most: all contenders are measured with it."""
    slowest: dict[tuple[str, int], Result] = {}
    for result in results:
        key = result.test, result.clients
        if key not in slowest or _extra(result) > _extra(slowest[key]):
            slowest[key] = result
    return list(slowest.values())


def _extra(result: Result) -> Second:
    if result.needed is None or result.needed.extra_s is None:
        return math.inf
    return result.needed.extra_s
