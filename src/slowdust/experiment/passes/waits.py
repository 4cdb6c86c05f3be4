"""Waits: servers with their instruments on, in short windows, apart from all timing.

What tells of waits costs, so it is on in incarnations of its own, whose speed is no result. The
contenders' windows take turns, A B B A, so that windows of one number are neighbours in time.
"""

from __future__ import annotations

from functools import partial

from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.loop import Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, turns_of
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.passes.wait_window import Observer, PlannedWindow
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.store.waits import WaitPlace
from slowdust.units import Second

INCARNATIONS = 2
"""Starts of each server."""
REPEATS = 6
"""Windows of a step on one contender in one incarnation."""
_SECONDS: Second = 0.5
"""Length of a window."""


class Waits(Pass[OpenTest]):
    """Observes the waits of every contender in every step."""

    subject = "observing the waits"

    def __init__(
        self, experiment: OpenExperiment, starts: int = INCARNATIONS, repeats: int = REPEATS
    ) -> None:
        """Observe `repeats` windows in each of so many starts of the servers."""
        self.tests = SlicedTests(experiment)
        self._announced = experiment.announced
        self._contenders = experiment.contenders
        self._journal = experiment.journal
        self._view = experiment.view
        self._starts = starts
        self._repeats = repeats
        self._observer: Observer

    def missing(self) -> Starts:
        """Yield the starts in which a step lacks its last window."""
        if not self._announced.allows(self._announced.following.waits):
            return
        observed = with_lasting_sessions(self._journal.steps, "waits", self._contenders.warn)
        for number in range(1, self._starts + 1):
            due = [step.key for step in observed if self._is_missing(step, number)]
            if due:
                self._contenders.for_each(self._prepare)
                driver = self._contenders.driver
                with driver.another() as sampling:
                    self._observer = Observer(driver, sampling, self._contenders.warn)
                    yield Start(number, turns_of(self._journal.steps, due))

    def observe(self, test: OpenTest) -> None:
        """Observe the windows of a step, which contenders have in turn."""
        self._view.phase(f"observing the waits of {test.step.test.name}")
        seconds = test.window(_SECONDS, self._repeats)
        if seconds > 0:
            for repeat in range(self._repeats):
                test.each(partial(self._window, test, repeat, seconds), turn=repeat)

    def _prepare(self, contender: RunningContender) -> None:
        contender.server.stop()
        try:
            contender.instance.observe_waits()
        except SlowdustError as error:
            self._contenders.warn(f"The calls of fsync are not timed: {error}")

    def _is_missing(self, step: PlannedStep, start: int) -> bool:
        """Return whether a contender lacks the last window of a step in a start."""
        done = {
            window.place.contender
            for window in self._journal.waits
            if (window.place.test, window.place.clients) == (step.test.name, step.clients)
            and (window.place.incarnation, window.place.repeat) == (start, self._repeats - 1)
        }
        return not done.issuperset(each.name for each in self._contenders.running())

    def _window(
        self,
        test: OpenTest,
        repeat: int,
        seconds: Second,
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        place = WaitPlace(
            benchmark=test.step.test.benchmark,
            test=test.step.test.name,
            clients=test.step.clients,
            contender=contender.name,
            incarnation=test.start,
            repeat=repeat,
        )
        planned = PlannedWindow(place, contender, test.serving(contender), seconds)
        self._journal.add_waits(self._observer.observe(planned, run))
