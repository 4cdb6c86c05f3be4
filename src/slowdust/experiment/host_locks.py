"""Locks on the CPUs and the disk of a host: one experiment at a time measures on each.

Slowdust places clients and servers on CPUs of its choice, so two experiments on the same CPUs would
share them, and two that write to one disk share its queue. The second experiment waits. Builds are
fetched before the CPUs are locked, and servers start after that.

A lock is an flock(2) on a file of a directory that all users can write to. The kernel frees it when
the last process that has it open ends, also by SIGKILL, so a file's record of its holder is read
only while the file is locked. A file of another user may be a trap: it is opened without following
links, it must be a regular file, and its content is checked. All locks of one experiment are taken
at once or none of them is, under a lock of their own, so that two experiments never wait for each
other.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path

import msgspec

from slowdust.benchmarks.steps import StepBenchmark
from slowdust.errors import SlowdustError
from slowdust.experiment.cpus import format_cpus, keeping_to, usable_cpus
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.owner import instances_root
from slowdust.locks import try_lock
from slowdust.places import CLAIMS_VARIABLE, host_locks_directory, within
from slowdust.probes.host.use import block_device_of, mount_of, queue_of
from slowdust.store.storage import FAULTS
from slowdust.units import Second

_ALL = "all"
"""The name of the lock under which the others are taken."""
LONGEST_TURN: Second = 10.0
_RETRY_EVERY: Second = 0.01
_LONGEST_RECORD = 4096
_LONGEST_NAME = 200


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever holds a lock, as it says in the lock's file."""

    experiment: str
    pid: int
    pid_namespace: int
    """Inode of the namespace in which `pid` is its process: a container has its own."""
    user: str
    since: float
    """Unix time."""

    @classmethod
    def here(cls, experiment: str) -> Holder:
        """Return this process as the holder of locks for an experiment, from now on."""
        uid = os.geteuid()
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = f"user {uid}"
        return cls(
            experiment=experiment,
            pid=os.getpid(),
            pid_namespace=_pid_namespace(),
            user=user,
            since=time.time(),
        )

    def __str__(self) -> str:
        """Return the holder in words: `NAME (process 4711 of root, since 19:03:20)`."""
        where = "" if self.pid_namespace == _pid_namespace() else " in another container"
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"{self.experiment} (process {self.pid} of {self.user}{where}, since {since})"


class LockedError(Exception):
    """Some of the locks that were asked for are held: name of a lock -> its holder.

    The holder is None where the lock's file does not say it.
    """

    def __init__(self, holders: dict[str, Holder | None]) -> None:
        super().__init__(holders)
        self.holders = holders


@contextmanager
def held(names: Sequence[str], holder: Holder) -> Iterator[list[int]]:
    """Hold all of the locks, whose files are made where they do not exist; yield the open files.

    Raises:
        LockedError: some of them are held by others.
        SlowdustError: a lock's file cannot be used, or nobody's locks can be taken for seconds.
    """
    with contextlib.ExitStack() as stack:
        with _descriptor(_ALL) as everything:
            _take_turn(everything)
            locks = [stack.enter_context(_descriptor(name)) for name in names]
            holders: dict[str, Holder | None] = {}
            for name, lock in zip(names, locks, strict=True):
                if try_lock(lock):
                    os.ftruncate(lock, 0)
                    os.pwrite(lock, msgspec.json.encode(holder), 0)
                else:
                    holders[name] = _read(lock)
            if holders:
                raise LockedError(holders)
        yield locks


def holders_here() -> list[Holder]:
    """Return who holds locks of this host now; takes none, and needs /proc/locks to know."""
    locked = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK":
                locked.add(int(fields[5].rpartition(":")[2]))
    holders: list[Holder] = []
    for path in sorted(host_locks_directory().glob("slowdust-*.lock")):
        with contextlib.suppress(OSError, SlowdustError):
            if path.stat().st_ino in locked:
                with _descriptor(path.stem.removeprefix("slowdust-")) as descriptor:
                    holder = _read(descriptor)
                if holder is not None and holder not in holders:
                    holders.append(holder)
    return holders


@contextmanager
def _descriptor(name: str) -> Iterator[int]:
    path = within(host_locks_directory(), f"slowdust-{name}.lock")
    try:
        descriptor = _open(path)
    except OSError as error:
        raise SlowdustError(
            f"cannot use {path}, a lock of this host: {error.strerror}: delete it, or set "
            f"{CLAIMS_VARIABLE} to another directory"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock's file, made where it does not exist; all users may write to it.

    Raises:
        OSError: it is not a regular file of one name, or not ours to open.
    """
    # O_CREAT on another user's file is forbidden in such a directory (fs.protected_regular).
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # another process made it at the same moment
            return _open(path)
        os.fchmod(descriptor, 0o666)  # whatever the umask
    except PermissionError:
        if (seconds := time.time() - path.lstat().st_ctime) > 1:
            raise
        time.sleep(max(0.01, min(1.0, 1 - seconds)))  # its maker was about to open it to all
        return os.open(path, flags)
    status = os.fstat(descriptor)
    # A second name may be that of a file of ours, which another user has linked to.
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise OSError(0, "it is not a regular file of one name")
    return descriptor


def _take_turn(everything: int) -> None:
    """Lock the file under which the others are taken, which nobody holds for long.

    Raises:
        SlowdustError: somebody does: every user may lock it, and never let it go.
    """
    deadline = time.monotonic() + LONGEST_TURN
    while not try_lock(everything):
        if time.monotonic() > deadline:
            raise SlowdustError(
                f"another process has held slowdust-{_ALL}.lock in {host_locks_directory()} for "
                f"{LONGEST_TURN:.0f} s: end it, or set {CLAIMS_VARIABLE} to another directory"
            )
        time.sleep(_RETRY_EVERY)


def _read(descriptor: int) -> Holder | None:
    """Return the holder that a file names; None where it names none that can be shown."""
    try:
        holder = msgspec.json.decode(os.pread(descriptor, _LONGEST_RECORD, 0), type=Holder)
    except FAULTS:
        return None
    names = holder.experiment, holder.user
    return holder if all(n.isprintable() and len(n) <= _LONGEST_NAME for n in names) else None


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


_LOOK_EVERY: Second = 0.5
_IN_MEMORY = ("tmpfs", "ramfs")
_CPU = "cpu-"
_DISK = "disk-"


class WhenBusy(Enum):
    """What an experiment does whose CPUs or disk another one has locked."""

    WAIT = "wait"
    FAIL = "fail"


@contextmanager
def locked(spec: Spec, when_busy: WhenBusy, view: View) -> Iterator[list[int]]:
    """Lock the CPUs of an experiment, and the disk if it writes; keep to these CPUs meanwhile.

    Yields the open files of its locks: a process that inherits them shares the locks.

    Raises:
        SlowdustError: another experiment has locked some of it, and waiting is not wanted.
    """
    cpus = spec.cpus or usable_cpus()
    names = [f"{_CPU}{cpu}" for cpu in cpus]
    disk = disk_of(instances_root()) if writes(spec) else None
    if disk is not None:
        names.append(f"{_DISK}{disk}")
    with ExitStack() as stack:
        locks = _wait_for(names, spec.name, when_busy, view, stack)
        stack.enter_context(keeping_to(cpus))
        yield locks


def writes(spec: Spec) -> bool:
    return isinstance(spec.configured_benchmark(), StepBenchmark) or any(
        test.changes_data for test in spec.chosen_tests()
    )


def disk_of(directory: Path) -> str | None:
    """Return the name of the disk that holds a directory, whatever the partition.

    Where its device is unknown (a network file system, a container), the number of the file system
    stands in for it. None where the directory lies in memory.

    Raises:
        OSError: no such directory.
    """
    mount = mount_of(directory)
    if mount is not None and mount.filesystem in _IN_MEMORY:
        return None
    device = block_device_of(directory)
    if device is None:
        number = directory.stat().st_dev
        return f"{os.major(number)}-{os.minor(number)}"
    return re.sub(r"[^A-Za-z0-9_-]", "-", queue_of(device).parent.name)


def _wait_for(
    names: list[str], experiment: str, when_busy: WhenBusy, view: View, stack: ExitStack
) -> list[int]:
    """Hold the locks until the stack is closed; return their open files."""
    begun = time.monotonic()
    while True:
        try:
            return stack.enter_context(held(names, Holder.here(experiment)))
        except LockedError as locked:
            who = describe(locked.holders)
            if when_busy is WhenBusy.FAIL:
                raise SlowdustError(f"not started: {who}") from None
            view.waiting(f"waiting: {who}", time.monotonic() - begun)
            time.sleep(_LOOK_EVERY)


def describe(holders: dict[str, Holder | None]) -> str:
    """Say who measures on what: `NAME (process 4711 of root, since 19:03:20) measures on CPUs 0-1`.

    `holders` are those of locks, by the locks' names.
    """
    by_holder: dict[Holder | None, list[str]] = {}
    for name, holder in holders.items():
        by_holder.setdefault(holder, []).append(name)
    sentences = []
    for holder, names in by_holder.items():
        cpus = [int(name.removeprefix(_CPU)) for name in names if name.startswith(_CPU)]
        parts = [f"CPU{'s' if len(cpus) > 1 else ''} {format_cpus(cpus)}"] if cpus else []
        parts += [f"disk {name.removeprefix(_DISK)}" for name in names if name.startswith(_DISK)]
        sentences.append(f"{holder or 'an unknown process'} measures on {' and '.join(parts)}")
    return "; ".join(sentences)
