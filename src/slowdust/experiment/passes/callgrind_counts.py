"""Counts of work under callgrind: instructions and system calls, exact, in windows.

Time does not matter here, so contenders are counted at the same time, each on a CPU of its own.
"""

from __future__ import annotations

import math
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from statistics import fmean
from threading import Event
from typing import TypeVar

from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.driver.process import Data, Driver, TargetError
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import Go, Lane, OpenExperiment, Starts, Tests
from slowdust.experiment.engine.schedule import Start, Turn
from slowdust.experiment.journal import counts_of
from slowdust.experiment.passes.work_counts import WorkCounts
from slowdust.experiment.plan import PlannedStep
from slowdust.formats.callgrind import INSTRUCTIONS as IR
from slowdust.formats.callgrind import read_profile, read_totals
from slowdust.instances.callgrind import ANY_THREAD, Callgrind
from slowdust.store.count import INSTRUCTIONS, SIMULATED, SYSTEM_CALLS, CountedRun, Events
from slowdust.units import Second, format_duration

REPEATS = 4
"""Windows of a step in one incarnation."""
_WARM_UP = 2
"""Operations before the first window, as a multiple of those of a window."""
_PROOF = 8
"""Operations between the first window and the others, likewise: a server that is warm costs as much
before them as behind."""
_MORE_WARM_UP = 32
"""The same, for a server that was found not to be warm."""
_MOST_WARM_UPS = 6
_LONGER = 1.5
"""How long a warm-up and its windows take, as a multiple of those before: more of it is warm-up."""
_LEVEL = 0.003
"""Largest |ln ratio| of the later windows to the first one of a server that is warm."""
TOLD_TREND = 0.01
"""The same, of windows that are worth a warning: the margin of work."""
WINDOWS_AT_MOST = _WARM_UP + 1 + REPEATS + 1
"""Windows that the operations of a session that writes would fill, with the one that is not kept
and those between the windows."""
_NAMES = {
    INSTRUCTIONS: (IR,),
    SYSTEM_CALLS: ("sysCount",),
    **dict(
        zip(
            SIMULATED,
            (("I1mr",), ("D1mr", "D1mw"), ("ILmr", "DLmr", "DLmw"), ("Bcm", "Bim")),
            strict=True,
        )
    ),
}
"""Event in the records -> those of callgrind that it consists of."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Repeat:
    """One window."""

    run: CountedRun
    texts: tuple[str, ...]
    """What callgrind wrote of the session, or of each of several."""


@dataclass(frozen=True)
class Windows:
    """The windows of a step in one incarnation: the same on all contenders."""

    operations: int
    repeats: int = REPEATS
    """`REPEATS`, or 1 where an operation takes so long that no more of them fit."""

    @property
    def counted_operations(self) -> int:
        """Operations that are carried out while instructions are counted, kept or not."""
        around = 3 if self.repeats == 1 else 6  # orders to begin and to end, what is not kept
        return self.repeats * self.operations + around

    @property
    def other_operations(self) -> int:
        """Operations that are carried out faster, in between."""
        return self.operations * (1 if self.repeats == 1 else _WARM_UP + _PROOF)


class CountedSession:
    """The one client of a step on a server under callgrind; it goes forward by operations."""

    def __init__(
        self,
        driver: Driver,
        contender: RunningContender,
        step: PlannedStep,
        incarnation: int,
        first: int,
    ) -> None:
        """Begin the sequence of the step's operations with the one whose index is `first`."""
        self._driver = driver
        self._contender = contender
        self._name = f"{contender.name}|{step.key}|count {incarnation}"
        self._step = step
        self._position = 0
        self._first = first
        self._thread = ANY_THREAD

    def repeats(
        self, callgrind: Callgrind, data: Data, windows: Windows, most: Second = math.inf
    ) -> list[Repeat]:
        """Connect, warm up, and return the repeats that are planned.

        A server that reads costs less, or more, while its caches and hash indexes fill: it is
        warmed up until its windows are level, or until more would take longer than `most` in all:
        operations of other work each never are. Writes go on changing what they write to. A single
        window shows nothing of that.

        Raises:
            TargetError: the server fails.
            CallgrindError: it does not take orders.
        """
        test = self._step.test.driver_test
        opened = self._driver.open(
            self._name, self._contender.target, data, test=test, clients=1, first=self._first
        )
        if len(opened.server_processes) == 1:
            # Others receive messages, too: the collector of statistics of Postgres before 15.
            [self._thread] = opened.server_processes
        try:
            operations = windows.operations
            if windows.repeats == 1:
                self._run(operations)
                return self._count(callgrind, operations, 1)
            # Without instrumentation this takes a tenth of the time.
            self._run(_WARM_UP * operations)
            if self._step.test.writes:
                return self._count(callgrind, operations, REPEATS)
            return self._count_when_warm(callgrind, operations, most)
        finally:
            self._driver.close(self._name)

    def _count_when_warm(self, callgrind: Callgrind, operations: int, most: Second) -> list[Repeat]:
        begun = before = time.monotonic()
        repeats = self._count(callgrind, operations, 1)
        between = _PROOF
        for _ in range(_MOST_WARM_UPS):
            self._run(between * operations)
            repeats = [repeats[-1], *self._count(callgrind, operations, REPEATS - 1)]
            now = time.monotonic()
            if abs(trend_of(repeats)) <= _LEVEL or now - begun + _LONGER * (now - before) > most:
                break
            between, before = _MORE_WARM_UP, now
        return repeats

    def _count(self, callgrind: Callgrind, operations: int, windows: int) -> list[Repeat]:
        # A window that is not kept: it has the end of the first order, and where there are
        # writes what the background left undone while many were carried out at once.
        unkept = operations if self._step.test.writes else 1
        lengths = [unkept, *[operations] * windows]
        texts = counted_windows(callgrind, self._run, self._thread, lengths)
        return [
            Repeat(CountedRun(operations=operations, own=events_of(text)), (text,))
            for text in texts[1:]
        ]

    def _run(self, operations: int) -> None:
        self._position += operations
        ran = self._driver.run(self._name, Stop(positions=[self._position]))
        self._contender.refuse_fatal_errors(ran.errors, "operations that were counted")


def counted_windows(
    callgrind: Callgrind,
    run: Callable[[int], None],
    thread: int,
    lengths: Sequence[int],
    pause: Second = 0.0,
) -> list[str]:
    """Return what callgrind wrote of a thread in consecutive windows of so many operations each.

    `run` carries out operations. One more is carried out before the first window, and one after the
    last. Before each order the server has a `pause` to come to its next read.
    """

    def order(give: Callable[[Callable[[], object], int], _Answer]) -> _Answer:
        if pause:
            time.sleep(pause)
        return give(lambda: run(1), thread)

    texts: list[str] = []
    order(callgrind.start)
    for operations in lengths:
        if operations > 1:
            run(operations - 1)
        texts.append(order(callgrind.dump))
    order(callgrind.stop)
    return texts


def trend_of(repeats: Sequence[Repeat]) -> float:
    """Return ln(mean instructions of the later windows / those of the first); 0 of nothing."""
    first, *later = (repeat.run.own.get(INSTRUCTIONS, 0) for repeat in repeats)
    return math.log(fmean(later) / first) if first and any(later) else 0.0


def events_of(text: str) -> Events:
    """Return the events of a window from what callgrind wrote of it."""
    totals = read_totals(text)
    return {
        name: sum(totals[part] for part in parts)
        for name, parts in _NAMES.items()
        if totals.keys() >= set(parts)
    }


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

    def __init__(
        self, experiment: OpenExperiment, counts: CallgrindCounts, options: Sequence[str]
    ) -> None:
        """`options` are more of callgrind's."""
        self._experiment = experiment
        self._contenders = experiment.contenders
        self._counts = counts
        self._options = options

    def run(self, start: Start, go: Go[CountedTest]) -> None:
        """Let contenders go through their turns at the same time, as many as there are CPUs."""
        self._counts.prepare(start.number)
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
                go(task.start, self._counts.lane(server, task.start.turns))
        finally:
            contender.server.stop()

    def _watch(self, futures: dict[Future[None], _Task]) -> None:
        budget = self._counts.budget
        most = format_duration(round(max(0.0, budget.left)))
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
            for task in (futures[future] for future in waiting if budget.is_overdue):
                task.stopped.set()
                if not task.cut_off:
                    task.cut_off = budget.exceeded = True
                    task.contender.server.stop(Shutdown.AT_ONCE)


class CallgrindCounts(WorkCounts[CountedTest]):
    """Counts instructions and system calls, on servers under callgrind."""

    def __init__(self, experiment: OpenExperiment, options: Sequence[str] = ()) -> None:
        """`options` are more of callgrind's."""
        super().__init__(experiment)
        self.tests = CountedServers(experiment, self, options)
        self._lock = threading.Lock()
        self._trends: dict[str, tuple[float, str]] = {}
        """Test -> the largest trend of its counts that is worth a warning, and whose it is."""

    def expected(self, step: PlannedStep) -> Second:
        """Return how long a step takes after one start, on a contender as slow as the slowest.

        0 if that is known once it is counted: what the budget does not suffice for is cut off.
        """
        del step
        return 0.0

    def prepare(self, start: int) -> None:
        """Do what servers without callgrind do before a start."""
        del start

    @abstractmethod
    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return the turns in which steps are counted, with those that they need."""

    @abstractmethod
    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Make the tables on a server, for those turns. Raises TargetError."""

    def start(self, number: int, lacking: Mapping[str, Sequence[PlannedStep]]) -> Start:
        return Start(number, [], {name: self.turns(own) for name, own in lacking.items()})

    def missing(self) -> Starts:
        """Yield the starts that are lacking; warn once of each test whose work still changed."""
        yield from super().missing()
        for test, (trend, contender) in self._trends.items():
            self.contenders.warn(
                f"the work of {test} still changed while it was counted, by "
                f"{math.expm1(trend):+.1%} from its first window to the others on {contender}"
            )

    def observe(self, test: CountedTest) -> None:
        server, expected = test.server, self.expected(test.step)
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
