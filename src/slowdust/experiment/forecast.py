"""How long an experiment of long steps will go on: about."""

from __future__ import annotations

import time
from collections.abc import Sequence

from slowdust.experiment.plan import Step
from slowdust.store.records import Second


class Forecast:
    """Of the steps that ran it knows how long they take, of the others it has a guess."""

    def __init__(self, steps: Sequence[Step], guess: Second) -> None:
        self._steps = steps
        self._guess = guess
        self._begun = time.monotonic()
        self._took: dict[str, Second] = {}

    @property
    def elapsed(self) -> Second:
        """Since the first incarnation began."""
        return time.monotonic() - self._begun

    def took(self, step: Step, seconds: Second) -> None:
        """A contender had its turn in a step."""
        self._took[step.key] = seconds

    def left(self, incarnations: int, contenders: int) -> Second:
        """Of all turns that the steps still owe."""
        return contenders * sum(
            max(0, incarnations - step.turns_done) * self._took.get(step.key, self._guess)
            for step in self._steps
        )
