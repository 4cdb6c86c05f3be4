"""A forecast of how long an experiment of long steps will go on."""

from __future__ import annotations

import time
from collections.abc import Sequence

from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.steps.turn import Level, level_of
from slowdust.units import Second


class Forecast:
    """The length of each step: measured where the step ran, else a guess."""

    def __init__(self, steps: Sequence[PlannedStep], guess: Second, spent: Second = 0.0) -> None:
        """`spent` is how long an experiment went on that is resumed."""
        self._steps = steps
        self._guess = guess
        self._begun = time.monotonic() - spent
        self._took: dict[str, Second] = {}
        self._turns_before = {step.key: step.turns_done for step in steps}

    @property
    def elapsed(self) -> Second:
        """Seconds since the first incarnation began, without those between stop and resumption."""
        return time.monotonic() - self._begun

    def took(self, step: PlannedStep, seconds: Second) -> None:
        """Note how long a contender's turn in a step took."""
        self._took[step.key] = seconds

    def left(self, incarnations: int, contenders: int) -> Second:
        """Return the seconds of all turns until every step has had one in so many incarnations.

        An incarnation that one step lacks has turns of all steps of its level.
        """
        return contenders * sum(
            max(0, self.to_come(incarnations, level_of(step)) - self._turns_since(step))
            * self._took.get(step.key, self._guess)
            for step in self._steps
        )

    def to_come(self, incarnations: int, level: Level) -> int:
        """Return the incarnations that the steps of a level lacked in the beginning."""
        before = (self._turns_before[s.key] for s in self._steps if level_of(s) == level)
        return max(0, incarnations - min(before))

    def _turns_since(self, step: PlannedStep) -> int:
        return step.turns_done - self._turns_before[step.key]
