"""Counts of tests in slices, in windows of equal numbers of operations.

The tables are loaded by normal servers, which are then restarted under callgrind.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import Allows, Lane, OpenExperiment
from slowdust.experiment.engine.schedule import Action, Turn, maintenance_after
from slowdust.experiment.engine.sliced import LoadedTables, describe_data
from slowdust.experiment.passes.callgrind_counts import (
    WINDOWS_AT_MOST,
    CallgrindCounts,
    CountedServer,
    CountedSession,
    CountedTest,
    Repeat,
    Windows,
)
from slowdust.experiment.passes.work_counts import counted_steps
from slowdust.experiment.plan import PlannedStep
from slowdust.store.measured import Measured
from slowdust.units import Second, known

_WINDOW = 60_000_000
"""Target instructions of a window: half a second under callgrind."""
_PER_US = 3000
"""Maximum instructions per microsecond of CPU time in user mode."""
_FEWEST, _MOST = 3, 10_000
"""Fewest and most operations of a window, unless only one fits."""
_COUNTED_US: Second = 40e-6
_UNCOUNTED_US: Second = 5e-6
"""Time under callgrind per microsecond of CPU time, with and without instrumentation."""
_OPENING: Second = 1.0
"""Fixed time for a step's session, commands and records."""


class SliceCounts(CallgrindCounts):
    """Counts tests on tables that are loaded and aged as in the timed part."""

    def __init__(self, experiment: OpenExperiment, options: Sequence[str] = ()) -> None:
        super().__init__(experiment, options)
        spec = experiment.spec
        self.steps = counted_steps(spec)
        facts = self.journal.manifest.contenders
        self._tables = LoadedTables(self.contenders, describe_data(spec), self.view, facts)
        self._windows: dict[str, Windows] = {}
        self._time_of_each: Second = math.inf

    def repeats(self, step: PlannedStep) -> int:
        return self.windows_of(step).repeats

    def expected(self, step: PlannedStep) -> Second:
        return self._time_of(step, self.windows_of(step))

    def plan(self, time_of_each: Second) -> None:
        self._time_of_each = time_of_each
        for step in self.steps:
            operations = self._operations(step)
            choices = [Windows(operations), Windows(1), Windows(1, repeats=1)]
            fitting = (each for each in choices if self._time_of(step, each) <= time_of_each)
            self._windows[step.key] = next(fitting, choices[-1])

    def windows_of(self, step: PlannedStep) -> Windows:
        """Return the planned windows of a step, by default the windows without a time limit."""
        return self._windows.get(step.key) or Windows(self._operations(step))

    def _time_of(self, step: PlannedStep, windows: Windows) -> Second:
        """Return the duration of windows on the slowest contender, including waiting for a CPU."""
        cpu_us = self._cpu_us(step) or 0.0
        work = windows.counted_operations * _COUNTED_US + windows.other_operations * _UNCOUNTED_US
        at_once = len(usable_cpus())
        turns = -(-len(self.contenders.running()) // at_once)
        return max(1, turns) * (_OPENING + cpu_us * work)

    def prepare(self, start: int) -> None:
        """Prepare the tables with normal servers, unless tables do not survive a restart."""
        self._tables.note_writes()  # every start has a new load
        if not any(contender.keeps_tables for contender in self.contenders.running()):
            return
        self._tables.start(start)
        self.view.phase("ageing the data")
        self.contenders.for_each(lambda contender: self._age(contender, self.contenders.driver))
        if self._writes:
            self._tables.maintain(self.experiment.spec.budget)
        self.contenders.stop()

    @property
    def _writes(self) -> bool:
        return any(step.test.writes for step in self.steps)

    def _age(self, contender: RunningContender, driver: Driver) -> None:
        """Execute as many writes on a contender's tables as the timed part did.

        The first writes after a load split index pages. That costs many times the later writes, and
        happens at different moments on each server.
        """
        data = self._tables.data
        for step in self.steps:
            if age := self._age_of(step):
                session = f"{contender.name}|{step.key}|age"
                driver.open(session, contender.target, data, test=step.test.driver_test, clients=1)
                driver.run(session, Stop(positions=[age]))
                driver.close(session)

    def _age_of(self, step: PlannedStep) -> int:
        """Return the operations of a step that precede the counted ones.

        This is their number in the first timed start, or 0 if operations delete rows.
        """
        if step.test.consumes:
            return 0
        ages = [
            sum(timed.aged_to)
            for timed in self.journal.steps
            if timed.test.name == step.test.name and timed.aged_to is not None
        ]
        return min(ages, default=0)

    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        return [Turn(step, Action.MEASURE) for step in steps]

    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Reload the tables if they did not survive the server's restart."""
        contender, driver = server.contender, server.driver
        if not contender.keeps_tables:
            self._tables.load_one(contender, driver, lambda done, total: None)
            self._age(contender, driver)
            if self._writes:
                self._tables.maintain_one(contender, driver)
        return _SlicedLane(self, self._tables, server, turns)

    def windows(self, server: CountedServer, step: PlannedStep) -> list[Repeat]:
        session = CountedSession(
            server.driver, server.contender, step, server.start, self._age_of(step)
        )
        return session.repeats(
            server.callgrind, self._tables.data, self.windows_of(step), self._time_of_each
        )

    def _operations(self, step: PlannedStep) -> int:
        """Return the operations of a window, the same for all contenders and starts.

        They are chosen by the CPU time per operation of the slowest contender in the timed part.
        """
        earlier = [
            count.run.operations
            for count in self.journal.counts
            if count.place.test == step.test.name
        ]
        operations = earlier[0] if earlier else choose_operations(self._cpu_us(step))
        if not step.test.consumes:
            return operations
        rows = self._tables.data.all_rows
        return max(1, min(operations, rows // WINDOWS_AT_MOST))

    def _cpu_us(self, step: PlannedStep) -> float | None:
        """Return the CPU time in user mode per operation of the slowest contender, or None if it
        was not measured.
        """
        measured: dict[str, list[Measured]] = {}
        for timed in self.journal.steps:
            if timed.test.name == step.test.name:
                for record in timed.slices:
                    measured.setdefault(record.place.contender, []).append(record.measured)
        return max(known(map(compute_cpu_us, measured.values())), default=None)


class _SlicedLane(Lane[CountedTest]):
    """A server under callgrind: tests in windows, with maintenance after writes."""

    def __init__(
        self,
        counts: SliceCounts,
        tables: LoadedTables,
        server: CountedServer,
        turns: Sequence[Turn],
    ) -> None:
        self._counts = counts
        self._tables = tables
        self._server = server
        self._maintained = maintenance_after(turns)

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[CountedTest, None, None]:
        del allows
        yield CountedTest(self._server, step, partial(self._counts.windows, self._server, step))

    def settle(self, turn: Turn) -> None:
        self._server.done += 1
        if turn is self._maintained:
            self._tables.maintain_one(self._server.contender, self._server.driver)


def compute_cpu_us(measured: Sequence[Measured]) -> float | None:
    """Return the CPU time in user mode per operation of slices; None if unknown."""
    seconds = known(each.used("server", "cpu_user_s") for each in measured)
    operations = sum(each.operations or 0 for each in measured)
    return 1e6 * sum(seconds) / operations if operations and seconds else None


def choose_operations(cpu_us: float | None) -> int:
    """Return the operations of a window, given the CPU time per operation.

    The window then has about `_WINDOW` instructions. If the time is unknown, it has the fewest
    operations.
    """
    if not cpu_us:
        return _FEWEST
    return round(min(_MOST, max(_FEWEST, _WINDOW / (cpu_us * _PER_US))))
