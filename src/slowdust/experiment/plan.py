"""The steps of an experiment in their order, and what has been done of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from slowdust.benchmarks.model import Measuring, Phase, Test
from slowdust.experiment.spec.spec import Spec
from slowdust.store.slice import Slice
from slowdust.units import Second


@dataclass
class Step:
    """One test at one number of clients, with the slices that exist of it."""

    test: Test
    clients: int
    slices: list[Slice] = field(default_factory=list)
    settled: bool = False
    turns_done: int = 0
    """Incarnations in which it had all of its turn; one that was cut short is none of them."""
    aged_to: list[int] | None = None
    """Operations per client that a write test does to every contender's data before any test on
    aged data: what its first incarnation came to."""

    @property
    def key(self) -> str:
        """`TEST@CLIENTS`: its name in the manifest."""
        return f"{self.test.name}@{self.clients}"

    def wall_clock(self, discard: Second) -> Second:
        """What its slices took of the budget, with what was discarded before each."""
        return sum(
            (s.measured.probe_seconds or s.measured.seconds or 0.0) + discard for s in self.slices
        )


def plan(spec: Spec) -> list[Step]:
    """The steps of one incarnation, in order: tests as the benchmark has them, clients as given.

    Long steps need what those before them left: all of them run with so many clients, then with
    more.
    """
    tests = spec.chosen_tests()
    if spec.measuring is Measuring.STEPS:
        return [Step(test, clients) for clients in spec.clients for test in tests]
    return [Step(test, clients) for test in tests for clients in spec.clients]


def restore(steps: Iterable[Step], slices: Iterable[Slice]) -> None:
    """Hand the slices of a stopped experiment back to their steps."""
    by_name = {(step.test.name, step.clients): step for step in steps}
    for record in slices:
        if step := by_name.get((record.place.test, record.place.clients)):
            step.slices.append(record)


class Deed(Enum):
    """What one incarnation does with a step."""

    MEASURE = "measure"
    AGE = "age"
    """Run its writes up to `aged_to` and measure nothing."""


@dataclass(frozen=True)
class Turn:
    """A step's part in one incarnation."""

    step: Step
    deed: Deed


def turns(steps: list[Step], round_number: int) -> list[Turn]:
    """What one incarnation does, in order.

    Measured is what is neither settled nor already measured in `round_number` whole turns. Write
    tests that are not measured still age the data where a test on aged data comes after them.
    """
    due = [not step.settled and step.turns_done < round_number for step in steps]
    result = []
    for place, step in enumerate(steps):
        aged_follows = any(
            due[later] and steps[later].test.phase is Phase.AGED
            for later in range(place + 1, len(steps))
        )
        if due[place]:
            result.append(Turn(step, Deed.MEASURE))
        elif step.test.phase is Phase.WRITE and aged_follows and step.aged_to:
            result.append(Turn(step, Deed.AGE))
    return result


def maintenance_after(todo: list[Turn]) -> Turn | None:
    """The turn after which maintenance runs, if tests on aged data follow it."""
    if not any(turn.step.test.phase is Phase.AGED for turn in todo):
        return None
    writes = [turn for turn in todo if turn.step.test.phase is Phase.WRITE]
    return writes[-1] if writes else None


def unsettled(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps that want more slices."""
    return (step for step in steps if not step.settled)
