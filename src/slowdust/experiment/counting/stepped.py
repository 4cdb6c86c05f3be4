"""The counting of long steps: their sequence in few rows, each step in windows of its sessions.

The tables are made by the server under callgrind, which is fast enough while it does not count.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from slowdust.benchmarks.steps import CountedWork, StepBenchmark, Workload
from slowdust.experiment.counting.servers import CountedServer, CountedServers, CountedTest
from slowdust.experiment.counting.session import REPEATS
from slowdust.experiment.counting.starts import counted_steps
from slowdust.experiment.counting.step_session import WINDOWS, CountedStep, WorkSessions
from slowdust.experiment.driver.protocol import Create
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.long_step import (
    ContenderTurn,
    Tables,
    long_step,
    maintenance_due,
    stages_of,
)
from slowdust.experiment.engine.loop import Allows, Lane
from slowdust.experiment.engine.schedule import Action, Turn
from slowdust.experiment.engine.stepped import partitions_of
from slowdust.experiment.plan import PlannedStep


class StepsUnderCallgrind(CountedServers):
    """Counts the steps of a benchmark, in the order in which they need each other."""

    def __init__(
        self, experiment: OpenExperiment, workload: Workload, options: Sequence[str] = ()
    ) -> None:
        """`options` are more of callgrind's."""
        super().__init__(experiment, options)
        spec = experiment.spec
        benchmark = spec.configured_benchmark()
        assert isinstance(benchmark, StepBenchmark)
        self._benchmark = benchmark.driver_benchmark
        self._table = benchmark.table
        self._seed = spec.seed
        self._settings = workload.settings
        self._works: dict[str, CountedWork] = {}
        sequence = [step for step in counted_steps(spec) if not long_step(step).hold]
        for step in sequence:
            if (work := workload.counted(step.test.name, WINDOWS)) is None:
                break
            self._works[step.test.name] = work
        self.steps = sequence[: len(self._works)]

    def repeats(self, step: PlannedStep) -> int:
        """Return the number of windows: one of a step that is counted as a whole."""
        return 1 if self._works[step.test.name].whole else REPEATS

    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return turns up to the last of the steps; those before and between them only write."""
        last = max(self.steps.index(step) for step in steps)
        return [
            Turn(step, Action.MEASURE if step in steps else Action.AGE)
            for step in self.steps[: last + 1]
        ]

    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Make the tables under callgrind, which is fast enough while it does not count."""
        del turns
        return _SteppedLane(self, server, self._make_tables(server))

    def counted(self, server: CountedServer, tables: Tables, step: PlannedStep) -> CountedStep:
        """Return a step on a server under callgrind."""
        turn = ContenderTurn(step, server.start, server.contender, 0, tables)
        sessions = WorkSessions(server, turn, self._benchmark, self._seed, self._settings)
        return CountedStep(sessions, self._works[step.test.name])

    def maintain(self, server: CountedServer, tables: Tables, step: PlannedStep) -> None:
        """Carry out the maintenance that follows a step."""
        stages = stages_of(maintenance_due(step, self.steps), server.contender, tables.names)
        self._contenders.maintain(server.contender, stages, tables.rows, server.driver)

    def _make_tables(self, server: CountedServer) -> Tables:
        works = [
            work
            for counted in self._works.values()
            for work in (counted.before, counted.work)
            if work is not None
        ]
        names = [f"{self._table}{n + 1}" for n in range(self._settings.tables(1))]
        command = Create(
            target=server.contender.target,
            benchmark=self._benchmark,
            tables=len(names),
            partitions=partitions_of(works, self._settings, 1),
        )
        server.driver.create(command)
        return Tables(names)


class _SteppedLane(Lane[CountedTest]):
    """A server under callgrind: steps up to one that fails, since the next ones need its rows."""

    def __init__(self, tests: StepsUnderCallgrind, server: CountedServer, tables: Tables) -> None:
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
