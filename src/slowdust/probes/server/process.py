"""The probe of a server's processes.

A server is the tree below its main process: Postgres forks a process per connection, mysqld runs
a thread per connection; both are read alike. CPU time comes from the kernel's scheduler clocks in
nanoseconds; /proc counts in ticks of 10 ms, 10% of a slice of 0.1 s.

Both readings are meant to be taken while the server is at rest. A process that sleeps has all its
CPU time in its clock; one on another core lacks up to one scheduler tick of it (1 to 10 ms).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

import psutil

from slowdust.probes.probe import Subject
from slowdust.probes.server.procfs import ThreadFiles, number_after
from slowdust.probes.server.reading import (
    CpuReading,
    Identity,
    Memory,
    ProcessCpu,
    ServerReading,
    Stat,
    Transfer,
    cpu_seconds,
    parse_memory,
    parse_stat,
    parse_switches,
    server_use,
)
from slowdust.store.measured import IDLE, Use

_CLOCK_PROFILE, _CLOCK_VIRTUAL, CLOCK_SCHEDULER = 0, 1, 2
_ZOMBIE = b"Z"
_ENDED = (FileNotFoundError, ProcessLookupError)
"""Other failures, such as having no descriptors left, must not pass for a process's end."""


def process_clock(pid: int, kind: int) -> int:
    """Return the nanoseconds on one of a process's CPU clocks, ended threads included.

    Linux makes a process's clock id of its pid: the inverted pid shifted over three bits that say
    which clock (what clock_getcpuclockid(3) returns; CPUCLOCK_* in the kernel's posix-timers.h).
    Reading needs no rights over the process.

    Raises:
        ProcessLookupError: there is no such process.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | kind)
    except OSError as failure:
        if failure.errno != errno.EINVAL:
            raise
        raise ProcessLookupError(f"process {pid} has ended") from failure


class ProcessFiles(Protocol):
    """Source of the files of processes: `ThreadFiles`, or a test's own."""

    def read(self, pid: int, name: str, thread: int | None = None) -> bytes: ...

    def threads(self, pid: int) -> tuple[int, ...]: ...

    def retain(self, threads: Collection[int]) -> None:
        """Take note of the threads that exist after a reading."""
        ...


class _Member(NamedTuple):
    """A process of the server while a reading is taken."""

    identity: Identity
    stat: Stat
    threads: tuple[int, ...]


class ServerProbe:
    """Reads a server's processes; remembers nothing but which processes belong to it.

    A process found below the main process belongs to it until it ends, even without its parent.
    That also covers the kernel's list of children, which may skip one while another ends.

    Raises:
        OSError: no process with this pid.
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
        """Close the files of the server's processes; another reading would open them again."""
        self._files.retain(())

    def read(self) -> ServerReading:
        """Read everything: 20 (caches warm) to 35 microseconds a process, 15 a thread.

        Raises:
            OSError: the server's main process has ended.
            ValueError, IndexError: files of another kernel than we know.
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
        """Return what the server used between two readings, see `server_use`."""
        return server_use(before, after)

    def read_cpu(self) -> CpuReading:
        """Read CPU times alone, for a server that should be idle: at half the cost of `read`.

        Raises:
            OSError: the server's main process has ended.
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
            raise ProcessLookupError(f"the server's process {self._main.pid} has ended")

    def _members(self) -> list[_Member]:
        members: dict[Identity, _Member] = {}
        self._add_tree(self._main.pid, members)
        for identity in self._known - members.keys():
            self._add_tree(identity.pid, members, must_be=identity)
        main = members.get(self._main)
        if main is None or main.stat.state == _ZOMBIE:
            raise ProcessLookupError(f"the server's process {self._main.pid} has ended")
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
        if self._kernel_lists_children:
            return self._listed_children(pid, threads)
        return self._scanned_children(pid)

    def _listed_children(self, pid: int, threads: Iterable[int]) -> list[int]:
        """Return the children by the kernel's own list; it has one for each thread that forked."""
        children: list[int] = []
        for thread in threads:
            try:
                listed = self._files.read(pid, "children", thread)
            except _ENDED:
                continue
            children += [int(child) for child in listed.split()]
        return children

    def _scanned_children(self, pid: int) -> list[int]:
        """Return the children on a kernel without CONFIG_PROC_CHILDREN: a scan that takes 1 ms."""
        try:
            return [child.pid for child in psutil.Process(pid).children()]
        except psutil.Error:
            return []

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
        """Return what a process read and wrote; only root and the same user may know."""
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
    """Reads the CPU time of a server that should be idle: `cpu_s`."""

    parts: Mapping[str, str] = {}

    def __init__(self, contender: str, server: ServerProbe) -> None:
        self.name = f"{IDLE}{contender}"
        self._server = server

    def read(self) -> CpuReading:
        """Read the CPU times of its processes.

        Raises:
            OSError: the server's main process has ended.
        """
        return self._server.read_cpu()

    def use(self, before: CpuReading, after: CpuReading) -> Use:
        return {"cpu_s": cpu_seconds(before, after)}


def probe_of(subject: Subject) -> ServerProbe:
    """Return the probe of a server's processes. Raises OSError if the server has ended."""
    return ServerProbe(subject.pid)
