"""The counting of work after the timed incarnations: servers under callgrind, one client each.

Time does not matter here, so contenders are counted at the same time, each on a CPU of its own.
The tables are loaded by servers as usual, which are then started again under callgrind.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.counting.session import (
    REPEATS,
    TOLD_TREND,
    WINDOWS_AT_MOST,
    CountedSession,
    trend_of,
)
from slowdust.experiment.counting.starts import counted_steps, planned_starts
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.process import Data, Driver, TargetError
from slowdust.experiment.driver.protocol import ToPositions
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.experiment.slices.preparation import Preparations
from slowdust.experiment.slices.schedule import Action, Turn, maintenance_after
from slowdust.experiment.slices.tables import LoadedTables
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.formats.callgrind import read_profile
from slowdust.instances.callgrind import SIMULATION, Callgrind
from slowdust.units import Second, known

_WINDOW = 60_000_000
"""Instructions that a window should have: half a second under callgrind."""
_PER_US = 3000
"""Instructions in a microsecond of CPU time in user mode, at most."""
_FEWEST, _MOST = 3, 1000
"""Fewest and most operations of a window."""
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


class CountingLoop:
    """Counts the work of every contender in every test, in incarnations of its own."""

    def __init__(self, spec: Spec, contenders: Contenders, journal: Journal, view: View) -> None:
        self._steps = counted_steps(spec)
        data = Data(spec.tables, spec.rows, spec.seed, spec.configured_benchmark().table)
        preparations = Preparations(contenders, journal.manifest.contenders, [], view)
        self._tables = LoadedTables(contenders, data, preparations, view)
        self._budget = spec.budget
        self._options = SIMULATION if spec.simulate else ()
        self._contenders = contenders
        self._journal = journal
        self._view = view
        self._lock = threading.Lock()
        self._failed: set[tuple[str, str]] = set()
        """Contender and test that failed once: after another start they would again."""

    def run(self) -> None:
        """Count what has not been counted yet; a step that cannot be counted is a warning."""
        for start, steps in planned_starts(self._steps, self._journal, self._contenders):
            if self._tasks(start, steps):
                self._load(start)
                self._count(self._tasks(start, steps))

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
        counted = {place.test for place in places if place.repeat == REPEATS - 1}
        return [
            step
            for step in steps
            if step.test.name not in counted and self._countable(contender, step)
        ]

    def _countable(self, contender: str, step: PlannedStep) -> bool:
        """Return whether neither a contender nor the base failed in a step."""
        names = (contender, self._contenders.names[0])
        return not any((name, step.test.name) in self._failed for name in names)

    def _load(self, start: int) -> None:
        """Prepare the tables by servers as usual, unless they forget them at their end."""
        self._tables.note_writes()  # what a load does is drawn anew
        if not any(contender.keeps_tables for contender in self._contenders.running()):
            return
        self._tables.start(start)
        self._view.phase("ageing the data")
        self._contenders.for_each(lambda contender: self._age(contender, self._contenders.driver))
        if self._writes:
            self._tables.maintain(self._budget)
        self._contenders.stop()

    @property
    def _writes(self) -> bool:
        return any(step.test.writes for step in self._steps)

    def _age(self, contender: RunningContender, driver: Driver) -> None:
        """Write as often into a contender's tables as the timed part did.

        The first writes into tables just loaded split the pages of their indexes, which costs
        many times what a write costs later, and not at the same moment on each server.
        """
        data = self._tables.data
        for step in self._steps:
            if age := self._age_of(step):
                session = f"{contender.name}|{step.key}|age"
                driver.open(session, contender.target, data, test=step.test.driver_test, clients=1)
                driver.run(session, ToPositions([age]))
                driver.close(session)

    def _age_of(self, step: PlannedStep) -> int:
        """Return the operations of a step that come before those that are counted.

        They are those of the first timed incarnation; none where operations use up rows.
        """
        if step.test.consumes:
            return 0
        ages = [
            sum(timed.aged_to)
            for timed in self._journal.steps
            if timed.test.name == step.test.name and timed.aged_to is not None
        ]
        return min(ages, default=0)

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
        self._view.phase("counting instructions under valgrind")
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
            self._view.progress(sum(task.done for task in futures.values()), total)
            for future in done:
                error = future.exception()
                if isinstance(error, (SlowdustError, OSError)):
                    self._contenders.drop(futures[future].contender, error)
                elif error is not None:
                    raise error
            if self._contenders.all[0].failed is not None:
                for task in futures.values():
                    task.stopped.set()  # without a base there is nothing to compare with

    def _count_one(self, task: _Task) -> None:
        contender = task.contender
        cpus = usable_cpus()
        try:
            callgrind = contender.server.start_under_callgrind(self._options)
            with Driver(cpus=[cpus[-1 - task.number % len(cpus)]]) as driver:
                if not contender.keeps_tables:
                    self._tables.load_one(contender, driver, lambda done, total: None)
                    self._age(contender, driver)
                    if self._writes:
                        self._tables.maintain_one(contender, driver)
                todo = [Turn(step, Action.MEASURE) for step in task.steps]
                maintained = maintenance_after(todo)
                for turn in todo:
                    if task.stopped.is_set():
                        return
                    if self._countable(contender.name, turn.step):
                        self._count_step(task, turn.step, driver, callgrind)
                    if turn is maintained:
                        self._tables.maintain_one(contender, driver)
                    task.done += 1
        finally:
            contender.server.stop()

    def _count_step(
        self, task: _Task, step: PlannedStep, driver: Driver, callgrind: Callgrind
    ) -> None:
        """Count a step and keep what it cost; an error that the server answers with is a warning.

        Raises:
            TargetError: the server has broken the connection.
            InstanceError: it does not run any more.
            CallgrindError: it does not take orders.
        """
        contender = task.contender
        session = CountedSession(driver, contender, step, task.start, self._age_of(step))
        operations = self._operations(step)
        try:
            repeats = session.repeats(callgrind, self._tables.data, operations)
        except TargetError as error:
            contender.server.check_alive()
            if error.kind == "connection":
                raise
            with self._lock:
                self._failed.add((contender.name, step.test.name))
                name = f"{step.test.name} of {contender.name}"
                self._contenders.warn(f"the work of {name} was not counted: {error}")
            return
        profile = read_profile(
            [repeat.text for repeat in repeats],
            benchmark=step.test.benchmark,
            test=step.test.name,
            clients=step.clients,
            contender=contender.name,
            operations=REPEATS * operations,
        )
        runs = [repeat.run for repeat in repeats]
        trend = trend_of(repeats)
        with self._lock:
            if abs(trend) > TOLD_TREND:
                self._contenders.warn(
                    f"the work of {step.test.name} on {contender.name} still changed while it was "
                    f"counted, by {math.expm1(trend):+.1%} from its first window to the others"
                )
            # A step whose last count is there is not counted again: so its profile comes first.
            self._journal.keep_profile(profile, task.start)
            for count in counts_of(step, contender.name, task.start, "valgrind", runs):
                self._journal.add_count(count)

    def _operations(self, step: PlannedStep) -> int:
        """Return the operations of a window: the same for all contenders and incarnations.

        They are chosen by the CPU time that the base's operations took in the timed part.
        """
        earlier = [
            count.run.operations
            for count in self._journal.counts
            if count.place.test == step.test.name
        ]
        operations = earlier[0] if earlier else operations_of(self._cpu_us(step))
        if not step.test.consumes:
            return operations
        rows = self._tables.data.tables * self._tables.data.rows
        return max(1, min(operations, rows // WINDOWS_AT_MOST))

    def _cpu_us(self, step: PlannedStep) -> float | None:
        """Return the base's CPU time in user mode per operation; None where none was measured."""
        base = self._contenders.all[0].name
        measured = [
            record.measured
            for timed in self._journal.steps
            for record in timed.slices
            if timed.test.name == step.test.name and record.place.contender == base
        ]
        seconds = known(each.used("server", "cpu_user_s") for each in measured)
        operations = sum(each.operations or 0 for each in measured)
        return 1e6 * sum(seconds) / operations if operations and seconds else None


def operations_of(cpu_us: float | None) -> int:
    """Return the operations of a window, for operations that take so much CPU time.

    It then has about `_WINDOW` instructions; operations of which nothing is known take the
    fewest.
    """
    if not cpu_us:
        return _FEWEST
    return round(min(_MOST, max(_FEWEST, _WINDOW / (cpu_us * _PER_US))))
