"""Relative throughput with its interval, from blocks nested in incarnations.

The model, for one step and one contender, of the location m of incarnation i (`location.py`):

    m_i = theta + u_i + e_i        u_i ~ N(0, tau^2): what a restart does
                                   e_i ~ N(0, v_i):   what is left of the blocks' noise

Two to four incarnations say little about tau, and an interval that ignores this is absurdly wide
(Student's t with one degree of freedom) or far too narrow (tau estimated as 0). Hence tau is
integrated over its posterior instead of being estimated (Roever 2020, J. Stat. Softw. 93(6)):
a weakly informative half-Student prior (Gelman 2006, Bayesian Analysis 1) on the scale that
restarts are known to have, the incarnations of the step itself, and, discounted to a fixed
weight, those of the experiment's other steps and contenders: a power prior (Ibrahim and Chen
2000, Stat. Sci. 15) in the role of the shared variance of Smyth (2004, SAGMB 3). A step whose
restarts contradict the others' counts alone: a robust mixture (Schmidli et al. 2014, Biometrics
70). docs/statistics.md has the formulas and how often the intervals hold.

Chunks of long steps have the ratio of totals for m_i, since a step does its work once: what is rare
in it is part of it. Long steps that run whole have one pair in each incarnation, so that restarts
and noise cannot be separated: u_i is both, v_i next to nothing, and the prior on tau is that of
long steps (`posterior.LONG_STEPS`).

The typical ratio leaves out what is rare, stalls of one contender included. So the ratio of totals
stands beside it (`AllTime`): the same model with ln(operations / time) of a whole incarnation as
m_i, and with the typical ratio's posterior of tau, which knows more about restarts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from slowdust.analysis.comparison.location import FloatArray, Location, Pooled, difference, pool
from slowdust.analysis.comparison.mixture import Mixture, Symmetric
from slowdust.analysis.comparison.posterior import (
    CHUNKS,
    LONG_STEPS,
    RESTARTS,
    TAU_GRID,
    Expectation,
    Locations,
    weigh_restarts,
)
from slowdust.analysis.comparison.relative import BlockRatios, Parts, Step

STEP_NOISE = 0.001
"""Least noise of a pair of long steps: the clock, the last statement and whole seconds of a load.
The rest is tau."""
KNOWN = 1e6
"""Degrees of freedom of a variance that is not estimated."""
CONFIDENCE = 0.95
EQUIVALENCE = 0.90
"""Confidence of the interval that decides `same`: two one-sided tests at 5% each (Schuirmann 1987,
J. Pharmacokinet. Biopharm. 15)."""
SETTLED_SAME = 0.99
"""Confidence at which an interim look may stop for `same` (`verdict.settled`)."""
SETTLED_DIFFERENT = 0.999
"""Confidence at which an interim look may stop for `faster` or `slower`."""
DISAGREEMENT = 0.9
"""Probability of a tau above the expected scale from which incarnations disagree."""

_LEVELS = (CONFIDENCE, EQUIVALENCE, SETTLED_SAME, SETTLED_DIFFERENT)
_WIDEST = 10.0
"""Largest half-width of an interval, in ln rqps: beyond a factor of 22,000 it would overflow."""


@dataclass(frozen=True)
class Interval:
    """Bounds of relative throughput; 1 is the base."""

    low: float
    high: float

    def lies_inside(self, margin: float) -> bool:
        """Return whether all of it is within `margin` of 1, seen from either contender."""
        return self.low >= 1 / (1 + margin) and self.high <= 1 + margin

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
    """Ratio of totals; None for long steps, archived runs and quantities without totals."""
    blocks: int
    incarnations: int
    restart_spread: float | None = None
    """Standard deviation between the incarnations' ln ratios; None with one incarnation."""
    restarts_disagree: bool = False
    """Whether restarts, and not noise, move this step by more than they are expected to."""
    incomplete: int
    with_zero: int


def estimate_all(cells: Sequence[BlockRatios], restarts: Expectation = RESTARTS) -> list[Estimate]:
    """Estimate each cell; the cells of one call inform each other about restarts.

    `restarts` is what is expected of those of slices. Cells of long steps inform only each other.
    The result has the order of `cells`.
    """
    usable = [cell for cell in cells if cell.blocks >= 2 or _has_totals(cell)]
    ways: dict[Parts, tuple[Callable[[BlockRatios], _Located], Expectation]] = {
        "slices": (_slices, restarts),
        "chunks": (_chunks, CHUNKS),
        "steps": (_pairs, LONG_STEPS),
    }
    solved = {
        id(cell): estimate
        for parts, (locate, expected) in ways.items()
        for cell, estimate in _solve(
            [cell for cell in usable if cell.parts == parts], locate, expected
        )
    }
    return [solved.get(id(cell)) or _without_interval(cell) for cell in cells]


def relate(cells: Sequence[Mapping[int, Location]], contenders: Sequence[str]) -> list[Relative]:
    """Relate cells that are located already: incarnation -> a log ratio, in two or more blocks.

    `contenders` has the contender of each cell. The cells of one call inform each other.
    """
    if not cells:
        return []
    locations = _arrange(contenders, [_located(cell) for cell in cells])
    return _relate(locations.mixture(weigh_restarts(locations, RESTARTS)))


def _without_interval(cell: BlockRatios) -> Estimate:
    return Estimate(**vars(_only_ratio(cell)), **_facts(cell))


def _only_ratio(cell: BlockRatios) -> Relative:
    return Relative(ratio=math.exp(cell.by_incarnation[0].mean()) if cell.blocks else None)


class _Facts(TypedDict):
    step: Step
    contender: str
    blocks: int
    incarnations: int
    incomplete: int
    with_zero: int


def _facts(cell: BlockRatios) -> _Facts:
    return _Facts(
        step=cell.step,
        contender=cell.contender,
        blocks=cell.blocks,
        incarnations=len(cell.by_incarnation) or len(cell.totals),
        incomplete=cell.incomplete,
        with_zero=cell.with_zero,
    )


def _solve(
    cells: Sequence[BlockRatios],
    locate: Callable[[BlockRatios], _Located],
    expected: Expectation,
) -> list[tuple[BlockRatios, Estimate]]:
    if not cells:
        return []
    locations = _arrange(_contenders(cells), [locate(cell) for cell in cells])
    weight = weigh_restarts(locations, expected)
    typical = _relate(locations.mixture(weight))
    all_time = _all_time(cells, weight)
    beyond_scale = weight[:, expected.scale < TAU_GRID].sum(axis=1)
    return [
        (
            cell,
            Estimate(
                **vars(typical[index] if cell.blocks >= 2 else _only_ratio(cell)),
                all_time=all_time.get(index),
                restart_spread=_spread(locations, index),
                restarts_disagree=bool(
                    locations.present[index].sum() > 1 and beyond_scale[index] > DISAGREEMENT
                ),
                **_facts(cell),
            ),
        )
        for index, cell in enumerate(cells)
    ]


def _all_time(cells: Sequence[BlockRatios], weight: FloatArray) -> dict[int, AllTime]:
    """Return the ratios of totals by index of the cell, where they are known."""
    indices = [
        index for index, cell in enumerate(cells) if cell.parts == "slices" and _has_totals(cell)
    ]
    if not indices:
        return {}
    with_totals = [cells[index] for index in indices]
    located = [_located(cell.all_time) for cell in with_totals]
    related = _relate(_arrange(_contenders(with_totals), located).mixture(weight[indices]))
    return {
        index: AllTime(**vars(relative), **_beside_typical(cell), silent=cell.silent)
        for index, cell, relative in zip(indices, with_totals, related, strict=True)
    }


def _has_totals(cell: BlockRatios) -> bool:
    return bool(cell.all_time) and sum(len(of_one.amount) for of_one in cell.totals.values()) >= 2


class _BesideTypical(TypedDict):
    beside_typical: float | None
    beside_typical_p: float | None


def _beside_typical(cell: BlockRatios) -> _BesideTypical:
    from scipy.special import stdtr

    if cell.blocks < 2 or cell.silent:
        return _BesideTypical(beside_typical=None, beside_typical_p=None)
    differences = [
        difference(total, cell.typical[number], cell.totals[number].compared)
        for number, total in cell.all_time.items()
        if number in cell.typical
    ]
    pooled = pool(differences)
    share = np.array([location.size for location in differences])
    share /= share.sum()
    center = float(share @ pooled.mean)
    error = math.sqrt(float(np.square(share) @ pooled.variance))
    p_value = 2 * float(stdtr(pooled.freedom, -abs(center) / error))
    return _BesideTypical(beside_typical=math.exp(center), beside_typical_p=p_value)


def _relate(mixture: Mixture) -> list[Relative]:
    """Return the ratio of each cell with its intervals and p-value."""
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


def _spread(locations: Locations, index: int) -> float | None:
    means = locations.mean[index][locations.present[index] > 0]
    return float(means.std(ddof=1)) if len(means) > 1 else None


@dataclass(frozen=True)
class _Located:
    """A cell's incarnations, by number."""

    numbers: tuple[int, ...]
    pooled: Pooled


def _slices(cell: BlockRatios) -> _Located:
    """Return the typical ratios; of a cell that has none, those of totals."""
    return _located(cell.typical if cell.blocks >= 2 else cell.all_time)


def _chunks(cell: BlockRatios) -> _Located:
    """Return the ratios of totals: all that a step did, in all of its time."""
    return _located(cell.all_time if _has_totals(cell) else cell.typical)


def _located(locations: Mapping[int, Location]) -> _Located:
    return _Located(tuple(locations), pool([*locations.values()]))


def _pairs(cell: BlockRatios) -> _Located:
    """Return one pair in each incarnation: noise and restarts together are tau."""
    mean: FloatArray = np.array([pairs.mean() for pairs in cell.by_incarnation])
    return _Located(cell.numbers, Pooled(mean, np.full(len(mean), STEP_NOISE**2), KNOWN))


def _contenders(cells: Sequence[BlockRatios]) -> list[str]:
    return [cell.contender for cell in cells]


def _arrange(contenders: Sequence[str], located: Sequence[_Located]) -> Locations:
    """Return arrays with a row for each cell and a column for each incarnation of any."""
    numbers = sorted({number for cell in located for number in cell.numbers})
    shape = (len(located), len(numbers))
    mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
    for row, cell in enumerate(located):
        columns = [numbers.index(number) for number in cell.numbers]
        mean[row, columns] = cell.pooled.mean
        variance[row, columns] = cell.pooled.variance
        present[row, columns] = 1
    return Locations(
        mean=mean,
        variance=variance,
        present=present,
        freedom=np.array([cell.pooled.freedom for cell in located]),
        contender=contenders,
    )
