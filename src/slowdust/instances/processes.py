"""Processes, distinguished from others that later get the same process id."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19
"""The index of the start time in ticks since boot, after the name in /proc/PID/stat: proc(5)."""


class ProcessMark(msgspec.Struct, frozen=True):
    """The identity of a process: its id, its start time and the boot of the machine."""

    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> ProcessMark | None:
        """Return the mark of a process; None when no such process exists."""
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks, boot_id())

    def is_alive(self) -> bool:
        """Return whether the same process still runs; a zombie does not."""
        return self.boot_id == boot_id() and _start_ticks(self.pid) == self.start_ticks


def boot_id() -> str:
    """Return the id of the machine's current boot."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def processes_running(programs: Collection[str], directory: Path) -> Iterator[psutil.Process]:
    """Yield the processes that run one of these programs in a directory or below it.

    A server's working directory is its data directory. The program is compared too, since a
    user's shell may have that working directory.
    """
    directory = directory.resolve()
    for process in psutil.process_iter():
        try:
            if process.exe() in programs and Path(process.cwd()).is_relative_to(directory):
                yield process
        except (psutil.Error, OSError):
            continue  # ended, or another user's


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name may have spaces and parentheses: the fields start after its last ')'.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_FIELD])
