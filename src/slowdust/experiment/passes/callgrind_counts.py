"""Exact counts of work under callgrind: instructions and system calls, in windows.

Time does not matter here, so contenders are counted concurrently, each on a CPU of its own.
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
from slowdust.experiment.journal import make_counts
from slowdust.experiment.passes.work_counts import WorkCounts
from slowdust.experiment.plan import PlannedStep
from slowdust.formats.callgrind import INSTRUCTIONS as IR
from slowdust.formats.callgrind import read_profile, read_totals
from slowdust.instances.callgrind import ANY_THREAD, Callgrind
from slowdust.store.count import INSTRUCTIONS, SIMULATED, SYSTEM_CALLS, CountedRun, Events
from slowdust.units import Second, format_duration

REPEATS = 4
"""Windows of a step in one start."""
_WARM_UP = 2
"""Operations before the first window, as a multiple of a window's operations."""
_PROOF = 8
"""Operations between the first window and the others, as a multiple of a window's operations. A
warm server costs the same before and after them."""
_MORE_WARM_UP = 32
"""Operations in between, if the server turned out to be cold."""
_MOST_WARM_UPS = 6
_LONGER = 1.5
"""Expected duration of a warm-up and its windows relative to the previous ones, which had fewer
operations in between."""
_LEVEL = 0.003
"""Largest |ln ratio| of the later windows to the first one on a warm server."""
WARNED_TREND = 0.01
"""Larger |ln ratios| are worth a warning: the margin of work."""
WINDOWS_AT_MOST = _WARM_UP + 1 + REPEATS + 1
"""Windows that fit into the operations of a writing session, including the discarded window and
the operations between windows."""
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
"""Event in the records -> its parts in callgrind's output."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Repeat:
    """One window."""

    run: CountedRun
    texts: tuple[str, ...]
    """Callgrind's output for the session, or for each of several sessions."""


@dataclass(frozen=True)
class Windows:
    """The windows of a step in one start, the same on all contenders."""

    operations: int
    repeats: int = REPEATS
    """`REPEATS`, or 1 if an operation takes so long that only one window fits."""

    @property
    def counted_operations(self) -> int:
        """Operations executed while instructions are counted, including discarded ones."""
        around = 3 if self.repeats == 1 else 6  # for the first and last command, and discarded
        return self.repeats * self.operations + around

    @property
    def other_operations(self) -> int:
        """Operations executed in between, at full speed."""
        return self.operations * (1 if self.repeats == 1 else _WARM_UP + _PROOF)


class CountedSession:
    """The only client of a step on a server under callgrind; it advances by operations."""

    def __init__(
        self,
        driver: Driver,
        contender: RunningContender,
        step: PlannedStep,
        start: int,
        first: int,
    ) -> None:
        """`first` is the index of the first operation."""
        self._driver = driver
        self._contender = contender
        self._name = f"{contender.name}|{step.key}|count {start}"
        self._step = step
        self._position = 0
        self._first = first
        self._thread = ANY_THREAD

    def repeats(
        self, callgrind: Callgrind, data: Data, windows: Windows, most: Second = math.inf
    ) -> list[Repeat]:
        """Connect, warm up, and return the planned repeats.

        The cost of reads changes while a server's caches and hash indexes fill. So it is warmed up
        until its windows are level, or until more would exceed `most` in all: operations of
        varying work never become level. Writes keep changing their tables, so they are not warmed
        up. A single window cannot show a trend.

        Raises:
            TargetError: the server fails.
            CallgrindError: it does not respond to commands.
        """
        test = self._step.test.driver_test
        opened = self._driver.open(
            self._name, self._contender.target, data, test=test, clients=1, first=self._first
        )
        if len(opened.server_processes) == 1:
            # Other threads receive messages, too: Postgres' statistics collector before 15.
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
            if (
                abs(compute_trend(repeats)) <= _LEVEL
                or now - begun + _LONGER * (now - before) > most
            ):
                break
            between, before = _MORE_WARM_UP, now
        return repeats

    def _count(self, callgrind: Callgrind, operations: int, windows: int) -> list[Repeat]:
        # The first window is discarded: it includes the end of the first command, and after writes
        # the background work left by the many fast operations before.
        discarded = operations if self._step.test.writes else 1
        lengths = [discarded, *[operations] * windows]
        texts = counted_windows(callgrind, self._run, self._thread, lengths)
        return [
            Repeat(CountedRun(operations=operations, own=parse_events(text)), (text,))
            for text in texts[1:]
        ]

    def _run(self, operations: int) -> None:
        self._position += operations
        ran = self._driver.run(self._name, Stop(positions=[self._position]))
        self._contender.refuse_fatal_errors(ran.errors, "counted operations")


def counted_windows(
    callgrind: Callgrind,
    run: Callable[[int], None],
    thread: int,
    lengths: Sequence[int],
    pause: Second = 0.0,
) -> list[str]:
    """Return callgrind's output for a thread in consecutive windows of `lengths` operations.

    `run` executes operations. One more is executed before the first window, and one after the last.
    Before each command the server has a `pause` to reach its next read.
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


def compute_trend(repeats: Sequence[Repeat]) -> float:
    """Return ln(mean instructions of the later windows / the first one's); 0 without counts."""
    first, *later = (repeat.run.own.get(INSTRUCTIONS, 0) for repeat in repeats)
    return math.log(fmean(later) / first) if first and any(later) else 0.0


def parse_events(text: str) -> Events:
    """Return the events of a window from callgrind's output."""
    totals = read_totals(text)
    return {
        name: sum(totals[part] for part in parts)
        for name, parts in _NAMES.items()
        if totals.keys() >= set(parts)
    }


_LOOK_EVERY: Second = 0.2


CountStep = Callable[[], list[Repeat]]
"""Executes a step and returns its windows.

Raises TargetError if the server fails, CallgrindError if it does not respond to commands.
"""


@dataclass
class CountedServer:
    """A contender's server under callgrind, with its own driver."""

    contender: RunningContender
    driver: Driver
    callgrind: Callgrind
    start: int
    """The number of the server's start for counting, 1-based."""
    stopped: Event = field(default_factory=Event)
    """Set when nothing more is to be counted on it."""
    done: int = 0
    """Finished turns."""


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
    """Whether its server was stopped because the time ran out."""


class CountedServers(Tests[CountedTest]):
    """The servers of all contenders under callgrind."""

    def __init__(
        self, experiment: OpenExperiment, counts: CallgrindCounts, options: Sequence[str]
    ) -> None:
        """`options` are additional options of callgrind."""
        self._experiment = experiment
        self._contenders = experiment.contenders
        self._counts = counts
        self._options = options

    def run(self, start: Start, go: Go[CountedTest]) -> None:
        """Run the contenders' turns concurrently, on all usable CPUs."""
        self._counts.prepare(start.number)
        base, cpus = self._contenders.all[0], usable_cpus()
        if base.failed is not None:
            return
        tasks = [
            _Task(contender, Start(start.number, turns), cpus[-1 - number % len(cpus)])
            for number, contender in enumerate(self._contenders.all)
            if contender.failed is None and (turns := start.separate.get(contender.name))
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
        self._experiment.view.phase(f"counting instructions under valgrind (at most {most})")
        total = sum(len(task.start.turns) for task in futures.values())
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
            servers = [task.server for task in futures.values() if task.server is not None]
            self._experiment.view.progress(sum(server.done for server in servers), total)
            for future in done:
                error = future.exception()
                if futures[future].cut_off and isinstance(error, (SlowdustError, OSError)):
                    continue  # the expected effect of stopping its server
                if isinstance(error, (SlowdustError, OSError)):
                    self._contenders.drop(futures[future].contender, error)
                elif error is not None:
                    raise error
            if self._contenders.all[0].failed is not None:
                for task in futures.values():
                    task.stopped.set()  # without the base there is no comparison
            for task in (futures[future] for future in waiting if budget.is_overdue):
                task.stopped.set()
                if not task.cut_off:
                    task.cut_off = budget.exceeded = True
                    task.contender.server.stop(Shutdown.AT_ONCE)


class CallgrindCounts(WorkCounts[CountedTest]):
    """Counts instructions and system calls, on servers under callgrind."""

    def __init__(self, experiment: OpenExperiment, options: Sequence[str] = ()) -> None:
        """`options` are additional options of callgrind."""
        super().__init__(experiment)
        self.tests = CountedServers(experiment, self, options)
        self._lock = threading.Lock()
        self._trends: dict[str, tuple[float, str]] = {}
        """Test -> the largest trend of its counts that is worth a warning, and its contender."""

    def expected(self, step: PlannedStep) -> Second:
        """Return the duration of a step after one start, on the slowest contender.

        0 if it is not known before counting: then steps that exceed the budget are cut off.
        """
        del step
        return 0.0

    def prepare(self, start: int) -> None:
        """Prepare a start with servers that do not run under callgrind."""
        del start

    @abstractmethod
    def turns(self, steps: Sequence[PlannedStep]) -> list[Turn]:
        """Return the turns that count these steps, including the turns that they depend on."""

    @abstractmethod
    def lane(self, server: CountedServer, turns: Sequence[Turn]) -> Lane[CountedTest]:
        """Create the tables on a server for these turns. Raises TargetError."""

    def start(self, number: int, missing: Mapping[str, Sequence[PlannedStep]]) -> Start:
        return Start(number, [], {name: self.turns(own) for name, own in missing.items()})

    def missing(self) -> Starts:
        """Yield the missing starts; then warn once per test whose work kept changing."""
        yield from super().missing()
        for test, (trend, contender) in self._trends.items():
            self.contenders.warn(
                f"the work of {test} kept changing while it was counted: by "
                f"{math.expm1(trend):+.1%} from its first window to the later ones on {contender}"
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
        """Count a step and store its cost; an error that the server reports becomes a warning.

        Raises:
            TargetError: the server has closed the connection.
            InstanceError: it is no longer running.
            CallgrindError: it does not respond to commands.
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
        trend = compute_trend(repeats)
        with self._lock:
            if abs(trend) > WARNED_TREND and not step.test.writes:  # writes change their tables
                largest, _ = self._trends.get(step.test.name, (0.0, ""))
                if abs(trend) > abs(largest):
                    self._trends[step.test.name] = trend, contender.name
            # The last count marks a step as done, so its profile is stored first.
            self.journal.keep_profile(profile, start)
            for each in make_counts(step, contender.name, start, "valgrind", runs):
                self.journal.add_count(each)
