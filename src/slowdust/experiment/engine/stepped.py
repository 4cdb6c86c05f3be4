"""The way to the steps of a benchmark that is measured in long steps.

Steps build on what those before them left: each sequence of them, a level, begins with tables that
are made anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from slowdust.benchmarks.steps import Server, StepBenchmark, StepTable, StepWork, Workload
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Create, Partitions
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.long_step import (
    ContenderTurn,
    Level,
    StepRunner,
    Tables,
    level_of,
)
from slowdust.experiment.engine.loop import Allows, Go, Lane, Tests
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


@dataclass(frozen=True)
class OpenStep:
    """A step whose tables are as it wants them, with a turn of each contender that has them."""

    step: PlannedStep
    start: int
    turns: list[ContenderTurn]


class SteppedTests(Tests[OpenStep], Lane[OpenStep]):
    """The steps of all levels, in the order in which they need each other."""

    def __init__(self, experiment: OpenExperiment, workload: Workload) -> None:
        benchmark = experiment.spec.configured_benchmark()
        self.workload = workload
        self.without_tables: set[str] = set()
        """Names of the contenders that sit out the rest of a start."""
        self._contenders = experiment.contenders
        self._benchmark = benchmark
        self.runner = StepRunner(
            self._contenders, benchmark.driver_benchmark, workload, experiment.spec.seed
        )
        self._steps = experiment.journal.steps
        self._number = 0
        self._level: Level | None = None
        self._tables: dict[str, Tables] = {}

    def steps(self, level: Level) -> list[PlannedStep]:
        """Return all steps of a level."""
        return [step for step in self._steps if level_of(step) == level]

    def present(self) -> list[RunningContender]:
        """Return the contenders that have the tables for the next step."""
        running = self._contenders.running()
        return [each for each in running if each.name not in self.without_tables]

    def run(self, start: Start, go: Go[OpenStep]) -> None:
        """Start the servers; all contenders take part again, in tables yet to be made."""
        self._contenders.start()
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

    def _make_tables(self, level: Level) -> dict[str, Tables]:
        settings = self.workload.settings
        count = settings.tables(level.clients)
        names = [f"{self._benchmark.table}{number}" for number in range(1, count + 1)]
        works = [self.runner.work(step) for step in self.steps(level)]
        partitions = partitions_of(works, settings, level.clients)
        for contender in self.present():
            with self._contenders.guard(contender):
                command = Create(
                    target=contender.target,
                    benchmark=self._benchmark.driver_benchmark,
                    tables=count,
                    partitions=partitions,
                )
                self._contenders.driver.create(command)
        return {contender.name: Tables(names) for contender in self._contenders.all}
