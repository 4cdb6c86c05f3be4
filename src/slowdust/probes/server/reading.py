"""A reading of a server's processes, and the kernel's files that it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from slowdust.probes.server.procfs import TICK_NS, number_after
from slowdust.store.measured import Use
from slowdust.units import Second, present

_KIB = 1024
_NANOSECONDS = 1_000_000_000


class Identity(NamedTuple):
    """A process for all of its life: pids come back, a pid and its start time do not."""

    pid: int
    start_ticks: int


class ProcessCpu(NamedTuple):
    """CPU time of one process since its start."""

    cpu_ns: int
    """CPU time by the scheduler's clock: exact."""
    sampled_ns: int
    """User and system time as the kernel's tick finds the process running; a sample."""
    sampled_user_ns: int
    reaped_ticks: int
    """Whole CPU time of its children that ended and were waited for (and of theirs)."""
    reaped_faults: int
    """Page faults of the same children. No process lives without one: any that ended shows."""


class Stat(NamedTuple):
    """The fields of /proc/PID/stat that are used here."""

    state: bytes
    threads: int
    start_ticks: int
    reaped_ticks: int
    reaped_faults: int


class Memory(NamedTuple):
    """Memory of one process, bytes; zeros for a zombie, which has none."""

    virtual: int
    private_virtual: int
    """Private writable mappings: a forked process has its own."""
    anonymous: int
    file: int
    shared: int


class Transfer(NamedTuple):
    """Bytes that a process moved, with its ended children that it waited for."""

    read: int
    """Bytes fetched from storage."""
    written: int
    called: int
    """Bytes that its reading calls returned."""


CpuReading = dict[Identity, ProcessCpu]
"""CPU time of all processes of a server."""


class ServerReading(NamedTuple):
    """Everything that is read of a server at one moment: totals since its processes started."""

    cpu: CpuReading
    switches: dict[int, int]
    """Voluntary and involuntary context switches by thread."""
    read_bytes: int | None
    """Bytes fetched from storage by all processes and the ended children they waited for."""
    write_bytes: int | None
    called_bytes: int | None
    """Bytes that their reading calls returned, also those that the kernel had in memory."""
    memory: list[Memory]


def parse_stat(content: bytes) -> Stat:
    """Parse /proc/PID/stat, see proc_pid_stat(5); the name in it may hold blanks and brackets.

    Raises:
        ValueError, IndexError: not such a file.
    """
    fields = content[content.rindex(b")") + 2 :].split(None, 20)
    return Stat(
        state=fields[0],
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        reaped_faults=int(fields[8]) + int(fields[10]),
    )


def parse_memory(status: bytes) -> Memory:
    """Parse the memory lines of /proc/PID/status, see proc_pid_status(5)."""
    labels = (b"\nVmSize:", b"\nVmData:", b"\nRssAnon:", b"\nRssFile:", b"\nRssShmem:")
    return Memory(*((number_after(status, label) or 0) * _KIB for label in labels))


def parse_switches(status: bytes) -> int:
    """Return the context switches of one thread, from its status file.

    Raises:
        ValueError: the file does not tell them.
    """
    voluntary = number_after(status, b"\nvoluntary_ctxt_switches:")
    involuntary = number_after(status, b"\nnonvoluntary_ctxt_switches:")
    if voluntary is None or involuntary is None:
        raise ValueError("no context switches in the status file")
    return voluntary + involuntary


def cpu_seconds(before: CpuReading, after: CpuReading) -> Second:
    """Return the CPU time that a server used between two readings.

    Processes alive at both and processes that started between count to the nanosecond. One that
    ended has left its whole life's CPU time with its parent, in ticks: what it had used before the
    first reading is taken off. The rounding (below 20 ms per parent) cancels over many slices, so
    single slices are not corrected for it, except that the result is never negative.
    """
    alive_ns = sum(
        process.cpu_ns - (before[identity].cpu_ns if identity in before else 0)
        for identity, process in after.items()
    )
    reaped_ticks = _reaped_ticks(after.values()) - _reaped_ticks(before.values())
    ended_before_ns = sum(before[identity].cpu_ns for identity in before.keys() - after.keys())
    total_ns = alive_ns + reaped_ticks * TICK_NS - ended_before_ns
    return max(0, total_ns) / _NANOSECONDS


def server_use(before: ServerReading, after: ServerReading) -> Use:
    """Return what a server used between two readings of the same probe.

    - `cpu_s`: user plus system time, see `cpu_seconds`.

    - `cpu_user_s`, `cpu_system_s`: `cpu_s` in the proportion in which the kernel's tick (250 a
      second and core, often) found the processes in user and system mode. In one slice of 0.25 s
      that proportion is good to about 6 points; it is unbiased, so use it over many slices. Absent
      if no tick hit the server.
    - These two and `context_switches` are absent if a process or thread ended in the window: it
      took its share along. `seen_switches` are those of the threads that are there at the end.
    - `read_bytes`, `write_bytes`: what the processes fetched from and sent towards storage. A
      write counts when it makes a page of the cache dirty, once until that page is clean again,
      and to the process that did it: what the device does, and when, is in the host's use.
    - `called_bytes`: what calls that read returned, from storage or from the kernel's cache: more
      than `read_bytes` by what the kernel had in memory. Asynchronous reads are not among them.
    - `rss_bytes`: the anonymous memory of all processes, plus the largest shared and the largest
      file-backed part of any one: forked processes hold the same shared buffers, and the sum of
      their RSS would count them once per connection. A little below the truth where no process
      has touched all buffers, above it where they still share anonymous pages since the fork.
    - `vsz_bytes`: likewise private writable mappings of all, plus the largest rest. Both are plain
      VSZ and RSS for a server of one process; both are the state at the end of the window.
    """
    started = after.cpu.keys() - before.cpu.keys()
    ended = before.cpu.keys() - after.cpu.keys()
    cpu_s = cpu_seconds(before.cpu, after.cpu)
    took_along = bool(ended) or _reaped_faults(before.cpu) != _reaped_faults(after.cpu)
    user_share = None if took_along else _user_share(before.cpu, after.cpu)
    return Use(
        cpu_s=cpu_s,
        vsz_bytes=virtual_bytes(after.memory),
        rss_bytes=resident_bytes(after.memory),
        processes=len(after.cpu),
        processes_started=len(started),
        processes_ended=len(ended),
        seen_switches=_seen_switches(before.switches, after.switches),
        **present(
            cpu_user_s=None if user_share is None else cpu_s * user_share,
            cpu_system_s=None if user_share is None else cpu_s * (1 - user_share),
            context_switches=None if took_along else _switches(before.switches, after.switches),
            read_bytes=_growth(before.read_bytes, after.read_bytes),
            write_bytes=_growth(before.write_bytes, after.write_bytes),
            called_bytes=_growth(before.called_bytes, after.called_bytes),
        ),
    )


def resident_bytes(memory: list[Memory]) -> int:
    """Return the memory of processes that share most of it, see `server_use`."""
    anonymous = sum(process.anonymous for process in memory)
    return (
        anonymous
        + max(process.file for process in memory)
        + max(process.shared for process in memory)
    )


def virtual_bytes(memory: list[Memory]) -> int:
    """Return the address space of processes that share most of it, see `server_use`."""
    private = sum(process.private_virtual for process in memory)
    return private + max(process.virtual - process.private_virtual for process in memory)


def _reaped_ticks(processes: Iterable[ProcessCpu]) -> int:
    return sum(process.reaped_ticks for process in processes)


def _reaped_faults(cpu: CpuReading) -> int:
    return sum(process.reaped_faults for process in cpu.values())


def _user_share(before: CpuReading, after: CpuReading) -> float | None:
    sampled = user = 0
    for identity, process in after.items():
        earlier = before.get(identity)
        sampled += process.sampled_ns - (earlier.sampled_ns if earlier else 0)
        user += process.sampled_user_ns - (earlier.sampled_user_ns if earlier else 0)
    return min(1.0, max(0.0, user / sampled)) if sampled > 0 else None


def _seen_switches(before: dict[int, int], after: dict[int, int]) -> int:
    return sum(max(0, count - before.get(thread, 0)) for thread, count in after.items())


def _switches(before: dict[int, int], after: dict[int, int]) -> int | None:
    growths = [count - before.get(thread, 0) for thread, count in after.items()]
    is_complete = before.keys() <= after.keys() and all(growth >= 0 for growth in growths)
    return sum(growths) if is_complete else None


def _growth(before: int | None, after: int | None) -> int | None:
    """Return the growth of a total; None where it is unknown, or a part of it went unseen."""
    if before is None or after is None or after < before:
        return None
    return after - before
