"""Locations of one incarnation: the typical log ratio of its blocks, and the log ratio of totals.

The noise of a shared machine is heavy-tailed: a mean follows the few worst blocks. So the typical
ratio is the 20% trimmed mean of half blocks, whose standard error comes from the winsorized values
(Tukey and McLaughlin 1963, Sankhya A 25; Yuen 1974, Biometrika 61), added up by block: a drift
moves the two halves of a block in opposite directions, so they are not independent.

What is trimmed is lost to the typical ratio, also where it is a stall of one contender. The ratio
of totals has it; its standard error is the delete-one-block jackknife's (Tukey 1958, Ann. Math.
Stat. 29; Efron and Stein 1981, Ann. Stat. 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

TRIMMED_SHARE = 0.2
"""Share of the values that is cut from each end."""
SMALLEST_VARIANCE = 1e-12
"""Least variance of a location (a millionth of its value, squared): for noiseless input."""


@dataclass(frozen=True)
class Location:
    """The location of an incarnation's blocks, and what its standard error is made of."""

    mean: float
    size: float
    """Number of blocks that it rests on, after trimming."""
    influence: FloatArray
    """How far each block moves `mean`; shape (blocks,), with a sum of 0."""

    @property
    def squares(self) -> float:
        """Sum of squares, of which `size - 1` are free: the squared standard error is
        `squares / (size * (size - 1))`.
        """
        return float(np.square(self.influence * self.size).sum())


@dataclass(frozen=True)
class Pooled:
    """Locations of several incarnations whose blocks are equally noisy; arrays by incarnation."""

    mean: FloatArray
    variance: FloatArray
    freedom: float
    """Degrees of freedom of `variance`, which the incarnations share."""


@dataclass(frozen=True)
class BlockTotals:
    """Totals of the complete blocks of an incarnation; arrays of shape (blocks, 2).

    The first column is the contender's, the second the base's.
    """

    amount: FloatArray
    """Operations, or rows, that were done."""
    seconds: FloatArray
    """Time that they took, silence included."""
    compared: npt.NDArray[np.bool_]
    """Whether the block also has a log ratio; shape (blocks,)."""


def trimmed_mean(values: FloatArray) -> Location:
    """Return the trimmed mean of `values`, shape (blocks, parts of a block).

    Fewer than five values are not trimmed.
    """
    ordered = np.sort(values, axis=None)
    cut = int(TRIMMED_SHARE * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    winsorized = np.clip(values, kept[0], kept[-1])
    by_block = (winsorized - winsorized.mean()).sum(axis=1)
    return Location(
        mean=float(kept.mean()), size=len(kept) / values.shape[1], influence=by_block / len(kept)
    )


def ratio_of_totals(totals: BlockTotals) -> Location | None:
    """Return ln(rate of the contender / of the base) over all blocks together.

    None if one of the two did nothing outside a single block.
    """
    blocks = len(totals.amount)
    amount, seconds = totals.amount.sum(axis=0), totals.seconds.sum(axis=0)
    if amount.min() <= 0:
        return None
    mean = float(_log_ratio(amount, seconds))
    if blocks == 1:
        return Location(mean=mean, size=1.0, influence=np.zeros(1))
    others = amount - totals.amount
    if others.min() <= 0:
        return None
    without = _log_ratio(others, seconds - totals.seconds)
    return Location(
        mean=mean,
        size=float(blocks),
        influence=(without.mean() - without) * (blocks - 1) / blocks,
    )


def difference(total: Location, typical: Location, compared: npt.NDArray[np.bool_]) -> Location:
    """Return `total` less `typical` of the same blocks, of which `compared` are in `typical`."""
    influence = total.influence.copy()
    influence[compared] -= typical.influence
    return Location(mean=total.mean - typical.mean, size=total.size, influence=influence)


def pool(locations: Sequence[Location]) -> Pooled:
    """Pool the noise of two or more blocks: those of one incarnation alone say too little of it."""
    mean: FloatArray = np.array([location.mean for location in locations])
    size: FloatArray = np.array([location.size for location in locations])
    freedom = float((size - 1).sum())
    if freedom > 0:
        squares = sum(location.squares for location in locations)
    else:
        # One block per incarnation: noise and restarts cannot be separated; all is noise.
        freedom, squares = len(mean) - 1.0, float(np.square(mean - mean.mean()).sum())
    return Pooled(mean, np.maximum(squares / freedom / size, SMALLEST_VARIANCE), freedom)


def _log_ratio(amount: FloatArray, seconds: FloatArray) -> FloatArray:
    rate = np.log(amount / seconds)
    ratio: FloatArray = rate[..., 0] - rate[..., 1]
    return ratio
