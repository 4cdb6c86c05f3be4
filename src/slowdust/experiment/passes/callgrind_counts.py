"""Counts of work under callgrind: instructions and system calls, exact, in windows."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence

from slowdust.experiment.counting.servers import CountedServers, CountedTest
from slowdust.experiment.counting.session import TOLD_TREND, trend_of
from slowdust.experiment.counting.starts import WorkCounts
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.engine.loop import OpenExperiment, Starts
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.formats.callgrind import read_profile
from slowdust.units import Second


class CallgrindCounts(WorkCounts[CountedTest]):
    """Counts instructions and system calls, on servers under callgrind."""

    tests: CountedServers

    def __init__(self, experiment: OpenExperiment, tests: CountedServers) -> None:
        super().__init__(experiment)
        self.tests = tests
        self.steps = tests.steps
        self._lock = threading.Lock()
        self._trends: dict[str, tuple[float, str]] = {}
        """Test -> the largest trend of its counts that is worth a warning, and whose it is."""

    def repeats(self, step: PlannedStep) -> int:
        return self.tests.repeats(step)

    def expected(self, step: PlannedStep) -> Second:
        return self.tests.expected(step)

    def plan(self, time_of_each: Second) -> None:
        self.tests.budget = self.budget
        self.tests.plan(self.steps, time_of_each)

    def start(self, number: int, lacking: Mapping[str, Sequence[PlannedStep]]) -> Start:
        return Start(number, [], {name: self.tests.turns(own) for name, own in lacking.items()})

    def missing(self) -> Starts:
        """Yield the starts that are lacking; warn once of each test whose work still changed."""
        yield from super().missing()
        for test, (trend, contender) in self._trends.items():
            self.contenders.warn(
                f"the work of {test} still changed while it was counted, by "
                f"{math.expm1(trend):+.1%} from its first window to the others on {contender}"
            )

    def observe(self, test: CountedTest) -> None:
        server, expected = test.server, self.tests.expected(test.step)
        if server.stopped.is_set() or not self.countable(server.contender.name, test.step):
            return
        if self.budget.allows(expected):
            clock = self.experiment.clock
            begun = clock.monotonic()
            self._count(test)
            with self._lock:
                self.budget.note(expected, clock.monotonic() - begun)

    def _count(self, test: CountedTest) -> None:
        """Count a step and keep what it cost; an error that the server answers with is a warning.

        Raises:
            TargetError: the server has broken the connection.
            InstanceError: it does not run any more.
            CallgrindError: it does not take orders.
        """
        contender, step, start = test.server.contender, test.step, test.server.start
        try:
            repeats = test.count()
        except TargetError as error:
            contender.server.check_alive()
            if error.kind == "connection":
                raise
            with self._lock:
                self.failed.add((contender.name, step.test.name))
                name = f"{step.test.name} of {contender.name}"
                self.contenders.warn(f"the work of {name} was not counted: {error}")
            return
        runs = [repeat.run for repeat in repeats]
        profile = read_profile(
            [text for repeat in repeats for text in repeat.texts],
            benchmark=step.test.benchmark,
            test=step.test.name,
            clients=step.clients,
            contender=contender.name,
            operations=sum(run.operations for run in runs),
        )
        trend = trend_of(repeats)
        with self._lock:
            if abs(trend) > TOLD_TREND and not step.test.writes:  # writes change what they write to
                largest, _ = self._trends.get(step.test.name, (0.0, ""))
                if abs(trend) > abs(largest):
                    self._trends[step.test.name] = trend, contender.name
            # A step whose last count is there is not counted again: so its profile comes first.
            self.journal.keep_profile(profile, start)
            for each in counts_of(step, contender.name, start, "valgrind", runs):
                self.journal.add_count(each)
