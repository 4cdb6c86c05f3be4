"""Trials on real servers of a test that is measured in slices: slices in an open loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, Protocol

from slowdust.analysis.results.failures import WRONG_RESULT
from slowdust.analysis.results.latency import percentile_ns
from slowdust.capacity.record import Question, Trial
from slowdust.capacity.search import Bench
from slowdust.capacity.sla import PERCENTILES, Sla
from slowdust.errors import UsageError
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Ran, Rate, Stop
from slowdust.experiment.engine import loop as engine
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.journal import OpenJournal
from slowdust.experiment.passes.slices import method_of_slices
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.latency import Histogram
from slowdust.units import Second, format_duration

NS_PER_S = 1e9
USUAL: Second = 0.5
"""Length of a trial, unless a percentile needs longer."""
_PEAK_RUNS = 3
_PEAK: Second = 0.1
"""Length of a run in a closed loop, whose rate is the peak."""
_DISCARD: Second = 0.01
_LAST = 2.0
"""Time that the last operation may take, relative to one in a closed loop."""
_LONGEST_SHARE = 1 / 40
"""Share of the budget that a trial may take at most."""


class Laboratory(Protocol):
    """Whoever runs trials on the contenders of a search."""

    unit: str
    """What an offered rate counts."""
    length: Second | None
    """Length of each trial; None before the first start."""

    def start(self, number: int, measure: Callable[[Bench], None]) -> None:
        """Start the servers, let `measure` have its trials, and stop the servers."""
        ...


class Trials(Pass[Any]):
    """A pass whose starts a search asks for, which has trials in them."""

    length: Second | None = None
    _number: int
    _measure: Callable[[Bench], None]

    def start(self, number: int, measure: Callable[[Bench], None]) -> None:
        """Start the servers, let `measure` have its trials, and stop the servers."""
        self._number, self._measure = number, measure
        engine.measure(self.experiment, [self])

    def missing(self) -> Starts:
        yield Start.of(self._number, self.journal.steps)

    def begin(self, start: Start) -> None:
        del start
        self.journal.record_servers(self.contenders)


def shortest_trial(sla: Sla, usual: Second, operations_per_s: float, budget: Second) -> Second:
    """Return how long a trial has to be so that the SLA's percentiles exist at half of a rate.

    Raises:
        UsageError: that is too large a share of the budget.
    """
    needed = sla.operations / (operations_per_s / 2) if operations_per_s > 0 else math.inf
    if needed > max(budget * _LONGEST_SHARE, usual):
        raise UsageError(
            f"--sla: a trial needs {sla.operations:,} operations so that each percentile exists, "
            f"which take {format_duration(needed)} at half of the {operations_per_s:,.0f}/s that "
            "this test does: choose a lower percentile, more --clients or a longer --budget"
        )
    return max(usual, needed)


def check_budget(trial: Second | None, usual: Second, budget: Second) -> None:
    """Raise UsageError where a trial of a length that was asked for is too long for the budget."""
    longest = max(budget * _LONGEST_SHARE, usual)
    if trial is not None and trial > longest:
        raise UsageError(
            f"--trial {format_duration(trial)}: a trial takes at most a fortieth of --budget "
            f"{format_duration(budget)}, here {format_duration(longest)}"
        )


def times_of(latency: Histogram) -> dict[str, Second]:
    """Return the percentiles of response times, and the largest; empty without operations."""
    known = {name: percentile_ns([latency], share) for name, share in PERCENTILES.items()}
    times = {name: value / NS_PER_S for name, value in known.items() if value is not None}
    return {**times, "max": latency.max_ns / NS_PER_S} if times else {}


class SliceLaboratory(Trials):
    """Trials of a test that is measured in slices."""

    unit = "operations/s"

    def __init__(
        self,
        spec: Spec,
        contenders: Contenders,
        journal_of: OpenJournal,
        view: View,
        question: Question,
        *,
        length: Second | None,
    ) -> None:
        """`length` is that of earlier trials; None before the first one."""
        journal = journal_of(method_of_slices(spec))
        super().__init__(OpenExperiment(spec, contenders, journal, view, Announced(view)))
        self.tests = SlicedTests(self.experiment)
        self.length = length
        self._question = question

    def observe(self, test: OpenTest) -> None:
        arrivals, fewest = self._question.arrivals, self._question.terms.fewest
        self._measure(_SliceBench(test, arrivals, self._length, fewest))

    def _length(self, peaks: Mapping[str, float]) -> Second:
        if self.length is None:
            slowest = min(peaks.values(), default=0.0)
            usual = self._question.trial or USUAL
            budget = self.experiment.spec.budget
            self.length = shortest_trial(self._question.terms, usual, slowest, budget)
        return self.length


class _SliceBench:
    """The sessions of one start."""

    def __init__(
        self,
        test: OpenTest,
        arrivals: str,
        length_of: Callable[[Mapping[str, float]], Second],
        operations: float,
    ) -> None:
        """`operations` are those that a trial has at least."""
        self._test = test
        self._arrivals = arrivals
        peaks: dict[str, list[float]] = {}

        def peak(contender: RunningContender, run: RunAtRate) -> None:
            ran = run(Stop(seconds=_PEAK))
            if ran.seconds:
                peaks.setdefault(contender.name, []).append(ran.operations / ran.seconds)

        for _ in range(_PEAK_RUNS):
            test.each(peak)
        self.peaks = {name: median(rates) for name, rates in peaks.items()}
        self._length = length_of(self.peaks)
        self.lowest = operations / self._length

    def turn(self, number: int, rates: Mapping[str, float]) -> Sequence[Trial]:
        """Let each contender have a trial, the last one first in every second turn."""
        trials: list[Trial] = []
        observe = partial(self._trial, number, rates, trials)
        self._test.each(observe, turn=number)
        return trials

    def _trial(
        self,
        turn: int,
        rates: Mapping[str, float],
        trials: list[Trial],
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        if contender.name not in rates:
            return
        rate = rates[contender.name]
        begun = time.monotonic()
        run(Stop(seconds=_DISCARD))  # refills caches that the other contender emptied
        seconds = self._length
        ran = run(Stop(seconds=seconds), Rate(rate, self._arrivals))
        contender.refuse_fatal_errors(ran.errors, "operations of a trial")
        alone = len(ran.positions) / self.peaks[contender.name]
        trial = _trial_of(contender.name, rate, seconds, alone, ran)
        trial.start, trial.turn, trial.wall = self._test.start, turn, time.monotonic() - begun
        trials.append(trial)


def _trial_of(contender: str, rate: float, seconds: Second, alone: Second, ran: Ran) -> Trial:
    """Return the record of a trial; `alone` is the time of an operation in a closed loop.

    What was due at the end is done so much later, by who keeps up as well.
    """
    failed = sum(ran.errors.values())
    wrong = ran.errors.get(WRONG_RESULT, 0)  # which are among the operations
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
        times=times_of(ran.latency),
        errors=failed / max(1, ran.operations + failed - wrong),
        late=min(1.0, late / done),
        kept_up=seconds / max(seconds, ran.seconds - _LAST * alone) if ran.seconds else 0.0,
        busiest_client=None if ran.client is None else ran.client.busiest_thread,
    )
