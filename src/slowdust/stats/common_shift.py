"""Common shifts: restarts, or hosts, that move all tests of a contender in one direction.

A restart may move a single test (through its plan's memory layout) or all tests of a server
(through its page tables or its place on the host). The more common the latter, the less other tests
say about restarts: if all tests move together, eight tests are eight readings of one draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.location import FloatArray
from slowdust.stats.relative import Estimate

FEWEST_TESTS = 4
"""Fewest tests for a common shift."""
SURE = 0.99
"""Confidence of a common shift, over all restarts together."""
LIKE_MINDED = 0.9
"""Smallest share of the tests that moved in the same direction."""
CHANCE = 0.05
"""Probability that chance alone names any host of an experiment as an outlier in single tests."""


@dataclass(frozen=True)
class CommonShift:
    """A restart that moved all tests of a contender."""

    contender: str
    incarnation: int
    others: tuple[int, ...]
    """Starts that it is compared with; if there is only one, either may be the odd one."""
    ratio: float
    """rqps in this start / in the others, mean over the tests."""
    tests: int


def independent_share(mean: FloatArray, present: FloatArray, contender: Sequence[str]) -> float:
    """Return the information of another cell about restarts, relative to an independent cell's.

    `mean` has the cells' locations by start, shape (cells, starts); `present` marks those that
    exist. A cell's deviations from its own mean are a vector. The mean of n independent directions
    has a squared length of 1 / n; the mean of identical directions has 1. Its reciprocal is thus
    the number of independent cells, the cell itself included.
    """
    several = present.sum(axis=1) > 1
    directions = _directions(mean[several], present[several])
    cells = len(directions)
    if cells < 2:
        return 0.0
    names = np.asarray(contender)[several]
    by_contender = [_independent(directions[names == name]) for name in np.unique(names)]
    # Contenders share their base, so they move together, too.
    independent = min(sum(by_contender), _independent(directions))
    return (independent - 1) / (cells - 1)


def _directions(mean: FloatArray, present: FloatArray) -> FloatArray:
    average = (mean * present).sum(axis=1, keepdims=True) / present.sum(axis=1, keepdims=True)
    deviations = (mean - average) * present
    length = np.sqrt(np.square(deviations).sum(axis=1, keepdims=True))
    directions: FloatArray = deviations / np.maximum(length, np.finfo(float).tiny)
    return directions


def _independent(directions: FloatArray) -> float:
    common = float(np.square(directions.mean(axis=0)).sum())
    return min(float(len(directions)), 1 / common) if common > 0 else float(len(directions))


def find_common_shifts(cells: Sequence[BlockRatios], margin: float) -> list[CommonShift]:
    """Return the restarts that moved all tests of a contender by more than half of `margin`.

    Student's t over the tests decides: the largest shift of a contender first, then the largest
    among the remaining starts. Whole long steps are excluded: their restarts and noise are one.
    """
    short = [cell for cell in cells if cell.parts == "slices"]
    moves = []
    contenders = dict.fromkeys(cell.contender for cell in short)
    for contender in contenders:
        means = [
            {number: location.mean for number, location in cell.typical.items()}
            for cell in short
            if cell.contender == contender
        ]
        moves += find_shifts(contender, means, margin, contenders=len(contenders))
    return moves


def find_shifts(
    contender: str, means: Sequence[Mapping[int, float]], margin: float, *, contenders: int
) -> list[CommonShift]:
    """Return the common shifts of a contender; `means` has for each test number -> ln rqps.

    `contenders` is the number of contenders examined: the probability that chance alone shifts any
    of them is at most 1 - `SURE`.
    """
    moves = []
    numbers = sorted({number for of_test in means for number in of_test})
    looks = max(1, len(numbers)) * contenders
    while candidates := list(_moves(contender, means, numbers, looks, margin)):
        largest = max(candidates, key=lambda move: abs(np.log(move.ratio)))
        moves.append(largest)
        numbers.remove(largest.incarnation)
    return moves


def _moves(
    contender: str,
    means: Sequence[Mapping[int, float]],
    numbers: Sequence[int],
    looks: int,
    margin: float,
) -> Iterator[CommonShift]:
    from scipy.special import stdtr

    # Of two starts the later one is said to have moved.
    for number in numbers if len(numbers) > 2 else numbers[1:]:
        others = [other for other in numbers if other != number]
        moved: FloatArray = np.array(
            [
                of_test[number] - np.mean([of_test[other] for other in others if other in of_test])
                for of_test in means
                if number in of_test and any(other in of_test for other in others)
            ]
        )
        if len(moved) < FEWEST_TESTS:
            continue
        move = float(moved.mean())
        error = max(float(moved.std(ddof=1)), np.finfo(float).tiny) / np.sqrt(len(moved))
        chance = 2 * looks * stdtr(len(moved) - 1, -abs(move) / error)
        agreeing = np.mean(np.sign(moved) == np.sign(move))
        if abs(move) > np.log1p(margin) / 2 and chance < 1 - SURE and agreeing >= LIKE_MINDED:
            yield CommonShift(contender, number, tuple(others), float(np.exp(move)), len(moved))


@dataclass(frozen=True)
class HostOutlier:
    """A host whose ratio differs from the other hosts' ratio."""

    host: str
    others: tuple[str, ...]
    """The hosts that it is compared with; of two hosts, either may be the odd one."""
    contender: str
    step: Step | None
    """The test; None for a host that shifted all tests of the contender."""
    tests: int
    ratio: float
    """rqps on the host / on the others; the mean if over all tests."""
    chance: float
    """Upper bound of the probability that chance puts any host so far from the others, in any test
    or over all tests."""


def find_host_outliers(estimates: Sequence[Estimate], margin: float) -> list[HostOutlier]:
    """Return outliers over all tests, then outliers in single tests among the remaining hosts."""
    overall = _over_all_tests(estimates, margin)
    named = {(each.contender, each.host) for each in overall}
    single = _in_one_test(estimates)
    return [*overall, *(each for each in single if (each.contender, each.host) not in named)]


def _in_one_test(estimates: Sequence[Estimate]) -> list[HostOutlier]:
    compared = sum(any(h.surprise is not None for h in each.hosts) for each in estimates)
    found = []
    for estimate in estimates:
        for own in estimate.hosts:
            chance = 1.0 if own.surprise is None else own.surprise * compared
            others = [each for each in estimate.hosts if each is not own]
            if chance < CHANCE and own.typical.ratio:
                of_others = np.mean([math.log(each.typical.ratio or 1.0) for each in others])
                found.append(
                    HostOutlier(
                        host=own.host,
                        others=tuple(each.host for each in others),
                        contender=estimate.contender,
                        step=estimate.step,
                        tests=1,
                        ratio=own.typical.ratio / math.exp(float(of_others)),
                        chance=chance,
                    )
                )
    return sorted(found, key=lambda each: each.chance)


def _over_all_tests(estimates: Sequence[Estimate], margin: float) -> list[HostOutlier]:
    several = [estimate for estimate in estimates if estimate.hosts]
    names = list(dict.fromkeys(own.host for estimate in several for own in estimate.hosts))
    contenders = dict.fromkeys(estimate.contender for estimate in several)
    return [
        HostOutlier(
            host=names[move.incarnation],
            others=tuple(names[other] for other in move.others),
            contender=contender,
            step=None,
            tests=move.tests,
            ratio=move.ratio,
            chance=1 - SURE,
        )
        for contender in contenders
        for move in find_shifts(
            contender,
            [
                {
                    names.index(own.host): math.log(own.typical.ratio)
                    for own in estimate.hosts
                    if own.typical.ratio
                }
                for estimate in several
                if estimate.contender == contender
            ],
            margin,
            contenders=len(contenders),
        )
    ]
