"""The counting of long steps: their sequence in few rows, each step in windows of its sessions.

The tables are made by the server under callgrind, which is fast enough while it does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowdust.benchmarks.steps import CountedWork, StepBenchmark, Workload
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.counting.procedure import CountedServer, CountStep, Procedure
from slowdust.experiment.counting.session import REPEATS
from slowdust.experiment.counting.starts import counted_steps
from slowdust.experiment.counting.step_session import WINDOWS, CountedStep, WorkSessions
from slowdust.experiment.driver.protocol import Create
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.steps.debt import maintenance_due, stages_of
from slowdust.experiment.steps.loop import partitions_of
from slowdust.experiment.steps.turn import ContenderTurn, Tables, long_step
from slowdust.units import Second


class StepProcedure(Procedure):
    """Counts the steps of a benchmark, in the order in which they need each other."""

    def __init__(self, spec: Spec, workload: Workload, contenders: Contenders) -> None:
        benchmark = spec.configured_benchmark()
        assert isinstance(benchmark, StepBenchmark)
        self._benchmark = benchmark.driver_benchmark
        self._table = benchmark.table
        self._seed = spec.seed
        self._settings = workload.settings
        self._contenders = contenders
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

    def expected(self, step: PlannedStep) -> Second:
        """Return nothing: what a step takes is known once it is counted, and it needs the others.

        What the budget does not suffice for is cut off.
        """
        del step
        return 0.0

    def plan(self, steps: Sequence[PlannedStep], time_of_each: Second) -> None:
        """Do nothing: the work of a step is always the same."""

    def prepare(self, start: int) -> None:
        """Do nothing: the tables are made under callgrind."""

    def turns(
        self, server: CountedServer, steps: Sequence[PlannedStep]
    ) -> Iterator[tuple[PlannedStep, CountStep]]:
        """Yield the steps in their order, up to one that fails: the next ones need its rows.

        Steps before and between them are carried out and not counted.
        """
        tables = self._make_tables(server)
        last = max(self.steps.index(step) for step in steps)
        for step in self.steps[: last + 1]:
            turn = ContenderTurn(step, server.start, server.contender, 0, tables)
            sessions = WorkSessions(server, turn, self._benchmark, self._seed, self._settings)
            counting = CountedStep(sessions, self._works[step.test.name])
            if step in steps:
                yield step, counting.count
            else:
                counting.carry_out()
            if not counting.done:
                return
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
