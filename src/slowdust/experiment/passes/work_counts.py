"""The starts for counting, the steps of each start, and their common time limit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from slowdust.analysis.results.failures import count_failures, fails
from slowdust.analysis.work import counts_by_step, undecided_steps
from slowdust.benchmarks.model import Test
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.stats.blocks import Step
from slowdust.store.manifest import LeftOut
from slowdust.store.slice import Slice
from slowdust.units import Second

T = TypeVar("T")

STARTS = 2
"""Starts of each server: the amount and place of its memory changes instructions a little."""
MOST_STARTS = 5
"""Starts for steps that fewer starts do not decide."""
PATIENCE: Second = 120.0
"""Time for additional starts to begin, or as long as the first ones took, if that is longer."""


def counted_steps(spec: Spec) -> list[PlannedStep]:
    """Return the counted steps, with one client.

    Steps that use up rows come last, so that all others see the same number of rows.
    """
    sequence = spec.configured_benchmark().sequence(spec.chosen_tests(), [1])
    steps = [PlannedStep(test, clients) for test, clients in sequence if is_counted(test, clients)]
    return sorted(steps, key=lambda step: step.test.consumes)


def is_counted(test: Test, clients: int) -> bool:
    """Return whether a test can be counted: it needs one client, one session and no load."""
    return test.countable and not test.reconnects and clients == 1 and test.beside is None


def failing_tests(journal: Journal) -> set[tuple[str, str]]:
    """Return the contenders and tests with too many failed timed operations to compare work.

    Counting has one client, which may succeed even if some of many clients fail.
    """
    failing = set()
    for step in journal.steps:
        by_contender: dict[str, list[Slice]] = defaultdict(list)
        for record in step.slices:
            by_contender[record.place.contender].append(record)
        for contender, slices in by_contender.items():
            failures = count_failures(slices)
            if failures and (failures.wholly or (step.clients == 1 and fails(failures))):
                failing.add((contender, step.test.name))
    return failing


LEAST: Second = 60.0
"""Shortest default budget: two starts under valgrind and a few tests of the fastest server."""
_CUT_FROM = 1.1
"""Multiple of the budget after which running counts are cut off."""

Expected = Callable[[PlannedStep], Second]
"""Returns the duration of counting a step after one start, on all contenders together."""


def usual_budget(timed: Second) -> Second:
    """Return the default time limit of counting: as long as the timed part."""
    return max(LEAST, timed)


class CountBudget:
    """A wall-clock budget that begins now."""

    def __init__(self, seconds: Second, clock: Clock = MACHINE) -> None:
        self.seconds = seconds
        self._clock = clock
        self._begun = clock.monotonic()
        self._expected: Second = 0.0
        self._took: Second = 0.0
        self.exceeded = False
        """Whether counts were skipped for lack of time."""

    @property
    def left(self) -> Second:
        """Seconds until it is spent; negative afterwards."""
        return self.seconds - (self._clock.monotonic() - self._begun)

    @property
    def is_overdue(self) -> bool:
        """Whether running counts have to be cut off."""
        return self.left < (1 - _CUT_FROM) * self.seconds

    def note(self, expected: Second, took: Second) -> None:
        """Record a step's expected and actual duration."""
        self._expected += expected
        self._took += took

    def allows(self, expected: Second) -> bool:
        """Return whether there is time for something with this expected duration."""
        if expected * self._slower <= self.left:
            return True
        self.exceeded = True
        return False

    @property
    def _slower(self) -> float:
        """The ratio of actual to expected durations so far."""
        return self._took / self._expected if self._expected else 1.0

    def fitting(self, steps: Sequence[PlannedStep], expected: Expected) -> list[PlannedStep]:
        """Return as many of the steps as there is time for, in their order."""
        left = self.left
        chosen = []
        for step in sorted(steps, key=expected):
            cost = STARTS * expected(step) * self._slower
            if cost > left:
                self.exceeded = True
                break
            left -= cost
            chosen.append(step)
        return [step for step in steps if step in chosen]


def count_budget(experiment: OpenExperiment) -> CountBudget:
    """Return the budget of an experiment's counting, beginning now."""
    usual = min(
        usual_budget(max(experiment.timed, experiment.journal.spent)), experiment.announced.room
    )
    return CountBudget(experiment.spec.count_budget or usual, experiment.clock)


def advised(needed: Second, had: Second) -> Second:
    """Return a sufficient budget in whole minutes, for counts that take `needed` after starting.

    It is larger than `had`, which was too small.
    """
    return 60.0 * math.ceil(max(LEAST + 1.5 * needed, 2 * had) / 60)


class WorkCounts(Pass[T]):
    """Counts the work of every contender in every step; a failure of a step is a warning.

    Steps that there is no time for are skipped and reported.
    """

    subject = "counting the work"
    budget: CountBudget
    """The time limit, from the first start on."""
    steps: Sequence[PlannedStep]
    """All countable steps, in order."""

    def __init__(self, experiment: OpenExperiment) -> None:
        super().__init__(experiment)
        self.failed: set[tuple[str, str]] = set()
        """Contender and test that failed, in the timed part or since, and would fail again."""

    @abstractmethod
    def repeats(self, step: PlannedStep) -> int:
        """Return the number of windows of a step after one start."""

    @abstractmethod
    def expected(self, step: PlannedStep) -> Second:
        """Return the duration of a step after one start, on the slowest contender."""

    @abstractmethod
    def start(self, number: int, missing: Mapping[str, Sequence[PlannedStep]]) -> Start:
        """Return the start that counts each contender's missing steps."""

    def plan(self, time_of_each: Second) -> None:
        """Choose windows for the steps, so that each takes at most `time_of_each` if possible."""
        del time_of_each

    def missing(self) -> Starts:
        """Yield the starts with missing counts, as long as there is time."""
        if self.announced.ended_early:
            return
        self.budget = count_budget(self.experiment)
        self.failed |= failing_tests(self.journal)
        tests = sum(any(self.countable(name, s) for name in self._names) for s in self.steps)
        self.plan(self.budget.left / (STARTS * max(1, tests)))
        tried: list[PlannedStep] = []
        while steps := self._fitting(tried):
            tried += steps
            for number, of_start in self._planned(steps):
                missing = self._missing(number, of_start)
                if missing and self.budget.allows(0.0):
                    yield self.start(number, missing)
        self._report_skipped()

    def _planned(self, steps: Sequence[PlannedStep]) -> Iterator[tuple[int, list[PlannedStep]]]:
        """Yield the number of each start and its steps: all at first, then the undecided ones.

        Additional starts need at least as much remaining time as one start took.
        """
        clock = self.experiment.clock
        begun = clock.monotonic()
        for number in range(1, STARTS + 1):
            yield number, list(steps)
        now = clock.monotonic()
        deadline = now + max(PATIENCE, now - begun)
        for number in range(STARTS + 1, MOST_STARTS + 1):
            counts = counts_by_step(self.journal.counts)
            undecided = undecided_steps(counts, self._names, self.journal.manifest.workload)
            again = [
                step
                for step in steps
                if Step(step.test.benchmark, step.test.name, step.clients) in undecided
            ]
            if (
                not again
                or clock.monotonic() > deadline
                or self.budget.left < (now - begun) / STARTS
            ):
                return
            yield number, again

    def _fitting(self, tried: Sequence[PlannedStep]) -> list[PlannedStep]:
        """Return the steps to count next: missing ones that there is time for."""
        missing = [
            step
            for step in self.steps
            if step not in tried
            and any(self._missing(start, [step]) for start in range(1, STARTS + 1))
        ]
        return self.budget.fitting(missing, self.expected)

    def _report_skipped(self) -> None:
        if not self.budget.exceeded:
            return
        counted = {(each.place.contender, each.place.test) for each in self.journal.counts}
        missing = [
            step
            for step in self.steps
            if any(
                (name, step.test.name) not in counted and self.countable(name, step)
                for name in self._names
            )
        ]
        self.journal.leave_uncounted(
            LeftOut(
                tests=[step.test.name for step in missing],
                budget_s=self.budget.seconds,
                advised_s=advised(STARTS * sum(map(self.expected, missing)), self.budget.seconds),
            )
        )

    def _missing(
        self, start: int, steps: Sequence[PlannedStep]
    ) -> dict[str, Sequence[PlannedStep]]:
        """Return contender -> the steps whose last repeat after a start is missing, if countable.

        Empty if the base has failed.
        """
        if self.contenders.all[0].failed is not None:
            return {}
        places = [each.place for each in self.journal.counts if each.place.incarnation == start]
        counted = {(place.contender, place.test, place.repeat) for place in places}
        missing = {
            name: [
                step
                for step in steps
                if (name, step.test.name, self.repeats(step) - 1) not in counted
                and self.countable(name, step)
            ]
            for name in self._names
        }
        return {name: own for name, own in missing.items() if own}

    @property
    def _names(self) -> list[str]:
        return [contender.name for contender in self.contenders.running()]

    def countable(self, contender: str, step: PlannedStep) -> bool:
        """Return whether a contender and the base both support a step and did not fail in it."""
        names = (contender, self.contenders.names[0])
        supporting = {each.name for each in self.contenders.supporting(step.test)}
        return supporting.issuperset(names) and not any(
            (name, step.test.name) in self.failed for name in names
        )
