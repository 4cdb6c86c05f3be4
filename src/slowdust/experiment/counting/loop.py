"""The counting of work after the timed incarnations: servers under callgrind, one client each.

Time does not matter here, so contenders are counted at the same time, each on a CPU of its own.
What they carry out is the benchmark's to say: it comes as a procedure.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.counting.budget import CountBudget, advised
from slowdust.experiment.counting.procedure import CountedServer, CountStep, Procedure
from slowdust.experiment.counting.session import TOLD_TREND, trend_of
from slowdust.experiment.counting.starts import STARTS, failing_tests, planned_starts
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.experiment.view import View
from slowdust.formats.callgrind import read_profile
from slowdust.store.manifest import LeftOut
from slowdust.units import Second, format_duration

_LOOK_EVERY: Second = 0.2


@dataclass
class _Task:
    """What is left to count on one contender after one start."""

    contender: RunningContender
    number: int
    start: int
    """Number of the server's start for counting, 1-based."""
    steps: list[PlannedStep]
    done: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    cut_off: bool = False
    """Whether its server was ended since there was no time left."""


class CountingLoop:
    """Counts the work of every contender in every step, after starts of its server of their own."""

    def __init__(
        self,
        procedure: Procedure,
        contenders: Contenders,
        journal: Journal,
        view: View,
        *,
        budget: CountBudget,
        options: Sequence[str] = (),
    ) -> None:
        """`options` are more of callgrind's."""
        self._procedure = procedure
        self._budget = budget
        self._options = options
        self._contenders = contenders
        self._journal = journal
        self._view = view
        self._lock = threading.Lock()
        self._failed = failing_tests(journal)
        """Contender and test that failed, in the timed part or since: they would again."""
        self._trends: dict[str, tuple[float, str]] = {}
        """Test -> the largest trend of its counts that is worth a warning, and whose it is."""

    def run(self) -> None:
        """Count what has not been counted yet; a step that cannot be counted is a warning.

        Steps for which there is no time are left out, and named.
        """
        every = [step for step in self._procedure.steps if self._is_countable(step)]
        self._procedure.plan(every, self._budget.left / (STARTS * max(1, len(every))))
        tried: list[PlannedStep] = []
        while steps := self._fitting(tried):
            tried += steps
            planned = planned_starts(
                steps, self._journal, self._contenders, lambda: self._budget.left
            )
            for start, of_start in planned:
                if self._tasks(start, of_start) and self._budget.allows(0.0):
                    self._procedure.prepare(start)
                    self._count(self._tasks(start, of_start))
        self._warn_of_trends()
        self._tell_what_is_left_out()

    def _fitting(self, tried: Sequence[PlannedStep]) -> list[PlannedStep]:
        """Return the steps to count next: those that are missing and that there is time for."""
        missing = [
            step
            for step in self._procedure.steps
            if step not in tried
            and any(self._tasks(start, [step]) for start in range(1, STARTS + 1))
        ]
        return self._budget.fitting(missing, self._procedure.expected)

    def _warn_of_trends(self) -> None:
        """Warn once of each test whose work still changed, however many starts and contenders."""
        for test, (trend, contender) in self._trends.items():
            self._contenders.warn(
                f"the work of {test} still changed while it was counted, by "
                f"{math.expm1(trend):+.1%} from its first window to the others on {contender}"
            )

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

    def _tasks(self, start: int, steps: Sequence[PlannedStep]) -> list[_Task]:
        """Return what is left to count after a start; nothing where the base cannot be counted."""
        if self._contenders.all[0].failed is not None:
            return []
        return [
            _Task(contender, number, start, missing)
            for number, contender in enumerate(self._contenders.all)
            if contender.failed is None
            if (missing := self._missing(contender.name, start, steps))
        ]

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

    def _count(self, tasks: Sequence[_Task]) -> None:
        """Count several contenders at the same time, as many as there are CPUs."""
        total = sum(len(task.steps) for task in tasks)
        with ThreadPoolExecutor(len(usable_cpus())) as pool:
            futures = {pool.submit(self._count_one, task): task for task in tasks}
            try:
                self._watch(futures, total)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for task in tasks:
                    task.stopped.set()
                    task.contender.server.stop(Shutdown.AT_ONCE)
                raise

    def _watch(self, futures: dict[Future[None], _Task], total: int) -> None:
        """Show how far the count has come until it is done."""
        most = format_duration(round(max(0.0, self._budget.left)))
        self._view.phase(f"counting instructions under valgrind, {most} at most")
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
            self._view.progress(sum(task.done for task in futures.values()), total)
            for future in done:
                error = future.exception()
                if futures[future].cut_off and isinstance(error, (SlowdustError, OSError)):
                    continue  # that is how its server ends
                if isinstance(error, (SlowdustError, OSError)):
                    self._contenders.drop(futures[future].contender, error)
                elif error is not None:
                    raise error
            if self._contenders.all[0].failed is not None:
                for task in futures.values():
                    task.stopped.set()  # without a base there is nothing to compare with
            if self._budget.is_overdue:
                self._cut_off([futures[future] for future in waiting])

    def _cut_off(self, tasks: Sequence[_Task]) -> None:
        """End what goes on for longer than was planned."""
        for task in tasks:
            task.stopped.set()
            if not task.cut_off:
                task.cut_off = self._budget.exceeded = True
                task.contender.server.stop(Shutdown.AT_ONCE)

    def _count_one(self, task: _Task) -> None:
        contender = task.contender
        cpus = usable_cpus()
        if task.stopped.is_set():
            return
        try:
            callgrind = contender.instance.start_under_callgrind(self._options)
            with Driver(cpus=[cpus[-1 - task.number % len(cpus)]]) as driver:
                server = CountedServer(contender, driver, callgrind, task.start)
                for step, count in self._procedure.turns(server, task.steps):
                    if task.stopped.is_set():
                        return
                    expected = self._procedure.expected(step)
                    if self._countable(contender.name, step) and self._budget.allows(expected):
                        begun = time.monotonic()
                        self._count_step(task, step, count)
                        with self._lock:
                            self._budget.note(expected, time.monotonic() - begun)
                    task.done += 1
        finally:
            contender.server.stop()

    def _count_step(self, task: _Task, step: PlannedStep, count: CountStep) -> None:
        """Count a step and keep what it cost; an error that the server answers with is a warning.

        Raises:
            TargetError: the server has broken the connection.
            InstanceError: it does not run any more.
            CallgrindError: it does not take orders.
        """
        contender = task.contender
        try:
            repeats = count()
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
                largest, _ = self._trends.get(step.test.name, (0.0, ""))
                if abs(trend) > abs(largest):
                    self._trends[step.test.name] = trend, contender.name
            # A step whose last count is there is not counted again: so its profile comes first.
            self._journal.keep_profile(profile, task.start)
            for each in counts_of(step, contender.name, task.start, "valgrind", runs):
                self._journal.add_count(each)
