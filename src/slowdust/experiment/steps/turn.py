"""A contender's turn in a long step, and the rows in its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from slowdust.benchmarks.steps import LongStep, StepWork
from slowdust.experiment.contender import RunningContender
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
