"""Processes that can be told from others that later get the same process id."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19
"""Of /proc/PID/stat behind the name: start time, in clock ticks since boot (proc(5), field 22)."""


class ProcessMark(msgspec.Struct, frozen=True):
    """One process of one boot of this machine."""

    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> ProcessMark | None:
        """The mark of a process; None when there is none."""
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks, boot_id())

    def is_alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return self.boot_id == boot_id() and _start_ticks(self.pid) == self.start_ticks


def boot_id() -> str:
    """What names the current boot of this machine."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def processes_at_work(programs: Collection[str], directory: Path) -> Iterator[psutil.Process]:
    """The processes that run one of these programs in a directory or below it.

    A server's working directory is its data directory. The program is asked for too, since a
    person's shell may stand there.
    """
    directory = directory.resolve()
    for process in psutil.process_iter():
        try:
            if process.exe() in programs and Path(process.cwd()).is_relative_to(directory):
                yield process
        except (psutil.Error, OSError):
            continue  # gone, or another user's


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name may hold spaces and parentheses: the fields start behind its last ')'.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_FIELD])
