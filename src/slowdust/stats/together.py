"""Restarts that move the tests of a contender together.

A restart may move a test by itself (its plan's memory layout) or all tests of a server (its page
tables, its place on the host). What other tests say about restarts is worth less the more the
latter is so: if all move together, eight tests are eight readings of one draw.
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
"""Fewest tests of which one can say that a restart moved them all."""
SURE = 0.99
"""Confidence at which a restart is said to have moved all tests, over all restarts together."""
LIKE_MINDED = 0.9
"""Least share of the tests that moved in the same direction."""
CHANCE = 0.05
"""Probability with which chance alone names any host of an experiment, in single tests."""


@dataclass(frozen=True)
class CommonMove:
    """A restart that moved all tests of a contender."""

    contender: str
    incarnation: int
    others: tuple[int, ...]
    """Incarnations that it is compared with; with one of them, either may be the odd one."""
    ratio: float
    """rqps in the incarnation / in the others, mean over the tests."""
    tests: int


def independent_share(mean: FloatArray, present: FloatArray, contender: Sequence[str]) -> float:
    """Return what another cell says about restarts, as a share of what it would independently say.

    `mean` has the cells' locations by incarnation, shape (cells, incarnations), of which `present`
    has those that exist. A cell's deviations from its own mean are a vector; the directions of
    n independent ones have a mean whose square is 1 / n, those of tests that move together one of
    1. So its reciprocal counts independent cells, of which the first is the cell itself.
    """
    several = present.sum(axis=1) > 1
    directions = _directions(mean[several], present[several])
    cells = len(directions)
    if cells < 2:
        return 0.0
    names = np.asarray(contender)[several]
    by_contender = [_independent(directions[names == name]) for name in np.unique(names)]
    # Contenders that share their base move together, too.
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


def common_moves(cells: Sequence[BlockRatios], margin: float) -> list[CommonMove]:
    """Return the restarts that moved all tests of a contender by more than half of `margin`.

    Student's t over the tests decides, the largest move of a contender first, then among the other
    incarnations. Long steps have no restarts of their own.
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
        moves += moves_of(contender, means, margin, contenders=len(contenders))
    return moves


def moves_of(
    contender: str, means: Sequence[Mapping[int, float]], margin: float, *, contenders: int
) -> list[CommonMove]:
    """Return what moved all tests of a contender; `means` has for each test number -> ln rqps.

    So many `contenders` are looked at: chance names one of any of them with 1 - `SURE` at most.
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
) -> Iterator[CommonMove]:
    from scipy.special import stdtr

    # Of two incarnations the later one is said to have moved.
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
            yield CommonMove(contender, number, tuple(others), float(np.exp(move)), len(moved))


@dataclass(frozen=True)
class Disagreement:
    """A host whose ratio is not that of the others."""

    host: str
    others: tuple[str, ...]
    """The hosts that it is compared with; of two hosts either may be the odd one."""
    contender: str
    step: Step | None
    """The test; None of a host that moved all tests of the contender."""
    tests: int
    ratio: float
    """rqps on the host / on the others; of all tests the mean."""
    chance: float
    """Probability, at most, that chance alone puts any host so far from the others: in any test, or
    over all tests."""


def disagreements(estimates: Sequence[Estimate], margin: float) -> list[Disagreement]:
    """Return the hosts that disagree; first those over all tests, which are not named by test."""
    overall = _over_all_tests(estimates, margin)
    named = {(each.contender, each.host) for each in overall}
    single = _in_one_test(estimates)
    return [*overall, *(each for each in single if (each.contender, each.host) not in named)]


def _in_one_test(estimates: Sequence[Estimate]) -> list[Disagreement]:
    compared = sum(any(h.surprise is not None for h in each.hosts) for each in estimates)
    found = []
    for estimate in estimates:
        for own in estimate.hosts:
            chance = 1.0 if own.surprise is None else own.surprise * compared
            others = [each for each in estimate.hosts if each is not own]
            if chance < CHANCE and own.typical.ratio:
                of_others = np.mean([math.log(each.typical.ratio or 1.0) for each in others])
                found.append(
                    Disagreement(
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


def _over_all_tests(estimates: Sequence[Estimate], margin: float) -> list[Disagreement]:
    several = [estimate for estimate in estimates if estimate.hosts]
    names = list(dict.fromkeys(own.host for estimate in several for own in estimate.hosts))
    contenders = dict.fromkeys(estimate.contender for estimate in several)
    return [
        Disagreement(
            host=names[move.incarnation],
            others=tuple(names[other] for other in move.others),
            contender=contender,
            step=None,
            tests=move.tests,
            ratio=move.ratio,
            chance=1 - SURE,
        )
        for contender in contenders
        for move in moves_of(
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
