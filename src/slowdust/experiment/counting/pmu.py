"""Counts of a server's work by the processor's own counters, `perf stat`.

Each group of events has a run of its own with as many operations, so that no counter has to share
its place with another. User mode and kernel are counted apart.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Sequence

from slowdust.experiment.counting.perf import PerfWindow, counting, threads_of
from slowdust.formats.perf_stat import SEPARATOR, read_events
from slowdust.store.count import SYSTEM_CALLS, CountedRun, Events

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
