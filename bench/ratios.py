"""Ratios of pairs: what drifts between two pairs cancels inside each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import stats

T = TypeVar("T")


@dataclass(frozen=True)
class Ratio:
    """Median of the pairs' ratios, with the interval of the median by the sign test (95%)."""

    median: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}] of {self.pairs} pairs"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio ours / theirs of measurements that were taken in pairs, at least six."""
    ratios = np.sort(np.asarray(ours) / np.asarray(theirs))
    count = len(ratios)
    # The median lies outside of the k-th smallest and k-th largest ratio only if fewer than k of
    # them lie on one side of it: k is the largest for which that has a probability of 5% at most.
    rank = int(stats.binom.ppf(0.025, count, 0.5)) - 1
    return Ratio(float(np.median(ratios)), float(ratios[rank]), float(ratios[-1 - rank]), count)


def alternate(first: Callable[[], T], second: Callable[[], T], pairs: int) -> list[tuple[T, T]]:
    """Measurements in the order A B B A A B B A ..., as pairs (A, B)."""
    measured = []
    for pair in range(pairs):
        if pair % 2 == 0:
            a, b = first(), second()
        else:
            b, a = second(), first()
        measured.append((a, b))
    return measured
