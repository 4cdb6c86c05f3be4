"""Trials: each contender in turn at an offered rate for a short time, in an open loop.

`Decisions` choose the rates. For a test of slices, a trial is a slice at a rate. For a step of the
Insert Benchmark, it is a short run of the step: its writers insert (and delete) at a rate in rows
per second and client, concurrently with queries in a closed loop. The response times of the queries
are recorded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Protocol, TypeVar

from slowdust.analysis.results.failures import WRONG_RESULT
from slowdust.analysis.results.latency import percentile_ns
from slowdust.analysis.sla import writers_of
from slowdust.benchmarks.insert import InsertStep, InsertWorkload, Kind
from slowdust.benchmarks.steps import Workload
from slowdust.errors import UsageError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Freezer
from slowdust.experiment.driver.protocol import Ran, Rate, Stop
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, in_turn
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.engine.stepped import ContenderTurn, OpenStep, SteppedTests, Tables
from slowdust.experiment.passes.chunks import StepTurns
from slowdust.experiment.passes.step_measurement import Measurement
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec, TrialsTable
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice
from slowdust.store.trial import PERCENTILES, Trial
from slowdust.units import Second, format_duration

USUAL: Second = 0.5
"""Length of a trial, unless a percentile needs more operations."""
USUAL_OF_STEPS: Second = 2.0
"""The same for steps, whose writers commit about a dozen times a second."""
NS_PER_S = 1e9
_PEAK_RUNS = 3
_PEAK: Second = 0.1
"""Length of a closed-loop run that measures the peak rate."""
_DISCARD: Second = 0.01
_LAST = 2.0
"""Duration of the last operation, relative to one in a closed loop, that is not counted as late."""
_LONGEST_SHARE = 1 / 40
"""Largest share of the budget for one trial."""
_FEWEST_COMMITS = 4
"""Minimum commits of each writer in a trial at the rate of the step's name; a trial at the lowest
rate has half as many."""
_AHEAD = 8.0
"""The highest rate tried at first, relative to the rate in the step's name."""

T = TypeVar("T")

Turns = Generator[tuple[int, Mapping[str, float]], Sequence[Trial], None]
"""Yields the number of a turn and contender -> rate; receives the trials of the turn."""


class Decisions(Protocol):
    """Decides which trials to run."""

    @property
    def spent(self) -> Second:
        """The part of the budget that trials have used."""
        ...

    @property
    def last_start(self) -> int:
        """The number of the last start with trials; 0 without any."""
        ...

    @property
    def wants_start(self) -> bool:
        """Whether to start the servers again."""
        ...

    @property
    def operations(self) -> int:
        """Operations that a trial needs for every percentile to exist."""
        ...

    @property
    def fewest(self) -> float:
        """Operations of the trial with the lowest rate."""
        ...

    def turns(self, start: int, peaks: Mapping[str, float], lowest: float) -> Turns:
        """Yield the turns of a start.

        `peaks` maps the participating contenders to a rate that they can hardly exceed. Below
        `lowest` a trial has too few operations for the percentiles. A contender that fails has no
        trial, and is not asked again in this start.
        """
        ...


Decide = Callable[[Spec, Sequence[str], Sequence[Trial]], Decisions]
"""Returns the decision maker for the trials of these contenders, after the trials so far."""
HaveTurn = Callable[[int, Mapping[str, float]], Sequence[Trial]]
"""Runs a trial of each contender at its rate, in reverse order in odd turns."""


class Trials(Pass[T]):
    """A pass whose starts and turns depend on the results of trials."""

    def __init__(self, experiment: OpenExperiment, decide: Decide) -> None:
        super().__init__(experiment)
        spec = experiment.spec
        assert spec.trials is not None
        self.table: TrialsTable = spec.trials
        self.decisions = decide(spec, self.contenders.names, self.journal.trials)
        self._step = self.journal.steps[-1]
        self._planned = self.journal.manifest.method.incarnations

    def missing(self) -> Starts:
        while self.decisions.wants_start:
            number = self.decisions.last_start + 1
            self.view.phase(self._place(number))
            yield Start.of(number, self.journal.steps)
            if self.decisions.last_start < number:
                return  # there was no trial
            self.journal.end_turn(self._step, self.decisions.spent)

    def begin(self, start: Start) -> None:
        del start
        self.journal.record_servers(self.contenders)

    def search(
        self, start: int, peaks: Mapping[str, float], lowest: float, have_turn: HaveTurn
    ) -> None:
        """Run the turns of a start."""
        self.view.phase(f"{self._place(start)}: searching")
        turns = self.decisions.turns(start, peaks, lowest)
        wanted = next(turns, None)
        while wanted is not None:
            trials = have_turn(*wanted)
            self.journal.add_trials(trials)
            done = round(self.decisions.spent * 1000)
            self.view.progress(done, max(1, round(self.experiment.spec.budget * 1000)))
            try:
                wanted = turns.send(trials)
            except StopIteration:
                wanted = None

    def _place(self, number: int) -> str:
        """Name a start; after an interruption there may be more than planned."""
        return f"start {number} of {max(number, self._planned)}"


class SliceTrials(Trials[OpenTest]):
    """Trials of a test that is measured in slices."""

    def __init__(self, experiment: OpenExperiment, decide: Decide) -> None:
        super().__init__(experiment, decide)
        self.tests = SlicedTests(experiment)

    def observe(self, test: OpenTest) -> None:
        rates: dict[str, list[float]] = {}

        def peak(contender: RunningContender, run: RunAtRate) -> None:
            ran = run(Stop(seconds=_PEAK))
            if ran.seconds:
                rates.setdefault(contender.name, []).append(ran.operations / ran.seconds)

        for _ in range(_PEAK_RUNS):
            test.each(peak)
        peaks = {name: median(each) for name, each in rates.items()}
        length = self._length(peaks)
        have_turn = partial(self._turn, test, peaks, length)
        self.search(test.start, peaks, self.decisions.fewest / length, have_turn)

    def _length(self, peaks: Mapping[str, float]) -> Second:
        """Return the length of a trial: as in earlier ones, or as the percentiles need."""
        if self.journal.trials:
            return self.journal.trials[0].seconds
        slowest, usual = min(peaks.values(), default=0.0), self.table.length or USUAL
        return shortest_trial(
            self.decisions.operations, usual, slowest, self.experiment.spec.budget
        )

    def _turn(
        self,
        test: OpenTest,
        peaks: Mapping[str, float],
        length: Second,
        number: int,
        rates: Mapping[str, float],
    ) -> list[Trial]:
        trials: list[Trial] = []

        def trial(contender: RunningContender, run: RunAtRate) -> None:
            if contender.name not in rates:
                return
            rate = rates[contender.name]
            begun = time.monotonic()
            run(Stop(seconds=_DISCARD))  # refills caches that the other contender evicted
            ran = run(Stop(seconds=length), Rate(rate, self.table.arrivals))
            contender.refuse_fatal_errors(ran.errors, "operations of a trial")
            alone = len(ran.positions) / peaks[contender.name]
            made = _trial_of(contender.name, rate, length, alone, ran)
            made.start, made.turn, made.wall = test.start, number, time.monotonic() - begun
            trials.append(made)

        test.each(trial, turn=number)
        return trials


def shortest_trial(
    operations: int, usual: Second, operations_per_s: float, budget: Second
) -> Second:
    """Return the length of a trial with enough operations at half of the given rate.

    Raises:
        UsageError: that exceeds a trial's share of the budget.
    """
    needed = operations / (operations_per_s / 2) if operations_per_s > 0 else math.inf
    if needed > max(budget * _LONGEST_SHARE, usual):
        raise UsageError(
            f"--sla: each percentile needs {operations:,} operations per trial, which take "
            f"{format_duration(needed)} at half of this test's {operations_per_s:,.0f}/s: "
            "choose a lower percentile, more --clients or a longer --budget"
        )
    return max(usual, needed)


def check_length(trial: Second | None, usual: Second, budget: Second) -> None:
    """Raise UsageError if the requested length of a trial is too long for the budget."""
    longest = max(budget * _LONGEST_SHARE, usual)
    if trial is not None and trial > longest:
        raise UsageError(
            f"--trial {format_duration(trial)}: a trial takes at most a fortieth of --budget "
            f"{format_duration(budget)}, here {format_duration(longest)}"
        )


def summarize_times(latency: Histogram) -> dict[str, Second]:
    """Return the percentiles and the maximum of response times; empty without operations."""
    known = {name: percentile_ns([latency], share) for name, share in PERCENTILES.items()}
    times = {name: value / NS_PER_S for name, value in known.items() if value is not None}
    return {**times, "max": latency.max_ns / NS_PER_S} if times else {}


def _trial_of(contender: str, rate: float, seconds: Second, alone: Second, ran: Ran) -> Trial:
    """Return the record of a trial; `alone` is the duration of an operation in a closed loop.

    Operations due at the end may finish later by that much, even if the contender keeps up.
    """
    failed = sum(ran.errors.values())
    wrong = ran.errors.get(WRONG_RESULT, 0)  # included in the operations
    late = ran.schedule.late_operations if ran.schedule else 0
    done = max(1, ran.operations)
    return Trial(
        contender=contender,
        start=0,
        turn=0,
        rate=rate,
        seconds=seconds,
        took=max(seconds, ran.seconds),
        operations=ran.operations,
        times=summarize_times(ran.latency),
        errors=failed / max(1, ran.operations + failed - wrong),
        late=min(1.0, late / done),
        kept_up=seconds / max(seconds, ran.seconds - _LAST * alone) if ran.seconds else 0.0,
        busiest_client=None if ran.client is None else ran.client.busiest_thread,
    )


def step_with_rate(spec: Spec, test: str) -> InsertStep:
    """Return the step whose writers' rate is searched for.

    Raises:
        UsageError: the benchmark is another one, or the step has no writers at a rate.
    """
    step = spec.configured_benchmark().test(test)
    if not isinstance(step, InsertStep):
        raise UsageError(f"--benchmark {spec.benchmark}: its steps have no rate to search for")
    if step.kind not in (Kind.RANGE_QUERY, Kind.POINT_QUERY) or step.held:
        raise UsageError(
            f"--test {test}: only steps with queries and concurrent writers have a rate: qr100 or "
            "qp100"
        )
    return step


def check_commits(step: InsertStep, rows_per_commit: int, trial: Second) -> None:
    """Raise UsageError if the writers would have too few commits in a trial."""
    assert step.rate is not None
    needed = _FEWEST_COMMITS * rows_per_commit / step.rate
    if trial < needed:
        raise UsageError(
            f"--trial {format_duration(trial)}: a trial of {step.name} takes at least "
            f"{format_duration(needed)}, for {_FEWEST_COMMITS} commits of each writer"
        )


def check_operations(operations: int, trial: Trial) -> None:
    """Raise UsageError if a trial at a low rate has too few queries for the percentiles."""
    if 0 < trial.operations < operations:
        needed = trial.seconds * operations / trial.operations
        raise UsageError(
            f"--sla: each percentile needs {operations:,} queries per trial, but "
            f"{trial.contender} executed {trial.operations:,} in {format_duration(trial.seconds)}: "
            f"choose a lower percentile or --trial {math.ceil(needed * 1.5)}s"
        )


@dataclass(frozen=True)
class _Start:
    """The tables of one start."""

    number: int
    contenders: Sequence[RunningContender]
    tables: Mapping[str, Tables]
    freezer: Freezer


class StepTrials(Trials[OpenStep]):
    """Trials of a step of the Insert Benchmark, on tables filled by the steps before it."""

    def __init__(self, experiment: OpenExperiment, workload: Workload, decide: Decide) -> None:
        super().__init__(experiment, decide)
        assert isinstance(workload, InsertWorkload)
        self.tests: SteppedTests = SteppedTests(experiment, workload)
        self._turns = StepTurns(experiment, self.tests)
        self._searched = step_with_rate(experiment.spec, experiment.spec.tests[-1])
        rows = workload.settings.rows_per_commit[-1]
        self._lowest = _FEWEST_COMMITS / 2 * rows / workload.seconds

    def observe(self, test: OpenStep) -> None:
        """Run a step that fills the tables, or the trials."""
        if test.step.test.name != self._searched.name:
            self._turns.take(test.turns)
            return
        tables = {turn.contender.name: turn.tables for turn in test.turns}
        present = [each for each in self.contenders.all if each.name in tables]
        assert self._searched.rate is not None
        peaks = {each.name: self._searched.rate * _AHEAD for each in present}
        with Freezer(present, self.contenders.warn) as freezer:
            start = _Start(test.start, present, tables, freezer)
            self.search(test.start, peaks, self._lowest, partial(self._turn, start))

    def _turn(self, start: _Start, number: int, rates: Mapping[str, float]) -> list[Trial]:
        trials = []
        for slot, contender in enumerate(in_turn(start.contenders, number)):
            if contender.name not in rates or contender.failed is not None:
                continue
            begun = time.monotonic()
            start.freezer.run_only(contender)
            rate = max(1, round(rates[contender.name]))
            record = self._measured(contender, start, slot, rate)
            if record is not None:
                trial = _trial_of_step(record, rate)
                trial.start, trial.turn, trial.wall = start.number, number, time.monotonic() - begun
                trials.append(trial)
        if number == 0:
            for trial in trials:
                check_operations(self.decisions.operations, trial)
        return trials

    def _measured(
        self, contender: RunningContender, start: _Start, slot: int, rate: int
    ) -> Slice | None:
        """Run the step at a rate for the length of a trial; None if the contender fails."""
        letter = "r" if self._searched.kind is Kind.RANGE_QUERY else "p"
        test = replace(self._searched, rate=rate, name=f"q{letter}{rate}")
        planned = PlannedStep(test, self.experiment.spec.clients[0])
        tables = start.tables[contender.name]
        turn = ContenderTurn(planned, start.number, contender, slot, tables)
        with self.contenders.guard(contender):
            self.tests.connect(turn)
            work, idle = self.tests.work(turn.step), self.contenders.running()
            measurement = Measurement.of(self.contenders.driver, turn, work, idle)
            measurement.perform(None, self.view.progress)
            return measurement.finish()
        return None


def _trial_of_step(record: Slice, rate: int) -> Trial:
    measured, detail = record.measured, record.step
    writers = writers_of([record])
    assert detail is not None
    assert writers is not None
    schedules = [role.schedule for role in detail.roles.values() if role.schedule is not None]
    due = sum(schedule.due for schedule in schedules)
    failed = sum(measured.errors.values())
    done = measured.statements or 0
    inserts = writers.inserts
    slowest = inserts if writers.deletes is None else min(inserts, writers.deletes)
    seconds = measured.seconds or 0.0
    return Trial(
        contender=record.place.contender,
        start=0,
        turn=0,
        rate=float(rate),
        seconds=seconds,
        took=seconds,
        operations=measured.operations or 0,
        times={} if measured.latency is None else summarize_times(measured.latency),
        errors=failed / max(1, done + failed),
        late=sum(schedule.backlog for schedule in schedules) / max(1, due),
        kept_up=min(1.0, slowest / writers.target),
        busiest_client=measured.uses.get("client", {}).get("busiest_thread"),
    )
