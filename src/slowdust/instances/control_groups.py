"""Memory limits and suspension of servers, by the kernel's control groups.

While one contender is measured, the background work of the others (purge, checkpoints, compaction,
autovacuum) must neither take its CPU nor happen outside of the measured time. If a control group of
version 2 can be created, the kernel freezes the server's group as a whole. Otherwise its processes
get SIGSTOP, which they can neither catch nor ignore. Both ways, a suspended server can be killed,
which version 1 does not allow, and a timer that expires meanwhile fires when the server is resumed.
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
"""Mount points of the memory controller: its own in version 1, the common one in version 2."""
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_NO_SWAP = {"memory.swappiness": "0", "memory.swap.max": "0"}


def make_group(mounts: Sequence[str], controller: str, needed: Sequence[str]) -> Path | None:
    """Create a group without processes, in this process's own group or one of its ancestors.

    `mounts` are the mount points of groups: one that ends in `controller` is that controller of
    version 1, all others are version 2. A group without any of the `needed` files is useless.
    Returns None if no group can be created.
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
    """Move a process, which may have exited, and its future children into a group.

    Raises OSError if the kernel refuses.
    """
    try:
        (folder / "cgroup.procs").write_text(str(pid), encoding="utf-8")
    except ProcessLookupError:
        return  # the caller will notice


def remove_group(folder: Path) -> None:
    """Remove a group whose processes were signalled to exit; a missing group is no error.

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
    """A memory limit of one server, for all of its starts.

    Only a control group counts the page cache; a limit of address space does not.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    @classmethod
    def make(cls, limit_bytes: int) -> MemoryLimit:
        folder = make_group(_MOUNTS, "memory", _LIMITS)
        if folder is None:
            raise SlowdustError(
                "--memory is not possible here: it needs the right to create control groups for "
                "memory, which root has outside of most containers"
            )
        for name in _LIMITS:
            if (folder / name).exists():
                (folder / name).write_text(str(limit_bytes), encoding="utf-8")
        for name, value in _NO_SWAP.items():
            if (folder / name).exists():
                (folder / name).write_text(value, encoding="utf-8")
        return cls(folder, limit_bytes)

    def add(self, pid: int) -> None:
        """Apply the limit to a process and its future children.

        Raises SlowdustError if the kernel refuses.
        """
        try:
            add_process(self.folder, pid)
        except OSError as error:
            raise SlowdustError(f"cannot limit process {pid}: {error.strerror}") from error

    @property
    def was_reached(self) -> bool:
        """Whether the kernel killed a process because the limit was reached."""
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError):
                lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
                return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)
        return False


_FREEZER_MOUNTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
"""Mount points of version 2: together with version 1, or alone."""
_FREEZE = "cgroup.freeze"
_LIMIT: Second = 5.0
"""Time limit for a stopped process to leave the CPU or the disk."""
_LOOK_EVERY: Second = 0.0005
_STILL = frozenset({psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


class Freezable(Protocol):
    """The processes of a server, which can be suspended."""

    way: str

    def freeze(self) -> None:
        """Suspend all processes, and wait until none of them runs; idempotent.

        Raises SlowdustError if they do not stop.
        """

    def thaw(self) -> None: ...


class FrozenGroup:
    """A control group with the processes of one start of a server."""

    way = "control group"

    def __init__(self, folder: Path, pid: int) -> None:
        """Move a server that was just started, and its future children, into the group.

        Raises OSError if the kernel refuses.
        """
        self._folder = folder
        self._tree = ProcessTree(pid)
        self._complete = False
        """Whether the group has the processes that were started before their parent was moved."""
        self.thaw()
        add_process(folder, pid)

    def freeze(self) -> None:
        """Suspend all processes of the group, and wait until none of them runs.

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
                    raise SlowdustError(f"a server was not suspended within {_LIMIT:.0f} s")
                time.sleep(_LOOK_EVERY)
        except OSError as error:
            raise SlowdustError(f"cannot suspend a server: {error.strerror}") from error

    def thaw(self) -> None:
        thaw_group(self._folder)


def freezable(pid: int, group: Path | None) -> Freezable:
    """Return a server that was just started, in the control group if that is permitted."""
    if group is not None:
        with suppress(OSError):
            return FrozenGroup(group, pid)
    return ProcessTree(pid)


def make_frozen_group() -> Path | None:
    """Create a control group that can be frozen; return None if that is not permitted."""
    return make_group(_FREEZER_MOUNTS, "", [_FREEZE])


def can_freeze(folder: Path) -> bool:
    """Return whether a control group created for another purpose can be frozen."""
    return (folder / _FREEZE).exists()


def thaw_group(folder: Path) -> None:
    """Resume the processes of a control group, if it exists and can be frozen."""
    if can_freeze(folder):
        (folder / _FREEZE).write_text("0", encoding="utf-8")


class ProcessTree:
    """A process and its descendants, suspended by signals."""

    way = "signals"

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._frozen: set[psutil.Process] = set()
        """All suspended processes: children of a killed parent have left the tree."""

    def freeze(self) -> None:
        """Suspend all processes, and wait until none of them runs.

        The parent is suspended first, so that it starts no more. A process that has exited is no
        error. Raises SlowdustError if a process does not stop, for example while it waits for a
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
                raise SlowdustError(f"processes {pids} were not suspended within {_LIMIT:.0f} s")

    def thaw(self) -> None:
        """Resume all processes, the parent last, so that it finds all its children running."""
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
