"""Limits of servers' memory, by control groups of the kernel, of both versions.

What counts is the memory of all processes of a server, and the pages of files that the kernel
keeps for it: so data are read from the disk that the host's memory would hold.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from slowdust.errors import SlowdustError
from slowdust.units import Second

_MOUNTS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
"""Where the controller of memory is: in version 1 by itself, in version 2 with all others."""
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_NO_SWAP = {"memory.swappiness": "0", "memory.swap.max": "0"}
_PREFIX = "slowdust-"
_PATIENCE: Second = 5.0
_POLL: Second = 0.02


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
        for parent in _parents():
            folder = parent / f"{_PREFIX}{secrets.token_hex(6)}"
            try:
                folder.mkdir()
            except OSError:
                continue
            if (limit := _limit_of(folder)) is None:  # the group has no controller of memory
                folder.rmdir()
                continue
            limit.write_text(str(limit_bytes))
            for name, value in _NO_SWAP.items():
                if (folder / name).exists():
                    (folder / name).write_text(value)
            return cls(folder, limit_bytes)
        raise SlowdustError(
            "the servers' memory cannot be limited: that takes the right to make control groups "
            "of memory, which root has outside of most containers; leave out --memory"
        )

    def add(self, pid: int) -> None:
        """Let the limit hold for a process and those that it will start.

        Raises:
            SlowdustError: the kernel refuses.
        """
        try:
            (self.folder / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            return  # it has ended, as the caller will see
        except OSError as error:
            raise SlowdustError(f"process {pid} cannot be limited: {error.strerror}") from error

    @property
    def was_reached(self) -> bool:
        """Whether the kernel killed a process since there was no memory left below the limit."""
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError):
                lines = (self.folder / name).read_text().splitlines()
                return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)
        return False


def remove_memory_limit(folder: Path) -> None:
    """Remove a group, whose processes have been told to end; one that is gone is no error.

    Raises:
        SlowdustError: processes are left in it.
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


def _parents() -> Iterator[Path]:
    """Yield the groups in which another may be made, this process's own one first."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    for mount in map(Path, _MOUNTS):
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers.split(",") == ["memory" if mount.name == "memory" else ""]:
                group = PurePosixPath(path)
                yield from (mount / str(level).strip("/") for level in (group, *group.parents))


def _limit_of(folder: Path) -> Path | None:
    return next((folder / name for name in _LIMITS if (folder / name).exists()), None)
