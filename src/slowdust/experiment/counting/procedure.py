"""The interface of what servers carry out while their work is counted by valgrind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.session import Repeat
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.engine.loop import Lane
from slowdust.experiment.engine.schedule import Turn
from slowdust.experiment.plan import PlannedStep
from slowdust.instances.callgrind import Callgrind
from slowdust.units import Second

CountStep = Callable[[], list[Repeat]]
"""Carries out a step and returns its windows.

It raises TargetError where the server fails, CallgrindError where it takes no orders.
"""


@dataclass
class CountedServer:
    """A contender's server under callgrind, and the driver that serves it alone."""

    contender: RunningContender
    driver: Driver
    callgrind: Callgrind
    start: int
    """The number of the server's start for counting, 1-based."""
    stopped: Event = field(default_factory=Event)
    """Set where nothing more shall be counted on it."""
    done: int = 0
    """Turns that are over."""


@dataclass(frozen=True)
class CountedTest:
    """A step on one contender under callgrind."""

    server: CountedServer
    step: PlannedStep
    count: CountStep


class Procedure(ABC):
    """The way in which the steps of one kind of benchmark are counted."""

    steps: Sequence[PlannedStep]
    """All steps that can be counted, in their order."""

    @abstractmethod
    def repeats(self, step: PlannedStep) -> int:
        """Return the number of windows of a step after one start."""

    def expected(self, step: PlannedStep) -> Second:
        """Return how long a step takes after one start, on a contender as slow as the slowest.

        0 where that is known once it is counted: what the budget does not suffice for is cut off.
        """
        del step
        return 0.0

    def plan(self, steps: Sequence[PlannedStep], time_of_each: Second) -> None:
        """Choose what is counted of steps, so that each takes no longer if that is possible."""
        del steps, time_of_each

    def prepare(self, start: int) -> None:
        """Do what servers as usual do before they are started under callgrind."""
        del start

    @abstractmethod
    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return the turns in which steps are counted, with those that they need."""

    @abstractmethod
    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Make the tables on a server, for those turns. Raises TargetError."""
