"""Trials of the Insert Benchmark's queries beside writers: the offered rate is that of the writers.

A trial is a step such as qr100 for a short time, whose writers insert, and delete, so many rows per
second for each client. The queries are a closed loop as in the benchmark; the SLA is about their
response times, and the writers have to keep their rate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowdust.analysis.sla import writers_of
from slowdust.benchmarks.insert import InsertBenchmark, InsertStep, InsertWorkload, Kind
from slowdust.capacity.record import Question, Trial
from slowdust.capacity.sla import Sla
from slowdust.capacity.trials import Trials, times_of
from slowdust.errors import UsageError
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders, Freezer
from slowdust.experiment.engine.loop import OpenExperiment
from slowdust.experiment.engine.schedule import in_turn
from slowdust.experiment.engine.stepped import (
    ContenderTurn,
    OpenStep,
    SteppedTests,
    Tables,
    sized_workload,
)
from slowdust.experiment.journal import OpenJournal
from slowdust.experiment.passes.chunks import StepTurns, method_of_steps
from slowdust.experiment.passes.step_measurement import Measurement
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.slice import Slice
from slowdust.units import Second, format_duration

USUAL: Second = 2.0
"""Length of a trial: its writers commit some dozen times a second."""
_FEWEST_COMMITS = 4
"""Commits of each writer in a trial at the rate of the step's name, at least; half as many are in
one at the lowest rate."""
_AHEAD = 8.0
"""The rate up to which all are tried at first, relative to that in the step's name."""
_QUERIES = (Kind.RANGE_QUERY, Kind.POINT_QUERY)


def check_steps(spec: Spec, test: str) -> InsertStep:
    """Return the step whose writers' rate is searched.

    Raises:
        UsageError: the benchmark is another one, or the step has no writers at a rate.
    """
    step = spec.configured_benchmark().test(test)
    if not isinstance(step, InsertStep):
        raise UsageError(f"--benchmark {spec.benchmark}: its steps have no rate to search for")
    if step.kind not in _QUERIES or step.held:
        raise UsageError(
            f"--test {test}: only the steps with queries beside writers have a rate: qr100 or qp100"
        )
    return step


def check_commits(spec: Spec, question: Question) -> None:
    """Raise UsageError where the writers would have too few commits in a trial."""
    step, benchmark = check_steps(spec, question.test), spec.configured_benchmark()
    assert isinstance(benchmark, InsertBenchmark)
    assert step.rate is not None
    rows = benchmark.settings.rows_per_commit[-1]
    trial, needed = question.trial or USUAL, _FEWEST_COMMITS * rows / step.rate
    if trial < needed:
        raise UsageError(
            f"--trial {format_duration(trial)}: a trial of {step.name} takes at least "
            f"{format_duration(needed)}, in which each writer commits {_FEWEST_COMMITS} times"
        )


def check_operations(sla: Sla, trial: Trial) -> None:
    """Raise UsageError where a trial at a low rate has too few queries for the percentiles."""
    if 0 < trial.operations < sla.operations:
        needed = trial.seconds * sla.operations / trial.operations
        raise UsageError(
            f"--sla: a trial needs {sla.operations:,} queries so that each percentile exists, and "
            f"{trial.contender} did {trial.operations:,} in {format_duration(trial.seconds)}: "
            f"choose a lower percentile or --trial {math.ceil(needed * 1.5)}s"
        )


class StepLaboratory(Trials):
    """Trials of a step of the Insert Benchmark, on tables that the steps before it fill."""

    unit = "rows/s of each client's writers"

    def __init__(
        self,
        spec: Spec,
        contenders: Contenders,
        journal_of: OpenJournal,
        view: View,
        question: Question,
    ) -> None:
        benchmark = spec.configured_benchmark()
        assert isinstance(benchmark, InsertBenchmark)
        length = question.trial or USUAL
        workload = sized_workload(spec, benchmark, contenders)
        assert isinstance(workload, InsertWorkload)
        self._workload = replace(workload, seconds=length)
        journal = journal_of(method_of_steps(spec, self._workload))
        super().__init__(OpenExperiment(spec, contenders, journal, view, Announced(view)))
        self.length = length
        self.tests: SteppedTests = SteppedTests(self.experiment, self._workload)
        self._turns = StepTurns(self.experiment, self.tests)
        self._step = check_steps(spec, question.test)
        self._clients = spec.clients[0]
        self._terms = question.terms

    def observe(self, test: OpenStep) -> None:
        """Carry out a step that fills the tables, or let the search have its trials."""
        if test.step.test.name != self._step.name:
            self._turns.take(test.turns)
            return
        tables = {turn.contender.name: turn.tables for turn in test.turns}
        present = [each for each in self.contenders.all if each.name in tables]
        with Freezer(present, self.contenders.warn) as freezer:
            self._measure(_StepBench(self, test.start, present, tables, freezer))

    @property
    def first_rate(self) -> float:
        """The rate in the step's name."""
        assert self._step.rate is not None
        return float(self._step.rate)

    @property
    def lowest_rate(self) -> float:
        """The rate at which each writer has half of the fewest commits in a trial."""
        rows = self._workload.settings.rows_per_commit[-1]
        return _FEWEST_COMMITS / 2 * rows / self._workload.seconds

    def check_first(self, trials: Sequence[Trial]) -> None:
        """Refuse to go on where the first trials have too few queries."""
        for trial in trials:
            check_operations(self._terms, trial)

    def trial(
        self, contender: RunningContender, start: int, slot: int, rate: int, tables: Tables
    ) -> Slice | None:
        """Carry out the step for a moment at a rate; None if the contender fails."""
        test = replace(self._step, rate=rate, name=f"q{self._letter}{rate}")
        turn = ContenderTurn(PlannedStep(test, self._clients), start, contender, slot, tables)
        with self.contenders.guard(contender):
            self.tests.connect(turn)
            work, idle = self.tests.work(turn.step), self.contenders.running()
            measurement = Measurement.of(self.contenders.driver, turn, work, idle)
            measurement.perform(None, self.view.progress)
            return measurement.finish()
        return None

    @property
    def _letter(self) -> str:
        return "r" if self._step.kind is Kind.RANGE_QUERY else "p"


class _StepBench:
    """The tables of one start."""

    def __init__(
        self,
        laboratory: StepLaboratory,
        start: int,
        contenders: Sequence[RunningContender],
        tables: Mapping[str, Tables],
        freezer: Freezer,
    ) -> None:
        self._laboratory = laboratory
        self._start = start
        self._contenders = contenders
        self._tables = tables
        self._freezer = freezer
        self.lowest = laboratory.lowest_rate
        self.peaks = {each.name: laboratory.first_rate * _AHEAD for each in contenders}

    def turn(self, number: int, rates: Mapping[str, float]) -> Sequence[Trial]:
        """Let each contender have a trial, the last one first in every second turn."""
        trials = []
        for slot, contender in enumerate(in_turn(self._contenders, number)):
            if contender.name in rates and contender.failed is None:
                begun = time.monotonic()
                self._freezer.let_run(contender)
                rate = max(1, round(rates[contender.name]))
                record = self._laboratory.trial(
                    contender, self._start, slot, rate, self._tables[contender.name]
                )
                if record is not None:
                    wall = time.monotonic() - begun
                    trials.append(_trial_of(record, self._start, number, rate, wall))
        if number == 0:
            self._laboratory.check_first(trials)
        return trials


def _trial_of(record: Slice, start: int, turn: int, rate: int, wall: Second) -> Trial:
    measured, detail = record.measured, record.step
    writers = writers_of([record])
    assert detail is not None
    assert writers is not None
    schedules = [role.schedule for role in detail.roles.values() if role.schedule is not None]
    due = sum(schedule.due for schedule in schedules)
    failed = sum(measured.errors.values())
    done = measured.statements or 0
    slowest = min(
        writers.inserts, writers.deletes if writers.deletes is not None else writers.inserts
    )
    client = measured.uses.get("client", {})
    seconds = measured.seconds or 0.0
    return Trial(
        contender=record.place.contender,
        start=start,
        turn=turn,
        rate=float(rate),
        seconds=seconds,
        took=seconds,
        operations=measured.operations or 0,
        times={} if measured.latency is None else times_of(measured.latency),
        errors=failed / max(1, done + failed),
        late=sum(schedule.backlog for schedule in schedules) / max(1, due),
        kept_up=min(1.0, slowest / writers.target),
        busiest_client=client.get("busiest_thread"),
        wall=wall,
    )
