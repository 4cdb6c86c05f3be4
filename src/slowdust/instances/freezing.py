"""Servers that stand still: all processes of a server stopped, until they are let go on.

While one contender is measured, the background work of the others (purge, checkpoints, compaction,
autovacuum) must neither take its CPU nor be done in time that nobody counts. Where a control group
of version 2 can be made, the kernel freezes the server's as a whole. Elsewhere its processes get
SIGSTOP, which they can neither catch nor ignore. By both ways a server can be killed while it
stands still, which that of version 1 does not allow; and a timer that runs out meanwhile fires when
the server goes on.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil

from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import add_process, make_group
from slowdust.units import Second

_MOUNTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
"""Where groups of version 2 are: beside those of version 1, or alone."""
_FREEZE = "cgroup.freeze"
_LIMIT: Second = 5.0
"""Longest time in which a stopped process leaves the CPU or the disk."""
_LOOK_EVERY: Second = 0.0005
_STILL = frozenset({psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


class Freezable(Protocol):
    """The processes of a server, which can be made to stand still."""

    way: str
    """How they are stopped, in words."""

    def freeze(self) -> None:
        """Stop all processes, and wait until none of them runs; again has no effect.

        Raises:
            SlowdustError: they do not stop.
        """

    def thaw(self) -> None: ...


class FrozenGroup:
    """A control group whose processes are those of one start of a server."""

    way = "control group"

    def __init__(self, folder: Path, pid: int) -> None:
        """Move a server that was just started, with what it will start, into the group.

        Raises:
            OSError: the kernel refuses.
        """
        self._folder = folder
        self._tree = ProcessTree(pid)
        self._complete = False
        """Whether processes are in the group that were started before their parent was."""
        self.thaw()
        add_process(folder, pid)

    def freeze(self) -> None:
        """Stop all processes of the group, and wait until none of them runs.

        Raises:
            SlowdustError: they do not stop within seconds, or cannot be moved into the group.
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
    return make_group(_MOUNTS, "", [_FREEZE])


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
        error.

        Raises:
            SlowdustError: a process does not stop, for example because it waits for a disk.
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
        """Return the processes, the parent first."""
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
