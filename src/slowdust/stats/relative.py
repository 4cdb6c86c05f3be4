"""Ratios with their intervals, as the model gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slowdust.ratios import Amount, Ratio, Verdict
from slowdust.stats.blocks import Step
from slowdust.stats.mixture import Mixture, Symmetric

CONFIDENCE = 0.95
EQUIVALENCE = 0.90
"""Confidence of the interval that decides `same`: two one-sided tests at 5% each (Schuirmann 1987,
J. Pharmacokinet. Biopharm. 15)."""
SETTLED_SAME = 0.99
"""Confidence at which an interim look may stop for `same` (`verdict.settled`)."""
SETTLED_DIFFERENT = 0.999
"""Confidence at which an interim look may stop for `faster` or `slower`."""
_LEVELS = (CONFIDENCE, EQUIVALENCE, SETTLED_SAME, SETTLED_DIFFERENT)
_WIDEST = 10.0
"""Largest half-width of an interval, in ln rqps: beyond a factor of 22,000 it would overflow."""


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
        """Return whether all of it is within `margin` of 1, seen from either contender."""
        return self.low >= 1 / (1 + margin) and self.high <= 1 + margin

    def lies_beyond(self, factor: float) -> bool:
        """Return whether all of it is further from 1 than `factor`, on one side."""
        return self.low > factor or self.high < 1 / factor

    def excludes_one(self) -> bool:
        """Return whether all of it is on one side of 1."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, kw_only=True)
class Relative:
    """A ratio with its intervals, which are None with fewer than two blocks."""

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
    """Standard error of ln `ratio` with restarts of the most likely size. Of an interval it is the
    part that a longer experiment narrows as a square root; the rest, that restarts may be larger,
    goes sooner."""

    def judged(
        self, verdict: Verdict | Amount | None = None, margin: float | None = None
    ) -> Ratio | None:
        """Return the ratio with its interval at `CONFIDENCE`, and what was decided about it."""
        if self.ratio is None:
            return None
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return Ratio(self.ratio, low, high, verdict, margin)


@dataclass(frozen=True, kw_only=True)
class AllTime(Relative):
    """Operations over time of all complete blocks, silent slices included, beside the base's."""

    beside_typical: float | None
    """This ratio / the typical one; None where fewer than two blocks have a typical ratio, and with
    silent incarnations."""
    beside_typical_p: float | None
    """Two-sided p-value of 'both are equal': a restart moves both alike, so only noise counts."""
    silent: tuple[int, ...]
    """Numbers of the incarnations in which one of the two did nothing."""


@dataclass(frozen=True, kw_only=True)
class Estimate(Relative):
    """One contender relative to the base in one step: its throughput, or another quantity.

    The ratio is the typical one, of the trimmed mean of log ratios.
    """

    step: Step
    contender: str
    all_time: AllTime | None = None
    """Ratio of totals; None for long steps, single runs and quantities without totals."""
    blocks: int
    incarnations: int
    restart_spread: float | None = None
    """Standard deviation between the incarnations' ln ratios; None with one incarnation."""
    restarts_disagree: bool = False
    """Whether restarts, and not noise, move this step by more than they are expected to."""
    incomplete: int
    with_zero: int
    hosts: tuple[HostRatio, ...] = ()
    """The ratio on each host; empty unless it was measured on several."""

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
    """How likely chance would put a host so far from what the others foretell; None where fewer
    than three are compared."""


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
