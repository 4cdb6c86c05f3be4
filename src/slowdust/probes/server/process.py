"""The probe of a server's processes.

A server is the process tree of its main process: Postgres forks a process per connection, mysqld
runs a thread per connection; both are read alike. CPU time comes from the kernel's scheduler clocks
in nanoseconds; /proc has ticks of 10 ms, 10% of a slice of 0.1 s.

Both readings should be taken while the server is idle. The clock of a sleeping process includes all
its CPU time; the clock of a process running on another core lags by up to one scheduler tick (1 to
10 ms).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

import psutil

from slowdust.probes.probe import Subject
from slowdust.probes.server.procfs import TICK_NS, ThreadFiles, number_after
from slowdust.store.measured import IDLE, Use
from slowdust.units import Second, present

_KIB = 1024
_NS = 1_000_000_000


class Identity(NamedTuple):
    """A process for its whole life: pids are reused, pairs of pid and start time are not."""

    pid: int
    start_ticks: int


class ProcessCpu(NamedTuple):
    """CPU time of one process since its start."""

    cpu_ns: int
    """CPU time by the scheduler's clock; exact."""
    sampled_ns: int
    """User and system time as sampled by the kernel's tick."""
    sampled_user_ns: int
    reaped_ticks: int
    """CPU time of its children that exited and were waited for (and their children)."""
    reaped_faults: int
    """Page faults of the same children. Every process has some, so any exit shows."""


class Stat(NamedTuple):
    """The used fields of /proc/PID/stat."""

    state: bytes
    threads: int
    start_ticks: int
    reaped_ticks: int
    reaped_faults: int


class Memory(NamedTuple):
    """Memory of one process in bytes; zeros for a zombie."""

    virtual: int
    private_virtual: int
    """Private writable mappings: each forked process has its own."""
    anonymous: int
    file: int
    shared: int


class Transfer(NamedTuple):
    """Bytes moved by a process and its exited children that it waited for."""

    read: int
    written: int
    called: int
    """Bytes returned by its read calls."""


CpuReading = dict[Identity, ProcessCpu]
"""CPU time of all processes of a server."""


class ServerReading(NamedTuple):
    """All readings of a server at one moment: totals since its processes started."""

    cpu: CpuReading
    switches: dict[int, int]
    """Voluntary and involuntary context switches by thread."""
    read_bytes: int | None
    """Bytes fetched from storage by all processes and the exited children they waited for."""
    write_bytes: int | None
    called_bytes: int | None
    """Bytes returned by their read calls, including cached ones."""
    memory: list[Memory]


def parse_stat(content: bytes) -> Stat:
    """Parse /proc/PID/stat, see proc_pid_stat(5); the name in it may have blanks and brackets.

    Raises ValueError or IndexError for another format.
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
    labels = (b"\nVmSize:", b"\nVmData:", b"\nRssAnon:", b"\nRssFile:", b"\nRssShmem:")
    return Memory(*((number_after(status, label) or 0) * _KIB for label in labels))


def parse_switches(status: bytes) -> int:
    """Return the context switches of one thread, from its status file.

    Raises ValueError if the file lacks them.
    """
    voluntary = number_after(status, b"\nvoluntary_ctxt_switches:")
    involuntary = number_after(status, b"\nnonvoluntary_ctxt_switches:")
    if voluntary is None or involuntary is None:
        raise ValueError("no context switches in the status file")
    return voluntary + involuntary


def cpu_seconds(before: CpuReading, after: CpuReading) -> Second:
    """Return the CPU time that a server used between two readings.

    Processes that are alive at both readings or started in between count to the nanosecond. A
    process that exited has left its total CPU time with its parent, in ticks; its time before the
    first reading is subtracted. The rounding (below 20 ms per parent) cancels over many slices, so
    single slices are not corrected for it, except that the result is never negative.
    """
    alive_ns = sum(
        process.cpu_ns - (before[identity].cpu_ns if identity in before else 0)
        for identity, process in after.items()
    )
    reaped_ticks = _reaped_ticks(after.values()) - _reaped_ticks(before.values())
    ended_before_ns = sum(before[identity].cpu_ns for identity in before.keys() - after.keys())
    total_ns = alive_ns + reaped_ticks * TICK_NS - ended_before_ns
    return max(0, total_ns) / _NS


def server_use(before: ServerReading, after: ServerReading) -> Use:
    """Return the use of a server between two readings of the same probe.

    - `cpu_s`: user plus system time, see `cpu_seconds`.
    - `cpu_user_s`, `cpu_system_s`: `cpu_s` divided as the kernel's tick (often 250 per second and
      core) found the processes in user and system mode. In one slice of 0.25 s the proportion is
      accurate to about 6 points; it is unbiased, so use it over many slices. Absent if no tick hit
      the server.
    - These two and `context_switches` are absent if a process or thread exited in the window and
      took its share with it. `seen_switches` counts the threads that are there at the end.
    - `read_bytes`, `write_bytes`: bytes that the processes fetched from and sent towards storage. A
      write counts when it dirties a page of the cache, once until that page is clean again, for the
      process that did it. The host's use has the actual activity of the device.
    - `called_bytes`: bytes returned by read calls, from storage or from the kernel's cache. It
      exceeds `read_bytes` by the cached bytes, and excludes asynchronous reads.
    - `rss_bytes`: the anonymous memory of all processes, plus the largest shared and the largest
      file-backed part of any process: forked processes share buffers, and the sum of their RSS
      would count them once per connection. Slightly too low if no process has touched all buffers,
      too high if processes still share anonymous pages since the fork.
    - `vsz_bytes`: likewise the private writable mappings of all, plus the largest rest. For a
      server of one process both are plain VSZ and RSS; both are the state at the end of the window.
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
        seen_switches=sum(
            max(0, count - before.switches.get(thread, 0))
            for thread, count in after.switches.items()
        ),
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
    anonymous = sum(process.anonymous for process in memory)
    return (
        anonymous
        + max(process.file for process in memory)
        + max(process.shared for process in memory)
    )


def virtual_bytes(memory: list[Memory]) -> int:
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


def _switches(before: dict[int, int], after: dict[int, int]) -> int | None:
    growths = [count - before.get(thread, 0) for thread, count in after.items()]
    is_complete = before.keys() <= after.keys() and all(growth >= 0 for growth in growths)
    return sum(growths) if is_complete else None


def _growth(before: int | None, after: int | None) -> int | None:
    """Return the growth of a total; None if it is unknown, or if a part went unseen."""
    if before is None or after is None or after < before:
        return None
    return after - before


_CLOCK_PROFILE, _CLOCK_VIRTUAL, CLOCK_SCHEDULER = 0, 1, 2
_ZOMBIE = b"Z"
_ENDED = (FileNotFoundError, ProcessLookupError)
"""Other failures, such as running out of descriptors, must not look like a process's exit."""


def process_clock(pid: int, kind: int) -> int:
    """Return the nanoseconds on one of a process's CPU clocks, including exited threads.

    Linux derives a process's clock id from its pid: the inverted pid shifted over three bits that
    select the clock (as clock_getcpuclockid(3) returns; CPUCLOCK_* in the kernel's posix-timers.h).
    Reading needs no rights over the process. Raises ProcessLookupError if there is no such process.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | kind)
    except OSError as failure:
        if failure.errno != errno.EINVAL:
            raise
        raise ProcessLookupError(f"process {pid} has exited") from failure


class ProcessFiles(Protocol):
    """Source of the files of processes: `ThreadFiles`, or a test's own."""

    def read(self, pid: int, name: str, thread: int | None = None) -> bytes: ...

    def threads(self, pid: int) -> tuple[int, ...]: ...

    def retain(self, threads: Collection[int]) -> None:
        """Keep only the files of the threads that exist after a reading."""
        ...


class _Member(NamedTuple):
    """A process of the server during a reading."""

    identity: Identity
    stat: Stat
    threads: tuple[int, ...]


class ServerProbe:
    """Reads a server's processes; remembers only which processes belong to it.

    A descendant of the main process belongs to it until it exits, even without its parent. That
    also covers gaps in the kernel's list of children, which may skip one while another exits.
    Raises OSError if there is no process with this pid.
    """

    name = "server"
    parts: Mapping[str, str] = {"write_bytes": "io", "context_switches": "switches"}

    def __init__(
        self,
        pid: int,
        *,
        files: ProcessFiles | None = None,
        clock: Callable[[int, int], int] = process_clock,
    ) -> None:
        self._files = files or ThreadFiles()
        self._clock = clock
        self._main = Identity(pid, self._stat(pid).start_ticks)
        self._known: set[Identity] = set()
        try:
            self._files.read(pid, "children", pid)
            self._kernel_lists_children = True
        except FileNotFoundError:
            self._kernel_lists_children = False

    def close(self) -> None:
        """Close the files of the server's processes; another reading would reopen them."""
        self._files.retain(())

    def read(self) -> ServerReading:
        """Read everything, in 20 (warm caches) to 35 microseconds per process, 15 per thread.

        Raises OSError if the server's main process has exited, and ValueError or IndexError for
        files in an unknown format.
        """
        cpu: CpuReading = {}
        switches: dict[int, int] = {}
        memory: list[Memory] = []
        transfers: list[Transfer | None] = []
        for member in self._members():
            pid = member.identity.pid
            try:
                status = self._files.read(pid, "status")
                times = self._cpu_of(member)
            except _ENDED:
                continue
            cpu[member.identity] = times
            memory.append(parse_memory(status))
            switches.update(self._switches_of(member, status))
            transfers.append(self._transfer_of(pid))
        self._require_main(cpu)
        known = [transfer for transfer in transfers if transfer is not None]
        complete = len(known) == len(transfers)
        return ServerReading(
            cpu=cpu,
            switches=switches,
            read_bytes=sum(each.read for each in known) if complete else None,
            write_bytes=sum(each.written for each in known) if complete else None,
            called_bytes=sum(each.called for each in known) if complete else None,
            memory=memory,
        )

    def use(self, before: ServerReading, after: ServerReading) -> Use:
        return server_use(before, after)

    def read_cpu(self) -> CpuReading:
        """Read only CPU times, for a server that should be idle, at half the cost of `read`.

        Raises OSError if the server's main process has exited.
        """
        cpu: CpuReading = {}
        for member in self._members():
            try:
                cpu[member.identity] = self._cpu_of(member)
            except _ENDED:
                continue
        self._require_main(cpu)
        return cpu

    def _require_main(self, cpu: CpuReading) -> None:
        if self._main not in cpu:
            raise ProcessLookupError(f"the server's process {self._main.pid} has exited")

    def _members(self) -> list[_Member]:
        members: dict[Identity, _Member] = {}
        self._add_tree(self._main.pid, members)
        for identity in self._known - members.keys():
            self._add_tree(identity.pid, members, must_be=identity)
        main = members.get(self._main)
        if main is None or main.stat.state == _ZOMBIE:
            raise ProcessLookupError(f"the server's process {self._main.pid} has exited")
        self._known = set(members)
        self._files.retain({thread for member in members.values() for thread in member.threads})
        return list(members.values())

    def _add_tree(
        self, pid: int, members: dict[Identity, _Member], must_be: Identity | None = None
    ) -> None:
        pending = [pid]
        while pending:
            pid = pending.pop()
            try:
                stat = self._stat(pid)
                threads = (pid,) if stat.threads <= 1 else self._files.threads(pid)
            except _ENDED:
                continue
            identity = Identity(pid, stat.start_ticks)
            if identity in members or must_be not in (None, identity):
                continue
            must_be = None
            members[identity] = _Member(identity, stat, threads)
            pending += self._find_children(pid, threads)

    def _stat(self, pid: int) -> Stat:
        return parse_stat(self._files.read(pid, "stat"))

    def _find_children(self, pid: int, threads: Iterable[int]) -> list[int]:
        if not self._kernel_lists_children:  # without CONFIG_PROC_CHILDREN: a scan of 1 ms
            with suppress(psutil.Error):
                return [child.pid for child in psutil.Process(pid).children()]
            return []
        children: list[int] = []
        for thread in threads:  # each thread that forked has its own list
            try:
                listed = self._files.read(pid, "children", thread)
            except _ENDED:
                continue
            children += map(int, listed.split())
        return children

    def _cpu_of(self, member: _Member) -> ProcessCpu:
        pid = member.identity.pid
        return ProcessCpu(
            cpu_ns=self._clock(pid, CLOCK_SCHEDULER),
            sampled_ns=self._clock(pid, _CLOCK_PROFILE),
            sampled_user_ns=self._clock(pid, _CLOCK_VIRTUAL),
            reaped_ticks=member.stat.reaped_ticks,
            reaped_faults=member.stat.reaped_faults,
        )

    def _switches_of(self, member: _Member, status: bytes) -> dict[int, int]:
        pid = member.identity.pid
        switches = {pid: parse_switches(status)}
        for thread in member.threads:
            if thread != pid:
                try:
                    status = self._files.read(pid, "status", thread)
                except _ENDED:
                    continue
                switches[thread] = parse_switches(status)
        return switches

    def _transfer_of(self, pid: int) -> Transfer | None:
        """Return the bytes that a process moved; None without the right to read them."""
        try:
            content = self._files.read(pid, "io")
        except (PermissionError, *_ENDED):
            return None
        called = number_after(content, b"rchar:")
        fetched = number_after(content, b"\nread_bytes:")
        written = number_after(content, b"\nwrite_bytes:")
        if called is None or fetched is None or written is None:
            return None
        return Transfer(fetched, written, called)


class IdleServer:
    """Reads the CPU time `cpu_s` of a server that should be idle."""

    parts: Mapping[str, str] = {}

    def __init__(self, contender: str, server: ServerProbe) -> None:
        self.name = f"{IDLE}{contender}"
        self._server = server

    def read(self) -> CpuReading:
        return self._server.read_cpu()

    def use(self, before: CpuReading, after: CpuReading) -> Use:
        return {"cpu_s": cpu_seconds(before, after)}


def open_probe(subject: Subject) -> ServerProbe:
    return ServerProbe(subject.pid)
