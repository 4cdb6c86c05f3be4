"""The order and the length of turns and slices: pure arithmetic, no clock."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from slowdust.benchmarks.model import Phase
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.stats.verdict import FEWEST_INCARNATIONS
from slowdust.units import Second

T = TypeVar("T")

_ROUND: Second = 5.0
"""The usual time for a test in one incarnation: a few times its warm-up, short enough that a usual
budget affords six restarts."""
MOST_ROUNDS = 6
"""Incarnations that the largest budget is planned for, and that tests get which restarts move
together: with three of them intervals then cover the truth in 74% to 91% (docs/statistics.md)."""
_FEW_TESTS = 2
"""So few tests learn little from each other about what a restart does."""
SHORTEST_WAIT: Second = 30.0
"""Time that idle servers are waited for at least; most are idle within a second."""


def block_order(contenders: int, rng: random.Random) -> list[int]:
    """Return the indices of contenders for one block: a random permutation, then its reverse.

    Every contender has two slices, and the mean place of each is the same, so that a linear drift
    of the machine adds the same to all of them (A B B A).
    """
    order = list(range(contenders))
    rng.shuffle(order)
    return order + order[::-1]


def following_order(order: list[int]) -> list[int]:
    """Return the order of the block after one of `block_order`: B A A B after A B B A.

    The outer contender's slices each come after a pause, one of the inner contender's does not.
    """
    half = len(order) // 2
    return order[half:] + order[:half]


def in_turn(contenders: Sequence[T], number: int) -> list[T]:
    """Return contenders in the order of turn `number`: A B in even ones, B A in odd ones."""
    return [*contenders] if number % 2 == 0 else [*contenders[::-1]]


def fewest_rounds(tests: int) -> int:
    return FEWEST_INCARNATIONS + (tests <= _FEW_TESTS)


def rounds(budget: Second, tests: int) -> int:
    return max(fewest_rounds(tests), min(MOST_ROUNDS, round(budget / tests / _ROUND)))


def incarnations(spec: Spec, tests: int) -> int:
    return spec.planned_incarnations(rounds(spec.budget, tests))


@dataclass
class Budget:
    """One wall-clock budget over all tests.

    A test's share is the rest of the budget, divided by the turns to come: so what a settled test
    did not use goes to those that come after it, and to another round of the unsure ones.
    """

    total: Second
    spent: Second = 0.0

    @property
    def left(self) -> Second:
        """Seconds of measuring that remain; never negative."""
        return max(0.0, self.total - self.spent)

    def share(self, turns_left: int) -> Second:
        """Return the seconds for the next turn, of `turns_left` turns that include it."""
        return self.left / max(1, turns_left)


def turns_left(unsettled_now: int, unsettled_in_all: int, rounds_after: int) -> int:
    """Return the turns that share the budget: the rest of this round's, and the later rounds'."""
    return unsettled_now + unsettled_in_all * rounds_after


class Action(Enum):
    """The part of a step in one incarnation."""

    MEASURE = "measure"
    AGE = "age"
    """The part that runs its writes up to `aged_to` and measures nothing."""


@dataclass(frozen=True)
class Turn:
    """A step's turn in one incarnation."""

    step: PlannedStep
    action: Action


@dataclass(frozen=True)
class Start:
    """One start of the servers, and what is done in it."""

    number: int
    turns: Sequence[Turn]
    apart: Mapping[str, Sequence[Turn]] = field(default_factory=dict)
    """Contender -> its turns, where contenders go through tests of their own, at the same time."""

    @classmethod
    def of(cls, number: int, steps: Sequence[PlannedStep]) -> Start:
        return cls(number, [Turn(step, Action.MEASURE) for step in steps])


def turns(steps: Sequence[PlannedStep], round_number: int) -> list[Turn]:
    """Return the turns of one incarnation, in order.

    A step is measured if it is open, and not yet measured in `round_number` whole turns.
    """
    return turns_of(
        steps, [step.key for step in steps if step.is_open and step.turns_done < round_number]
    )


def turns_of(steps: Sequence[PlannedStep], due: Collection[str]) -> list[Turn]:
    """Return the turns in which the steps with the keys `due` are observed, in order.

    Write tests that are not observed still age the data for a test on aged data after them.
    """
    result = []
    for place, step in enumerate(steps):
        aged_follows = any(
            later.key in due and later.test.phase is Phase.AGED for later in steps[place + 1 :]
        )
        if step.key in due:
            result.append(Turn(step, Action.MEASURE))
        elif step.test.phase is Phase.WRITE and aged_follows and step.aged_to:
            result.append(Turn(step, Action.AGE))
    return result


def is_tidied(todo: Sequence[Turn], turn: Turn) -> bool:
    """Return whether maintenance follows a turn, so that the next test finds data as it did."""
    return turn.step.test.tidied and turn is not todo[-1]


def maintenance_after(todo: Sequence[Turn]) -> Turn | None:
    """Return the turn after which maintenance runs, if tests on aged data follow it."""
    if not any(turn.step.test.phase is Phase.AGED for turn in todo):
        return None
    writes = [turn for turn in todo if turn.step.test.phase is Phase.WRITE]
    return writes[-1] if writes else None


def longest_wait(rows: int, share: float) -> Second:
    """Return how long to wait for idle servers after writes to so many rows.

    60 s and 1 s per million rows, at most 1200 s, in a run that is `share` of a full one. Deferred
    work does not take less time because a run is short: 30 s at least.
    """
    return max(SHORTEST_WAIT, min(1200.0, 60.0 + rows / 1e6) * min(1.0, share))
