"""The counting of work by the processor's counters, in incarnations that are not timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.counting.budget import CountBudget, advised
from slowdust.experiment.counting.incarnation import UntimedIncarnations
from slowdust.experiment.counting.perf import PerfError
from slowdust.experiment.counting.pmu import PmuCounter, usable_groups
from slowdust.experiment.counting.starts import STARTS, counted_steps, failing_tests, planned_starts
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.experiment.slices.blocks import StepSessions
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.manifest import LeftOut
from slowdust.units import Second

REPEATS = 3
_WINDOW: Second = 0.1
"""The length of a window on the slowest contender, about."""
_FEWEST = 1


class PmuLoop:
    """Counts the work of every contender in every test, with one client."""

    def __init__(
        self,
        spec: Spec,
        contenders: Contenders,
        journal: Journal,
        view: View,
        budget: CountBudget,
    ) -> None:
        self._incarnations = UntimedIncarnations(spec, contenders, journal, view)
        failing = {test for _, test in failing_tests(journal)}
        self._steps = [step for step in counted_steps(spec) if step.test.name not in failing]
        self._contenders = contenders
        self._journal = journal
        self._view = view
        self._budget = budget
        self._left_out: dict[str, Second] = {}
        """Test for which there was no time -> what one start of it would take."""
        groups = usable_groups()
        self._counters = [PmuCounter(groups), *[PmuCounter(groups[:1])] * (REPEATS - 1)]
        """The counter of each repeat: what decides is counted in all of them, the rest in one."""
        self._windows = len(groups) + REPEATS - 1

    def run(self) -> None:
        """Count what has not been counted yet; a contender that cannot be counted is a warning."""
        planned = planned_starts(
            self._steps, self._journal, self._contenders, lambda: self._budget.left
        )
        for start, steps in planned:
            missing = [step for step in steps if self._is_missing(step, start)]
            if missing and self._budget.allows(0.0):
                self._incarnations.run(start, missing, partial(self._observe, start))
        if self._left_out:
            needed = STARTS * sum(self._left_out.values())
            left_out = LeftOut(
                tests=[*self._left_out],
                budget_s=self._budget.seconds,
                advised_s=advised(needed, self._budget.seconds),
            )
            self._journal.leave_uncounted(left_out)

    def _is_missing(self, step: PlannedStep, incarnation: int) -> bool:
        """Return whether a contender lacks counts of a step in an incarnation."""
        counted = {
            count.place.contender
            for count in self._journal.counts
            if (count.place.test, count.place.incarnation) == (step.test.name, incarnation)
        }
        return not counted.issuperset(each.name for each in self._contenders.running())

    def _observe(
        self, incarnation: int, step: PlannedStep, run: StepSessions, per_second: float
    ) -> None:
        self._view.phase(f"counting {step.test.name}")
        run.age(run.positions)  # from here on all contenders do the same operations
        operations = self._operations(step, per_second, run)
        left = self._incarnations.operations_left(step, run)
        if left is not None and left < self._windows * operations:
            self._contenders.warn(f"{step.test.name} was not counted: it has used up its rows")
            return
        contenders = len(self._contenders.running())
        expected = contenders * self._windows * operations / per_second if per_second else 0.0
        if not self._budget.allows(expected):
            self._left_out[step.test.name] = expected
            return
        (position,) = run.positions
        run.each(partial(self._count, _Work(step, incarnation, run, position, operations)))

    def _operations(self, step: PlannedStep, per_second: float, run: StepSessions) -> int:
        """Return the operations of a window: the same for all contenders and incarnations."""
        for count in self._journal.counts:
            if count.place.test == step.test.name:
                return count.run.operations
        operations = round(per_second * _WINDOW)
        left = self._incarnations.operations_left(step, run)
        if left is not None:
            operations = min(operations, left // (2 * self._windows))
        return max(_FEWEST, operations)

    def _count(self, work: _Work, contender: RunningContender, run: Callable[[Stop], Ran]) -> None:
        """Count a contender's work; a failure of perf is a warning."""
        position = work.position

        def advance() -> None:
            nonlocal position
            position += work.operations
            ran = run(Stop(positions=[position]))
            contender.refuse_fatal_errors(ran.errors, "operations that were counted")

        server, serving = contender.instance.pid, work.sessions.serving(contender)
        try:
            runs = [
                counter.count(server, serving, work.operations, advance)
                for counter in self._counters
            ]
        except PerfError as error:
            self._contenders.warn(f"the work of {contender.name} was not counted: {error}")
            return
        for count in counts_of(work.step, contender.name, work.incarnation, "pmu", runs):
            self._journal.add_count(count)


@dataclass(frozen=True)
class _Work:
    """What every contender does while it is counted."""

    step: PlannedStep
    incarnation: int
    sessions: StepSessions
    position: int
    """Operations that the client has done before."""
    operations: int
    """Operations of each window."""
