"""The steps of an experiment in order, and their progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from slowdust.benchmarks.model import Test
from slowdust.experiment.spec.spec import Spec
from slowdust.store.count import WindowPlace
from slowdust.store.slice import Place, Slice
from slowdust.units import Second
from slowdust.wording import listing


@dataclass
class PlannedStep:
    """One test at one number of clients, with its slices so far."""

    test: Test
    clients: int
    slices: list[Slice] = field(default_factory=list)
    chosen: bool = True
    """Whether it gets more slices; the specification may exclude it."""
    settled: bool = False
    abandoned: bool = False
    """Whether too few contenders are left that execute its operations in time."""
    turns_done: int = 0
    """Starts of the servers with its whole turn."""
    aged_to: list[int] | None = None
    """Operations per client that a write test does to every contender's data before any test on
    aged data: the positions that it reached in its first start."""

    @property
    def key(self) -> str:
        return f"{self.test.name}@{self.clients}"

    @property
    def is_open(self) -> bool:
        """Whether it gets more slices if there is time."""
        return self.chosen and not self.settled and not self.abandoned

    def session(self, contender: str, start: int) -> str:
        return f"{contender}|{self.key}|{start}"

    def place(self, contender: str, start: int, slot: int, block: int = 0) -> Place:
        return Place(
            benchmark=self.test.benchmark,
            test=self.test.name,
            clients=self.clients,
            contender=contender,
            incarnation=start,
            block=block,
            slot=slot,
        )

    def window_place(self, contender: str, start: int, repeat: int) -> WindowPlace:
        return WindowPlace(
            benchmark=self.test.benchmark,
            test=self.test.name,
            clients=self.clients,
            contender=contender,
            incarnation=start,
            repeat=repeat,
        )

    def wall_clock(self, discard: Second) -> Second:
        """Return the seconds of the budget that its slices took, including discarded time."""
        lengths = (s.measured.probe_seconds or s.measured.seconds or 0.0 for s in self.slices)
        return sum(length + discard for length in lengths)


def plan(spec: Spec) -> list[PlannedStep]:
    sequence = spec.configured_benchmark().sequence(spec.chosen_tests(), spec.clients)
    chosen = spec.tests_to_measure()
    return [PlannedStep(test, clients, chosen=test in chosen) for test, clients in sequence]


def with_lasting_sessions(
    steps: Sequence[PlannedStep], what: str, warn: Callable[[str], None]
) -> list[PlannedStep]:
    """Return the steps whose sessions can be observed; `warn` gets a sentence about the others.

    `what` names the observation: 'waits'.
    """
    others = [step.test.name for step in steps if step.test.reconnects]
    if others:
        warn(
            f"There are no {what} of {listing([*dict.fromkeys(others)])}: each operation has a "
            "connection of its own, and its process or thread exits with the connection."
        )
    return [step for step in steps if not step.test.reconnects]
