"""The states of a server's sessions (processes or threads), as seen by the kernel.

`schedstat` has their time on a CPU and in the run queue, to the nanosecond. The system calls in
which they sleep are sampled from `syscall` (proc(5), Documentation/scheduler/sched-stats.rst).
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Sequence

from slowdust.probes.server.procfs import read_bytes
from slowdust.store.waits import SessionTime
from slowdust.units import Second

EVERY: Second = 0.01
"""Time between two samples of all sessions."""
RUNNING = "running"
"""State of a running or ready thread."""
_PAGE_FAULT = "page fault"
_NAMES = {
    0: "read", 1: "write", 7: "poll", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
    23: "select", 35: "nanosleep", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg",
    65: "semop", 74: "fsync", 75: "fdatasync", 202: "futex", 208: "io_getevents", 220: "semtimedop",
    230: "clock_nanosleep", 232: "epoll_wait", 271: "ppoll", 277: "sync_file_range",
    281: "epoll_pwait", 285: "fallocate", 295: "preadv", 296: "pwritev", 327: "preadv2",
    426: "io_uring_enter",
}  # fmt: skip
"""System call number of x86-64 (syscall_64.tbl) -> name; other machines have other numbers."""
_IS_X86 = os.uname().machine == "x86_64"
_NS_PER_US = 1e3


class SessionSampler:
    """Observes processes or threads while its context is active."""

    def __init__(self, threads: Sequence[int]) -> None:
        """Observe the threads with these ids; a process has the id of its first thread."""
        self._paths = [f"/proc/{thread}" for thread in threads]
        self._states: Counter[str] = Counter()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="sessions", daemon=True)

    def __enter__(self) -> SessionSampler:
        self._before = self._times()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self._after = self._times()

    def time(self) -> SessionTime | None:
        """Return the observed time, after the context; None if the kernel shows nothing."""
        samples = self._states.total()
        if not samples and not self._before:
            return None
        both = self._before.keys() & self._after.keys()
        run, queue = (
            sum(self._after[path][part] - self._before[path][part] for path in both) / _NS_PER_US
            for part in (0, 1)
        )
        return SessionTime(
            run_us=run if both else None,
            queue_us=queue if both else None,
            samples=samples,
            states=dict(self._states.most_common()),
        )

    def _times(self) -> dict[str, tuple[int, int]]:
        times = {}
        for path in self._paths:
            try:
                run, queue, _ = read_bytes(f"{path}/schedstat").split()
            except (OSError, ValueError):
                continue
            times[path] = int(run), int(queue)
        return times

    def _sample(self) -> None:
        next_look = time.monotonic()
        while not self._end.wait(max(0.0, next_look - time.monotonic())):
            for path in self._paths:
                if (state := _state(path)) is not None:
                    self._states[state] += 1
            next_look = max(next_look + EVERY, time.monotonic())


def _state(path: str) -> str | None:
    """Return the state of a thread; None if it has exited or is not readable."""
    try:
        text = read_bytes(f"{path}/syscall")
    except OSError:
        return None
    return parse_state(text)


def parse_state(text: bytes) -> str:
    number = text.split(maxsplit=1)[0] if text.strip() else b"running"
    if number == b"running":
        return RUNNING
    if number == b"-1":
        return _PAGE_FAULT
    name = _NAMES.get(int(number)) if _IS_X86 else None
    return name or f"system call {int(number)}"
