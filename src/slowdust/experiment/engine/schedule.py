"""The order and length of turns, slices and chunks: pure arithmetic, no clock."""

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
"""Usual time for a test in one start: a few times its warm-up, and short enough that a usual budget
allows six restarts."""
MOST_ROUNDS = 6
"""Starts that the largest budget is planned for. Tests that restarts move together also need them:
with three starts intervals cover the truth only in 74% to 91% (docs/statistics.md)."""
_FEW_TESTS = 2
"""Maximum number of tests that do not show the effect of a restart well enough."""
SHORTEST_WAIT: Second = 30.0
"""Shortest time limit for waiting until servers are idle; most are idle within a second."""
_FEWEST_CHUNKS = 4
"""Chunks of a step: at least two blocks, so that their noise can be estimated."""
_MOST_CHUNKS = 1200
_WHOLE_OPERATIONS = 4
"""Maximum number of operations (indexes of a table, say) that are a chunk each."""
_MOST_OF_PILOT = 1000


def block_order(contenders: int, rng: random.Random) -> list[int]:
    """Return the indices of contenders for one block: a random permutation, then its reverse.

    Every contender has two slices at the same mean position, so that a linear drift of the machine
    adds the same amount to all of them (A B B A).
    """
    order = list(range(contenders))
    rng.shuffle(order)
    return order + order[::-1]


def following_order(order: list[int]) -> list[int]:
    """Return the order of the block after one of `block_order`: B A A B after A B B A.

    Both slices of the outer contender follow a pause, only one of the inner contender's does.
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


def planned_starts(spec: Spec, tests: int) -> int:
    return spec.planned_starts(rounds(spec.budget, tests))


@dataclass
class Budget:
    """One wall-clock budget over all tests.

    A test's share is the rest of the budget divided by the turns to come: time that a decided test
    did not use goes to the tests after it, and to another round of the unsure ones.
    """

    total: Second
    spent: Second = 0.0

    @property
    def left(self) -> Second:
        """Seconds of measuring that remain; never negative."""
        return max(0.0, self.total - self.spent)

    def share(self, turns_left: int) -> Second:
        """Return the seconds for the next turn; it is one of the `turns_left`."""
        return self.left / max(1, turns_left)


def turns_left(unsettled_now: int, unsettled_in_all: int, rounds_after: int) -> int:
    """Return the turns that share the budget: the rest of this round and all later rounds."""
    return unsettled_now + unsettled_in_all * rounds_after


class Action(Enum):
    """The kind of a step's turn in one start."""

    MEASURE = "measure"
    AGE = "age"
    """Run its writes up to `aged_to`, without measuring."""


@dataclass(frozen=True)
class Turn:
    """A step's turn in one start of the servers."""

    step: PlannedStep
    action: Action


@dataclass(frozen=True)
class Start:
    """One start of the servers, and its turns."""

    number: int
    turns: Sequence[Turn]
    separate: Mapping[str, Sequence[Turn]] = field(default_factory=dict)
    """Contender -> its turns, if contenders go through different tests concurrently."""

    @classmethod
    def of(cls, number: int, steps: Sequence[PlannedStep]) -> Start:
        return cls(number, [Turn(step, Action.MEASURE) for step in steps])


def turns(steps: Sequence[PlannedStep], round_number: int) -> list[Turn]:
    """Return the turns of one start, in order.

    A step is measured if it is open and has had fewer than `round_number` whole turns.
    """
    return plan_turns(
        steps, [step.key for step in steps if step.is_open and step.turns_done < round_number]
    )


def plan_turns(steps: Sequence[PlannedStep], due: Collection[str]) -> list[Turn]:
    """Return the turns that observe the steps with the keys `due`, in order.

    Write tests that are not due still age the data if a test on aged data follows.
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
    """Return whether maintenance follows a turn to restore the data for the next test."""
    return turn.step.test.tidied and turn is not todo[-1]


def maintenance_after(todo: Sequence[Turn]) -> Turn | None:
    """Return the turn that maintenance follows, if tests on aged data come later."""
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
    """Return the end of the first part of the first chunk, which shows the speed of a step."""
    return UntilOperations(max(1, min(operations // _MOST_CHUNKS, _MOST_OF_PILOT)))


def timed_ends(seconds: Second, length: Second) -> list[Until]:
    """Return the ends of an even number of chunks of about `length`, in the step's own time."""
    count = _even(seconds / length)
    return [UntilSeconds(seconds * number / count) for number in range(1, count + 1)]


def counted_ends(operations: int, per_second: float, length: Second) -> list[Until]:
    """Return the ends of chunks of equal numbers of operations that take about `length`.

    `per_second` is the rate of one client.
    """
    if operations <= _WHOLE_OPERATIONS:
        return [UntilOperations(number) for number in range(1, operations + 1)]
    count = min(_even(operations / per_second / length), operations // 2 * 2)
    return [UntilOperations(operations * number // count) for number in range(1, count + 1)]


def chunk_turns(order: Sequence[int], chunks: int) -> Iterator[ChunkPlace]:
    """Yield the turns of the contenders with these indices: A B B A, then B A A B.

    An odd number of chunks is measured in blocks of one chunk per contender.
    """
    halves = 1 if chunks % 2 else 2
    for chunk in range(chunks):
        block, half = divmod(chunk, halves)
        for place, index in enumerate(in_turn(order, block + half)):
            yield ChunkPlace(index, chunk, block, half * len(order) + place)


def _even(count: float) -> int:
    return min(_MOST_CHUNKS, max(_FEWEST_CHUNKS, 2 * round(count / 2)))


def longest_wait(rows: int, share: float) -> Second:
    """Return the time limit for servers to become idle after writes to tables of `rows` rows.

    60 s plus 1 s per million rows, at most 1200 s, times the `share` of a full run; at least 30 s,
    because deferred work does not take less time after a short run.
    work does not take less time because a run is short: 30 s at least.
    """
    return max(SHORTEST_WAIT, min(1200.0, 60.0 + rows / 1e6) * min(1.0, share))
