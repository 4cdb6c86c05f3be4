"""Forecast for the verdict `unsure`: which multiple of the budget would decide it.

An interval has three parts: the noise of the blocks, which more blocks average out; what a restart
does, which only more incarnations do; and that little is known of either. With f times the budget
in f times the incarnations the first two shrink as 1 / sqrt(f), and the last one as 1 / f more.

The estimate moves as well. Its present error is that of the interval, and differences of builds are
usually no larger than `USUAL_DIFFERENCE`, so that one that noise made large comes nearer to 1. The
estimate after f times the budget has then a normal distribution (the predictive distribution of a
normal mean with a normal prior), and the chance of a verdict over it is its assurance (O'Hagan,
Stevens and Campbell 2005, Pharm. Stat. 4). The forecast is the smallest multiple with which that is
two in three. docs/statistics.md counts how often the verdict is then there.

There is always such a multiple: as soon as the interval's half-width is less than half the margin,
it excludes 1 or lies inside the margin, wherever the ratio is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from slowdust.analysis.comparison.estimate import CONFIDENCE, Estimate
from slowdust.analysis.comparison.verdict import DIFFERENT, FALSE_DISCOVERIES, Judgement

FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0)
"""Multiples of the budget that a forecast chooses from: its precision, and how far it looks."""
CHANCE = 2 / 3
"""Chance of a verdict that the multiple has to give."""
USUAL_DIFFERENCE = 0.05
"""Standard deviation of the differences that are expected before anything is measured, in ln."""

_NORMAL = NormalDist()
_REACH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Forecast:
    """Multiple of the budget, and of the incarnations, that would decide an unsure test."""

    factor: float
    more: bool = False
    """Whether more than `factor` is needed, the largest of `FACTORS`."""


@dataclass(frozen=True)
class _Outlook:
    """An estimate as far as its future depends on it; in ln rqps."""

    center: float
    error: float
    """Standard error with restarts of the most likely size."""
    half_width: float
    """Half-width of the interval at `CONFIDENCE`."""

    def next_center(self, factor: float) -> NormalDist:
        """Return the distribution of the estimate after `factor` times the budget."""
        new = 1 - 1 / factor
        believed = USUAL_DIFFERENCE**2 / (USUAL_DIFFERENCE**2 + self.error**2)
        variance = self.error**2 * new * (new * believed + 1 / factor)
        return NormalDist(self.center * (1 - new * (1 - believed)), math.sqrt(variance))

    def next_half_width(self, factor: float, level: float) -> float:
        """Return the half-width at a confidence of 1 - `level` after `factor` times the budget."""
        normal = self.error * _REACH
        at_confidence = (normal + (self.half_width - normal) / factor) / math.sqrt(factor)
        return at_confidence * _NORMAL.inv_cdf(1 - level / 2) / _REACH

    def chance(self, factor: float, margin: float, level: float) -> float:
        """Return the chance of a verdict after `factor` times the budget."""
        center = self.next_center(factor)
        # Where it is decides: beyond `far` from 1 it is a difference, within `near` the same.
        far = self.next_half_width(factor, level)
        near = math.log1p(margin) - self.next_half_width(factor, 1 - CONFIDENCE)
        if near >= far:
            return 1.0
        different = center.cdf(-far) + 1 - center.cdf(far)
        return different + (center.cdf(near) - center.cdf(-near) if near > 0 else 0.0)


def forecast_all(judgements: Sequence[Judgement], margin: float) -> list[Forecast | None]:
    """Forecast each judgement of an experiment; None where it is decided or has no interval."""
    level = _level_of_next_discovery(judgements)
    return [
        forecast(judgement.estimate, margin, level) if judgement.verdict == "unsure" else None
        for judgement in judgements
    ]


def forecast(estimate: Estimate, margin: float, level: float) -> Forecast | None:
    """Forecast one estimate, whose difference has to have a p-value of at most `level`."""
    if estimate.ratio is None or estimate.interval is None or estimate.standard_error is None:
        return None
    outlook = _Outlook(
        center=math.log(estimate.ratio),
        error=estimate.standard_error,
        half_width=math.log(estimate.interval.high / estimate.interval.low) / 2,
    )
    for factor in FACTORS:
        if outlook.chance(factor, margin, level) >= CHANCE:
            return Forecast(factor)
    return Forecast(FACTORS[-1], more=True)


def _level_of_next_discovery(judgements: Sequence[Judgement]) -> float:
    """Return the p-value that one more difference needs beside those that there are.

    It is that of Benjamini and Hochberg's procedure for the next rank (`discovery_threshold`).
    """
    tests = sum(judgement.verdict != "same" for judgement in judgements)
    differences = sum(judgement.verdict in DIFFERENT for judgement in judgements)
    return FALSE_DISCOVERIES * (differences + 1) / max(tests, 1)
