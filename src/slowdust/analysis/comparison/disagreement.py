"""Hosts that disagree with the others, in one test or in all of a contender.

In one test a host is held against what the others foretell of a further host (`hosts.py`), with a
correction for all hosts and tests. Over four tests and more Student's t tells, as it does of
restarts that moved all tests (`together.py`): each test may be within what is foreseen, and all of
them together not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.ratio import Estimate
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.together import SURE, moves_of

CHANCE = 0.05
"""Probability with which chance alone names any host of an experiment, in single tests."""


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
