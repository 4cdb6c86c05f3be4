"""The interface of what servers carry out while their work is counted by valgrind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.session import Repeat
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.plan import PlannedStep
from slowdust.instances.callgrind import Callgrind
from slowdust.units import Second

CountStep = Callable[[], list[Repeat]]
"""Carries out a step and returns its windows.

It raises TargetError where the server fails, CallgrindError where it takes no orders.
"""


@dataclass(frozen=True)
class CountedServer:
    """A contender's server under callgrind, and the driver that serves it alone."""

    contender: RunningContender
    driver: Driver
    callgrind: Callgrind
    start: int
    """The number of the server's start for counting, 1-based."""


class Procedure(ABC):
    """The way in which the steps of one kind of benchmark are counted."""

    steps: Sequence[PlannedStep]
    """All steps that can be counted, in their order."""

    @abstractmethod
    def repeats(self, step: PlannedStep) -> int:
        """Return the number of windows of a step after one start."""

    @abstractmethod
    def expected(self, step: PlannedStep) -> Second:
        """Return how long a step takes after one start, on a contender as slow as the slowest."""

    @abstractmethod
    def plan(self, steps: Sequence[PlannedStep], time_of_each: Second) -> None:
        """Choose what is counted of steps, so that each takes no longer if that is possible."""

    @abstractmethod
    def prepare(self, start: int) -> None:
        """Do what servers as usual do before they are started under callgrind."""

    @abstractmethod
    def turns(
        self, server: CountedServer, steps: Sequence[PlannedStep]
    ) -> Iterator[tuple[PlannedStep, CountStep]]:
        """Yield each of the steps with what counts it; in between carry out what they need.

        Raises:
            TargetError: the server fails in between.
        """
