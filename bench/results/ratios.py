"""Ratios of pairs: drift between pairs cancels out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import stats

from slowdust.wording import counted

T = TypeVar("T")

FEWEST_FOR_AN_INTERVAL = 6
"""Pairs; with fewer pairs, all are on one side of the median in more than 5% of cases."""


@dataclass(frozen=True)
class Ratio:
    """Median of the pairs' ratios, with the interval of the median by the sign test (95%).

    There is no interval for fewer than `FEWEST_FOR_AN_INTERVAL` pairs.
    """

    median: float
    interval: tuple[float, float] | None
    pairs: int

    def __str__(self) -> str:
        interval = "" if self.interval is None else " [{:.3f}, {:.3f}]".format(*self.interval)
        return f"{self.median:.3f}{interval} of {counted(self.pairs, 'pair')}"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return the ratio ours / theirs of paired measurements."""
    ratios = np.sort(np.asarray(ours) / np.asarray(theirs))
    count = len(ratios)
    median = float(np.median(ratios))
    if count < FEWEST_FOR_AN_INTERVAL:
        return Ratio(median, None, count)
    # The median is outside of the k-th smallest and k-th largest ratio only if fewer than k ratios
    # are on one side of it: k is the largest number with a probability of at most 5%.
    rank = int(stats.binom.ppf(0.025, count, 0.5)) - 1
    return Ratio(median, (float(ratios[rank]), float(ratios[-1 - rank])), count)


def alternate(first: Callable[[], T], second: Callable[[], T], pairs: int) -> list[tuple[T, T]]:
    """Measure in the order A B B A A B B A ...; return the pairs (A, B)."""
    measured = []
    for pair in range(pairs):
        if pair % 2 == 0:
            a, b = first(), second()
        else:
            b, a = second(), first()
        measured.append((a, b))
    return measured
