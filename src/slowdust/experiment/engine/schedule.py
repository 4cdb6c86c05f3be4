"""The order and the length of turns, slices and chunks: pure arithmetic, no clock."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from slowdust.benchmarks.model import Phase
from slowdust.experiment.driver.protocol import Until, UntilOperations, UntilSeconds
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
_FEWEST_CHUNKS = 4
"""Chunks of a step: two blocks at the least, so that their noise is known."""
_MOST_CHUNKS = 1200
_WHOLE_OPERATIONS = 4
"""Up to so many operations, indexes of a table say, each is a chunk."""
_MOST_OF_PILOT = 1000


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


@dataclass(frozen=True)
class ChunkPlace:
    """The place of a chunk in the order of all contenders' chunks."""

    contender: int
    """Index of the contender."""
    chunk: int
    block: int
    slot: int


def pilot_end(operations: int) -> UntilOperations:
    """Return the end of the part of the first chunk that shows how fast a step's work goes."""
    return UntilOperations(max(1, min(operations // _MOST_CHUNKS, _MOST_OF_PILOT)))


def timed_ends(seconds: Second, length: Second) -> list[Until]:
    """Return the ends of an even number of chunks of about `length`, in the step's own time."""
    count = _even(seconds / length)
    return [UntilSeconds(seconds * number / count) for number in range(1, count + 1)]


def counted_ends(operations: int, per_second: float, length: Second) -> list[Until]:
    """Return the ends of chunks of so many operations as take about `length`.

    `per_second` is the rate of one client. Chunks have as many operations, but for rounding.
    """
    if operations <= _WHOLE_OPERATIONS:
        return [UntilOperations(number) for number in range(1, operations + 1)]
    count = min(_even(operations / per_second / length), operations // 2 * 2)
    return [UntilOperations(operations * number // count) for number in range(1, count + 1)]


def chunk_turns(order: Sequence[int], chunks: int) -> Iterator[ChunkPlace]:
    """Yield the turns of the contenders of these indices: A B B A, then B A A B.

    An odd number of chunks has blocks of one chunk of each contender.
    """
    halves = 1 if chunks % 2 else 2
    for chunk in range(chunks):
        block, half = divmod(chunk, halves)
        for place, index in enumerate(in_turn(order, block + half)):
            yield ChunkPlace(index, chunk, block, half * len(order) + place)


def _even(count: float) -> int:
    return min(_MOST_CHUNKS, max(_FEWEST_CHUNKS, 2 * round(count / 2)))


def longest_wait(rows: int, share: float) -> Second:
    """Return how long to wait for idle servers after writes to so many rows.

    60 s and 1 s per million rows, at most 1200 s, in a run that is `share` of a full one. Deferred
    work does not take less time because a run is short: 30 s at least.
    """
    return max(SHORTEST_WAIT, min(1200.0, 60.0 + rows / 1e6) * min(1.0, share))
