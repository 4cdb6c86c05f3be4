"""What would decide an unsure ratio: in multiples of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from slowdust.stats.relative import CONFIDENCE, EQUIVALENCE, Relative
from slowdust.stats.verdict import DIFFERENT, FALSE_DISCOVERIES, Judgement

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
