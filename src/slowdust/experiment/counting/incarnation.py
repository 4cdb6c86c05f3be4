"""Incarnations that are not timed: each step on servers as usual, observed by perf."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowdust.experiment.contenders import Contenders
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.slices import schedule
from slowdust.experiment.slices.blocks import Pace, StepSessions
from slowdust.experiment.slices.preparation import Preparations
from slowdust.experiment.slices.tables import LoadedTables, data_of
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View

Observe = Callable[[PlannedStep, StepSessions, float], None]
"""Observes a step, whose sessions are open and warm; the slowest contender does so many operations
per second."""


class UntimedIncarnations:
    """Runs a specification's steps apart from what is timed, on contenders that are set up."""

    def __init__(self, spec: Spec, contenders: Contenders, journal: Journal, view: View) -> None:
        self.data = data_of(spec)
        self._contenders = contenders
        # What these tables are like is nothing that timed results depend on: it is not kept.
        preparations = Preparations(contenders, journal.manifest.contenders, [], view)
        self._tables = LoadedTables(contenders, self.data, preparations, view)
        self._pace = Pace(spec.discard, spec.warmup, rate=None)
        self._budget = spec.budget
        self._next_operation: dict[str, int] = {}

    def run(self, number: int, steps: Sequence[PlannedStep], observe: Observe) -> None:
        """Start the servers, observe each step in its order, and stop the servers."""
        self._next_operation.clear()
        todo = [schedule.Turn(step, schedule.Action.MEASURE) for step in steps]
        maintained = schedule.maintenance_after(todo)
        self._tables.start(number)
        for turn in todo:
            self._step(turn.step, number, observe)
            if turn.step.test.changes_data:
                self._tables.note_writes()
            if turn is maintained:
                self._tables.maintain(self._budget)
        self._contenders.stop()

    def operations_left(self, step: PlannedStep, run: StepSessions) -> int | None:
        """Return how many operations there are rows for; None where operations consume none."""
        if not step.test.consumes:
            return None
        return max(0, self.data.all_rows - run.next_operation)

    def _step(self, step: PlannedStep, incarnation: int, observe: Observe) -> None:
        if step.test.consumes and step.test.driver_test in self._next_operation:
            self._tables.load()
            self._next_operation.clear()
        first = self._next_operation
        run = StepSessions(
            self._contenders, step, incarnation, self._pace, data=self.data, first=first
        )
        run.open()
        observe(step, run, run.warm_up())
        self._next_operation |= run.next_operations
        run.close()
