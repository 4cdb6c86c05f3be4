"""Waits after the timed incarnations: servers with their instruments on, in short windows.

What tells of waits costs, so it is on in incarnations of its own, whose speed is no result. The
contenders' windows take turns, A B B A, so that windows of one number are neighbours in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.counting.incarnation import UntimedIncarnations
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.experiment.slices.blocks import StepSessions
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.experiment.waits.window import Observer, PlannedWindow, RunSessions
from slowdust.store.waits import WaitPlace
from slowdust.units import Second

INCARNATIONS = 2
"""Starts of each server."""
REPEATS = 6
"""Windows of a step on one contender in one incarnation."""
_SECONDS: Second = 0.5
"""Length of a window."""
_FASTEST = 2.0
"""How much faster than in its warm-up a test that consumes rows may be, so that rows are left."""


class WaitsLoop:
    """Observes the waits of every contender in every step."""

    def __init__(self, spec: Spec, contenders: Contenders, journal: Journal, view: View) -> None:
        self._incarnations = UntimedIncarnations(spec, contenders, journal, view)
        self._contenders = contenders
        self._journal = journal
        self._view = view

    def run(self) -> None:
        """Observe what has not been observed yet; what cannot be is a warning."""
        observed = with_lasting_sessions(self._journal.steps, "waits", self._contenders.warn)
        for incarnation in range(1, INCARNATIONS + 1):
            steps = [step for step in observed if self._is_missing(step, incarnation)]
            if steps:
                self._contenders.for_each(self._prepare)
                with Driver() as sampling:
                    observer = Observer(self._contenders.driver, sampling, self._contenders.warn)
                    observe = partial(self._observe, observer, incarnation)
                    self._incarnations.run(incarnation, steps, observe)

    def _prepare(self, contender: RunningContender) -> None:
        contender.server.stop()
        try:
            contender.instance.observe_waits()
        except SlowdustError as error:
            self._contenders.warn(f"The calls of fsync are not timed: {error}")

    def _is_missing(self, step: PlannedStep, incarnation: int) -> bool:
        """Return whether a contender lacks the last window of a step in an incarnation."""
        done = {
            window.place.contender
            for window in self._journal.waits
            if (window.place.test, window.place.clients) == (step.test.name, step.clients)
            and (window.place.incarnation, window.place.repeat) == (incarnation, REPEATS - 1)
        }
        return not done.issuperset(each.name for each in self._contenders.running())

    def _observe(
        self,
        observer: Observer,
        incarnation: int,
        step: PlannedStep,
        run: StepSessions,
        per_second: float,
    ) -> None:
        self._view.phase(f"observing the waits of {step.test.name}")
        seconds = _SECONDS
        left = self._incarnations.operations_left(step, run)
        if left is not None:
            seconds = min(seconds, left / (REPEATS * _FASTEST * max(per_second, 1.0)))
        if seconds <= 0:
            return
        for repeat in range(REPEATS):
            observe = partial(
                self._window, observer, _Turn(step, run, incarnation, repeat, seconds)
            )
            run.each(observe, list if repeat % 2 == 0 else _backwards)

    def _window(
        self, observer: Observer, turn: _Turn, contender: RunningContender, run: RunSessions
    ) -> None:
        place = WaitPlace(
            benchmark=turn.step.test.benchmark,
            test=turn.step.test.name,
            clients=turn.step.clients,
            contender=contender.name,
            incarnation=turn.incarnation,
            repeat=turn.repeat,
        )
        serving = turn.sessions.serving(contender)
        planned = PlannedWindow(place, contender, serving, turn.seconds)
        self._journal.add_waits(observer.observe(planned, run))


@dataclass(frozen=True)
class _Turn:
    """One window, which every contender has."""

    step: PlannedStep
    sessions: StepSessions
    incarnation: int
    repeat: int
    seconds: Second


def _backwards(contenders: list[RunningContender]) -> list[RunningContender]:
    return contenders[::-1]
