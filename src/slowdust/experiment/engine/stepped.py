"""The way to the steps of a benchmark that is measured in long steps.

Steps build on what those before them left: each sequence of them, a level, begins with tables that
are made anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from slowdust.benchmarks.steps import Server, StepBenchmark, StepWork, Workload
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.engine.long_step import (
    ContenderTurn,
    Level,
    StepCommands,
    Tables,
    level_of,
)
from slowdust.experiment.engine.loop import Allows, Go, Lane, OpenExperiment, Tests
from slowdust.experiment.engine.schedule import Start, in_turn
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec


def sized_workload(spec: Spec, benchmark: StepBenchmark, contenders: Contenders) -> Workload:
    """Start the servers, and size the benchmark to them.

    Raises:
        UsageError: the size depends on what the servers do not have, or the disk has no room.
    """
    contenders.start()
    contenders.for_each(contenders.measure_buffer_pool)
    workload = benchmark.workload(
        [
            Server(
                contender.family.bytes_per_row(contender.resolved.engine),
                contender.buffer_pool_bytes,
                contender.is_remote,
            )
            for contender in contenders.running()
        ]
    )
    workload.check_room(spec.clients, shutil.disk_usage(contenders.data_dir).free)
    return workload


@dataclass(frozen=True)
class OpenStep:
    """A step whose tables are as it wants them, with a turn of each contender that has them."""

    step: PlannedStep
    start: int
    turns: list[ContenderTurn]


class SteppedTests(Tests[OpenStep], Lane[OpenStep]):
    """The steps of all levels, in the order in which they need each other."""

    def __init__(self, experiment: OpenExperiment, workload: Workload) -> None:
        self.workload = workload
        self.without_tables: set[str] = set()
        """Names of the contenders that sit out the rest of a start."""
        self._contenders = experiment.contenders
        self._driver = experiment.contenders.driver
        self._commands = StepCommands(experiment.spec, workload.settings)
        self._steps = experiment.journal.steps
        self._number = 0
        self._level: Level | None = None
        self._tables: dict[str, Tables] = {}

    def steps(self, level: Level) -> list[PlannedStep]:
        return [step for step in self._steps if level_of(step) == level]

    def present(self) -> list[RunningContender]:
        """Return the contenders that have the tables for the next step."""
        running = self._contenders.running()
        return [each for each in running if each.name not in self.without_tables]

    def run(self, start: Start, go: Go[OpenStep]) -> None:
        """Start the servers; all contenders take part again, in tables yet to be made."""
        self._contenders.start(start.number - 1)
        self._number, self._level = start.number, None
        self.without_tables.clear()
        go(start, self)
        self._contenders.stop()

    def prepare(self, step: PlannedStep) -> None:
        """Make the tables of a level before its first step."""
        if level_of(step) != self._level:
            self._level = level_of(step)
            self._tables = self._make_tables(self._level)

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[OpenStep | None, None, None]:
        """Give each contender a turn: A B, in the next step B A.

        Its sessions begin with its turn, and what follows a step is a part of it.
        """
        del allows
        place = self.steps(level_of(step)).index(step)
        present = self.present()
        turns = [
            ContenderTurn(step, self._number, contender, slot, self._tables[contender.name])
            for slot, contender in enumerate(
                in_turn(self._contenders.all, place + self._number + 1)
            )
            if contender in present
        ]
        yield OpenStep(step, self._number, turns)

    def work(self, step: PlannedStep) -> StepWork:
        return self.workload.work(step.test.name, step.clients)

    def connect(self, turn: ContenderTurn) -> None:
        """Connect the clients of a turn. Raises TargetError."""
        command = self._commands.prepare(turn, self.work(turn.step))
        command.long_transaction = turn.test.held
        self._driver.prepare(command)

    def count_rows(self, turn: ContenderTurn) -> int:
        """Let the contender's server count the rows in all tables. Raises TargetError."""
        statements = [f"SELECT count(*) FROM {name}" for name in turn.tables.names]
        limit = self._driver.patience.maintenance(turn.tables.rows)
        target, parallel = turn.contender.target, len(statements)
        answers = self._driver.sql(target, statements, parallel, limit)
        return sum(int(rows or 0) for answer in answers for (rows,) in answer.rows)

    def _make_tables(self, level: Level) -> dict[str, Tables]:
        works = [self.work(step) for step in self.steps(level)]
        for contender in self.present():
            with self._contenders.guard(contender):
                command = self._commands.create(contender.target, level.clients, works)
                self._driver.create(command)
        clients = level.clients
        return {each.name: self._commands.tables(clients) for each in self._contenders.all}
