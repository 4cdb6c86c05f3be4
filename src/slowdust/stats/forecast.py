"""How much more measuring would decide an unsure ratio, in multiples of the time measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from slowdust.stats.relative import CONFIDENCE, EQUIVALENCE, Relative
from slowdust.stats.verdict import DIFFERENT, FALSE_DISCOVERIES, Judgement

FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0)
"""Multiples of the budget that a forecast chooses from."""
CHANCE = 2 / 3
"""Smallest chance of a verdict at the forecast multiple."""
USUAL_DIFFERENCE = 0.05
"""Standard deviation, in ln, of the differences expected before measuring."""

_NORMAL = NormalDist()
_REACH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
_LEAST_LEVEL = 1e-12
"""Smallest p-value that can be required: below it the normal quantile would not be finite."""


@dataclass(frozen=True)
class Forecast:
    """Multiple of the budget, and of the number of starts, that would decide an unsure test."""

    factor: float
    more: bool = False
    """Whether even `factor`, the largest of `FACTORS`, is not enough."""


def forecast_all(judgements: Sequence[Judgement]) -> list[Forecast | None]:
    level = _level_of_next_discovery(judgements)
    return [
        forecast(judgement.relative, judgement.margin, level)
        if judgement.verdict == "unsure"
        else None
        for judgement in judgements
    ]


def forecast(relative: Relative, margin: float, level: float) -> Forecast | None:
    """Forecast one ratio; a difference needs a p-value of at most `level`.

    None without an interval. Also None if the interval is inside the margin: then the ratio is
    unsure because its stalls may be chance, and more measuring does not decide that predictably.
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
    """The facts about a ratio that determine its forecast, in ln rqps."""

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
        # Within `near` of 1 the verdict is `same`, beyond `far` a difference.
        near = math.log1p(margin) - error * _NORMAL.inv_cdf((1 + EQUIVALENCE) / 2)
        far = error * max(_REACH, _reach_of(level, near / error))
        different = center.cdf(-far) + 1 - center.cdf(far)
        return different + (center.cdf(near) - center.cdf(-near) if near > 0 else 0.0)


def _reach_of(level: float, near: float) -> float:
    """Return the least distance from 1 of a difference, in errors, among those beyond `near`.

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
    """Return the p-value that one more difference needs, in addition to the existing ones.

    It is the level of Benjamini and Hochberg's procedure for the next rank (`discovery_threshold`).
    """
    tests = sum(judgement.verdict != "same" for judgement in judgements)
    differences = sum(judgement.verdict in DIFFERENT for judgement in judgements)
    return FALSE_DISCOVERIES * (differences + 1) / max(tests, 1)
