"""Robust location of block ratios within one incarnation.

The noise of a shared machine is heavy-tailed: the mean follows the few worst blocks, so the
location is the 20% trimmed mean. Its standard error comes from the winsorized sample (Tukey and
McLaughlin 1963, Sankhya A 25; Yuen 1974, Biometrika 61).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.relative import FloatArray

TRIMMED_SHARE = 0.2
"""Share of the values that is cut from each end."""


@dataclass(frozen=True)
class TrimmedMean:
    """A trimmed mean and what its standard error is made of."""

    mean: float
    kept: int
    """Values that are left after trimming; the standard error has `kept - 1` degrees of freedom."""
    squares: float
    """Sum of squared deviations of the winsorized values: the squared standard error is
    `squares / (kept * (kept - 1))`."""


def trimmed_mean(values: FloatArray) -> TrimmedMean:
    """The trimmed mean of one or more values; fewer than five are not trimmed."""
    ordered = np.sort(values)
    cut = int(TRIMMED_SHARE * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    winsorized = np.clip(ordered, kept[0], kept[-1])
    return TrimmedMean(
        mean=float(kept.mean()),
        kept=len(kept),
        squares=float(((winsorized - winsorized.mean()) ** 2).sum()),
    )
