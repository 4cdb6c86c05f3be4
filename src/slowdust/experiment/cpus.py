"""CPUs of the host: CPU lists, the usable CPUs, and the placement of clients on them.

A client that waits for its answer and the process that answers it wake each other up constantly.
Whether the scheduler has put both on one CPU or on two changes throughput by a factor (of five to
ten on a virtual machine, where waking another CPU means leaving the guest), and it changes its mind
from one second to the next: no number of slices averages that out. So each client shares one CPU
with its own server process, the same CPU for every contender, and more clients than CPUs take turns
on them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from slowdust.errors import UsageError

_SYS = Path("/sys/devices/system/cpu")
_PART = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def parse_cpus(text: str) -> list[int]:
    """Parse a CPU list in the format of Linux: '2,3' or '0-3,8'.

    Raises:
        ValueError: the text is no CPU list.
    """
    cpus: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ValueError(f"'{text}' is not a list of CPUs; write, for example, 2,3 or 0-3")
        cpus |= set(range(first, last + 1))
    return sorted(cpus)


def format_cpus(cpus: Iterable[int]) -> str:
    """Format CPUs as Linux does: '0-3,8'."""
    spans: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], cpu
        else:
            spans.append((cpu, cpu))
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def check_cpus(cpus: Sequence[int], *, sys: Path = _SYS) -> None:
    """Refuse CPUs that this process cannot use.

    Raises:
        UsageError: one does not exist, is offline, or is not among those this process may use.
    """
    usable = usable_cpus()
    for cpu in cpus:
        if cpu in usable:
            continue
        if cpu not in _listed(sys / "present"):
            reason = "this host has no such CPU"
        elif cpu not in _listed(sys / "online"):
            reason = f"it is offline: echo 1 | sudo tee {_SYS}/cpu{cpu}/online"
        else:
            reason = "this process may not run on it (taskset, cpuset or container)"
        raise UsageError(f"CPU {cpu} cannot be used: {reason}; it may use {format_cpus(usable)}")


@contextmanager
def running_on(cpus: Sequence[int]) -> Iterator[None]:
    """Restrict this process to these CPUs; processes that it starts meanwhile inherit that."""
    before = {thread: os.sched_getaffinity(thread) for thread in _threads()}
    own = os.sched_getaffinity(0)
    _keep(before, {thread: set(cpus) for thread in before})
    try:
        yield
    finally:
        now = _threads()
        _keep(now, {thread: before.get(thread, own) for thread in now})


def _keep(threads: Iterable[int], affinity: dict[int, set[int]]) -> None:
    for thread in threads:
        with contextlib.suppress(ProcessLookupError):  # it has exited
            os.sched_setaffinity(thread, affinity[thread])


def _threads() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc/self/task")]


def _listed(file: Path) -> list[int]:
    try:
        return parse_cpus(file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return []


def place_clients(clients: int, usable: Sequence[int]) -> list[int]:
    """Return the CPU of each client; with more clients than CPUs they take turns.

    The last CPUs are used first, because the first ones serve the machine's interrupts.
    """
    return list(islice(cycle(sorted(usable, reverse=True)), clients))


def place_connections(clients: int, usable: Sequence[int]) -> list[int] | None:
    """Return CPUs for the connections of a long step; None with more clients than CPUs.

    A client has several connections, so all CPUs are returned: the driver places query connections
    (or writers, if there are no queries) by client, and concurrent writers on the next CPU.
    """
    return sorted(usable, reverse=True) if clients <= len(usable) else None


def usable_cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def pin(processes: Sequence[int], cpus: Sequence[int]) -> None:
    """Pin each process (or thread) to its CPU. Raises OSError if one has exited."""
    for process, cpu in zip(processes, cpus, strict=True):
        os.sched_setaffinity(process, {cpu})
