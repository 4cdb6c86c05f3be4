"""Locks on the CPUs and the disk of a host: one experiment at a time measures on each.

Slowdust places clients and servers on CPUs of its choice, so two experiments on the same CPUs would
share them, and two that write to one disk share its queue. The second experiment waits. Builds are
fetched before the CPUs are locked, and servers start after that.

A lock is an flock(2) on a file in a directory that all users can write to. The kernel releases it
when the last process with an open descriptor exits, even after SIGKILL, so the holder recorded in
the file is read only while the file is locked. A file of another user may be a trap: it is opened
without following links, it must be a regular file, and its content is checked. An experiment takes
all its locks or none, under a common lock, so two experiments never wait for each other.
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
from slowdust.experiment.cpus import format_cpus, running_on, usable_cpus
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.owner import instances_root
from slowdust.locks import try_lock
from slowdust.places import CLAIMS_VARIABLE, host_locks_directory, within
from slowdust.probes.host.use import find_block_device, find_mount, find_queue
from slowdust.store.storage import FAULTS
from slowdust.units import Second

_ALL = "all"
"""The name of the common lock under which the others are taken."""
LONGEST_TURN: Second = 10.0
_RETRY_EVERY: Second = 0.01
_LONGEST_RECORD = 4096
_LONGEST_NAME = 200


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a lock, as recorded in the lock's file."""

    experiment: str
    pid: int
    pid_namespace: int
    """Inode of the PID namespace of `pid`: a container has its own."""
    user: str
    since: float
    """Unix time."""

    @classmethod
    def here(cls, experiment: str) -> Holder:
        """Return this process as the holder of locks for an experiment, as of now."""
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
        """Return the holder as text: `NAME (process 4711 of root, since 19:03:20)`."""
        where = "" if self.pid_namespace == _pid_namespace() else " in another container"
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"{self.experiment} (process {self.pid} of {self.user}{where}, since {since})"


class LockedError(Exception):
    """Some of the requested locks are held: name of a lock -> its holder.

    None stands for a holder that the lock's file does not name.
    """

    def __init__(self, holders: dict[str, Holder | None]) -> None:
        super().__init__(holders)
        self.holders = holders


@contextmanager
def held(names: Sequence[str], holder: Holder) -> Iterator[list[int]]:
    """Hold all of the locks, creating missing files; yield the open descriptors.

    Raises:
        LockedError: others hold some of them.
        SlowdustError: a lock's file cannot be used, or the common lock stays taken.
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
    """Return the holders of locks of this host, by /proc/locks; takes no lock."""
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
            f"cannot use the lock file {path}: {error.strerror}; delete it, or set "
            f"{CLAIMS_VARIABLE} to another directory"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock's file that all users may write to, creating it if it is missing.

    Raises:
        OSError: it is not a regular file with a single link, or not ours to open.
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
        os.fchmod(descriptor, 0o666)  # independently of the umask
    except PermissionError:
        if (seconds := time.time() - path.lstat().st_ctime) > 1:
            raise
        time.sleep(max(0.01, min(1.0, 1 - seconds)))  # its creator is about to set its mode
        return os.open(path, flags)
    status = os.fstat(descriptor)
    # With a second link it may be one of our own files, linked here by another user.
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise OSError(0, "it is not a regular file with a single link")
    return descriptor


def _take_turn(everything: int) -> None:
    """Take the common lock, which is held only briefly.

    Raises:
        SlowdustError: another process keeps it: every user may lock it.
    """
    deadline = time.monotonic() + LONGEST_TURN
    while not try_lock(everything):
        if time.monotonic() > deadline:
            raise SlowdustError(
                f"another process has held slowdust-{_ALL}.lock in {host_locks_directory()} for "
                f"{LONGEST_TURN:.0f} s; stop it, or set {CLAIMS_VARIABLE} to another directory"
            )
        time.sleep(_RETRY_EVERY)


def _read(descriptor: int) -> Holder | None:
    """Return the holder recorded in a file; None if there is no printable one."""
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
    """The reaction to CPUs or a disk locked by another experiment."""

    WAIT = "wait"
    FAIL = "fail"


@contextmanager
def locked(spec: Spec, when_busy: WhenBusy, view: View) -> Iterator[list[int]]:
    """Lock the CPUs of an experiment, and the disk if it writes; run on these CPUs meanwhile.

    Yields the open descriptors of its locks: a process that inherits them shares the locks.

    Raises:
        SlowdustError: another experiment has locked some of them, and `when_busy` says fail.
    """
    cpus = spec.cpus or usable_cpus()
    names = [f"{_CPU}{cpu}" for cpu in cpus]
    disk = find_disk(instances_root()) if writes(spec) else None
    if disk is not None:
        names.append(f"{_DISK}{disk}")
    with ExitStack() as stack:
        locks = _wait_for(names, spec.name, when_busy, view, stack)
        stack.enter_context(running_on(cpus))
        yield locks


def writes(spec: Spec) -> bool:
    return isinstance(spec.configured_benchmark(), StepBenchmark) or any(
        test.changes_data for test in spec.chosen_tests()
    )


def find_disk(directory: Path) -> str | None:
    """Return the name of the disk that holds a directory, without the partition.

    If its device is unknown (network file system, container), the number of the file system is
    used. None if the directory is in memory.

    Raises:
        OSError: no such directory.
    """
    mount = find_mount(directory)
    if mount is not None and mount.filesystem in _IN_MEMORY:
        return None
    device = find_block_device(directory)
    if device is None:
        number = directory.stat().st_dev
        return f"{os.major(number)}-{os.minor(number)}"
    return re.sub(r"[^A-Za-z0-9_-]", "-", find_queue(device).parent.name)


def _wait_for(
    names: list[str], experiment: str, when_busy: WhenBusy, view: View, stack: ExitStack
) -> list[int]:
    """Hold the locks until the stack is closed; return their open descriptors."""
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
    """Describe the holders: `NAME (process 4711 of root, since 19:03:20) measures on CPUs 0-1`.

    `holders` maps names of locks to holders.
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
