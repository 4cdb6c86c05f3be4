"""The way to tests that are counted: servers under callgrind, one client each.

Time does not matter here, so contenders are counted at the same time, each on a CPU of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event

from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.session import Repeat
from slowdust.experiment.counting.starts import CountBudget
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.engine.loop import Go, Lane, OpenExperiment, Tests
from slowdust.experiment.engine.schedule import Start, Turn
from slowdust.experiment.plan import PlannedStep
from slowdust.instances.callgrind import Callgrind
from slowdust.units import Second, format_duration

_LOOK_EVERY: Second = 0.2


CountStep = Callable[[], list[Repeat]]
"""Carries out a step and returns its windows.

It raises TargetError where the server fails, CallgrindError where it takes no orders.
"""


@dataclass
class CountedServer:
    """A contender's server under callgrind, and the driver that serves it alone."""

    contender: RunningContender
    driver: Driver
    callgrind: Callgrind
    start: int
    """The number of the server's start for counting, 1-based."""
    stopped: Event = field(default_factory=Event)
    """Set where nothing more shall be counted on it."""
    done: int = 0
    """Turns that are over."""


@dataclass(frozen=True)
class CountedTest:
    """A step on one contender under callgrind."""

    server: CountedServer
    step: PlannedStep
    count: CountStep


@dataclass
class _Task:
    """The turns of one contender after one start."""

    contender: RunningContender
    start: Start
    cpu: int
    stopped: Event = field(default_factory=Event)
    server: CountedServer | None = None
    cut_off: bool = False
    """Whether its server was ended since there was no time left."""


class CountedServers(Tests[CountedTest]):
    """The servers of all contenders under callgrind."""

    budget: CountBudget
    """The time that counting may take."""
    steps: Sequence[PlannedStep]
    """All steps that can be counted, in their order."""

    def __init__(self, experiment: OpenExperiment, options: Sequence[str] = ()) -> None:
        """`options` are more of callgrind's."""
        self._experiment = experiment
        self._contenders = experiment.contenders
        self._options = options

    @abstractmethod
    def repeats(self, step: PlannedStep) -> int:
        """Return the number of windows of a step after one start."""

    def expected(self, step: PlannedStep) -> Second:
        """Return how long a step takes after one start, on a contender as slow as the slowest.

        0 where that is known once it is counted: what the budget does not suffice for is cut off.
        """
        del step
        return 0.0

    def plan(self, steps: Sequence[PlannedStep], time_of_each: Second) -> None:
        """Choose what is counted of steps, so that each takes no longer if that is possible."""
        del steps, time_of_each

    def prepare(self, start: int) -> None:
        """Do what servers as usual do before they are started under callgrind."""
        del start

    @abstractmethod
    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return the turns in which steps are counted, with those that they need."""

    @abstractmethod
    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Make the tables on a server, for those turns. Raises TargetError."""

    def run(self, start: Start, go: Go[CountedTest]) -> None:
        """Let contenders go through their turns at the same time, as many as there are CPUs."""
        self.prepare(start.number)
        base, cpus = self._contenders.all[0], usable_cpus()
        if base.failed is not None:
            return
        tasks = [
            _Task(contender, Start(start.number, turns), cpus[-1 - number % len(cpus)])
            for number, contender in enumerate(self._contenders.all)
            if contender.failed is None and (turns := start.apart.get(contender.name))
        ]
        with ThreadPoolExecutor(len(cpus)) as pool:
            futures = {pool.submit(self._go, task, go): task for task in tasks}
            try:
                self._watch(futures)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for task in tasks:
                    task.stopped.set()
                    task.contender.server.stop(Shutdown.AT_ONCE)
                raise

    def _go(self, task: _Task, go: Go[CountedTest]) -> None:
        contender = task.contender
        if task.stopped.is_set():
            return
        try:
            callgrind = contender.instance.start_under_callgrind(self._options)
            with self._contenders.driver.another([task.cpu]) as driver:
                server = CountedServer(
                    contender, driver, callgrind, task.start.number, task.stopped
                )
                task.server = server
                go(task.start, self.lane(server, task.start.turns))
        finally:
            contender.server.stop()

    def _watch(self, futures: dict[Future[None], _Task]) -> None:
        most = format_duration(round(max(0.0, self.budget.left)))
        self._experiment.view.phase(f"counting instructions under valgrind, {most} at most")
        total = sum(len(task.start.turns) for task in futures.values())
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
            servers = [task.server for task in futures.values() if task.server is not None]
            self._experiment.view.progress(sum(server.done for server in servers), total)
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
            if self.budget.is_overdue:
                self._cut_off([futures[future] for future in waiting])

    def _cut_off(self, tasks: Sequence[_Task]) -> None:
        """End what goes on for longer than was planned."""
        for task in tasks:
            task.stopped.set()
            if not task.cut_off:
                task.cut_off = self.budget.exceeded = True
                task.contender.server.stop(Shutdown.AT_ONCE)
