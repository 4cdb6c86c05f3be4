"""Counts of long steps: the sequence of steps on few rows, each step in windows of its sessions.

The server under callgrind creates the tables; without instrumentation it is fast enough.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from slowdust.benchmarks.steps import CountedWork, StepBenchmark, StepWork, Workload
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.protocol import UntilOperations
from slowdust.experiment.engine.loop import Allows, Lane, OpenExperiment
from slowdust.experiment.engine.schedule import Action, Turn
from slowdust.experiment.engine.stepped import (
    ContenderTurn,
    StepCommands,
    Tables,
    choose_stages,
    long_step,
    maintenance_due,
)
from slowdust.experiment.passes.callgrind_counts import (
    REPEATS,
    CallgrindCounts,
    CountedServer,
    CountedTest,
    Repeat,
    counted_windows,
    parse_events,
)
from slowdust.experiment.passes.work_counts import counted_steps
from slowdust.experiment.plan import PlannedStep
from slowdust.store.count import CountedRun, Events
from slowdust.units import Second

_DISCARDED = 1
"""Windows before the recorded ones: the first one includes the end of the start command."""
_WARM_UP = 2
"""Minimum operations before the first window, as a multiple of a window's operations."""
_WARM_UP_OF_QUERIES = 16
"""The same for queries: caches and hash indexes fill meanwhile."""
WINDOWS = _WARM_UP + _DISCARDED + REPEATS
"""Windows that fit into the operations of a step, for each counted role."""
_ORDERS = 2
"""Operations of a role during which counting starts and stops."""
TO_THE_READ: Second = 0.05
"""Time for a server's thread that has answered to reach its next read."""

Threads = dict[str, int]
"""Role -> the server's thread or process for its connection."""


class CountedStep:
    """One step on a server under callgrind, in consecutive sessions of the driver."""

    def __init__(
        self, server: CountedServer, turn: ContenderTurn, commands: StepCommands, work: CountedWork
    ) -> None:
        self._server = server
        self._turn = turn
        self._commands = commands
        self._work = work
        self._position = 0
        self.done = False
        """Whether all of its writes were executed."""

    def carry_out(self) -> None:
        """Execute the writes of the step without counting. Raises TargetError."""
        for work in (self._work.before, self._work.work):
            if work is not None and work.operations is not None:
                self._carry_out(work)
        self.done = True

    def count(self) -> list[Repeat]:
        """Execute the step and return its windows.

        Raises:
            TargetError: the server fails.
            CallgrindError: it does not respond to commands.
            SlowdustError: the thread that serves a role is unknown.
        """
        if self._work.before is not None:
            self._carry_out(self._work.before)
        threads = self._open(self._work.work)
        if unknown := [role for role in self._work.roles if role not in threads]:
            name = self._server.contender.name
            raise SlowdustError(f"{name} does not show which thread serves {unknown[0]}")
        repeats = self._whole(threads) if self._work.whole else self._windows(threads)
        self.done = True
        return repeats

    def _carry_out(self, work: StepWork) -> None:
        """Execute a work with a fixed number of operations."""
        assert work.operations is not None
        self._open(work)
        self._perform(work.operations)
        self._close()

    def _open(self, work: StepWork) -> Threads:
        prepared = self._server.driver.prepare(self._commands.prepare(self._turn, work))
        self._turn.tables.grow(work, self._turn.step.clients)
        self._position = 0
        return {seat.role: seat.process for seat in prepared.seats}

    def _perform(self, operations: int) -> None:
        """Execute this many more operations of the main roles."""
        self._position += operations
        driver = self._server.driver
        limit = driver.patience.maintenance(self._turn.tables.rows)
        until = UntilOperations(self._position)
        performed = driver.perform(self._turn.session, until, limit, lambda done, total: None)
        for role in performed.roles.values():
            self._turn.contender.refuse_fatal_errors(role.errors, "counted statements")

    def _close(self) -> None:
        self._server.driver.close(self._turn.session)

    def _whole(self, threads: Threads) -> list[Repeat]:
        """Count all operations of the step's only session, from its first message to its end."""
        (role,) = self._work.roles
        callgrind, operations = self._server.callgrind, self._work.window
        time.sleep(TO_THE_READ)
        callgrind.start_before(lambda: self._perform(1), threads[role])
        if operations > 1:
            self._perform(operations - 1)
        time.sleep(TO_THE_READ)
        return [self._repeat([callgrind.finish(self._close, threads[role])])]

    def _windows(self, threads: Threads) -> list[Repeat]:
        """Count windows of each role, one role after the other."""
        window, operations = self._work.window, self._work.work.operations
        counted = _ORDERS + window * (_DISCARDED + REPEATS)
        try:
            if operations is None:
                self._perform(_WARM_UP_OF_QUERIES * window)
            else:
                self._perform(operations - counted * len(self._work.roles))
            lengths = [window] * (_DISCARDED + REPEATS)
            of_roles = [
                counted_windows(
                    self._server.callgrind, self._perform, threads[role], lengths, TO_THE_READ
                )[_DISCARDED:]
                for role in self._work.roles
            ]
        finally:
            with suppress(SlowdustError):  # the error of the windows matters more
                self._close()
        return [self._repeat(texts) for texts in zip(*of_roles, strict=True)]

    def _repeat(self, texts: Sequence[str]) -> Repeat:
        """Return the common window of the sessions of all roles."""
        own: Events = {}
        for text in texts:
            for name, number in parse_events(text).items():
                own[name] = own.get(name, 0) + number
        rows = self._turn.tables.rows
        amount = rows if self._work.amount is None else self._work.amount
        return Repeat(CountedRun(operations=amount, own=own), tuple(texts))


class StepCounts(CallgrindCounts):
    """Counts the steps of a benchmark, in the order of their dependencies."""

    def __init__(
        self, experiment: OpenExperiment, workload: Workload, options: Sequence[str] = ()
    ) -> None:
        super().__init__(experiment, options)
        spec = experiment.spec
        benchmark = spec.configured_benchmark()
        assert isinstance(benchmark, StepBenchmark)
        self._commands = StepCommands(spec, workload.settings)
        self._works: dict[str, CountedWork] = {}
        sequence = [step for step in counted_steps(spec) if not long_step(step).hold]
        for step in sequence:
            if (work := workload.counted(step.test.name, WINDOWS)) is None:
                break
            self._works[step.test.name] = work
        self.steps = sequence[: len(self._works)]

    def repeats(self, step: PlannedStep) -> int:
        return 1 if self._works[step.test.name].whole else REPEATS

    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return turns up to the last of these steps; other steps only write."""
        last = max(self.steps.index(step) for step in steps)
        return [
            Turn(step, Action.MEASURE if step in steps else Action.AGE)
            for step in self.steps[: last + 1]
        ]

    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Create the tables under callgrind; without instrumentation it is fast enough."""
        del turns
        return _SteppedLane(self, server, self._create_tables(server))

    def counted(self, server: CountedServer, tables: Tables, step: PlannedStep) -> CountedStep:
        turn = ContenderTurn(step, server.start, server.contender, 0, tables)
        return CountedStep(server, turn, self._commands, self._works[step.test.name])

    def maintain(self, server: CountedServer, tables: Tables, step: PlannedStep) -> None:
        stages = choose_stages(maintenance_due(step, self.steps), server.contender, tables.names)
        self.contenders.maintain(server.contender, stages, tables.rows, server.driver)

    def _create_tables(self, server: CountedServer) -> Tables:
        works = [
            work
            for counted in self._works.values()
            for work in (counted.before, counted.work)
            if work is not None
        ]
        server.driver.create(self._commands.create(server.contender.target, 1, works))
        return self._commands.tables(1)


class _SteppedLane(Lane[CountedTest]):
    """A server under callgrind: runs steps until one fails, since later ones need its rows."""

    def __init__(self, tests: StepCounts, server: CountedServer, tables: Tables) -> None:
        self._tests = tests
        self._server = server
        self._tables = tables
        self._is_over = False

    def age(self, step: PlannedStep) -> None:
        if not self._is_over:
            counting = self._tests.counted(self._server, self._tables, step)
            counting.carry_out()
            self._end(step, counting)

    @contextmanager
    def opened(
        self, step: PlannedStep, allows: Allows
    ) -> Generator[CountedTest | None, None, None]:
        del allows
        if self._is_over:
            yield None
            return
        counting = self._tests.counted(self._server, self._tables, step)
        yield CountedTest(self._server, step, counting.count)
        self._end(step, counting)

    def settle(self, turn: Turn) -> None:
        del turn
        self._server.done += 1

    def _end(self, step: PlannedStep, counting: CountedStep) -> None:
        self._is_over = not counting.done
        if counting.done:
            self._tests.maintain(self._server, self._tables, step)
