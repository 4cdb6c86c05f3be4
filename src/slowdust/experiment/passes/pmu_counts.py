"""The counting of work by the processor's counters, in incarnations that are not timed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.budget import CountBudget, advised, count_budget
from slowdust.experiment.counting.perf import PerfError
from slowdust.experiment.counting.pmu import PmuCounter, usable_groups
from slowdust.experiment.counting.starts import STARTS, counted_steps, failing_tests, planned_starts
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.loop import Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.store.manifest import LeftOut
from slowdust.units import Second

REPEATS = 3
_WINDOW: Second = 0.1
"""The length of a window on the slowest contender, about."""
_FEWEST = 1


class PmuCounts(Pass[OpenTest]):
    """Counts the work of every contender in every test, with one client."""

    subject = "counting the work"

    def __init__(
        self, experiment: OpenExperiment, groups: Sequence[tuple[str, ...]] | None = None
    ) -> None:
        """`groups` are the events of each run; None: all that can be counted here."""
        self.tests = SlicedTests(experiment)
        self._experiment = experiment
        self._contenders = experiment.contenders
        self._journal = experiment.journal
        self._view = experiment.view
        self._left_out: dict[str, Second] = {}
        """Test for which there was no time -> what one start of it would take."""
        groups = usable_groups() if groups is None else groups
        self._counters = [PmuCounter(groups), *[PmuCounter(groups[:1])] * (REPEATS - 1)]
        """The counter of each repeat: what decides is counted in all of them, the rest in one."""
        self._windows = len(groups) + REPEATS - 1
        self._budget: CountBudget

    def missing(self) -> Starts:
        """Yield the starts in which steps lack counts, as long as there is time."""
        if self._experiment.announced.ended_early:
            return
        self._budget = count_budget(self._experiment)
        failing = {test for _, test in failing_tests(self._journal)}
        steps = [
            step for step in counted_steps(self._experiment.spec) if step.test.name not in failing
        ]
        planned = planned_starts(self._experiment, steps, lambda: self._budget.left)
        for number, of_start in planned:
            missing = [step for step in of_start if self._is_missing(step, number)]
            if missing and self._budget.allows(0.0):
                yield Start.of(number, missing)
        if self._left_out:
            needed = STARTS * sum(self._left_out.values())
            left_out = LeftOut(
                tests=[*self._left_out],
                budget_s=self._budget.seconds,
                advised_s=advised(needed, self._budget.seconds),
            )
            self._journal.leave_uncounted(left_out)

    def observe(self, test: OpenTest) -> None:
        """Count a step on one contender after the other; where perf cannot, warn."""
        step, per_second = test.step, test.per_second
        self._view.phase(f"counting {step.test.name}")
        test.age(test.positions)  # from here on all contenders do the same operations
        operations = self._operations(test)
        left = test.operations_left
        if left is not None and left < self._windows * operations:
            self._contenders.warn(f"{step.test.name} was not counted: it has used up its rows")
            return
        contenders = len(self._contenders.running())
        expected = contenders * self._windows * operations / per_second if per_second else 0.0
        if not self._budget.allows(expected):
            self._left_out[step.test.name] = expected
            return
        (position,) = test.positions
        test.each(partial(self._count, test, position, operations))

    def _is_missing(self, step: PlannedStep, start: int) -> bool:
        """Return whether a contender lacks counts of a step in a start."""
        counted = {
            count.place.contender
            for count in self._journal.counts
            if (count.place.test, count.place.incarnation) == (step.test.name, start)
        }
        return not counted.issuperset(each.name for each in self._contenders.running())

    def _operations(self, test: OpenTest) -> int:
        """Return the operations of a window: the same for all contenders and starts."""
        for count in self._journal.counts:
            if count.place.test == test.step.test.name:
                return count.run.operations
        operations = round(test.per_second * _WINDOW)
        if (left := test.operations_left) is not None:
            operations = min(operations, left // (2 * self._windows))
        return max(_FEWEST, operations)

    def _count(
        self,
        test: OpenTest,
        position: int,
        operations: int,
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        """Count a contender's work from a position on, in windows of so many operations."""

        def advance() -> None:
            nonlocal position
            position += operations
            ran = run(Stop(positions=[position]))
            contender.refuse_fatal_errors(ran.errors, "operations that were counted")

        server, serving = contender.instance.pid, test.serving(contender)
        try:
            runs = [
                counter.count(server, serving, operations, advance) for counter in self._counters
            ]
        except PerfError as error:
            self._contenders.warn(f"the work of {contender.name} was not counted: {error}")
            return
        for count in counts_of(test.step, contender.name, test.start, "pmu", runs):
            self._journal.add_count(count)
