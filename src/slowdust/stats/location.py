"""Locations of one start: the typical log ratio of its blocks, and the log ratio of totals.

The noise of a shared machine is heavy-tailed: a mean follows the few worst blocks. So the typical
ratio is the 20% trimmed mean of half blocks. Its standard error comes from the winsorized values
(Tukey and McLaughlin 1963, Sankhya A 25; Yuen 1974, Biometrika 61), added up by block: drift moves
the two halves of a block in opposite directions, so they are not independent.

The typical ratio loses the trimmed values, even if they are stalls of one contender. The ratio of
totals keeps them. Its standard error is from the delete-one-block jackknife (Tukey 1958, Ann. Math.
Stat. 29; Efron and Stein 1981, Ann. Stat. 9). A start during which a contender did nothing has no
log ratio; then the jackknife deletes whole starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

TRIMMED_SHARE = 0.2
"""Share of the values that is cut from each end."""
FEWEST_FREE = 3.0
"""Fewest degrees of freedom for estimating the noise within starts separately."""
HALF_AN_OPERATION = 0.5
"""Amount used instead of 0 if the jackknife deletes all operations."""
SMALLEST_VARIANCE = 1e-12
"""Smallest variance of a location (a millionth of its value, squared), for input without noise."""


@dataclass(frozen=True)
class Location:
    """The location of the blocks of a start, and the parts of its standard error."""

    mean: float
    size: float
    """Number of blocks after trimming."""
    influence: FloatArray
    """How far each block moves `mean`; shape (blocks,), sum 0."""

    @property
    def squares(self) -> float:
        """Sum of squares with `size - 1` degrees of freedom: the squared standard error is
        `squares / (size * (size - 1))`.
        """
        return float(np.square(self.influence * self.size).sum())


@dataclass(frozen=True)
class Pooled:
    """Locations of several starts whose blocks are equally noisy; arrays by start."""

    mean: FloatArray
    variance: FloatArray
    freedom: float
    """Degrees of freedom of `variance`, which all starts share."""


@dataclass(frozen=True)
class BlockTotals:
    """Totals of the complete blocks of a start; arrays of shape (blocks, 2).

    The first column is the contender's, the second the base's.
    """

    amount: FloatArray
    """Operations or rows."""
    seconds: FloatArray
    """Elapsed time, including silence."""
    compared: npt.NDArray[np.bool_]
    """Whether the block also has a log ratio; shape (blocks,)."""

    @property
    def one_is_silent(self) -> bool:
        return bool(self.amount.sum(axis=0).min() <= 0)


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


def totals_by_incarnation(totals: Mapping[int, BlockTotals]) -> dict[int, Location]:
    """Return number of the start -> log ratio of totals.

    If a contender did nothing during a start, each location is the jackknife's pseudo-value of a
    start, as a single block: their mean is the log ratio over all starts. Empty if a contender did
    nothing at all.
    """
    if not any(of_one.one_is_silent for of_one in totals.values()):
        return {number: ratio_of_totals(of_one) for number, of_one in totals.items()}
    together = BlockTotals(
        amount=np.array([of_one.amount.sum(axis=0) for of_one in totals.values()]),
        seconds=np.array([of_one.seconds.sum(axis=0) for of_one in totals.values()]),
        compared=np.zeros(len(totals), dtype=bool),
    )
    if together.one_is_silent:
        return {}
    whole = ratio_of_totals(together)
    pseudo_values = whole.mean + whole.size * whole.influence
    return {
        number: Location(mean=float(value), size=1.0, influence=np.zeros(1))
        for number, value in zip(totals, pseudo_values, strict=True)
    }


def ratio_of_totals(totals: BlockTotals) -> Location:
    """Return ln(contender's rate / base's rate) over all blocks; neither did nothing in them."""
    blocks = len(totals.amount)
    amount, seconds = totals.amount.sum(axis=0), totals.seconds.sum(axis=0)
    mean = float(_log_ratio(amount, seconds))
    if blocks == 1:
        return Location(mean=mean, size=1.0, influence=np.zeros(1))
    others = np.maximum(amount - totals.amount, HALF_AN_OPERATION)
    without = _log_ratio(others, seconds - totals.seconds)
    return Location(
        mean=mean,
        size=float(blocks),
        influence=(without.mean() - without) * (blocks - 1) / blocks,
    )


def difference(total: Location, typical: Location, compared: npt.NDArray[np.bool_]) -> Location:
    """Return `total` less `typical` of the same blocks; `compared` marks those in `typical`."""
    influence = total.influence.copy()
    influence[compared] -= typical.influence
    return Location(mean=total.mean - typical.mean, size=total.size, influence=influence)


def pool(locations: Sequence[Location]) -> Pooled:
    """Pool the noise of two or more blocks: the blocks of a single start say too little about it.

    If all starts together have too few blocks, scatter between starts counts as noise, too; noise
    and restarts are then not separated.
    """
    mean: FloatArray = np.array([location.mean for location in locations])
    size: FloatArray = np.array([location.size for location in locations])
    freedom = float((size - 1).sum())
    squares = sum(location.squares for location in locations)
    if freedom < FEWEST_FREE:
        freedom += len(mean) - 1.0
        squares += float(size @ np.square(mean - np.average(mean, weights=size)))
    return Pooled(mean, np.maximum(squares / freedom / size, SMALLEST_VARIANCE), freedom)


def _log_ratio(amount: FloatArray, seconds: FloatArray) -> FloatArray:
    rate = np.log(amount / seconds)
    ratio: FloatArray = rate[..., 0] - rate[..., 1]
    return ratio
