"""Who runs when, and for how long: pure arithmetic, no clock."""

from __future__ import annotations

import random
from dataclasses import dataclass

from slowdust.units import Second

MINIMUM_BLOCKS = 2
"""Blocks that a test gets in an incarnation, however small the budget."""
_ROUND: Second = 10.0
"""About how long a test is measured in one incarnation: long against the cost of a restart,
short enough that a usual budget affords several restarts."""
_MOST_ROUNDS = 6


def block_order(contenders: int, rng: random.Random) -> list[int]:
    """Indices of contenders for one block: a random permutation, then its reverse.

    Every contender has two slices, and the mean place of each is the same, so that a linear drift
    of the machine adds the same to all of them (A B B A).
    """
    order = list(range(contenders))
    rng.shuffle(order)
    return order + order[::-1]


def rounds(budget: Second, tests: int) -> int:
    """How many incarnations a budget is meant to be spread over: at least two."""
    return max(2, min(_MOST_ROUNDS, round(budget / tests / _ROUND)))


@dataclass
class Budget:
    """One wall-clock budget over all tests.

    A test's share is what is left, divided by the turns that are left: so what a settled test did
    not use goes to those that come after it, and to another round of the unsure ones.
    """

    total: Second
    spent: Second = 0.0

    @property
    def left(self) -> Second:
        """Seconds of measuring that remain; never negative."""
        return max(0.0, self.total - self.spent)

    def share(self, turns_left: int) -> Second:
        """Seconds for the turn that is next, of `turns_left` turns that include it."""
        return self.left / max(1, turns_left)


def turns_left(unsettled_now: int, unsettled_in_all: int, rounds_after: int) -> int:
    """Turns that share what is left: the rest of this round's, and the later rounds'."""
    return unsettled_now + unsettled_in_all * rounds_after
