"""Tests that not every contender's DBMS has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from slowdust.benchmarks.model import Test
from slowdust.experiment.contender import ResolvedContender, RunningContender
from slowdust.experiment.plan import PlannedStep
from slowdust.wording import listing


class Lacking(NamedTuple):
    """The tests in which somebody can be compared, and who lacks which of the others, and why."""

    left: list[Test]
    sentences: list[str]


def lacking_of(
    tests: Sequence[Test], contenders: Sequence[ResolvedContender | RunningContender]
) -> Lacking:
    """Return which tests are left where contenders lack some; the first contender is the base.

    Those that the base lacks, or all others do, are not.
    """
    base, *others = contenders
    left: list[Test] = []
    lacked: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for test in tests:
        reasons = {each.name: each.lacks(test) for each in contenders}
        for name, reason in reasons.items():
            if reason is not None:
                lacked[name, reason][test.curve or test.name] = None
        nobody = bool(others) and all(reasons[other.name] is not None for other in others)
        if not nobody and reasons[base.name] is None:
            left.append(test)
    sentences = [
        f"{name} lacks {listing([*what])}: {reason}" for (name, reason), what in lacked.items()
    ]
    return Lacking(left, sentences)


def leave_out_what_is_lacking(
    steps: Sequence[PlannedStep], contenders: Sequence[RunningContender]
) -> list[str]:
    """Leave out the steps in which nobody could be compared; return who lacks which, and why."""
    lacking = lacking_of([step.test for step in steps], contenders)
    for step in steps:
        if step.test not in lacking.left:
            step.chosen = False
    return lacking.sentences
