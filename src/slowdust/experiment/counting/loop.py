"""The counting of work after the timed incarnations: servers under callgrind, one client each.

Time does not matter here, so contenders are counted at the same time, each on a CPU of its own.
The tables are loaded by servers as usual, which are then started again under callgrind.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.counting.session import REPEATS, WINDOWS_AT_MOST, CountedSession, Repeat
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.process import Data, Driver, TargetError
from slowdust.experiment.driver.protocol import ToPositions
from slowdust.experiment.journal import Journal
from slowdust.experiment.maintenance import carry_out
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.formats.callgrind import read_profile
from slowdust.instances.instance import InstanceError
from slowdust.store.count import Count, CountPlace
from slowdust.units import Second, known

INCARNATIONS = 2
"""Starts of each server: what memory it gets, and where, moves instructions a little, too."""
_WINDOW = 60_000_000
"""Instructions that a window should have: half a second under callgrind."""
_PER_US = 3000
"""Instructions in a microsecond of CPU time in user mode, at most."""
_FEWEST, _MOST = 3, 1000
"""Fewest and most operations of a window."""
_LOOK_EVERY: Second = 0.2


@dataclass
class _Task:
    """What is left to count on one contender in one incarnation."""

    contender: RunningContender
    number: int
    incarnation: int
    steps: list[PlannedStep]
    done: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)


class CountingLoop:
    """Counts the work of every contender in every test, in incarnations of its own."""

    def __init__(self, spec: Spec, contenders: Contenders, journal: Journal, view: View) -> None:
        sequence = spec.configured_benchmark().sequence(spec.chosen_tests(), [1])
        self._steps = [PlannedStep(test, clients) for test, clients in sequence]
        self._data = Data(spec.tables, spec.rows, spec.seed, spec.configured_benchmark().table)
        self._contenders = contenders
        self._journal = journal
        self._view = view
        self._lock = threading.Lock()
        self._not_counted: set[str] = set()
        """Contenders that failed once: another start would fail again, after minutes."""

    def run(self) -> None:
        """Count what has not been counted yet; a contender that cannot be counted is a warning."""
        for incarnation in range(1, INCARNATIONS + 1):
            tasks = [task for task in self._tasks(incarnation) if task.steps]
            if tasks:
                self._count([task for task in tasks if self._load(task.contender)])

    def _tasks(self, incarnation: int) -> list[_Task]:
        return [
            _Task(contender, number, incarnation, self._missing(contender.name, incarnation))
            for number, contender in enumerate(self._contenders.all)
            if contender.failed is None and contender.name not in self._not_counted
        ]

    def _missing(self, contender: str, incarnation: int) -> list[PlannedStep]:
        """Return the steps of which the incarnation lacks a repeat on a contender."""
        places = [
            count.place
            for count in self._journal.counts
            if (count.place.contender, count.place.incarnation) == (contender, incarnation)
        ]
        counted = {place.test for place in places if place.repeat == REPEATS - 1}
        return [step for step in self._steps if step.test.name not in counted]

    def _load(self, contender: RunningContender) -> bool:
        """Prepare the tables by the server as usual, unless it forgets them at its end.

        Return whether that worked: what fails now takes nothing from the results of time.
        """
        try:
            contender.server.stop()
            if contender.keeps_tables:
                self._view.phase(f"loading {contender.name} for the count")
                contender.start()
                self._prepare(contender, self._contenders.driver)
            contender.server.stop()
        except (TargetError, InstanceError) as error:
            self._warn(contender, error)
            contender.server.stop(Shutdown.AT_ONCE)
            return False
        return True

    def _warn(self, contender: RunningContender, error: Exception) -> None:
        self._not_counted.add(contender.name)
        self._contenders.warn(f"the work of {contender.name} was not counted: {error}")

    def _prepare(self, contender: RunningContender, driver: Driver) -> None:
        """Load a contender's tables, and let them age as the timed part did.

        The first writes into tables just loaded split the pages of their indexes, which costs
        many times what a write costs later, and not at the same moment on each server.
        """
        driver.load(contender.target, self._data, lambda done, total: None)
        site, names = contender.server.site, self._data.names
        rows = self._data.tables * self._data.rows
        stages = contender.family.after_load(site, names)
        carry_out(driver, contender.target, stages, rows, self._contenders.warn)
        for step in self._steps:
            if age := self._age(step):
                session = f"{contender.name}|{step.key}|age"
                test = step.test.driver_test
                driver.open(session, contender.target, self._data, test=test, clients=1)
                driver.run(session, ToPositions([age]))
                driver.close(session)
        if any(step.test.writes for step in self._steps):
            stages = contender.family.after_writes(site, names)
            carry_out(driver, contender.target, stages, rows, self._contenders.warn)

    def _age(self, step: PlannedStep) -> int:
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
                    self._warn(futures[future].contender, error)
                elif error is not None:
                    raise error

    def _count_one(self, task: _Task) -> None:
        server = task.contender.server
        cpus = usable_cpus()
        try:
            callgrind = server.start_under_callgrind()
            with Driver(cpus=[cpus[-1 - task.number % len(cpus)]]) as driver:
                if not task.contender.keeps_tables:
                    self._prepare(task.contender, driver)
                for step in task.steps:
                    session = CountedSession(
                        driver, task.contender, step, task.incarnation, self._age(step)
                    )
                    repeats = session.repeats(callgrind, self._data, self._operations(step))
                    texts: list[str] = []
                    for number, repeat in enumerate(repeats):
                        if task.stopped.is_set():
                            return
                        self._keep(task, step, number, repeat)
                        texts.append(repeat.text)
                    self._keep_profile(task, step, texts)
                    task.done += 1
        finally:
            server.stop()

    def _keep(self, task: _Task, step: PlannedStep, number: int, repeat: Repeat) -> None:
        place = CountPlace(
            benchmark=step.test.benchmark,
            test=step.test.name,
            clients=step.clients,
            contender=task.contender.name,
            incarnation=task.incarnation,
            repeat=number,
        )
        with self._lock:
            self._journal.add_count(Count(place=place, source="valgrind", run=repeat.run))

    def _keep_profile(self, task: _Task, step: PlannedStep, texts: Sequence[str]) -> None:
        """Keep the profile of all windows of a step together."""
        profile = read_profile(
            texts,
            benchmark=step.test.benchmark,
            test=step.test.name,
            clients=step.clients,
            contender=task.contender.name,
            operations=REPEATS * self._operations(step),
        )
        with self._lock:
            self._journal.keep_profile(profile)

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
        return max(1, min(operations, self._data.tables * self._data.rows // WINDOWS_AT_MOST))

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
