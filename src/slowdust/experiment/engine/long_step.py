"""A long step on a contender: its turn, the rows in its tables, its sessions, its maintenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from slowdust.benchmarks.steps import LongStep, Maintenance, StepTable, StepWork, Workload
from slowdust.dbms.stages import Stage
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import PlanText, Prepare
from slowdust.experiment.plan import PlannedStep
from slowdust.units import Second


@dataclass
class Tables:
    """The rows in the tables of one contender in one incarnation."""

    names: list[str]
    inserted: list[int] = field(default_factory=list)
    """Rows that were ever inserted, at most, by table. Whoever missed a rate inserted fewer, and
    goes on with the same rows as the others nevertheless."""
    rows: int = 0
    """Rows that should be in all tables."""
    written: int = 0
    """Rows in all tables, by the driver's inserts and deletes in the last step that ended."""

    def __post_init__(self) -> None:
        self.inserted = [0] * len(self.names)

    def grow(self, work: StepWork, clients: int) -> None:
        """Add the rows that so many clients insert, or may have inserted, in a step."""
        each_table = work.inserted * clients // len(self.names)
        self.inserted = [rows + each_table for rows in self.inserted]
        self.rows += (work.inserted - work.deleted) * clients


@dataclass(frozen=True)
class ContenderTurn:
    """A contender's turn in a step of one incarnation."""

    step: PlannedStep
    incarnation: int
    contender: RunningContender
    slot: int
    """The contender's place in the order of them all."""
    tables: Tables

    @property
    def test(self) -> LongStep:
        """The step of the benchmark."""
        return long_step(self.step)

    @property
    def session(self) -> str:
        """The driver's name for the session."""
        return self.step.session(self.contender.name, self.incarnation)


def long_step(step: PlannedStep) -> LongStep:
    """Return the test of a step, which is a long one."""
    assert isinstance(step.test, LongStep)
    return step.test


class Level(NamedTuple):
    """What a sequence of steps has in common, which begins with tables of its own."""

    clients: int
    hold: Second
    """The time for which a transaction is held open beside the work; 0: there is none."""


def level_of(step: PlannedStep) -> Level:
    """Return the level of a step, which is a long one."""
    return Level(step.clients, long_step(step).hold)


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


def maintenance_due(step: PlannedStep, sequence: Sequence[PlannedStep]) -> Maintenance:
    """Return the maintenance that follows a step of a sequence: after the writes only behind the
    last of them.
    """
    due = long_step(step).maintenance
    later = sequence[sequence.index(step) + 1 :]
    if due is Maintenance.AFTER_WRITES and any(long_step(s).maintenance is due for s in later):
        return Maintenance.AFTER_STEP
    return due


def stages_of(due: Maintenance, contender: RunningContender, tables: Sequence[str]) -> list[Stage]:
    """Return the stages of a contender's maintenance of its tables."""
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
