"""The wall time that an experiment has yet to take: of short slices, and of long steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.engine.long_step import Level, level_of
from slowdust.experiment.plan import PlannedStep
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

    def __init__(self, clock: Clock = MACHINE) -> None:
        self._clock = clock
        self._starts = 0
        self._beside: Second = 0.0
        """Time beside measuring in the incarnations that are over."""
        self._begun = self._clock.monotonic()
        self._measured: Second = 0.0
        self._least: dict[str, Second] = {}
        """Step -> what its shortest turn takes."""

    def begin_incarnation(self) -> None:
        self._beside += self._beside_now(0.0) if self._starts else 0.0
        self._starts += 1
        self._begun, self._measured = self._clock.monotonic(), 0.0

    def measured(self, seconds: Second) -> None:
        self._measured += seconds

    def needs(self, key: str, seconds: Second) -> None:
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
        return max(0.0, self._clock.monotonic() - self._begun - self._measured - under_way)


class Forecast:
    """The length of each step: measured where the step ran, else a guess."""

    def __init__(
        self,
        steps: Sequence[PlannedStep],
        guess: Second,
        spent: Second = 0.0,
        clock: Clock = MACHINE,
    ) -> None:
        """`spent` is how long an experiment went on that is resumed."""
        self._clock = clock
        self._steps = steps
        self._guess = guess
        self._begun = self._clock.monotonic() - spent
        self._took: dict[str, Second] = {}
        self._turns_before = {step.key: step.turns_done for step in steps}

    @property
    def elapsed(self) -> Second:
        """Seconds since the first incarnation began, without those between stop and resumption."""
        return self._clock.monotonic() - self._begun

    def took(self, step: PlannedStep, seconds: Second) -> None:
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
