"""Timed slices: each test in blocks of short slices.

Starts of the servers follow each other until every test is decided or the budget is spent.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from slowdust.analysis.calibration import taken_share
from slowdust.analysis.results.storage import small_data
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders, skip_unsupported_tests
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.driver.protocol import Rate
from slowdust.experiment.engine import schedule
from slowdust.experiment.engine.cold_cache import ColdCache
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.engine.slice_length import (
    LENGTHS,
    USUAL,
    choose_length,
    lengths_with_enough,
    record_seconds,
    usual_length,
)
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.judging import Judge, all_far, all_settled
from slowdust.experiment.passes.companions import Counters, Recalls, RoundTrips
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import Status
from slowdust.ratios import Margins
from slowdust.stats.verdict import FEWEST_INCARNATIONS, MINIMUM_BLOCKS
from slowdust.store.bounds import MOST_SLICES
from slowdust.store.manifest import Method
from slowdust.store.measured import DELAY
from slowdust.store.slice import Slice
from slowdust.units import Microsecond, Second, format_duration
from slowdust.wording import counted

_NS_PER_US = 1000


class Delays:
    """The injected delays of a calibration's contenders."""

    def __init__(self, contenders: Contenders) -> None:
        self._contenders = contenders

    def choose(self, run: OpenTest, step: PlannedStep, length: Second, rng: random.Random) -> None:
        """Set each contender's delay for a step whose sessions are warm.

        The first start measures one block of slices of `length` without delays to find the time per
        send; the block is discarded. Later starts and resumed experiments reuse the delay of the
        step's earlier slices, so that its share stays the same.
        """
        slowed = self._slowed()
        delays = {
            each.name: next(
                (
                    record.measured.used(DELAY, "delay_us")
                    for record in step.slices
                    if record.place.contender == each.name
                ),
                None,
            )
            for each, _ in slowed
        }
        if None in delays.values():
            self.clear()
            trial: list[Slice] = []
            run.block(0, length, rng, trial.append)
            per_send = time_per_send(trial, step.clients, len(usable_cpus()))
            new = {each.name: delay_for(share, per_send) for each, share in slowed}
            delays = {name: new[name] if delay is None else delay for name, delay in delays.items()}
        for contender, _ in slowed:
            self._set(contender, delays[contender.name] or 0.0)

    def clear(self) -> None:
        for contender, _ in self._slowed():
            self._set(contender, 0.0)

    def _set(self, contender: RunningContender, delay: Microsecond) -> None:
        assert contender.instance.delay is not None
        contender.instance.delay.set(round(delay * _NS_PER_US))

    def _slowed(self) -> list[tuple[RunningContender, float]]:
        running = self._contenders.running()
        return [(each, each.resolved.slowed) for each in running if each.resolved.slowed]


def delay_for(share: float, per_send: Microsecond) -> Microsecond:
    """Return the delay before each send that takes `share` of the throughput.

    It makes an operation take 1 / (1 - share) times as long.
    """
    return per_send * share / (1 - share)


def time_per_send(trial: Sequence[Slice], clients: int, cpus: int) -> Microsecond:
    """Return the time that clients and servers need per send; 0 if nothing was sent.

    Up to `cpus` clients work at a time; more have to wait for each other. CPU time taken by other
    processes is excluded: a delay is spent on the CPU, so it is related to the time that servers
    and clients had, including their waits for other resources.
    """
    at_work = min(clients, cpus)
    taken = taken_share(trial, at_work) or 0.0
    seconds = sum((record.measured.seconds or 0.0) * at_work for record in trial)
    sends = sum(record.measured.used(DELAY, "sends") or 0 for record in trial)
    return 1e6 * (1 - taken) * seconds / sends if sends else 0.0


class Remaining:
    """Estimates the duration of the planned starts, including time that is not budget.

    The budget is measuring time. In addition, each start of the servers takes time for loading,
    ageing and maintenance; later starts are expected to take as long as the starts so far. A turn
    takes at least its warm-up and its fewest blocks, which slow operations make longer than its
    share of the budget.
    """

    def __init__(self, clock: Clock = MACHINE) -> None:
        self._clock = clock
        self._starts = 0
        self._overhead: Second = 0.0
        """Time of the finished starts that was not spent measuring."""
        self._begun = self._clock.monotonic()
        self._measured: Second = 0.0
        self._least: dict[str, Second] = {}
        """Step -> the duration of its shortest turn."""

    def begin_start(self) -> None:
        self._overhead += self._overhead_now(0.0) if self._starts else 0.0
        self._starts += 1
        self._begun, self._measured = self._clock.monotonic(), 0.0

    def measured(self, seconds: Second) -> None:
        self._measured += seconds

    def needs(self, key: str, seconds: Second) -> None:
        self._least[key] = seconds

    def shortest_turn(self, key: str, usual: Second) -> Second:
        """Return the duration of a step's shortest turn; an unknown one is the mean of the others.

        `usual` is the default if none is known.
        """
        if key in self._least or not self._least:
            return self._least.get(key, usual)
        return sum(self._least.values()) / len(self._least)

    def overhead_of_start(self, under_way: Second) -> Second:
        """Return the mean time of a start so far that is not measuring."""
        return (self._overhead + self._overhead_now(under_way)) / max(1, self._starts)

    def left(
        self,
        budget_left: Second,
        starts_left: int,
        under_way: Second,
        to_come: Mapping[str, int] = MappingProxyType({}),
        *,
        decided: Collection[str] = (),
        usual: Second = 0.0,
    ) -> Second:
        """Return the seconds to come: the rest of the budget, and the overhead of later starts.

        `under_way` is the duration of the running turn so far. `to_come` is step -> remaining turns
        in the planned starts; steps that are `decided` need only few operations per turn. The turns
        count instead of the budget if they take longer, or if all of them are decided.
        """
        least = sum(turns * self.shortest_turn(key, usual) for key, turns in to_come.items())
        least -= under_way if to_come else 0.0
        sooner = bool(to_come) and to_come.keys() <= set(decided)
        measuring = max(0.0, least) if sooner else max(budget_left, least)
        return measuring + starts_left * self.overhead_of_start(under_way)

    def _overhead_now(self, under_way: Second) -> Second:
        return max(0.0, self._clock.monotonic() - self._begun - self._measured - under_way)


_BLOCKS_BEFORE_STOP = 5
"""Blocks in a start before its test may be decided: fewer say little about this restart."""

_LOOK_EVERY: Second = 0.5
"""Time between two judgements: judging all tests takes longer than a short slice."""


def make_slice_method(spec: Spec) -> Method:
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
        own_margins=spec.margins,
        memory_bytes=spec.memory,
        pool_bytes=spec.pool,
        incarnations=schedule.planned_starts(spec, len(plan(spec))),
        rate=spec.rate.per_second if spec.rate else None,
        arrivals=spec.rate.arrivals if spec.rate else None,
        trial=spec.trial,
    )


class TimedSlices(Pass[OpenTest]):
    """Measures the rates of all tests."""

    def __init__(self, experiment: OpenExperiment) -> None:
        super().__init__(experiment)
        spec, contenders, view = experiment.spec, experiment.contenders, experiment.view
        rate = Rate(spec.rate.per_second, spec.rate.arrivals) if spec.rate else None
        self._pace = Pace(spec.discard, spec.warmup, rate)
        kept = self.journal.manifest.preparations
        self.tests: SlicedTests = SlicedTests(experiment, self._pace, kept, self._equip)
        self._clock = experiment.clock
        self.companions = [
            Counters(contenders, self.journal),
            Recalls(contenders, self.journal, self.tests.tables.data, view),
        ]
        self._round_trips = RoundTrips(contenders, self.journal)
        self._delays = Delays(contenders) if spec.is_calibration else None
        self._budget = schedule.Budget(spec.budget, self.journal.spent)
        self._judge = Judge(contenders.names, Margins(spec.margin, spec.margins), self.journal)
        self._seed = spec.seed
        self._remaining = Remaining(self._clock)
        self._round = 0
        """Number of the running start among the planned ones."""
        self._far: set[str] = set()
        """Steps with such a large difference that few operations decide."""
        self._due = 0
        """Turns to come in this start."""
        self._begun = self._looked = self._clock.monotonic()
        self._share: Second = 0.0
        """The running turn's share of the budget."""

    def missing(self) -> Starts:
        """Yield the planned starts, then more for the unsure tests while the budget lasts."""
        for sentence in skip_unsupported_tests(self.journal.steps, self.contenders.all):
            self.contenders.warn(sentence)
        self._warn_of_short_budget()
        self._judge_all()  # the verdicts of a resumed experiment may have changed
        self._round = 1
        while self._wanted():
            if todo := schedule.turns(self.journal.steps, self._round):
                if self._delays is not None:  # one load would be a single layout in all trials
                    self.tests.tables.note_writes()
                self._remaining.begin_start()
                yield Start(self.journal.last_start + 1, todo)
            self._round += 1

    def begin(self, start: Start) -> None:
        self.journal.record_servers(self.contenders)
        took = format_duration(round(self._remaining.overhead_of_start(0.0)))
        self.announced.correct(self._needed(0.0), f"starting and loading the servers takes {took}")
        # Warn now, not only in the report, that data meant to exceed the page caches do not.
        if any(step.test.beyond_pool for step in self.journal.steps):
            for facts in self.journal.manifest.contenders:
                if (small := small_data(facts)) is not None:
                    self.view.warning(f"{facts.name}: {small}")
        self._due = sum(turn.action is schedule.Action.MEASURE for turn in start.turns)

    def begins(self, step: PlannedStep) -> bool:
        """Assign a share of the budget; return whether there is time for the shortest turn."""
        if not self.announced.allows(self._least(step)):
            return False
        rounds_after = max(0, self._planned - self._round)
        turns = schedule.turns_left(
            self._due, sum(step.is_open for step in self.journal.steps), rounds_after
        )
        self._share = self._budget.share(turns)
        self._due -= 1
        self._begun = self._looked = self._clock.monotonic()
        return True

    def before(self, step: PlannedStep) -> bool:
        """Measure round trips and read plans; return False if the step has to be abandoned."""
        self._round_trips.measure()
        supporting = self.contenders.supporting(step.test)
        if not all(self.journal.has_plans(step, contender.name) for contender in supporting):
            # Separate sessions, so that the servers' totals do not include their work.
            test = self.tests.sessions(step)
            test.open()
            test.read_plans(partial(self.journal.add_plans, step))
            test.close()
            step.abandoned = test.is_over
        return not step.abandoned

    def _equip(self, test: OpenTest) -> None:
        """Set up a timed test: cold caches if its data should exceed them, and the exclusion of
        contenders whose operations time out.
        """
        step, begun = test.step, self._clock.monotonic()
        if self.experiment.spec.pool is not None or step.test.beyond_pool:
            test.cold = ColdCache(self.contenders, step)

        def exclude(contender: RunningContender, reason: str) -> None:
            contender.timed_out[step.test.name] = reason
            after = self._clock.monotonic() - begun
            self.journal.fail(step, contender.name, test.start, reason, after)
            self.view.warning(f"{step.test.name} on {contender.name} failed: {reason}")
            self.tests.tables.revive(contender)

        test.on_timeout = exclude

    def allows(self, seconds: Second) -> bool:
        return self.announced.allows(seconds)

    def observe(self, test: OpenTest) -> None:
        """Measure blocks until the share is used or the step is decided."""
        step = test.step
        rng = random.Random(f"{self._seed}/{step.key}/{test.start}")
        length = usual_length(test.per_second) if test.is_over else self._length(test)
        if self._delays is not None:
            self._delays.choose(test, step, length, rng)
        if not test.is_over:
            least = test.fewest_blocks(length) * test.expected_block(length)
            left = self._share - self._under_way
            self._remaining.needs(step.key, self._under_way + least)
            why = f"{step.test.name} in start {self._round} of {max(self._round, self._planned)}"
            if test.slowest_operation > LENGTHS[-1]:
                takes = format_duration(test.slowest_operation)
                why = f"{step.test.name}: an operation takes {takes} on {test.slowest}"
            self.announced.correct(self._needed(self._under_way), why)
            if self.announced.allows(least):
                keep = partial(self.journal.add, step)
                enough = partial(self._enough, test, length)
                test.blocks(length, left, rng, keep=keep, enough=enough)
        if step.test.writes and not test.is_over:
            self.journal.age(step, test.positions)
        if self._delays is not None:
            self._delays.clear()

    def after(self, test: OpenTest) -> None:
        step = test.step
        step.abandoned = test.is_over
        took = test.ended - self._begun
        self._budget.spent += took
        self._remaining.measured(took)
        self._judge_all()
        if self.announced.ended_early:  # the turn may be incomplete
            return
        self.journal.end_turn(step, self._budget.spent)
        self.view.step_done(self._status(step, test.start, under_way=0.0))

    def _enough(self, test: OpenTest, length: Second, blocks: int) -> bool:
        """Return whether a step needs no more blocks in this turn."""
        if test.used_up() or test.is_over:
            return True
        if self._clock.monotonic() - self._looked < _LOOK_EVERY:
            return False
        self._looked = self._clock.monotonic()
        status = self._status(test.step, test.start, self._under_way)
        self.view.block(status)
        if not self.announced.allows(test.expected_block(length)):
            return True
        may_end = test.slowest_operation > length or blocks >= _BLOCKS_BEFORE_STOP
        others = self.contenders.compared(test.step.test)
        settled = self._may_settle and all_settled(status.verdicts, others)
        return may_end and (settled or test.step.key in self._far)

    @property
    def _planned(self) -> int:
        return self.journal.manifest.method.incarnations

    @property
    def _under_way(self) -> Second:
        return self._clock.monotonic() - self._begun

    def _wanted(self) -> bool:
        """Return whether another start is planned, or fits into the budget, and there is time."""
        wanting = [step for step in self.journal.steps if step.is_open]
        alone = len(self.contenders.names) > 1 and not self.contenders.comparable
        if self.announced.ended_early or not wanting:
            return False
        if self._round > (1 if alone else self._planned):
            least = sum(self._least(step, _BLOCKS_BEFORE_STOP) for step in wanting)
            fits = self._remaining.overhead_of_start(0.0) + least <= self.announced.room
            return not alone and self._budget.left > least > 0 and fits
        turns = (self._least(step) for step in wanting if step.turns_done < self._round)
        return self._round == 1 or self.announced.allows(
            self._remaining.overhead_of_start(0.0) + sum(turns)
        )

    def _least(self, step: PlannedStep, blocks: int = MINIMUM_BLOCKS) -> Second:
        """Return the duration of a step's turn with `blocks` blocks, or of its shortest turn."""
        usual = self._shortest_turn(blocks)
        return max(usual, self._remaining.shortest_turn(step.key, usual))

    def _warn_of_short_budget(self) -> None:
        turn = self._shortest_turn(MINIMUM_BLOCKS)
        missing = [self._planned - step.turns_done for step in self.journal.steps if step.is_open]
        least = sum(max(0, starts) for starts in missing) * turn
        if least > self._budget.left:
            tests, starts = counted(len(missing), "test"), counted(max(missing), "start")
            self.experiment.warn_of_short_budget(
                self._budget.total, f"{tests} in {starts} take at least", least
            )

    def _shortest_turn(self, blocks: int) -> Second:
        """Return the duration of a turn with `blocks` blocks: warm-up, and slices with discards."""
        contenders = len(self.contenders.running())
        slices = 2 * contenders * blocks
        method = self.journal.manifest.method
        length = method.slice_s or max(method.slice_lengths.values(), default=USUAL)
        return contenders * self._pace.warmup + slices * (length + self._pace.discard)

    def _judge_all(self) -> None:
        """Mark tests with a sure verdict as decided; reopen tests that lost their verdict."""
        if not self._may_settle:
            return
        for step in self.journal.keep_settled(
            self._judge.settled(lambda step: self.contenders.compared(step.test))
        ):
            self.view.phase(f"{step.test.name} is reopened: its verdict no longer holds")

    def _length(self, test: OpenTest) -> Second:
        """Return the length of the step's slices: as given, as chosen before, or chosen now."""
        method, step = self.journal.manifest.method, test.step
        if method.slice_s is not None:
            return method.slice_s
        if step.key not in method.slice_lengths:
            chosen = self._chosen_length(test)
            self.journal.keep_length(step, max(chosen, self._budget.total / MOST_SLICES))
        return method.slice_lengths[step.key]

    def _chosen_length(self, test: OpenTest) -> Second:
        step, per_second = test.step, test.per_second
        share = self._budget.total / len(self.journal.steps)
        seconds = record_seconds(share, len(self.contenders.running()))
        if lengths_with_enough(per_second) == [LENGTHS[-1]]:
            seconds = 0.0  # there is no choice, and a record of slow operations takes long
        if self._pace.rate is not None:
            seconds, per_second = 0.0, self._pace.rate.per_second
        if step.test.beside is not None:
            seconds = 0.0  # the slower session matters, and it has no record
        # Tests that consume rows have none to spare.
        record = test.record_speed(seconds) if seconds and not step.test.consumes else None
        return choose_length(record, self._pace.discard) if record else usual_length(per_second)

    @property
    def _may_settle(self) -> bool:
        """Whether tests can be decided early. Not at a given rate: QPS is an input, not a result.

        Not in a calibration: its trials have the same length, so that half-widths are comparable.
        """
        found = self._pace.rate is None and self._delays is None
        return found and self.contenders.comparable

    def _needed(self, under_way: Second) -> Second:
        """Return the wall time to come without a limit, if the running turn has taken `under_way`
        so far.
        """
        wanting = [step for step in self.journal.steps if step.is_open]
        to_come = {
            step.key: max(0, self._wanted_turns([step]) - step.turns_done) for step in wanting
        }
        starts_after = max(0, self._wanted_turns(wanting) - self._round)
        budget_left = max(0.0, self._budget.left - under_way)
        usual = self._shortest_turn(MINIMUM_BLOCKS)
        left = self._remaining.left(
            budget_left, starts_after, under_way, to_come, decided=self._far, usual=usual
        )
        return left + self.announced.following.together

    def _wanted_turns(self, steps: Sequence[PlannedStep]) -> int:
        far = all(step.key in self._far for step in steps)
        return min(FEWEST_INCARNATIONS, self._planned) if far else self._planned

    def _status(self, step: PlannedStep, number: int, under_way: Second) -> Status:
        after = max(0, self._planned - self._round)
        start = f"start {number} of {number + after}"
        status = self._judge.status(
            step,
            extent=f"{len(step.slices)} slices, {start}",
            measured=self._budget.spent + under_way,
            budget=self._budget.total,
            settled=sum(step.settled for step in self.journal.steps),
        )
        if self._may_settle and all_far(status.verdicts, self.contenders.compared(step.test)):
            self._far.add(step.key)
        else:
            self._far.discard(step.key)
        left = min(self.announced.room, self._needed(under_way))
        return replace(status, left=left, following=self.announced.following.together)
