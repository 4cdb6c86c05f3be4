"""Cells as arrays: what of each is located by its incarnations, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.location import FloatArray, Location, Pooled, pool
from slowdust.analysis.comparison.posterior import Locations
from slowdust.analysis.comparison.relative import BlockRatios

STEP_NOISE = 0.001
"""Least noise of a pair of long steps: the clock, the last statement and whole seconds of a load.
The rest is tau."""
KNOWN = 1e6
"""Degrees of freedom of a variance that is not estimated."""


@dataclass(frozen=True)
class Located:
    """A cell's incarnations, by number."""

    numbers: tuple[int, ...]
    pooled: Pooled


def has_totals(cell: BlockRatios) -> bool:
    """Return whether the ratio of totals of a cell has an interval."""
    return bool(cell.all_time) and sum(len(of_one.amount) for of_one in cell.totals.values()) >= 2


def slices(cell: BlockRatios) -> Located:
    """Return the typical ratios; of a cell that has none, those of totals."""
    return located(cell.typical if cell.blocks >= 2 else cell.all_time)


def chunks(cell: BlockRatios) -> Located:
    """Return the ratios of totals: all that a step did, in all of its time."""
    return located(cell.all_time if has_totals(cell) else cell.typical)


def located(locations: Mapping[int, Location]) -> Located:
    """Return locations by their numbers, with the noise of their blocks pooled."""
    return Located(tuple(locations), pool([*locations.values()]))


def pairs(cell: BlockRatios) -> Located:
    """Return one pair in each incarnation: noise and restarts together are tau."""
    mean: FloatArray = np.array([pairs.mean() for pairs in cell.by_incarnation])
    return Located(cell.numbers, Pooled(mean, np.full(len(mean), STEP_NOISE**2), KNOWN))


def arrange(contenders: Sequence[str], cells: Sequence[Located]) -> Locations:
    """Return arrays with a row for each cell and a column for each incarnation of any."""
    numbers = sorted({number for cell in cells for number in cell.numbers})
    shape = (len(cells), len(numbers))
    mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
    for row, cell in enumerate(cells):
        columns = [numbers.index(number) for number in cell.numbers]
        mean[row, columns] = cell.pooled.mean
        variance[row, columns] = cell.pooled.variance
        present[row, columns] = 1
    return Locations(
        mean=mean,
        variance=variance,
        present=present,
        freedom=np.array([cell.pooled.freedom for cell in cells]),
        contender=contenders,
    )
