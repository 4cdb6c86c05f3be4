"""Limits of servers' memory, by control groups of the kernel, of both versions.

What counts is the memory of all processes of a server, and the pages of files that the kernel
keeps for it: so data are read from the disk that the host's memory would hold.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import add_process, make_group

_MOUNTS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
"""Where the controller of memory is: in version 1 by itself, in version 2 with all others."""
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_NO_SWAP = {"memory.swappiness": "0", "memory.swap.max": "0"}


class MemoryLimit:
    """A limit of the memory of one server, which outlives the server's starts."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    @classmethod
    def make(cls, limit_bytes: int) -> MemoryLimit:
        """Make a control group without processes.

        Raises:
            SlowdustError: no group can be made here, with what would allow it.
        """
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

        Raises:
            SlowdustError: the kernel refuses.
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
