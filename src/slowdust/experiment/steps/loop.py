"""The loop of benchmarks that are measured in long steps.

An incarnation starts the servers, makes the tables, and goes through the steps: each is carried
out on every contender before the next begins. Contenders take turns, after each chunk of the step
or after all of it; while one has its turn in a chunk, the others' servers stand still, but for
those that ran already. Who begins alternates by step and by incarnation. A contender that does not
finish a step goes on with the next one, on a server that is started again, unless the step made the
tables that the next ones need.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import replace

from slowdust.benchmarks.steps import Server, StepBenchmark, StepTable, StepWork, Workload
from slowdust.experiment.announced import Announced
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Create, Partitions
from slowdust.experiment.freezer import Freezer, MakeFreezer
from slowdust.experiment.journal import OpenJournal
from slowdust.experiment.judging import Judge
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.round_trips import RoundTrips
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.steps.forecast import Forecast
from slowdust.experiment.steps.step import StepRunner
from slowdust.experiment.steps.turn import ContenderTurn, Level, Tables, level_of
from slowdust.experiment.steps.turns import Turns
from slowdust.experiment.view import Status, View
from slowdust.store.manifest import Method
from slowdust.units import Second, format_duration
from slowdust.wording import counted


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


def method_of_steps(spec: Spec, workload: Workload) -> Method:
    """Return how long steps are measured: without slices, until the steps end."""
    method = Method(
        seed=spec.seed,
        slice_s=0.0,
        discard_s=0.0,
        warmup_s=0.0,
        budget_s=spec.budget_of_steps or 0.0,
        margin=spec.margin,
        memory_bytes=spec.memory,
        pool_bytes=spec.pool,
        incarnations=spec.planned_incarnations(workload.incarnations),
    )
    workload.add_to(method, spec.clients)
    return method


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


def turn_order(contenders: int, place: int, incarnation: int) -> list[int]:
    """Return the indices of the contenders for the step at `place`: A B, then B A."""
    order = list(range(contenders))
    return order if (place + incarnation) % 2 else order[::-1]


class StepLoop:
    """Measures a specification's tests in long steps, on contenders that are set up."""

    def __init__(
        self,
        spec: Spec,
        workload: Workload,
        contenders: Contenders,
        journal_of: OpenJournal,
        view: View,
        *,
        announced: Announced | None = None,
        freezer: MakeFreezer = Freezer,
    ) -> None:
        """`freezer` makes what lets the servers of the others stand still during a chunk.

        Without `announced` it takes any time.
        """
        self.journal = journal_of(method_of_steps(spec, workload))
        self._benchmark = spec.configured_benchmark()
        self._contenders = contenders
        self.workload = workload
        self._view = view
        self._announced = announced or Announced(view)
        self._levels = list(dict.fromkeys(map(level_of, self.journal.steps)))
        runner = StepRunner(contenders, self._benchmark.driver_benchmark, workload, spec.seed)
        self._turns = Turns(contenders, runner, workload, self.journal, view, freezer=freezer)
        self._round_trips = RoundTrips(contenders, self.journal)
        self._judge = Judge(contenders.names, spec.margin, self.journal)
        self._forecast = Forecast(self.journal.steps, workload.seconds, self.journal.spent)
        self._budget = spec.budget_of_steps
        self._planned = self.journal.manifest.method.incarnations
        to_come = max(self._forecast.to_come(self._planned, level) for level in self._levels)
        self._last = self.journal.last_incarnation + to_come
        """The number of the last incarnation that is planned."""

    def run(self) -> None:
        """Run the planned incarnations that any step lacks; with a budget as many as are wanted.

        A budget ends early when every step that is chosen is settled: steps build on the tables of
        those before them, so that an incarnation has all of them.
        """
        round_number = 1
        while self._wanted(round_number) and self._has_time(round_number):
            levels = [level for level in self._levels if self._incomplete(level, round_number)]
            if levels:
                self._incarnation(levels)
            round_number += 1

    def _wanted(self, round_number: int) -> bool:
        if self._budget is None:
            return round_number <= self._planned
        done = self.journal.last_incarnation
        length = self._forecast.elapsed / done if done else 0.0
        if round_number == 2:  # the length of an incarnation is known
            self._warn_of_short_budget(self._budget, self._planned * length)
        if not self._contenders.comparable:
            return round_number <= self._planned
        room = round_number <= self._planned or self._forecast.elapsed + length <= self._budget
        return room and self._open_steps()

    def _has_time(self, round_number: int) -> bool:
        """Return whether one more incarnation does not take more time than was granted."""
        done = self.journal.last_incarnation
        length = self._forecast.elapsed / done if done and round_number > 1 else 0.0
        return self._announced.allows(length)

    def _open_steps(self) -> bool:
        settled = self._settled()
        return any(step.chosen and step.key not in settled for step in self.journal.steps)

    def _settled(self) -> set[str]:
        running = (contender.name for contender in self._contenders.running())
        others = [name for name in running if name != self._contenders.names[0]]
        return self._judge.settled(others)

    def _warn_of_short_budget(self, budget: Second, planned: Second) -> None:
        if planned > budget:
            warning = (
                f"the budget of {format_duration(budget)} will be exceeded: "
                f"{counted(self._planned, 'incarnation')} take about {format_duration(planned)}"
            )
            self.journal.warn(warning)
            self._view.warning(warning)

    def _incomplete(self, level: Level, round_number: int) -> bool:
        return any(step.turns_done < round_number for step in self._steps(level))

    def _steps(self, level: Level) -> list[PlannedStep]:
        return [step for step in self.journal.steps if level_of(step) == level]

    def _incarnation(self, levels: list[Level]) -> None:
        number = self.journal.last_incarnation + 1
        self._contenders.start()
        self.journal.record_servers(self._contenders)
        self._turns.begin_incarnation()
        # Reports show levels side by side: drift should not always add to the same of them.
        for level in levels if number % 2 else levels[::-1]:
            self._sequence(level, number)
        self._contenders.stop()

    def _sequence(self, level: Level, number: int) -> None:
        """Run all steps of a level, which begin with tables of their own."""
        steps = self._steps(level)
        self._round_trips.measure()
        tables = self._make_tables(steps, level.clients)
        for place, step in enumerate(steps):
            order = turn_order(len(self._contenders.all), place, number)
            turns = [
                ContenderTurn(step, number, contender, slot, tables[contender.name])
                for slot, index in enumerate(order)
                if (contender := self._contenders.all[index]) in self._turns.present()
            ]
            begun = time.monotonic()
            self._turns.take(turns)
            self._forecast.took(step, (time.monotonic() - begun) / max(1, len(turns)))
            self.journal.end_turn(step, self._forecast.elapsed)
            status = self._status(step, number)
            self._view.step_done(status)
            if status.left is not None:
                self._announced.correct(status.left, f"{step.test.name} is done")

    def _make_tables(self, steps: list[PlannedStep], clients: int) -> dict[str, Tables]:
        count = self.workload.settings.tables(clients)
        names = [f"{self._benchmark.table}{number}" for number in range(1, count + 1)]
        works = [self.workload.work(step.test.name, clients) for step in steps]
        partitions = partitions_of(works, self.workload.settings, clients)
        for contender in self._turns.present():
            with self._contenders.guard(contender):
                command = Create(
                    target=contender.target,
                    benchmark=self._benchmark.driver_benchmark,
                    tables=count,
                    partitions=partitions,
                )
                self._contenders.driver.create(command)
        return {contender.name: Tables(names) for contender in self._contenders.all}

    def _status(self, step: PlannedStep, number: int) -> Status:
        if self._budget is not None:
            status = self._judge.status(
                step,
                extent=f"start {number}",
                measured=self._forecast.elapsed,
                budget=self._budget,
                settled=len(self._settled()),
            )
            left = max(0.0, self._budget - self._forecast.elapsed)
            return self._with_time(status, left)
        left = self._forecast.left(self._planned, len(self._contenders.running()))
        status = self._judge.status(
            step,
            extent=f"start {number} of {self._last}",
            measured=self._forecast.elapsed,
            budget=self._forecast.elapsed + left,
            settled=None,
        )
        return self._with_time(status, left)

    def _with_time(self, status: Status, left: Second) -> Status:
        following = self._announced.following.together
        return replace(status, left=left + following, following=following)
