"""Counts of work under callgrind: instructions and system calls, exact, in windows."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from slowdust.experiment.counting.budget import CountBudget, advised, count_budget
from slowdust.experiment.counting.procedure import CountedTest, Procedure
from slowdust.experiment.counting.servers import CountedServers
from slowdust.experiment.counting.session import TOLD_TREND, trend_of
from slowdust.experiment.counting.starts import STARTS, failing_tests, planned_starts
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.loop import Pass, Starts
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.formats.callgrind import read_profile
from slowdust.store.manifest import LeftOut


class CallgrindCounts(Pass[CountedTest]):
    """Counts the work of every contender in every step; a step that cannot be counted is a warning.

    Steps for which there is no time are left out, and named.
    """

    subject = "counting the work"

    def __init__(
        self, experiment: OpenExperiment, procedure: Procedure, options: Sequence[str] = ()
    ) -> None:
        """`options` are more of callgrind's."""
        self.tests: CountedServers = CountedServers(experiment, procedure, options)
        self._experiment = experiment
        self._procedure = procedure
        self._contenders = experiment.contenders
        self._journal = experiment.journal
        self._budget: CountBudget
        self._lock = threading.Lock()
        self._failed: set[tuple[str, str]] = set()
        """Contender and test that failed, in the timed part or since: they would again."""

    def missing(self) -> Starts:
        """Yield the starts after which contenders lack counts, as long as there is time."""
        if self._experiment.announced.ended_early:
            return
        self._budget = self.tests.budget = count_budget(self._experiment)
        self._failed = failing_tests(self._journal)
        every = [step for step in self._procedure.steps if self._is_countable(step)]
        self._procedure.plan(every, self._budget.left / (STARTS * max(1, len(every))))
        tried: list[PlannedStep] = []
        while steps := self._fitting(tried):
            tried += steps
            planned = planned_starts(self._experiment, steps, lambda: self._budget.left)
            for number, of_start in planned:
                lacking = self._lacking(number, of_start)
                if lacking and self._budget.allows(0.0):
                    turns = {name: self._procedure.turns(own) for name, own in lacking.items()}
                    yield Start(number, [], turns)
        self._tell_what_is_left_out()

    def observe(self, test: CountedTest) -> None:
        """Count a step on one contender, if there is time."""
        expected = self._procedure.expected(test.step)
        if test.server.stopped.is_set() or not self._countable(
            test.server.contender.name, test.step
        ):
            return
        if self._budget.allows(expected):
            begun = self._experiment.clock.monotonic()
            self._count(test)
            with self._lock:
                self._budget.note(expected, self._experiment.clock.monotonic() - begun)

    def _fitting(self, tried: Sequence[PlannedStep]) -> list[PlannedStep]:
        """Return the steps to count next: those that are missing and that there is time for."""
        missing = [
            step
            for step in self._procedure.steps
            if step not in tried
            and any(self._lacking(start, [step]) for start in range(1, STARTS + 1))
        ]
        return self._budget.fitting(missing, self._procedure.expected)

    def _tell_what_is_left_out(self) -> None:
        """Keep the tests that lack counts for want of time, and say so."""
        if not self._budget.exceeded:
            return
        counted = {(each.place.contender, each.place.test) for each in self._journal.counts}
        missing = [
            step
            for step in self._procedure.steps
            if any(
                (contender.name, step.test.name) not in counted
                and self._countable(contender.name, step)
                for contender in self._contenders.running()
            )
        ]
        self._journal.leave_uncounted(
            LeftOut(
                tests=[step.test.name for step in missing],
                budget_s=self._budget.seconds,
                advised_s=advised(
                    STARTS * sum(map(self._procedure.expected, missing)), self._budget.seconds
                ),
            )
        )

    def _lacking(
        self, start: int, steps: Sequence[PlannedStep]
    ) -> dict[str, Sequence[PlannedStep]]:
        """Return contender -> what it lacks after a start; nothing where the base is no more."""
        if self._contenders.all[0].failed is not None:
            return {}
        names = [contender.name for contender in self._contenders.running()]
        lacking = {name: self._missing(name, start, steps) for name in names}
        return {name: missing for name, missing in lacking.items() if missing}

    def _missing(
        self, contender: str, start: int, steps: Sequence[PlannedStep]
    ) -> list[PlannedStep]:
        """Return those of the steps of which a contender lacks a repeat, and may have it."""
        places = [
            count.place
            for count in self._journal.counts
            if (count.place.contender, count.place.incarnation) == (contender, start)
        ]
        counted = {(place.test, place.repeat) for place in places}
        return [
            step
            for step in steps
            if (step.test.name, self._procedure.repeats(step) - 1) not in counted
            and self._countable(contender, step)
        ]

    def _countable(self, contender: str, step: PlannedStep) -> bool:
        """Return whether both a contender and the base have a step, and did not fail in it."""
        names = (contender, self._contenders.names[0])
        having = {each.name for each in self._contenders.having(step.test)}
        return having.issuperset(names) and not any(
            (name, step.test.name) in self._failed for name in names
        )

    def _is_countable(self, step: PlannedStep) -> bool:
        names = [contender.name for contender in self._contenders.running()]
        return any(self._countable(name, step) for name in names)

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
                self._failed.add((contender.name, step.test.name))
                name = f"{step.test.name} of {contender.name}"
                self._contenders.warn(f"the work of {name} was not counted: {error}")
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
                self._contenders.warn(
                    f"the work of {step.test.name} on {contender.name} still changed while it was "
                    f"counted, by {math.expm1(trend):+.1%} from its first window to the others"
                )
            # A step whose last count is there is not counted again: so its profile comes first.
            self._journal.keep_profile(profile, start)
            for each in counts_of(step, contender.name, start, "valgrind", runs):
                self._journal.add_count(each)
