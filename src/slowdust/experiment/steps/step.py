"""The preparation of long steps on contenders, and the count of the rows that they leave."""

from __future__ import annotations

import time

from slowdust.benchmarks.steps import StepTable, StepWork, Workload
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import PlanText, Prepare
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.steps.measurement import Measurement
from slowdust.experiment.steps.turn import ContenderTurn
from slowdust.units import Second

_ENDING: Second = 0.2
"""Time for server processes to end whose connections looked at the tables before the step."""


def command_of(
    turn: ContenderTurn, work: StepWork, benchmark: str, seed: int, settings: StepTable
) -> Prepare:
    """Return the command that prepares a turn's work, with nothing held open beside it.

    `benchmark` is the driver's name of the benchmark.
    """
    return Prepare(
        session=turn.session,
        target=turn.contender.target,
        benchmark=benchmark,
        clients=turn.step.clients,
        tables=len(turn.tables.names),
        seed=seed,
        inserted=turn.tables.inserted,
        statements=settings.statements,
        work=work.command,
    )


class StepRunner:
    """Prepares steps on contenders; what a server does not do raises TargetError."""

    def __init__(
        self, contenders: Contenders, benchmark: str, workload: Workload, seed: int
    ) -> None:
        """`benchmark` is the driver's name of the benchmark."""
        self._benchmark = benchmark
        self._workload = workload
        self._driver = contenders.driver
        self._seed = seed

    def prepare(self, turn: ContenderTurn) -> None:
        """Connect the clients."""
        command = command_of(
            turn, self.work(turn.step), self._benchmark, self._seed, self._workload.settings
        )
        command.long_transaction = turn.test.held
        self._driver.prepare(command)

    def read_plans(self, turn: ContenderTurn) -> list[PlanText]:
        """Return the plans of the prepared step's statements, each executed once if possible."""
        return self._driver.explain(turn.session, operations=1)

    def begin(self, turn: ContenderTurn, idle: list[RunningContender]) -> Measurement:
        """Return the measurement of the prepared step."""
        time.sleep(_ENDING)
        rows_before = turn.tables.rows
        turn.tables.grow(self.work(turn.step), turn.step.clients)
        return Measurement(self._driver, turn, turn.contender.window(idle), rows_before)

    def count_rows(self, turn: ContenderTurn) -> int:
        """Let the contender's server count the rows in all tables."""
        statements = [f"SELECT count(*) FROM {name}" for name in turn.tables.names]
        counted = 0
        limit = self._driver.patience.maintenance(turn.tables.rows)
        parallel = len(statements)
        for answer in self._driver.sql(turn.contender.target, statements, parallel, limit):
            ((rows,),) = answer.rows
            counted += int(rows or 0)
        return counted

    def work(self, step: PlannedStep) -> StepWork:
        """Return the work of each client in a step."""
        return self._workload.work(step.test.name, step.clients)
