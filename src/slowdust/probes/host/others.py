"""The probe of other programs: the CPU time of all processes outside of this experiment.

The clocks of processes have a resolution of nanoseconds, enough for slices of 25 ms. The difference
of /proc/stat and the time of the servers and the driver would have ticks of 10 ms, and would count
the work of kernel threads for a contender's IO as the work of others: a contender that writes more
would seem to run on a busier machine. So kernel threads are not counted at all.

A process that starts and exits between two readings is missed, and so is the last part of one that
exits. Processes in other containers, or hidden from this user (hidepid), are not seen. The CPU time
that the hypervisor gives to other guests is `cpu_steal_s` of the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from slowdust.probes.probe import Subject
from slowdust.probes.server.process import CLOCK_SCHEDULER, process_clock
from slowdust.probes.server.procfs import read_bytes
from slowdust.store.measured import OTHERS, Use

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's include/linux/sched.h."""
_NANOSECONDS = 1_000_000_000


class ProcessStat(NamedTuple):
    """The fields of /proc/PID/stat that show a process's parent, kind and CPU."""

    parent: int
    kernel: bool
    """Whether it is a kernel thread."""
    cpu: int
    """The CPU on which its first thread ran last."""


def parse_process(content: bytes) -> ProcessStat:
    """Parse /proc/PID/stat, see proc_pid_stat(5).

    Raises ValueError or IndexError for another format.
    """
    fields = content[content.rindex(b")") + 2 :].split()
    return ProcessStat(int(fields[1]), bool(int(fields[6]) & _KERNEL_THREAD), int(fields[36]))


class OthersReading(NamedTuple):
    """CPU time of the other processes since their start."""

    cpu_ns: dict[int, int]
    """Process id -> nanoseconds."""
    elsewhere: set[int]
    """Processes that used CPU since the previous reading, and ran last on another CPU."""


class OthersProbe:
    """Reads the CPU time on some CPUs of processes that are neither this one nor its descendants.

    `cpus` None stands for all CPUs of the host.
    """

    name = OTHERS
    parts: Mapping[str, str] = {}

    def __init__(
        self,
        cpus: Collection[int] | None,
        *,
        own: int | None = None,
        proc: str = "/proc",
        clock: Callable[[int, int], int] = process_clock,
    ) -> None:
        self._cpus = cpus
        self._own = os.getpid() if own is None else own
        self._proc = proc
        self._clock = clock
        self._others: dict[str, int | None] = {}
        """Name in /proc -> process id of another program; None for all other entries."""
        self._last: dict[int, int] = {}

    def read(self) -> OthersReading:
        """Read the clocks of all other processes. Raises OSError if /proc cannot be listed."""
        names = os.listdir(self._proc)  # noqa: PTH208
        known, self._others = self._others, {}
        reading: dict[int, int] = {}
        elsewhere = set()
        for name in names:
            try:
                pid = known[name] if name in known else self._other(name)
                self._others[name] = pid
                if pid is None:
                    continue
                cpu_ns = reading[pid] = self._clock(pid, CLOCK_SCHEDULER)
                if cpu_ns != self._last.get(pid, 0) and (
                    self._cpus is not None and self._stat(name).cpu not in self._cpus
                ):
                    elsewhere.add(pid)
            except (FileNotFoundError, ProcessLookupError):  # it has exited
                continue
        self._last = reading
        return OthersReading(reading, elsewhere)

    def use(self, before: OthersReading, after: OthersReading) -> Use:
        """Return the use of other processes between two readings.

        `cpu_s` is their CPU time, and `cpus` the number of observed CPUs.
        """
        used = sum(
            # A clock that went backwards belongs to another process with a reused pid.
            cpu_ns - earlier if cpu_ns >= (earlier := before.cpu_ns.get(pid, 0)) else cpu_ns
            for pid, cpu_ns in after.cpu_ns.items()
            if pid not in after.elsewhere
        )
        cpus = os.cpu_count() or 1 if self._cpus is None else len(self._cpus)
        return {"cpu_s": used / _NANOSECONDS, "cpus": cpus}

    def _other(self, name: str) -> int | None:
        """Return the id of a process that is not the kernel's, not this one and no descendant."""
        if name in self._others:
            return self._others[name]
        if not name.isdecimal() or (pid := int(name)) == self._own:
            return None
        parent, kernel, _ = self._stat(name)
        is_below = parent != 0 and self._other(str(parent)) is None
        return None if kernel or is_below else pid

    def _stat(self, name: str) -> ProcessStat:
        return parse_process(read_bytes(f"{self._proc}/{name}/stat"))


def open_probe(subject: Subject) -> OthersProbe:
    del subject
    usable = os.sched_getaffinity(0)
    probe = OthersProbe(None if len(usable) == os.cpu_count() else usable)
    probe.read()  # the first reading is many times slower, because every process is new
    return probe
