"""An experiment from its specification to its last slice.

For each incarnation: start the servers, load, and for each step open the clients, measure blocks
and close; maintenance between the writes and what follows on aged data. Incarnations go on until
every test is settled or the budget is spent.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path

from slowdust.benchmarks.model import Measuring
from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import PlanText, Rate
from slowdust.experiment.journal import (
    Beginning,
    Journal,
    check_beginning,
    method_of_slices,
    method_of_steps,
)
from slowdust.experiment.judging import Judge
from slowdust.experiment.plan import Deed, Step, Turn, maintenance_after, plan, turns, unsettled
from slowdust.experiment.setup import (
    enter,
    field_of,
    open_journal,
    record_failures,
    record_findings,
)
from slowdust.experiment.slices.blocks import Pace, StepRun, StepTurn, measure
from slowdust.experiment.slices.schedule import MINIMUM_BLOCKS, Budget, rounds, turns_left
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.steps.loop import LongSteps, sized_workload
from slowdust.experiment.view import Standing, Status, View
from slowdust.store.folder import Folder, Writer, writing
from slowdust.units import Second, format_duration
from slowdust.wording import counted

_BLOCKS_BEFORE_STOP = 5
"""Blocks of an incarnation before its test may be settled: fewer say little about this restart."""


def run_experiment(spec: Spec, results: Path, beginning: Beginning, view: View) -> Folder:
    """Run an experiment to its end; its folder.

    Raises:
        UsageError: the specification cannot be run, or its name is taken.
        SlowdustError: no contender is left, or Slowdust itself failed.
    """
    folder = Folder(results / spec.name)
    folder.refuse_if_running()
    check_beginning(folder, beginning)
    entries = enter(spec, view)
    with ExitStack() as stack:
        writer = stack.enter_context(writing(folder))
        check_beginning(folder, beginning)  # somebody may have run it meanwhile
        driver = stack.enter_context(Driver())
        field = stack.enter_context(field_of(entries, folder, view))
        run = _run_steps if spec.measuring is Measuring.STEPS else _run_slices
        run(spec, writer, driver, field, view).finish()
    return folder


def _run_slices(spec: Spec, writer: Writer, driver: Driver, field: Field, view: View) -> Journal:
    planned = spec.incarnations or rounds(spec.budget, len(plan(spec)))
    journal = open_journal(spec, writer, field, driver, method_of_slices(spec, planned))
    record_failures(field, journal, view)
    Experiment(spec, driver, field, journal, view).run(planned)
    return journal


def _run_steps(spec: Spec, writer: Writer, driver: Driver, field: Field, view: View) -> Journal:
    workload = sized_workload(spec, field, driver)
    planned = spec.incarnations or workload.incarnations
    method = method_of_steps(spec, planned, workload.method(spec.clients))
    journal = open_journal(spec, writer, field, driver, method)
    record_failures(field, journal, view)
    LongSteps(driver, field, journal, workload, view, seed=spec.seed).run(planned)
    return journal


class Experiment:
    """The incarnations of an experiment whose contenders are set up."""

    def __init__(
        self, spec: Spec, driver: Driver, field: Field, journal: Journal, view: View
    ) -> None:
        self._driver = driver
        self._field = field
        self._journal = journal
        self._view = view
        self._data = Data(spec.tables, spec.rows, spec.seed)
        rate = Rate(spec.rate.per_second, spec.rate.arrivals) if spec.rate else None
        self._pace = Pace(spec.slice, spec.discard, spec.warmup, rate)
        self._budget = Budget(spec.budget, journal.spent)
        self._judge = Judge(field.names, spec.margin, journal)
        self._seed = spec.seed
        self._next_operation: dict[str, int] = {}
        """By write test: where its next session goes on, lest rows be inserted twice."""

    def run(self, planned: int) -> None:
        """Run `planned` incarnations, then more for the unsure while the budget lasts."""
        self._warn_of_short_budget(planned)
        round_number = 1
        while self._wanted(round_number, planned):
            todo = turns(self._journal.steps, round_number)
            if todo:
                self._incarnation(todo, max(0, planned - round_number))
            round_number += 1

    def _wanted(self, round_number: int, planned: int) -> bool:
        wanting = sum(1 for _ in unsettled(self._journal.steps))
        alone = len(self._field.names) > 1 and not self._field.comparable
        if round_number <= (1 if alone else planned):
            return wanting > 0
        return not alone and self._budget.left > wanting * self._shortest_turn() > 0

    def _warn_of_short_budget(self, planned: int) -> None:
        least = planned * len(self._journal.steps) * self._shortest_turn()
        if least > self._budget.total:
            warning = (
                f"the budget of {format_duration(self._budget.total)} will be exceeded: "
                f"{counted(len(self._journal.steps), 'test')} in "
                f"{counted(planned, 'incarnation')} take at least {format_duration(least)}"
            )
            self._journal.warn(warning)
            self._view.warning(warning)

    def _shortest_turn(self) -> Second:
        """Below this a turn is not worth a restart: warm-up and the minimum of blocks."""
        contenders = len(self._field.running())
        slices = 2 * contenders * MINIMUM_BLOCKS
        return contenders * self._pace.warmup + slices * (self._pace.slice + self._pace.discard)

    def _incarnation(self, todo: list[Turn], rounds_after: int) -> None:
        number = self._journal.last_incarnation + 1
        self._next_operation.clear()
        maintained = maintenance_after(todo)
        self._field.start(self._driver, self._data)
        record_findings(self._field, self._journal)
        due = sum(turn.deed is Deed.MEASURE for turn in todo)
        for turn in todo:
            if turn.deed is Deed.AGE:
                self._age(turn.step, number)
            else:
                in_all = sum(1 for _ in unsettled(self._journal.steps))
                share = self._budget.share(turns_left(due, in_all, rounds_after))
                self._measure(turn.step, number, share)
                due -= 1
            if turn.step.test.writes:
                self._field.note_writes()
            if turn is maintained:
                self._field.maintain(self._driver, self._data, self._budget.total)
        self._field.stop()

    def _age(self, step: Step, incarnation: int) -> None:
        assert step.aged_to is not None
        self._view.phase(f"ageing the data by {step.test.name}")
        run = self._open(step, incarnation)
        run.age(step.aged_to)
        self._close(step, run)

    def _measure(self, step: Step, incarnation: int, share: Second) -> None:
        if step.test.consumes and step.test.name in self._next_operation:
            self._field.load(self._driver, self._data)
            self._next_operation.clear()
        begun = time.monotonic()

        def keep_plans(contender: Contender, plans: list[PlanText]) -> None:
            self._journal.add_plans(step, contender.name, plans)

        def enough(blocks: int) -> bool:
            standings = self._judge.standings(step)
            under_way = time.monotonic() - begun
            self._view.block(self._status(step, incarnation, standings, under_way))
            if run.used_up(self._data):
                return True
            return blocks >= _BLOCKS_BEFORE_STOP and self._settled(standings)

        run = self._open(step, incarnation)
        run.read_plans(keep_plans)
        run.warm_up()
        rng = random.Random(f"{self._seed}/{step.key}/{incarnation}")
        left = share - (time.monotonic() - begun)
        measure(run, left, rng, lambda record: self._journal.add(step, record), enough)
        if step.test.writes:
            self._journal.age(step, run.positions)
        self._close(step, run)
        self._budget.spent += time.monotonic() - begun
        standings = self._judge.standings(step)
        if self._settled(standings):
            self._journal.settle(step)
        self._journal.end_turn(step, self._budget.spent)
        self._view.step_done(self._status(step, incarnation, standings, under_way=0.0))

    def _open(self, step: Step, incarnation: int) -> StepRun:
        first = self._next_operation.get(step.test.name, 0)
        turn = StepTurn(step, incarnation, first)
        run = StepRun(self._driver, self._field, turn, self._pace)
        run.open(self._data)
        return run

    def _close(self, step: Step, run: StepRun) -> None:
        if step.test.writes:
            self._next_operation[step.test.name] = run.next_operation
        run.close()

    def _settled(self, standings: list[Standing]) -> bool:
        """Whether every contender that still runs needs no more slices beside the base."""
        if self._pace.rate is not None:
            return False  # its QPS is given, not found
        settled = {standing.contender for standing in standings if standing.settled}
        others = [contender.name for contender in self._field.running()]
        base = self._field.names[0]
        return self._field.comparable and settled >= set(others) - {base}

    def _status(
        self, step: Step, incarnation: int, standings: list[Standing], under_way: Second
    ) -> Status:
        steps = self._journal.steps
        return Status(
            test=step.test.name,
            clients=step.clients,
            step_number=steps.index(step) + 1,
            steps=len(steps),
            extent=f"{len(step.slices)} slices, incarnation {incarnation}",
            standings=standings,
            measured=self._budget.spent + under_way,
            budget=self._budget.total,
            settled=sum(step.settled for step in steps),
        )
