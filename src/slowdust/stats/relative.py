"""Ratios with the intervals of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from slowdust.ratios import Amount, Ratio, Verdict
from slowdust.stats.blocks import Step
from slowdust.stats.mixture import Mixture, Symmetric

CONFIDENCE = 0.95
HALF_WIDTH = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Half-width of the 95% interval of a normal value, in standard errors."""
EQUIVALENCE = 0.90
"""Confidence of the interval for `same`: two one-sided tests at 5% each (Schuirmann 1987,
J. Pharmacokinet. Biopharm. 15)."""
SETTLED_SAME = 0.99
"""Confidence at which an interim look may stop with `same` (`verdict.settled_alone`)."""
SETTLED_DIFFERENT = 0.999
"""Confidence at which an interim look may stop with `faster` or `slower`."""
_LEVELS = (CONFIDENCE, EQUIVALENCE, SETTLED_SAME, SETTLED_DIFFERENT)
_WIDEST = 10.0
"""Largest half-width of an interval, in ln rqps; beyond a factor of 22,000 it would overflow."""


@dataclass(frozen=True)
class Interval:
    """Bounds of relative throughput; 1 is the base."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its width, in ln rqps."""
        return math.log(self.high / self.low) / 2

    def lies_inside(self, margin: float) -> bool:
        """Return whether it is within `margin` of 1 for either direction of the comparison."""
        return self.low >= 1 / (1 + margin) and self.high <= 1 + margin

    def lies_beyond(self, factor: float) -> bool:
        """Return whether both bounds are further from 1 than `factor`, on the same side."""
        return self.low > factor or self.high < 1 / factor

    def excludes_one(self) -> bool:
        """Return whether both bounds are on the same side of 1."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, kw_only=True)
class Relative:
    """A ratio with its intervals (None with fewer than two blocks)."""

    ratio: float | None
    """None if no block could be paired."""
    interval: Interval | None = None
    """Interval at `CONFIDENCE`."""
    equivalence_interval: Interval | None = None
    """Interval at `EQUIVALENCE`."""
    sameness_interval: Interval | None = None
    """Interval at `SETTLED_SAME`."""
    difference_interval: Interval | None = None
    """Interval at `SETTLED_DIFFERENT`."""
    p_value: float = 1.0
    """Two-sided p-value of 'the contender equals the base'; 1 without an interval."""
    standard_error: float | None = None
    """Standard error of ln `ratio` with restarts of the most likely size. This part of an interval
    shrinks with the square root of the experiment's length; the rest, for possibly larger restarts,
    shrinks faster."""

    def judged(
        self, verdict: Verdict | Amount | None = None, margin: float | None = None
    ) -> Ratio | None:
        """Return the ratio with its interval at `CONFIDENCE` and its verdict."""
        if self.ratio is None:
            return None
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return Ratio(self.ratio, low, high, verdict, margin)


@dataclass(frozen=True, kw_only=True)
class AllTime(Relative):
    """Operations / time over all complete blocks, silent slices included, relative to the base."""

    to_typical: float | None
    """This ratio / the typical ratio; None if fewer than two blocks have a typical ratio, or starts
    were silent."""
    to_typical_p: float | None
    """Two-sided p-value of 'both are equal'. A restart moves both alike, so only noise counts."""
    silent: tuple[int, ...]
    """Numbers of the starts during which a contender did nothing."""


@dataclass(frozen=True, kw_only=True)
class Estimate(Relative):
    """One contender's throughput, or another quantity, relative to the base in one step.

    The ratio is the typical one: the trimmed mean of log ratios.
    """

    step: Step
    contender: str
    all_time: AllTime | None = None
    """Ratio of totals; None for long steps, single runs and quantities without totals."""
    blocks: int
    incarnations: int
    restart_spread: float | None = None
    """Standard deviation between the ln ratios of starts; None with one start."""
    restarts_disagree: bool = False
    """Whether restarts, rather than noise, move this step by more than expected."""
    incomplete: int
    with_zero: int
    hosts: tuple[HostRatio, ...] = ()
    """The ratio on each host; empty unless several hosts measured it."""

    @property
    def place(self) -> tuple[Step, str]:
        """The step and the contender."""
        return self.step, self.contender


@dataclass(frozen=True, kw_only=True)
class HostRatio:
    """One host's own ratio."""

    host: str
    typical: Relative
    all_time: Relative | None
    blocks: int
    incarnations: int
    surprise: float | None
    """Probability of a host so far from the others' prediction; None with fewer than three
    hosts."""


def related(mixture: Mixture) -> list[Relative]:
    center = mixture.mean()
    symmetric = Symmetric.about_mean(mixture)
    reach = symmetric.reach((1 - np.array(_LEVELS)) / 2)
    p_values = 2 * symmetric.tail(np.abs(center)[:, None])[:, 0]
    return [
        Relative(
            ratio=math.exp(middle),
            interval=_around(middle, reaches[0]),
            equivalence_interval=_around(middle, reaches[1]),
            sameness_interval=_around(middle, reaches[2]),
            difference_interval=_around(middle, reaches[3]),
            p_value=p_value,
            standard_error=error,
        )
        for middle, reaches, p_value, error in zip(
            center.tolist(), reach.tolist(), p_values.tolist(), symmetric.error(), strict=True
        )
    ]


def _around(center: float, reach: float) -> Interval:
    reach = min(reach, _WIDEST)
    return Interval(math.exp(center - reach), math.exp(center + reach))
