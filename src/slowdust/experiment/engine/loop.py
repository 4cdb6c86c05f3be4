"""The one loop over starts of the servers: it goes through tests, which passes observe.

A pass says which starts it lacks, and observes tests whose sessions are open and warm. How a test
is got to, from the start of the servers to its sessions, is the business of `Tests`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from slowdust.experiment.announced import Announced
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.engine.schedule import Action, Start, Turn
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.units import Second, format_duration


@dataclass
class OpenExperiment:
    """An experiment whose contenders are set up and whose journal is open."""

    spec: Spec
    contenders: Contenders
    journal: Journal
    view: View
    announced: Announced
    """The time that it may take."""
    clock: Clock = MACHINE
    timed: Second = 0.0
    """How long the passes went on whose results are times."""

    def warn_of_short_budget(self, budget: Second, what: str, needed: Second) -> None:
        """Warn where `what` takes longer than there is left of a budget; 'two tests take about'."""
        self.contenders.warn(
            f"the budget of {format_duration(budget)} will be exceeded: {what} "
            f"{format_duration(needed)}"
        )


T = TypeVar("T")

Allows = Callable[[Second], bool]
"""Returns whether there is time for something that takes so many seconds."""

Starts = Generator[Start, None, None]
"""The starts that a pass lacks; what follows a `yield` is done when the start is over."""


Go = Callable[[Start, "Lane[T]"], None]
"""Goes through the tests of a start, on servers that run."""


class Lane(ABC, Generic[T]):
    """Servers that run, on which tests are opened one after the other; `T` is a test that is."""

    def prepare(self, step: PlannedStep) -> None:
        """Make the tables as a step wants them, if they are not."""

    def age(self, step: PlannedStep) -> None:
        """Do what a step does to the tables, and let nobody observe it."""

    @abstractmethod
    def opened(self, step: PlannedStep, allows: Allows) -> AbstractContextManager[T | None]:
        """Open a step's sessions and warm them up, as a context manager that closes them.

        None where there is no time for that.
        """

    def settle(self, turn: Turn) -> None:
        """Bring the tables from the end of a turn to where the next one begins."""


class Tests(ABC, Generic[T]):
    """The way to the tests of a benchmark, from the start of the servers."""

    @abstractmethod
    def run(self, start: Start, go: Go[T]) -> None:
        """Start the servers, let `go` go through the tests, and stop the servers."""


class Companion(Generic[T]):
    """What is asked around the tests of a pass, in its starts: it costs none of its own."""

    def before(self, step: PlannedStep) -> None:
        """Ask before a step's sessions are opened."""

    def after(self, test: T) -> None:
        """Ask once the sessions of a test are closed that was observed."""


class Pass(ABC, Generic[T]):
    """One way of observing tests over starts of the servers; a module in `passes/`."""

    tests: Tests[T]
    """The way to the tests."""
    subject: str | None = None
    """What warnings name as failed where results stand without it: 'counting the work'. A failure
    of a pass without one is the experiment's."""

    companions: Sequence[Companion[T]] = ()

    def __init__(self, experiment: OpenExperiment) -> None:
        self.experiment = experiment
        self.contenders = experiment.contenders
        self.journal = experiment.journal
        self.view = experiment.view
        self.announced = experiment.announced

    @abstractmethod
    def missing(self) -> Starts:
        """Yield the starts that lack something, each when the one before it is over."""

    @abstractmethod
    def observe(self, test: T) -> None:
        """Observe a test whose sessions are open and warm."""

    def begin(self, start: Start) -> None:
        """Do what a start begins with, once its servers run and the tables are loaded."""

    def begins(self, step: PlannedStep) -> bool:
        """Return whether a step has its turn; if not, the start is over."""
        del step
        return True

    def before(self, step: PlannedStep) -> bool:
        """Do what comes before a step's sessions are opened; return whether to open them."""
        del step
        return True

    def allows(self, seconds: Second) -> bool:
        """Return whether there is time for an operation of the warm-up."""
        del seconds
        return True

    def after(self, test: T) -> None:
        """Do what comes once the sessions of a test are closed, behind what companions ask."""


def measure(experiment: OpenExperiment, passes: Iterable[Pass[Any]]) -> None:
    """Carry out passes, one after the other: all starts that they lack.

    Raises:
        SlowdustError: no contender is left in a pass that has no subject.
    """
    for each in passes:
        begun = experiment.clock.monotonic()
        with ExitStack() as stack:
            if each.subject is not None:
                stack.enter_context(experiment.contenders.observing(each.subject))
            for start in stack.enter_context(closing(each.missing())):
                each.tests.run(start, partial(_go_through, each))
        if each.subject is None:
            experiment.timed += experiment.clock.monotonic() - begun


def _go_through(each: Pass[T], start: Start, lane: Lane[T]) -> None:
    each.begin(start)
    for turn in start.turns:
        if turn.action is Action.AGE:
            lane.age(turn.step)
        elif not each.begins(turn.step):
            break
        else:
            _take(each, turn.step, lane)
        lane.settle(turn)


def _take(each: Pass[T], step: PlannedStep, lane: Lane[T]) -> None:
    lane.prepare(step)
    if not each.before(step):
        return
    for companion in each.companions:
        companion.before(step)
    with lane.opened(step, each.allows) as test:
        if test is not None:
            each.observe(test)
    if test is not None:
        for companion in each.companions:
            companion.after(test)
        each.after(test)
