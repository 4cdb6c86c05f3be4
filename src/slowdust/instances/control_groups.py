"""Limits of servers' memory, and servers that are suspended, by the kernel's control groups.

While one contender is measured, the background work of the others (purge, checkpoints, compaction,
autovacuum) must neither take its CPU nor be done in time that nobody counts. Where a control group
of version 2 can be made, the kernel freezes the server's as a whole. Elsewhere its processes get
SIGSTOP, which they can neither catch nor ignore. By both ways a server can be killed while it is
suspended, which version 1 does not allow; and a timer that runs out meanwhile fires when the server
is resumed.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Protocol

import psutil

from slowdust.errors import SlowdustError
from slowdust.units import Second

_PREFIX = "slowdust-"
_PATIENCE: Second = 5.0
_POLL: Second = 0.02
_MOUNTS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
"""Where the controller of memory is: in version 1 by itself, in version 2 with all others."""
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_NO_SWAP = {"memory.swappiness": "0", "memory.swap.max": "0"}


def make_group(mounts: Sequence[str], controller: str, needed: Sequence[str]) -> Path | None:
    """Make a group without processes, in this process's own group or in one above it.

    `mounts` are where the kernel shows the groups: one that ends in `controller` has that one of
    version 1, all others have version 2. A group that has none of the `needed` files is of no use.
    Returns None where no group can be made.
    """
    for parent in _parents(mounts, controller):
        folder = parent / f"{_PREFIX}{secrets.token_hex(6)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if any((folder / name).exists() for name in needed):
            return folder
        folder.rmdir()
    return None


def add_process(folder: Path, pid: int) -> None:
    """Move a process, with those that it will start, into a group; it may have ended.

    Raises OSError if the kernel refuses.
    """
    try:
        (folder / "cgroup.procs").write_text(str(pid), encoding="utf-8")
    except ProcessLookupError:
        return  # as the caller will see


def remove_group(folder: Path) -> None:
    """Remove a group, whose processes have been told to end; one that is gone is no error.

    Raises SlowdustError if processes are left in it.
    """
    if not folder.name.startswith(_PREFIX):
        return
    deadline = time.monotonic() + _PATIENCE
    while folder.exists():
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise SlowdustError(f"cannot remove {folder}: {error.strerror}") from error
            time.sleep(_POLL)


def _parents(mounts: Sequence[str], controller: str) -> Iterator[Path]:
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    for mount in map(Path, mounts):
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers.split(",") == [controller if mount.name == controller else ""]:
                group = PurePosixPath(path)
                yield from (mount / str(level).strip("/") for level in (group, *group.parents))


class MemoryLimit:
    """A limit of the memory of one server, which outlives the server's starts.

    Only a control group counts the pages of files; a limit of address space does not.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    @classmethod
    def make(cls, limit_bytes: int) -> MemoryLimit:
        folder = make_group(_MOUNTS, "memory", _LIMITS)
        if folder is None:
            raise SlowdustError(
                "the servers' memory cannot be limited: that takes the right to make control "
                "groups of memory, which root has outside of most containers; leave out --memory"
            )
        for name in _LIMITS:
            if (folder / name).exists():
                (folder / name).write_text(str(limit_bytes), encoding="utf-8")
        for name, value in _NO_SWAP.items():
            if (folder / name).exists():
                (folder / name).write_text(value, encoding="utf-8")
        return cls(folder, limit_bytes)

    def add(self, pid: int) -> None:
        """Let the limit hold for a process and those that it will start.

        Raises SlowdustError if the kernel refuses.
        """
        try:
            add_process(self.folder, pid)
        except OSError as error:
            raise SlowdustError(f"process {pid} cannot be limited: {error.strerror}") from error

    @property
    def was_reached(self) -> bool:
        """Whether the kernel killed a process since there was no memory left below the limit."""
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError):
                lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
                return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)
        return False


_FREEZER_MOUNTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
"""Where groups of version 2 are: beside those of version 1, or alone."""
_FREEZE = "cgroup.freeze"
_LIMIT: Second = 5.0
"""Longest time in which a stopped process leaves the CPU or the disk."""
_LOOK_EVERY: Second = 0.0005
_STILL = frozenset({psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


class Freezable(Protocol):
    """The processes of a server, which can be made to stand still."""

    way: str

    def freeze(self) -> None:
        """Stop all processes, and wait until none of them runs; again has no effect.

        Raises SlowdustError if they do not stop.
        """

    def thaw(self) -> None: ...


class FrozenGroup:
    """A control group whose processes are those of one start of a server."""

    way = "control group"

    def __init__(self, folder: Path, pid: int) -> None:
        """Move a server that was just started, with what it will start, into the group.

        Raises OSError if the kernel refuses.
        """
        self._folder = folder
        self._tree = ProcessTree(pid)
        self._complete = False
        """Whether processes are in the group that were started before their parent was."""
        self.thaw()
        add_process(folder, pid)

    def freeze(self) -> None:
        """Stop all processes of the group, and wait until none of them runs.

        Raises SlowdustError if they do not stop within seconds, or cannot be moved into the group.
        """
        try:
            if not self._complete:
                for process in self._tree.processes():
                    add_process(self._folder, process.pid)
                self._complete = True
            (self._folder / _FREEZE).write_text("1", encoding="utf-8")
            deadline = time.monotonic() + _LIMIT
            while "frozen 1" not in (self._folder / "cgroup.events").read_text(encoding="utf-8"):
                if time.monotonic() > deadline:
                    raise SlowdustError(f"a server does not stop within {_LIMIT:.0f} s")
                time.sleep(_LOOK_EVERY)
        except OSError as error:
            raise SlowdustError(f"a server cannot be stopped: {error.strerror}") from error

    def thaw(self) -> None:
        thaw_group(self._folder)


def freezable(pid: int, group: Path | None) -> Freezable:
    """Return a server that was just started, in the control group if there is the right to it."""
    if group is not None:
        with suppress(OSError):
            return FrozenGroup(group, pid)
    return ProcessTree(pid)


def make_frozen_group() -> Path | None:
    """Make a control group that can be frozen; return None where there is no right to."""
    return make_group(_FREEZER_MOUNTS, "", [_FREEZE])


def can_freeze(folder: Path) -> bool:
    """Return whether a control group made for another purpose can be frozen."""
    return (folder / _FREEZE).exists()


def thaw_group(folder: Path) -> None:
    """Let the processes of a control group go on, if it is there and can be frozen."""
    if can_freeze(folder):
        (folder / _FREEZE).write_text("0", encoding="utf-8")


class ProcessTree:
    """A process and all below it, which signals make stand still."""

    way = "signals"

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._frozen: set[psutil.Process] = set()
        """Whatever was stopped: where the parent was killed, its children have left the tree."""

    def freeze(self) -> None:
        """Stop all processes, and wait until none of them runs.

        The parent is stopped first, so that it starts no others. A process that has ended is no
        error. Raises SlowdustError if a process does not stop, for example because it waits for a
        disk.
        """
        deadline = time.monotonic() + _LIMIT
        running: list[psutil.Process] | None = None
        while running is None or running:
            if running is not None:
                time.sleep(_LOOK_EVERY)
            running = [process for process in self.processes() if _status(process) not in _STILL]
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    self._frozen.add(process)
                    process.send_signal(signal.SIGSTOP)
            if running and time.monotonic() > deadline:
                pids = ", ".join(str(process.pid) for process in running)
                raise SlowdustError(f"processes {pids} do not stop within {_LIMIT:.0f} s")

    def thaw(self) -> None:
        """Let all processes go on, the parent last: no child is missing then."""
        tree = self.processes()
        for process in [*self._frozen.difference(tree), *reversed(tree)]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        self._frozen.clear()

    def processes(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD
