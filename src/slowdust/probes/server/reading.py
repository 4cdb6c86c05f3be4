"""A reading of a server's processes, and the kernel's files that it is made of."""

from __future__ import annotations

from typing import NamedTuple

from slowdust.probes.server.procfs import number_after

_KIB = 1024


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
