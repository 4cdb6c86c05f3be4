"""Servers that stand still: all processes of a server stopped, until they are let go on.

While one contender is measured, the background work of the others (purge, checkpoints, compaction,
autovacuum) must neither take its CPU nor be done in time that nobody counts. The processes get
SIGSTOP, which they can neither catch nor ignore; a timer that runs out meanwhile fires when they go
on.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress

import psutil

from slowdust.errors import SlowdustError
from slowdust.units import Second

_LIMIT: Second = 5.0
"""Longest time in which a stopped process leaves the CPU or the disk."""
_LOOK_EVERY: Second = 0.0005
_STILL = frozenset({psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


class ProcessTree:
    """A process and all below it, which can be made to stand still."""

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
            running = [process for process in self._processes() if _status(process) not in _STILL]
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    self._frozen.add(process)
                    process.send_signal(signal.SIGSTOP)
            if running and time.monotonic() > deadline:
                pids = ", ".join(str(process.pid) for process in running)
                raise SlowdustError(f"processes {pids} do not stop within {_LIMIT:.0f} s")

    def thaw(self) -> None:
        """Let all processes go on, the parent last: no child is missing then."""
        tree = self._processes()
        for process in [*self._frozen.difference(tree), *reversed(tree)]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        self._frozen.clear()

    def _processes(self) -> list[psutil.Process]:
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
