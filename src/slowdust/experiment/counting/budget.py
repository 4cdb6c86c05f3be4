"""The time that counting may take, and which steps fit into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.counting.starts import STARTS
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.plan import PlannedStep
from slowdust.units import Second

LEAST: Second = 60.0
"""Shortest budget by default: two starts under valgrind and a few tests of the fastest server."""
_CUT_FROM = 1.1
"""Multiple of the budget from which what is still being counted is ended."""

Expected = Callable[[PlannedStep], Second]
"""Returns how long the counting of a step takes after one start, on all contenders together."""


def usual_budget(timed: Second) -> Second:
    """Return how long counting may take unless it is said: as long as what was timed."""
    return max(LEAST, timed)


class CountBudget:
    """A wall-clock budget from now on."""

    def __init__(self, seconds: Second, clock: Clock = MACHINE) -> None:
        self.seconds = seconds
        self._clock = clock
        self._begun = clock.monotonic()
        self._expected: Second = 0.0
        self._took: Second = 0.0
        self.exceeded = False
        """Whether something was not counted for want of time."""

    @property
    def left(self) -> Second:
        """Seconds until it is spent; negative from then on."""
        return self.seconds - (self._clock.monotonic() - self._begun)

    @property
    def is_overdue(self) -> bool:
        """Whether what is being counted has to end."""
        return self.left < (1 - _CUT_FROM) * self.seconds

    def note(self, expected: Second, took: Second) -> None:
        """Note how long a step took that was expected to take a while."""
        self._expected += expected
        self._took += took

    def allows(self, expected: Second) -> bool:
        """Return whether there is time for what is expected to take so long."""
        if expected * self._slower <= self.left:
            return True
        self.exceeded = True
        return False

    @property
    def _slower(self) -> float:
        """How many times as long as expected steps have taken so far."""
        return self._took / self._expected if self._expected else 1.0

    def fitting(self, steps: Sequence[PlannedStep], expected: Expected) -> list[PlannedStep]:
        """Return those of the steps that there is time for, in their order: as many as possible."""
        left = self.left
        chosen = []
        for step in sorted(steps, key=expected):
            cost = STARTS * expected(step) * self._slower
            if cost > left:
                self.exceeded = True
                break
            left -= cost
            chosen.append(step)
        return [step for step in steps if step in chosen]


def count_budget(experiment: OpenExperiment) -> CountBudget:
    """Return the budget of an experiment's counting, which begins now."""
    usual = min(
        usual_budget(max(experiment.timed, experiment.journal.spent)), experiment.announced.room
    )
    return CountBudget(experiment.spec.count_budget or usual, experiment.clock)


def advised(needed: Second, had: Second) -> Second:
    """Return a budget for what is expected to take a time beside starting: whole minutes.

    It is more than what was `had`, which did not suffice.
    """
    return 60.0 * math.ceil(max(LEAST + 1.5 * needed, 2 * had) / 60)
