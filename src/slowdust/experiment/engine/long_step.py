"""A long step on a contender: its turn, the rows in its tables, its sessions, its maintenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from slowdust.benchmarks.steps import LongStep, Maintenance, StepTable, StepWork
from slowdust.dbms.access import Target
from slowdust.dbms.stages import Stage
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.protocol import Create, Partitions, Prepare
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
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
        return long_step(self.step)

    @property
    def session(self) -> str:
        return self.step.session(self.contender.name, self.incarnation)


def long_step(step: PlannedStep) -> LongStep:
    assert isinstance(step.test, LongStep)
    return step.test


class Level(NamedTuple):
    """What a sequence of steps has in common, which begins with tables of its own."""

    clients: int
    hold: Second
    """The time for which a transaction is held open beside the work; 0: there is none."""


def level_of(step: PlannedStep) -> Level:
    return Level(step.clients, long_step(step).hold)


def partitions_of(
    works: Iterable[StepWork], settings: StepTable, clients: int
) -> Partitions | None:
    """Return equal ranges of all keys that a table will ever have; None without partitions.

    `works` are those of each client.
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
            partitions=partitions_of(works, self._settings, clients),
        )

    def prepare(self, turn: ContenderTurn, work: StepWork) -> Prepare:
        """Return the command that prepares a turn's work, with nothing held open beside it."""
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
    """Return the maintenance that follows a step of a sequence: after the writes only behind the
    last of them.
    """
    due = long_step(step).maintenance
    later = sequence[sequence.index(step) + 1 :]
    if due is Maintenance.AFTER_WRITES and any(long_step(s).maintenance is due for s in later):
        return Maintenance.AFTER_STEP
    return due


def stages_of(due: Maintenance, contender: RunningContender, tables: Sequence[str]) -> list[Stage]:
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
