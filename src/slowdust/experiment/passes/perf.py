"""Profiles by samples and counts of events, measured by perf in windows.

perf opens its counters before a window, disabled; commands that enable and disable them are sent
through a pipe, and perf acknowledges each of them (`--control`, perf-stat(1)).

Samples are taken in a start of their own, after the timed ones: each step on one contender after
the other, with the step's own clients. perf samples everything that runs on the experiment's CPUs,
and processes other than the server's are dropped: a clock per thread is reset whenever a thread
wakes up, which doubled the time of a point query on a virtual machine.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.count_method import Missing, check_sampling
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, plan_turns
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.journal import make_counts
from slowdust.experiment.passes.work_counts import WorkCounts, counted_steps
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.formats.perf_script import FIELDS, read_profile
from slowdust.formats.perf_stat import SEPARATOR, read_events
from slowdust.store.count import SYSTEM_CALLS, CountedRun, Events
from slowdust.units import Second

_ACKNOWLEDGED = b"ack\n"
_UNTIL_THE_END = ("--", "cat")
"""The command that perf runs. It exits when its input closes, even if Slowdust was killed, and perf
exits with it."""
_ANSWER_LIMIT: Second = 30.0
_END_LIMIT: Second = 60.0


class PerfError(SlowdustError):
    """perf failed, with its error message."""


def list_processes(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants.

    Raises:
        PerfError: there is no such process.
    """
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.Error as error:
        raise PerfError(f"the server cannot be observed: {error}") from None


def list_threads(pid: int) -> list[int]:
    """Return the threads of a process and its descendants; raise PerfError if it has exited."""
    threads: list[int] = []
    for process in list_processes(pid):
        with contextlib.suppress(psutil.Error):  # it has exited meanwhile
            threads += [thread.id for thread in process.threads()]
    return threads


class PerfWindow:
    """A perf process with all counters disabled; use as a context manager."""

    def __init__(self, tool: Sequence[str]) -> None:
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._process = subprocess.Popen(
            ["perf", *tool, "-D", "-1", "--control", f"fd:{orders},{answers}", *_UNTIL_THE_END],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **BASE_ENVIRONMENT, "PATH": os.environ.get("PATH", os.defpath)},
            pass_fds=(orders, answers),
            # Ctrl-C in the terminal is for Slowdust, which then stops perf.
            start_new_session=True,
        )
        os.close(orders)
        os.close(answers)

    def __enter__(self) -> PerfWindow:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        self._process.stderr.close()
        os.close(self._orders)
        os.close(self._answers)

    @property
    def pid(self) -> int:
        return self._process.pid

    def open(self) -> None:
        """Start counting; all counters run when this returns.

        Raises:
            PerfError: perf cannot count these events, or does not answer.
        """
        self._order(b"enable\n")

    def close(self) -> None:
        """Stop counting; no counter runs when this returns.

        Raises:
            PerfError: perf has exited, or does not answer.
        """
        self._order(b"disable\n")

    def end(self) -> str:
        """Make perf write its results; return its output.

        Raises:
            PerfError: it does not exit.
        """
        try:
            _, printed = self._process.communicate(timeout=_END_LIMIT)  # closes the input
        except subprocess.TimeoutExpired:
            raise PerfError("perf does not exit") from None
        return str(printed.decode(errors="replace"))

    def _order(self, order: bytes) -> None:
        try:
            os.write(self._orders, order)
        except BrokenPipeError:
            raise self._ended() from None
        answer = b""
        deadline = time.monotonic() + _ANSWER_LIMIT
        while _ACKNOWLEDGED not in answer:
            ready, _, _ = select.select(
                [self._answers], [], [], max(0, deadline - time.monotonic())
            )
            if not ready:
                raise PerfError("perf does not answer")
            part = os.read(self._answers, 64)
            if not part:
                raise self._ended()
            answer += part

    def _ended(self) -> PerfError:
        _, printed = self._process.communicate()
        text = " ".join(printed.decode(errors="replace").split())
        return PerfError(f"perf has exited: {text or f'exit code {self._process.returncode}'}")


@contextlib.contextmanager
def counting(*windows: PerfWindow) -> Iterator[None]:
    """Count in all windows exactly while the body runs."""
    for window in windows:
        window.open()
    yield
    for window in windows:
        window.close()


_SECONDS: Second = 3.0
"""Sampled time of each step on each contender."""
_PERIOD_NS = 500_000
"""CPU time between two samples."""
_STACK_BYTES = 32_768
"""Stack bytes per sample: with 16 KiB one stack in ten of MySQL was truncated."""
_SCRIPT_LIMIT: Second = 300.0


class PerfSamples(Pass[OpenTest]):
    """Samples profiles of all steps, unless all of them exist."""

    subject = "sampling the functions"

    def __init__(self, experiment: OpenExperiment) -> None:
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)

    def missing(self) -> Starts:
        """Yield one start for all steps if any lacks a profile; warn if perf cannot sample."""
        if not self.announced.allows(self.announced.following.profile):
            return
        missing = check_sampling()
        if isinstance(missing, Missing):
            self.contenders.warn(f"No sampled profiles. {missing}")
            return
        steps = with_lasting_sessions(self.journal.steps, "profiles", self.contenders.warn)
        names = [contender.name for contender in self.contenders.running()]
        wanted = {(step.test.name, step.clients, name) for step in steps for name in names}
        if not wanted <= self.journal.profiled("perf"):
            yield Start.of(self.journal.last_start + 1, steps)

    def observe(self, test: OpenTest) -> None:
        self.view.phase(f"sampling {test.step.test.name}")
        seconds = test.window(_SECONDS)
        if seconds > 0:
            test.each(partial(self._sample, test.step, seconds))

    def _sample(
        self,
        step: PlannedStep,
        seconds: Second,
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        """Run a contender under perf, and store its profile; a failure of perf is a warning."""
        samples = contender.instance.directory / "perf.data"
        cpus = ",".join(map(str, usable_cpus()))
        event = ["-e", "cpu-clock", "-c", str(_PERIOD_NS), "--call-graph", f"dwarf,{_STACK_BYTES}"]
        # -B -N: no copies of the binaries.
        record = ["record", "-a", "-C", cpus, "-B", "-N", *event, "-o", str(samples)]
        try:
            processes = _process_ids(contender)
            with PerfWindow(record) as window:
                with counting(window):
                    ran = run(Stop(seconds=seconds))
                processes |= _process_ids(contender)
                window.end()
            text = _printed(samples, processes)
        except PerfError as error:
            self.contenders.warn(f"{contender.name}: no sampled profile of {step.key}: {error}")
            return
        finally:
            samples.unlink(missing_ok=True)
        if text and ran.operations:
            profile = read_profile(
                text,
                benchmark=step.test.benchmark,
                test=step.test.name,
                clients=step.clients,
                contender=contender.name,
                operations=ran.operations,
            )
            self.journal.keep_profile(profile)


def _process_ids(contender: RunningContender) -> set[int]:
    return {process.pid for process in list_processes(contender.instance.pid)}


def _printed(path: Path, processes: Collection[int]) -> str:
    """Return the samples of some processes in a file as text.

    Raises:
        PerfError: perf cannot read it.
    """
    listed = ",".join(map(str, processes))
    command = ["perf", "script", "--no-inline", "--pid", listed, "-F", FIELDS, "-i", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SCRIPT_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise PerfError("perf script does not exit") from None
    if done.returncode != 0:
        raise PerfError(f"perf script failed: {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout.decode(errors="replace")


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
"""Events that are counted together. At most four are hardware events, because most processors have
four general counters per thread in addition to the fixed ones."""
TASK_CLOCK = "task_clock_ns"
"""Event: CPU time of the threads in nanoseconds. Cycles in user mode and kernel divided by it are
the clock rate."""
_NAMES = {"raw_syscalls:sys_enter": SYSTEM_CALLS, "task-clock": TASK_CLOCK}
_NS_PER_MS = 1_000_000
_PROBE_LIMIT_S = 30.0


def usable_groups(groups: Iterable[Sequence[str]] = GROUPS) -> list[tuple[str, ...]]:
    """Return the groups reduced to the events that can be counted here, without empty groups.

    Excluded are events that the processor lacks, that the kernel does not know, or that this
    account may not count.
    """
    usable = (tuple(event for event in group if _can_count(event)) for group in groups)
    return [group for group in usable if group]


def event_name(event: str) -> str:
    """Return an event's name in the records: `cycles:k` is `kernel_cycles`."""
    if event in _NAMES:
        return _NAMES[event]
    name, _, mode = event.lower().replace("-", "_").partition(":")
    return f"kernel_{name}" if mode == "k" else name


def count_events(
    groups: Sequence[Sequence[str]],
    server: int,
    session: Collection[int],
    operations: int,
    run: Callable[[], object],
) -> CountedRun:
    """Count the work of a server's processes in `run`, which is called once per group.

    `run` executes `operations` operations on a server that is idle before and after it. `session`
    are the server's threads or processes that serve its clients: their work and the work of threads
    that they start is the run's own. All other threads, and threads that they start, are the
    background. Without a known session everything is the run's own.

    Raises:
        PerfError: perf cannot observe the server.
    """
    own: Events = {}
    background: Events = {}
    for group in groups:
        others = set(list_threads(server)) - set(session)
        parts = [(own, set(session)), (background, others)] if session else [(own, others)]
        with contextlib.ExitStack() as stack:
            windows = [
                stack.enter_context(
                    PerfWindow([*_stat(group), "-t", ",".join(map(str, sorted(threads)))])
                )
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
"""The approximate length of a window on the slowest contender."""
_FEWEST = 1


class PmuCounts(WorkCounts[OpenTest]):
    """Counts events of the processor, with one client on each contender."""

    def __init__(
        self, experiment: OpenExperiment, groups: Sequence[tuple[str, ...]] | None = None
    ) -> None:
        """`groups` are the events of each run; by default all that can be counted here."""
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)
        self.steps = counted_steps(experiment.spec)
        groups = usable_groups() if groups is None else groups
        self._groups = [groups, *[groups[:1]] * (REPEATS - 1)]
        """The groups of each repeat: the decisive group is counted in all of them, others once."""
        self._windows = len(groups) + REPEATS - 1
        self._expected: dict[str, Second] = {}
        """Step -> the duration of one start of it, once its speed is known."""

    def repeats(self, step: PlannedStep) -> int:
        del step
        return REPEATS

    def expected(self, step: PlannedStep) -> Second:
        """Return the duration of the windows; 0 before the warm-up has shown the speed."""
        return self._expected.get(step.key, 0.0)

    def start(self, number: int, missing: Mapping[str, Sequence[PlannedStep]]) -> Start:
        due = {step.key for steps in missing.values() for step in steps}
        return Start(number, plan_turns(self.steps, due))

    def observe(self, test: OpenTest) -> None:
        """Count a step on one contender after the other; warn if perf fails."""
        step, per_second = test.step, test.per_second
        self.view.phase(f"counting {step.test.name}")
        test.age(test.positions)  # from here on all contenders execute the same operations
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
        """Count a contender's work in windows of `operations`, beginning at `position`."""
        if not self.countable(contender.name, test.step):
            return

        def advance() -> None:
            nonlocal position
            position += operations
            ran = run(Stop(positions=[position]))
            contender.refuse_fatal_errors(ran.errors, "counted operations")

        server, serving = contender.instance.pid, test.serving(contender)
        try:
            runs = [
                count_events(groups, server, serving, operations, advance)
                for groups in self._groups
            ]
        except PerfError as error:
            self.contenders.warn(f"the work of {contender.name} was not counted: {error}")
            return
        for count in make_counts(test.step, contender.name, test.start, "pmu", runs):
            self.journal.add_count(count)
