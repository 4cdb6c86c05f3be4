"""The counting of work by the processor's counters, in incarnations that are not timed."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.perf import PerfError, PerfWindow, counting, threads_of
from slowdust.experiment.counting.starts import WorkCounts, counted_steps
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import OpenExperiment
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, turns_of
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import counts_of
from slowdust.formats.perf_stat import SEPARATOR, read_events
from slowdust.store.count import SYSTEM_CALLS, CountedRun, Events
from slowdust.units import Second

GROUPS: tuple[tuple[str, ...], ...] = (
    ("instructions:u", "instructions:k", "cycles:u", "cycles:k", "task-clock"),
    ("branches:u", "branch-misses:u", "branches:k", "branch-misses:k"),
    *(
        tuple(f"{event}:{mode}" for event in events)
        for events in (
            (
                "cache-references",
                "cache-misses",
                "stalled-cycles-frontend",
                "stalled-cycles-backend",
            ),
            ("L1-dcache-loads", "L1-dcache-load-misses", "L1-dcache-stores", "LLC-prefetches"),
            ("dTLB-loads", "dTLB-load-misses", "dTLB-stores", "dTLB-store-misses"),
            ("iTLB-loads", "iTLB-load-misses", "L1-icache-loads", "L1-icache-load-misses"),
            ("LLC-loads", "LLC-load-misses", "LLC-stores", "LLC-store-misses"),
        )
        for mode in ("u", "k")
    ),
    (
        "raw_syscalls:sys_enter",
        "context-switches",
        "cpu-migrations",
        "major-faults",
        "minor-faults",
        "alignment-faults",
    ),
)
"""Events that are counted together, at most four by the hardware: most processors have so many
counters for one thread beside the fixed ones."""
TASK_CLOCK = "task_clock_ns"
"""Event: CPU time of the threads in nanoseconds; cycles of user mode and kernel over it are the
clock rate."""
_NAMES = {"raw_syscalls:sys_enter": SYSTEM_CALLS, "task-clock": TASK_CLOCK}
_NS_PER_MS = 1_000_000
_PROBE_LIMIT_S = 30.0


def usable_groups(groups: Iterable[Sequence[str]] = GROUPS) -> list[tuple[str, ...]]:
    """Return the groups with the events that can be counted here; groups without any are gone.

    An event that the processor lacks, that the kernel does not know, or that this account may not
    count is left out.
    """
    usable = (tuple(event for event in group if _can_count(event)) for group in groups)
    return [group for group in usable if group]


def event_name(event: str) -> str:
    """Return the name in the records of an event of perf: `cycles:k` is `kernel_cycles`."""
    if event in _NAMES:
        return _NAMES[event]
    name, _, mode = event.lower().replace("-", "_").partition(":")
    return f"kernel_{name}" if mode == "k" else name


class PmuCounter:
    """Counts what a server does, group by group."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        """`groups` are those of `usable_groups`."""
        self._groups = groups

    def count(
        self, server: int, session: Collection[int], operations: int, run: Callable[[], object]
    ) -> CountedRun:
        """Count what the server's tree of processes does in `run`, which is called once a group.

        `run` carries out so many `operations` on a server that is at rest before and after it.
        `session` are the server's threads, or processes, that serve its clients: what they and
        those that they start do is the run's own. All other threads of the tree, and what they
        start, are the background; without a known session all is the run's own.

        Raises:
            PerfError: perf cannot observe the server.
        """
        own: Events = {}
        background: Events = {}
        for group in self._groups:
            others = set(threads_of(server)) - set(session)
            parts = [(own, set(session)), (background, others)] if session else [(own, others)]
            with contextlib.ExitStack() as stack:
                windows = [
                    stack.enter_context(PerfWindow([*_stat(group), *_attached(threads)]))
                    for _, threads in parts
                ]
                with counting(*windows):
                    run()
                for (events, _), window in zip(parts, windows, strict=True):
                    events.update(read_counts(window.end(), group))
        return CountedRun(operations=operations, own=own, background=background)


def read_counts(text: str, group: Iterable[str]) -> Events:
    """Return the events of a group by their names in the records; clocks in nanoseconds."""
    counted = read_events(text)
    return {
        event_name(event): round(counted[event] * (_NS_PER_MS if event == "task-clock" else 1))
        for event in group
        if event in counted
    }


def _stat(group: Sequence[str]) -> list[str]:
    return ["stat", f"-x{SEPARATOR}", "-e", ",".join(group)]


def _attached(threads: Iterable[int]) -> list[str]:
    """Return the options for threads, and all threads and processes that they start later."""
    return ["-t", ",".join(map(str, sorted(threads)))]


def _can_count(event: str) -> bool:
    try:
        done = subprocess.run(
            ["perf", *_stat([event]), "--", "true"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_PROBE_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and event in read_events(done.stderr)


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
        del step
        return REPEATS

    def expected(self, step: PlannedStep) -> Second:
        """Return how long the windows take; 0 before the warm-up tells how fast it is."""
        return self._expected.get(step.key, 0.0)

    def start(self, number: int, lacking: Mapping[str, Sequence[PlannedStep]]) -> Start:
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
