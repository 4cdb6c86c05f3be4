"""Control groups of the kernel: where they can be made, and how they are removed."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

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

    Raises:
        OSError: the kernel refuses.
    """
    try:
        (folder / "cgroup.procs").write_text(str(pid), encoding="utf-8")
    except ProcessLookupError:
        return  # as the caller will see


def remove_group(folder: Path) -> None:
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


def _parents(mounts: Sequence[str], controller: str) -> Iterator[Path]:
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    for mount in map(Path, mounts):
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers.split(",") == [controller if mount.name == controller else ""]:
                group = PurePosixPath(path)
                yield from (mount / str(level).strip("/") for level in (group, *group.parents))


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
