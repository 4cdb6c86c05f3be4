"""The steps of a benchmark that is measured in long steps.

Steps build on the rows of earlier steps: each sequence of steps, a level, begins with new tables.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from slowdust.benchmarks.steps import (
    LongStep,
    Maintenance,
    Server,
    StepBenchmark,
    StepTable,
    StepWork,
    Workload,
)
from slowdust.dbms.access import Target
from slowdust.dbms.stages import Stage
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Create, Partitions, Prepare
from slowdust.experiment.engine.loop import Allows, Go, Lane, OpenExperiment, Tests
from slowdust.experiment.engine.schedule import Start, in_turn
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.units import Second


@dataclass
class Tables:
    """The rows in the tables of one contender in one start."""

    names: list[str]
    inserted: list[int] = field(default_factory=list)
    """Maximum number of rows ever inserted, by table. A contender that missed its rate inserted
    fewer, but continues with the same rows as the others."""
    rows: int = 0
    """Rows that should be in all tables."""
    written: int = 0
    """Rows in all tables, by the driver's inserts and deletes in the last finished step."""

    def __post_init__(self) -> None:
        self.inserted = [0] * len(self.names)

    def grow(self, work: StepWork, clients: int) -> None:
        """Add the rows that `clients` clients insert, or may have inserted, in a step."""
        each_table = work.inserted * clients // len(self.names)
        self.inserted = [rows + each_table for rows in self.inserted]
        self.rows += (work.inserted - work.deleted) * clients


@dataclass(frozen=True)
class ContenderTurn:
    """A contender's turn in a step of one start."""

    step: PlannedStep
    start: int
    contender: RunningContender
    slot: int
    """The contender's position in the order."""
    tables: Tables

    @property
    def test(self) -> LongStep:
        return long_step(self.step)

    @property
    def session(self) -> str:
        return self.step.session(self.contender.name, self.start)


def long_step(step: PlannedStep) -> LongStep:
    assert isinstance(step.test, LongStep)
    return step.test


class Level(NamedTuple):
    """The common properties of a sequence of steps that begins with new tables."""

    clients: int
    hold: Second
    """The time for which a transaction is held open during the work; 0 for no transaction."""


def level_of(step: PlannedStep) -> Level:
    return Level(step.clients, long_step(step).hold)


def partition_keys(
    works: Iterable[StepWork], settings: StepTable, clients: int
) -> Partitions | None:
    """Return equal ranges of all keys that a table will ever have; None without partitions.

    `works` is the work of each client, by step.
    """
    count = settings.partitions
    if not count:
        return None
    keys = sum(work.inserted for work in works) * clients // settings.tables(clients)
    return Partitions(count=count, rows_each=max(1, -(-keys // count)))


class StepCommands:
    """The driver's commands for the long steps of an experiment."""

    def __init__(self, spec: Spec, settings: StepTable) -> None:
        benchmark = spec.configured_benchmark()
        self._benchmark = benchmark.driver_benchmark
        self._table = benchmark.table
        self._seed = spec.seed
        self._settings = settings

    def tables(self, clients: int) -> Tables:
        count = self._settings.tables(clients)
        return Tables([f"{self._table}{number}" for number in range(1, count + 1)])

    def create(self, target: Target, clients: int, works: Iterable[StepWork]) -> Create:
        return Create(
            target=target,
            benchmark=self._benchmark,
            tables=self._settings.tables(clients),
            partitions=partition_keys(works, self._settings, clients),
        )

    def prepare(self, turn: ContenderTurn, work: StepWork) -> Prepare:
        """Return the command that prepares a turn's work, without a held transaction."""
        return Prepare(
            session=turn.session,
            target=turn.contender.target,
            benchmark=self._benchmark,
            clients=turn.step.clients,
            tables=len(turn.tables.names),
            seed=self._seed,
            inserted=turn.tables.inserted,
            statements=self._settings.statements,
            work=work.command,
        )


def maintenance_due(step: PlannedStep, sequence: Sequence[PlannedStep]) -> Maintenance:
    """Return the maintenance after a step of a sequence: AFTER_WRITES only after the last such
    step.
    """
    due = long_step(step).maintenance
    later = sequence[sequence.index(step) + 1 :]
    if due is Maintenance.AFTER_WRITES and any(long_step(s).maintenance is due for s in later):
        return Maintenance.AFTER_STEP
    return due


def choose_stages(
    due: Maintenance, contender: RunningContender, tables: Sequence[str]
) -> list[Stage]:
    family, site = contender.family, contender.server.site
    match due:
        case Maintenance.AFTER_LOAD:
            return family.after_load(site, tables)
        case Maintenance.AFTER_WRITES:
            return family.after_writes(site, tables)
        case Maintenance.AFTER_STEP:
            return family.after_step(site, tables)
        case Maintenance.NONE:
            return []


def sized_workload(spec: Spec, benchmark: StepBenchmark, contenders: Contenders) -> Workload:
    """Start the servers, and size the benchmark to them.

    Raises:
        UsageError: the size depends on facts that the servers lack, or the disk is too small.
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
    """A step with its tables prepared, and a turn of each contender that has them."""

    step: PlannedStep
    start: int
    turns: list[ContenderTurn]


class SteppedTests(Tests[OpenStep], Lane[OpenStep]):
    """The steps of all levels, in the order of their dependencies."""

    def __init__(self, experiment: OpenExperiment, workload: Workload) -> None:
        self.workload = workload
        self.without_tables: set[str] = set()
        """Names of the contenders that miss the rest of a start."""
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
        running = self._contenders.running()
        return [each for each in running if each.name not in self.without_tables]

    def run(self, start: Start, go: Go[OpenStep]) -> None:
        """Start the servers; all contenders take part again, in tables yet to be created."""
        self._contenders.start(start.number - 1)
        self._number, self._level = start.number, None
        self.without_tables.clear()
        go(start, self)
        self._contenders.stop()

    def prepare(self, step: PlannedStep) -> None:
        if level_of(step) != self._level:
            self._level = level_of(step)
            self._tables = self._create_tables(self._level)

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[OpenStep | None, None, None]:
        """Yield a turn of each contender: A B, in the next step B A.

        Its sessions begin with its turn, and maintenance after the step is part of the step.
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
        """Make the contender's server count the rows in all tables. Raises TargetError."""
        statements = [f"SELECT count(*) FROM {name}" for name in turn.tables.names]
        limit = self._driver.patience.maintenance(turn.tables.rows)
        target, parallel = turn.contender.target, len(statements)
        answers = self._driver.sql(target, statements, parallel, limit)
        return sum(int(rows or 0) for answer in answers for (rows,) in answer.rows)

    def _create_tables(self, level: Level) -> dict[str, Tables]:
        works = [self.work(step) for step in self.steps(level)]
        for contender in self.present():
            with self._contenders.guard(contender):
                command = self._commands.create(contender.target, level.clients, works)
                self._driver.create(command)
        clients = level.clients
        return {each.name: self._commands.tables(clients) for each in self._contenders.all}
