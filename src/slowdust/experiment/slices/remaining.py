"""The wall time that an experiment of short slices has yet to take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.units import Second


@dataclass(frozen=True)
class TurnsToCome:
    """The turns that a step still gets in the planned incarnations, this one's included."""

    key: str
    turns: int
    decided: bool
    """Whether few operations of each turn are enough, whatever the budget is."""


class Remaining:
    """Tells how long the planned incarnations will take, with what their budget does not count.

    The budget counts measuring. Each start of the servers takes time beside it, for loading, ageing
    and maintenance, and later starts are expected to take as long as those so far did. A turn takes
    no less than its warm-up and its fewest blocks, which slow operations make longer than its share
    of the budget.
    """

    def __init__(self) -> None:
        self._starts = 0
        self._beside: Second = 0.0
        """Time beside measuring in the incarnations that are over."""
        self._begun = time.monotonic()
        self._measured: Second = 0.0
        self._least: dict[str, Second] = {}
        """Step -> what its shortest turn takes."""

    def begin_incarnation(self) -> None:
        """Note that the servers are about to be started."""
        self._beside += self._beside_now(0.0) if self._starts else 0.0
        self._starts += 1
        self._begun, self._measured = time.monotonic(), 0.0

    def measured(self, seconds: Second) -> None:
        """Note a turn that is over."""
        self._measured += seconds

    def needs(self, key: str, seconds: Second) -> None:
        """Note what the shortest turn of a step takes."""
        self._least[key] = seconds

    def shortest_turn(self, key: str, usual: Second) -> Second:
        """Return what the shortest turn of a step takes; one not yet seen is like the others.

        `usual` is what it takes where nothing is known of any.
        """
        if key in self._least or not self._least:
            return self._least.get(key, usual)
        return sum(self._least.values()) / len(self._least)

    def beside_start(self, under_way: Second) -> Second:
        """Return what a start of the servers takes beside measuring, as far as is known."""
        return (self._beside + self._beside_now(under_way)) / max(1, self._starts)

    def left(
        self,
        budget_left: Second,
        starts_left: int,
        under_way: Second,
        to_come: Sequence[TurnsToCome] = (),
        usual: Second = 0.0,
    ) -> Second:
        """Return the seconds to come: the rest of the budget, and what the starts left take.

        `under_way` is how long the turn that is not over has taken. Where what is to come takes
        longer than the rest of the budget, or is decided sooner, it is that.
        """
        least = sum(step.turns * self.shortest_turn(step.key, usual) for step in to_come) - (
            under_way if to_come else 0.0
        )
        decided = bool(to_come) and all(step.decided for step in to_come)
        measuring = max(0.0, least) if decided else max(budget_left, least)
        return measuring + starts_left * self.beside_start(under_way)

    def _beside_now(self, under_way: Second) -> Second:
        return max(0.0, time.monotonic() - self._begun - self._measured - under_way)
