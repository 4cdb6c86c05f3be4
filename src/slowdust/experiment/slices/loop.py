"""The loop of benchmarks that are measured in slices.

For each incarnation: start the servers, load, and for each step open the clients, measure blocks
and close; maintenance between the writes and what follows on aged data. Incarnations go on until
every test is settled or the budget is spent.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from slowdust.analysis.comparison.verdict import FEWEST_INCARNATIONS, MINIMUM_BLOCKS
from slowdust.analysis.results.storage import small_data
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Rate
from slowdust.experiment.journal import OpenJournal
from slowdust.experiment.judging import Judge, all_far, all_settled
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.round_trips import RoundTrips
from slowdust.experiment.slices import schedule
from slowdust.experiment.slices.beneath import Beneath
from slowdust.experiment.slices.blocks import Pace, StepSessions, measure
from slowdust.experiment.slices.counters import Counters
from slowdust.experiment.slices.delays import Delays
from slowdust.experiment.slices.lacking import leave_out_what_is_lacking
from slowdust.experiment.slices.length import (
    LENGTHS,
    USUAL,
    choose_length,
    lengths_with_enough,
    record_seconds,
    usual_length,
)
from slowdust.experiment.slices.preparation import Preparations
from slowdust.experiment.slices.recall import Recalls
from slowdust.experiment.slices.remaining import Remaining, TurnsToCome
from slowdust.experiment.slices.tables import LoadedTables, data_of
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import Status, View
from slowdust.store.bounds import MOST_SLICES
from slowdust.store.manifest import Method, StepFailure
from slowdust.units import Second, format_duration
from slowdust.wording import counted

_BLOCKS_BEFORE_STOP = 5
"""Blocks of an incarnation before its test may be settled: fewer say little about this restart."""

_LOOK_EVERY: Second = 0.5
"""Time between two looks at the verdicts: judging all tests takes longer than a short slice."""


def method_of_slices(spec: Spec) -> Method:
    """Return how a specification's tests are measured in slices."""
    benchmark = spec.configured_benchmark()
    unused = {"tables", "rows"} if spec.workload else benchmark.unused_keys
    return Method(
        seed=spec.seed,
        tables=None if "tables" in unused else spec.tables,
        rows=None if "rows" in unused else spec.rows,
        data=benchmark.loaded(spec.rows),
        slice_s=spec.slice,
        discard_s=spec.discard,
        warmup_s=spec.warmup,
        budget_s=spec.budget,
        margin=spec.margin,
        memory_bytes=spec.memory,
        pool_bytes=spec.pool,
        incarnations=schedule.incarnations(spec, len(plan(spec))),
        rate=spec.rate.per_second if spec.rate else None,
        arrivals=spec.rate.arrivals if spec.rate else None,
        trial=spec.trial,
    )


class SliceLoop:
    """Measures a specification's tests in slices, on contenders that are set up."""

    def __init__(
        self,
        spec: Spec,
        contenders: Contenders,
        journal_of: OpenJournal,
        view: View,
        announced: Announced,
    ) -> None:
        self.journal = journal_of(method_of_slices(spec))
        self._contenders = contenders
        self._view = view
        self._announced = announced
        self._preparations = Preparations(
            contenders, self.journal.manifest.contenders, self.journal.manifest.preparations, view
        )
        self._tables = LoadedTables(contenders, data_of(spec), self._preparations, view)
        self._counters = Counters(contenders, self.journal)
        self._recalls = Recalls(contenders, self.journal, self._tables.data, view)
        self._round_trips = RoundTrips(contenders, self.journal)
        self._delays = Delays(contenders) if spec.is_calibration else None
        rate = Rate(spec.rate.per_second, spec.rate.arrivals) if spec.rate else None
        self._pace = Pace(spec.discard, spec.warmup, rate)
        self._budget = schedule.Budget(spec.budget, self.journal.spent)
        self._judge = Judge(contenders.names, spec.margin, self.journal)
        self._seed = spec.seed
        self._given_pool = spec.pool is not None
        self._remaining = Remaining()
        self._round = 0
        """Number of the incarnation that runs, among those that are planned."""
        self._far: set[str] = set()
        """Steps whose contenders are so far apart that few operations decide."""
        for sentence in leave_out_what_is_lacking(self.journal.steps, contenders.all):
            self.journal.warn(sentence)
            view.warning(sentence)
        self._next_operation: dict[str, int] = {}
        """Test of the driver that writes -> where its next session goes on, so that no row is
        inserted twice."""

    def run(self) -> None:
        """Run the planned incarnations, then more for the unsure while the budget lasts."""
        self._warn_of_short_budget(self._planned)
        self._judge_all()  # of a resumed experiment, whose verdicts may have been others
        self._round = 1
        while self._wanted():
            todo = schedule.turns(self.journal.steps, self._round)
            if todo:
                self._incarnation(todo)
            self._round += 1

    @property
    def _planned(self) -> int:
        return self.journal.manifest.method.incarnations

    def _wanted(self) -> bool:
        """Return whether another incarnation is planned, or afforded, and there is time for it."""
        wanting = [step for step in self.journal.steps if step.is_open]
        alone = len(self._contenders.names) > 1 and not self._contenders.comparable
        if self._announced.ended_early or not wanting:
            return False
        if self._round > (1 if alone else self._planned):
            least = sum(self._least(step, _BLOCKS_BEFORE_STOP) for step in wanting)
            fits = self._remaining.beside_start(0.0) + least <= self._announced.room
            return not alone and self._budget.left > least > 0 and fits
        turns = (self._least(step) for step in wanting if step.turns_done < self._round)
        return self._round == 1 or self._announced.allows(
            self._remaining.beside_start(0.0) + sum(turns)
        )

    def _least(self, step: PlannedStep, blocks: int = MINIMUM_BLOCKS) -> Second:
        """Return what a turn of a step with so many blocks takes, or the shortest it can have."""
        usual = self._shortest_turn(blocks)
        return max(usual, self._remaining.shortest_turn(step.key, usual))

    def _unsettled(self) -> int:
        return sum(step.is_open for step in self.journal.steps)

    def _warn_of_short_budget(self, planned: int) -> None:
        turn = self._shortest_turn(MINIMUM_BLOCKS)
        lacking = [planned - step.turns_done for step in self.journal.steps if step.is_open]
        turns = sum(max(0, lack) for lack in lacking)
        least = turns * turn
        if least > self._budget.left:
            warning = (
                f"the budget of {format_duration(self._budget.total)} will be exceeded: "
                f"{counted(len(lacking), 'test')} in "
                f"{counted(max(lacking), 'incarnation')} take at least {format_duration(least)}"
            )
            self.journal.warn(warning)
            self._view.warning(warning)

    def _shortest_turn(self, blocks: int) -> Second:
        """Return the length of a turn with so many blocks: warm-up, and slices with discards."""
        contenders = len(self._contenders.running())
        slices = 2 * contenders * blocks
        method = self.journal.manifest.method
        length = method.slice_s or max(method.slice_lengths.values(), default=USUAL)
        return contenders * self._pace.warmup + slices * (length + self._pace.discard)

    def _incarnation(self, todo: list[schedule.Turn]) -> None:
        number = self.journal.last_incarnation + 1
        self._next_operation.clear()
        maintained = schedule.maintenance_after(todo)
        if self._delays is not None:
            self._tables.note_writes()  # data laid out once is one layout, however often it is read
        self._remaining.begin_incarnation()
        self._tables.start(number)
        self.journal.record_servers(self._contenders)
        took = format_duration(round(self._remaining.beside_start(0.0)))
        self._announced.correct(self._needed(0.0), f"starting and loading the servers takes {took}")
        self._warn_of_small_data()
        due = sum(turn.action is schedule.Action.MEASURE for turn in todo)
        for place, turn in enumerate(todo):
            if turn.action is schedule.Action.AGE:
                self._age(turn.step, number)
            else:
                if not self._announced.allows(self._least(turn.step)):
                    break
                rounds_after = max(0, self._planned - self._round)
                share = self._budget.share(
                    schedule.turns_left(due, self._unsettled(), rounds_after)
                )
                self._measure(turn.step, number, share)
                due -= 1
            if turn.step.test.changes_data:
                self._tables.note_writes()
            if turn is maintained:
                self._tables.maintain(self._budget.total)
            elif schedule.is_tidied(todo, place):
                self._tables.tidy(self._budget.total)
        self._contenders.stop()

    def _warn_of_small_data(self) -> None:
        """Say now, not only in the report, that data to be beyond the page caches are not."""
        if any(step.test.beyond_pool for step in self.journal.steps):
            for facts in self.journal.manifest.contenders:
                if (small := small_data(facts)) is not None:
                    self._view.warning(f"{facts.name}: {small}")

    def _age(self, step: PlannedStep, incarnation: int) -> None:
        assert step.aged_to is not None
        self._view.phase(f"ageing the data by {step.test.name}")
        run = self._open(step, incarnation)
        run.age(step.aged_to)
        self._close(step, run)

    def _measure(self, step: PlannedStep, incarnation: int, share: Second) -> None:
        begun = looked = time.monotonic()
        self._begin_turn(step, incarnation)
        if step.given_up:
            return
        counters_before = self._counters.totals(step.test)

        def enough(blocks: int) -> bool:
            nonlocal looked
            if run.used_up() or run.is_over:
                return True
            if time.monotonic() - looked < _LOOK_EVERY:
                return False
            looked = time.monotonic()
            status = self._status(step, incarnation, time.monotonic() - begun)
            self._view.block(status)
            if not self._announced.allows(run.expected_block(length)):
                return True
            enough_blocks = run.slowest_operation > length or blocks >= _BLOCKS_BEFORE_STOP
            return enough_blocks and (self._settled(step, status) or step.key in self._far)

        run = self._open(step, incarnation)
        per_second = run.warm_up(self._announced.allows)
        if self._announced.ended_early:
            self._close(step, run)
            return
        rng = random.Random(f"{self._seed}/{step.key}/{incarnation}")
        length = usual_length(per_second) if run.is_over else self._length(step, run, per_second)
        if self._delays is not None:
            self._delays.choose(run, step, length, rng)
        if not run.is_over:
            left = share - (time.monotonic() - begun)
            least = run.fewest_blocks(length) * run.expected_block(length)
            self._remaining.needs(step.key, time.monotonic() - begun + least)
            self._correct(step, run, time.monotonic() - begun)
            if self._announced.allows(least):
                measure(run, length, left, rng, keep=partial(self.journal.add, step), enough=enough)
        if step.test.writes and not run.is_over:
            self.journal.age(step, run.positions)
        if self._delays is not None:
            self._delays.clear()
        self._close(step, run)
        step.given_up = run.is_over
        if run.has_given_up and step.test.changes_data:
            self._tables.load()  # an operation that was cut short has left them as nobody knows
            self._next_operation.clear()
        took = time.monotonic() - begun
        self._budget.spent += took
        self._remaining.measured(took)
        self._counters.keep(step, incarnation, run.operations, counters_before)
        self._recalls.measure(step, incarnation)
        self._judge_all()
        if self._announced.ended_early:  # perhaps without all of the turn
            return
        self.journal.end_turn(step, self._budget.spent)
        self._view.step_done(self._status(step, incarnation, under_way=0.0))

    def _begin_turn(self, step: PlannedStep, incarnation: int) -> None:
        """Do what comes before a turn, and read the plans that the journal lacks.

        Their sessions are closed then: what was executed in them is no part of the servers' totals.
        """
        if step.test.consumes and step.test.driver_test in self._next_operation:
            self._tables.load()
            self._next_operation.clear()
        self._preparations.note_step(step)
        self._round_trips.measure()
        having = self._contenders.having(step.test)
        if not all(self.journal.has_plans(step, contender.name) for contender in having):
            run = self._open(step, incarnation)
            run.read_plans(partial(self.journal.add_plans, step))
            run.close()
            step.given_up = run.is_over

    def _judge_all(self) -> None:
        """Settle each test whose verdict holds now; measure again those that have lost theirs."""
        if not self._may_settle:
            return
        for step in self.journal.keep_settled(self._judge.settled(self._others(), self._lacking)):
            self._view.phase(f"{step.test.name} is open again: its verdict no longer holds")

    def _length(self, step: PlannedStep, run: StepSessions, per_second: float) -> Second:
        """Return the length of the step's slices: as given, as chosen before, or chosen now."""
        method = self.journal.manifest.method
        if method.slice_s is not None:
            return method.slice_s
        if step.key not in method.slice_lengths:
            chosen = self._chosen_length(step, run, per_second)
            self.journal.keep_length(step, max(chosen, self._budget.total / MOST_SLICES))
        return method.slice_lengths[step.key]

    def _chosen_length(self, step: PlannedStep, run: StepSessions, per_second: float) -> Second:
        share = self._budget.total / len(self.journal.steps)
        seconds = record_seconds(share, len(self._contenders.running()))
        if lengths_with_enough(per_second) == [LENGTHS[-1]]:
            seconds = 0.0  # there is nothing to choose, and a record of slow operations takes long
        if self._pace.rate is not None:
            seconds, per_second = 0.0, self._pace.rate.per_second
        if step.test.beside is not None:
            seconds = 0.0  # the side that is slower decides, of which no record is made
        # What consumes rows has none to spare.
        record = run.record_speed(seconds) if seconds and not step.test.consumes else None
        return choose_length(record, self._pace.discard) if record else usual_length(per_second)

    def _open(self, step: PlannedStep, incarnation: int) -> StepSessions:
        beneath = None
        if self._given_pool or step.test.beyond_pool:
            beneath = Beneath(self._contenders, step)
        run = StepSessions(
            self._contenders,
            step,
            incarnation,
            self._pace,
            data=self._tables.data,
            first=self._next_operation,
            beneath=beneath,
            give_up=partial(self._give_up, step, incarnation, time.monotonic()),
        )
        run.open()
        return run

    def _give_up(
        self,
        step: PlannedStep,
        incarnation: int,
        begun: Second,
        contender: RunningContender,
        reason: str,
    ) -> None:
        """Keep that a contender does not execute a test in time, which it is not asked again."""
        contender.given_up[step.test.name] = reason
        self.journal.fail(
            StepFailure(
                test=step.test.name,
                clients=step.clients,
                contender=contender.name,
                incarnation=incarnation,
                reason=reason,
                after_s=time.monotonic() - begun,
            )
        )
        self._view.warning(f"{step.test.name} on {contender.name} failed: {reason}")
        self._tables.revive(contender)

    def _close(self, step: PlannedStep, run: StepSessions) -> None:
        self._next_operation |= run.next_operations
        run.close()

    @property
    def _may_settle(self) -> bool:
        """Whether tests can be settled: not at a given rate, whose QPS is given, not found.

        Nor in a calibration: its trials are all as long, so that half-widths can be compared.
        """
        found = self._pace.rate is None and self._delays is None
        return found and self._contenders.comparable

    def _others(self) -> list[str]:
        """Return the contenders that still run beside the base."""
        running = (contender.name for contender in self._contenders.running())
        return [name for name in running if name != self._contenders.names[0]]

    def _lacking(self, step: PlannedStep) -> list[str]:
        """Return the contenders that do not have a step."""
        having = self._contenders.having(step.test)
        return [each.name for each in self._contenders.running() if each not in having]

    def _settled(self, step: PlannedStep, status: Status) -> bool:
        """Return whether every contender that still runs needs no more slices beside the base."""
        others = {*self._others()}.difference(self._lacking(step))
        return self._may_settle and all_settled(status.verdicts, others)

    def _correct(self, step: PlannedStep, run: StepSessions, under_way: Second) -> None:
        """Announce the end anew where operations are not as fast as was thought."""
        why = f"{step.test.name} in start {self._round} of {max(self._round, self._planned)}"
        if run.slowest_operation > LENGTHS[-1]:
            takes = format_duration(run.slowest_operation)
            why = f"{step.test.name}: an operation takes {takes} on {run.slowest}"
        self._announced.correct(self._needed(under_way), why)

    def _needed(self, under_way: Second) -> Second:
        """Return the wall time to come if it is granted, when the turn that runs has gone on for
        `under_way`.
        """
        wanting = [step for step in self.journal.steps if step.is_open]
        to_come = [
            TurnsToCome(
                key=step.key,
                turns=max(0, self._wanted_turns([step]) - step.turns_done),
                decided=step.key in self._far,
            )
            for step in wanting
        ]
        starts_after = max(0, self._wanted_turns(wanting) - self._round)
        budget_left = max(0.0, self._budget.left - under_way)
        usual = self._shortest_turn(MINIMUM_BLOCKS)
        left = self._remaining.left(budget_left, starts_after, under_way, to_come, usual)
        return left + self._announced.following.together

    def _wanted_turns(self, steps: Sequence[PlannedStep]) -> int:
        """Return how many incarnations some steps are expected to get."""
        far = all(step.key in self._far for step in steps)
        return min(FEWEST_INCARNATIONS, self._planned) if far else self._planned

    def _status(self, step: PlannedStep, incarnation: int, under_way: Second) -> Status:
        after = max(0, self._planned - self._round)
        start = f"start {incarnation} of {incarnation + after}"
        status = self._judge.status(
            step,
            extent=f"{len(step.slices)} slices, {start}",
            measured=self._budget.spent + under_way,
            budget=self._budget.total,
            settled=sum(step.settled for step in self.journal.steps),
        )
        others = {*self._others()}.difference(self._lacking(step))
        if self._may_settle and all_far(status.verdicts, others):
            self._far.add(step.key)
        else:
            self._far.discard(step.key)
        left = min(self._announced.room, self._needed(under_way))
        return replace(status, left=left, following=self._announced.following.together)
