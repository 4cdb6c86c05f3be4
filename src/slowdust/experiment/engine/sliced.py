"""The way to the tests of a benchmark that is measured in slices."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from slowdust.experiment.engine.loop import Allows, Go, Lane, OpenExperiment, Tests
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.engine.schedule import Start, Turn, is_tidied, maintenance_after
from slowdust.experiment.engine.tables import LoadedTables, data_of
from slowdust.experiment.plan import PlannedStep
from slowdust.store.preparation import Preparation


class SlicedTests(Tests[OpenTest], Lane[OpenTest]):
    """The tests on tables that are loaded, aged by writes, maintained, and loaded again.

    Their sessions are those of all contenders, which do as many writes each.
    """

    def __init__(
        self,
        experiment: OpenExperiment,
        pace: Pace | None = None,
        kept: list[Preparation] | None = None,
    ) -> None:
        """`pace` is that of the specification's slices, unless it is given.

        `kept` gets what the tables are like; None where no timed result depends on it.
        """
        spec, facts = experiment.spec, experiment.journal.manifest.contenders
        self._experiment = experiment
        self.tables = LoadedTables(
            experiment.contenders, data_of(spec), experiment.view, facts, kept
        )
        self._pace = pace or Pace(spec.discard, spec.warmup, rate=None)
        self._start = Start(0, [])
        self._maintained: Turn | None = None
        self._next_operation: dict[str, int] = {}
        """Test of the driver that writes -> where its next session goes on, so that no row is
        inserted twice."""

    def run(self, start: Start, go: Go[OpenTest]) -> None:
        """Start the servers; load the tables, unless those of the earlier start are alike."""
        self._start, self._maintained = start, maintenance_after(start.turns)
        self._next_operation.clear()
        self.tables.start(start.number)
        go(start, self)
        self._experiment.contenders.stop()

    def prepare(self, step: PlannedStep) -> None:
        """Load the tables again for a step whose rows are used up."""
        if step.test.consumes and step.test.driver_test in self._next_operation:
            self._load()
        self.tables.note_step(step)

    def age(self, step: PlannedStep) -> None:
        """Run the writes of a step up to where its first incarnation came."""
        assert step.aged_to is not None
        self._experiment.view.phase(f"ageing the data by {step.test.name}")
        test = self.sessions(step, self._start.number)
        test.open()
        test.age(step.aged_to)
        self._close(test)

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[OpenTest | None, None, None]:
        """Open a step's sessions on all contenders and warm them up; None: there is no time."""
        test = self.sessions(step, self._start.number)
        test.open()
        test.warm_up(allows)
        yield test if test.is_warm else None
        self._close(test)
        test.ended = self._experiment.clock.monotonic()

    def settle(self, turn: Turn) -> None:
        budget = self._experiment.spec.budget
        if turn.step.test.changes_data:
            self.tables.note_writes()
        if turn is self._maintained:
            self.tables.maintain(budget)
        elif is_tidied(self._start.turns, turn):
            self.tables.tidy(budget)

    def sessions(self, step: PlannedStep, start: int) -> OpenTest:
        return OpenTest(
            self._experiment.contenders,
            step,
            start,
            self._pace,
            data=self.tables.data,
            first=self._next_operation,
            clock=self._experiment.clock,
        )

    def _close(self, test: OpenTest) -> None:
        self._next_operation |= test.next_operations
        test.close()
        if test.has_given_up and test.step.test.changes_data:
            self._load()  # an operation that was cut short has left them as nobody knows

    def _load(self) -> None:
        self.tables.load()
        self._next_operation.clear()
