"""Control groups of the kernel: where they can be made, and how they are removed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from slowdust.errors import SlowdustError
from slowdust.units import Second

_PREFIX = "slowdust-"
_PATIENCE: Second = 5.0
_POLL: Second = 0.02


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
