"""The loop over starts of the servers: it goes through tests, and passes observe them.

A pass yields the starts that it still needs, and observes tests whose sessions are open and warm.
`Tests` gets from the start of the servers to the sessions of a test.
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
    """The announced duration."""
    clock: Clock = MACHINE
    timed: Second = 0.0
    """Duration of the passes so far whose results are times."""

    def warn_of_short_budget(self, budget: Second, what: str, needed: Second) -> None:
        """Warn that `what` exceeds the rest of a budget; 'two tests take about'."""
        self.contenders.warn(
            f"the budget of {format_duration(budget)} will be exceeded: {what} "
            f"{format_duration(needed)}"
        )


T = TypeVar("T")

Allows = Callable[[Second], bool]
"""Returns whether there is time for something that takes this many seconds."""

Starts = Generator[Start, None, None]
"""The missing starts of a pass; code after a `yield` runs when the start is over."""


Go = Callable[[Start, "Lane[T]"], None]
"""Goes through the tests of a start, on running servers."""


class Lane(ABC, Generic[T]):
    """Running servers on which tests are opened one after the other; `T` is an open test."""

    def prepare(self, step: PlannedStep) -> None:
        """Prepare the tables for a step, if necessary."""

    def age(self, step: PlannedStep) -> None:
        """Apply a step's writes to the tables without observing it."""

    @abstractmethod
    def opened(self, step: PlannedStep, allows: Allows) -> AbstractContextManager[T | None]:
        """Open a step's sessions and warm them up, as a context manager that closes them.

        None if there is no time for it.
        """

    def settle(self, turn: Turn) -> None:
        """Bring the tables from the end of a turn to the beginning of the next one."""


class Tests(ABC, Generic[T]):
    """The tests of a benchmark, and the way to them from the start of the servers."""

    @abstractmethod
    def run(self, start: Start, go: Go[T]) -> None:
        """Start the servers, let `go` go through the tests, and stop the servers."""


class Companion(Generic[T]):
    """Queries around the tests of a pass; they need no starts of their own."""

    def before(self, step: PlannedStep) -> None:
        """Query before a step's sessions are opened."""

    def after(self, test: T) -> None:
        """Query after the sessions of an observed test are closed."""


class Pass(ABC, Generic[T]):
    """One way of observing tests over starts of the servers; a module in `passes/`."""

    tests: Tests[T]
    """The way to the tests."""
    subject: str | None = None
    """The subject of warnings if the other results are valid without it: 'counting instructions'. A
    pass without a subject fails the experiment."""

    companions: Sequence[Companion[T]] = ()

    def __init__(self, experiment: OpenExperiment) -> None:
        self.experiment = experiment
        self.contenders = experiment.contenders
        self.journal = experiment.journal
        self.view = experiment.view
        self.announced = experiment.announced

    @abstractmethod
    def missing(self) -> Starts:
        """Yield the starts that lack results, each after the previous one is over."""

    @abstractmethod
    def observe(self, test: T) -> None:
        """Observe a test whose sessions are open and warm."""

    def begin(self, start: Start) -> None:
        """Begin a start: its servers run, and the tables are loaded."""

    def begins(self, step: PlannedStep) -> bool:
        """Return whether a step gets its turn; if not, the start is over."""
        del step
        return True

    def before(self, step: PlannedStep) -> bool:
        """Act before a step's sessions are opened; return whether to open them."""
        del step
        return True

    def allows(self, seconds: Second) -> bool:
        """Return whether there is time for one operation of the warm-up."""
        del seconds
        return True

    def after(self, test: T) -> None:
        """Act after the sessions of a test are closed, and after its companions."""


def measure(experiment: OpenExperiment, passes: Iterable[Pass[Any]]) -> None:
    """Carry out passes one after the other, with all their missing starts.

    Raises:
        SlowdustError: no contender is left in a pass without a subject.
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
