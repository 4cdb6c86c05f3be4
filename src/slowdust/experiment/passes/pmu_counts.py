"""The counting of work by the processor's counters, in incarnations that are not timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.perf import PerfError
from slowdust.experiment.counting.pmu import PmuCounter, usable_groups
from slowdust.experiment.counting.starts import WorkCounts, counted_steps
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, turns_of
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.units import Second

REPEATS = 3
_WINDOW: Second = 0.1
"""The length of a window on the slowest contender, about."""
_FEWEST = 1


class PmuCounts(WorkCounts[OpenTest]):
    """Counts what the processor's own counters can, with one client on all contenders."""

    def __init__(
        self, experiment: OpenExperiment, groups: Sequence[tuple[str, ...]] | None = None
    ) -> None:
        """`groups` are the events of each run; None: all that can be counted here."""
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)
        self.steps = counted_steps(experiment.spec)
        groups = usable_groups() if groups is None else groups
        self._counters = [PmuCounter(groups), *[PmuCounter(groups[:1])] * (REPEATS - 1)]
        """The counter of each repeat: what decides is counted in all of them, the rest in one."""
        self._windows = len(groups) + REPEATS - 1
        self._expected: dict[str, Second] = {}
        """Step -> what one start of it takes, once its speed is known."""

    def repeats(self, step: PlannedStep) -> int:
        """Return the same number for every step."""
        del step
        return REPEATS

    def expected(self, step: PlannedStep) -> Second:
        """Return how long the windows take; 0 before the warm-up tells how fast it is."""
        return self._expected.get(step.key, 0.0)

    def start(self, number: int, lacking: Mapping[str, Sequence[PlannedStep]]) -> Start:
        """Return a start in which steps are counted that any contender lacks."""
        due = {step.key for steps in lacking.values() for step in steps}
        return Start(number, turns_of(self.steps, due))

    def observe(self, test: OpenTest) -> None:
        """Count a step on one contender after the other; where perf cannot, warn."""
        step, per_second = test.step, test.per_second
        self.view.phase(f"counting {step.test.name}")
        test.age(test.positions)  # from here on all contenders do the same operations
        operations = self._operations(test)
        left = test.operations_left
        if left is not None and left < self._windows * operations:
            self.contenders.warn(f"{step.test.name} was not counted: it has used up its rows")
            return
        contenders = len(self.contenders.running())
        expected = contenders * self._windows * operations / per_second if per_second else 0.0
        self._expected[step.key] = expected
        if not self.budget.allows(expected):
            return
        (position,) = test.positions
        test.each(partial(self._count, test, position, operations))

    def _operations(self, test: OpenTest) -> int:
        """Return the operations of a window: the same for all contenders and starts."""
        for count in self.journal.counts:
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
        if not self.countable(contender.name, test.step):
            return

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
            self.contenders.warn(f"the work of {contender.name} was not counted: {error}")
            return
        for count in counts_of(test.step, contender.name, test.start, "pmu", runs):
            self.journal.add_count(count)
