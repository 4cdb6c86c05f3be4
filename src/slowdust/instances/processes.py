"""Processes, identified reliably although process ids are reused."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19
"""Index of the start time, in ticks since boot, after the name in /proc/PID/stat: proc(5)."""


class ProcessMark(msgspec.Struct, frozen=True):
    """The identity of a process: its id, its start time and the boot of the machine."""

    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> ProcessMark | None:
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks, boot_id())

    def is_alive(self) -> bool:
        """Return whether the same process is still running; a zombie is not."""
        return self.boot_id == boot_id() and _start_ticks(self.pid) == self.start_ticks


def boot_id() -> str:
    """Return the id of the machine's current boot."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def processes_running(
    programs: Collection[str], directory: Path, sessions: Collection[int] = ()
) -> Iterator[psutil.Process]:
    """Yield the processes in a directory or below it that run one of these programs.

    All processes there in the sessions that these lead, and in the given sessions, are included: a
    program that creates data starts others. A server's working directory is its data directory.
    Programs and sessions are compared because a user's shell may have that working directory.
    """
    directory = directory.resolve()
    found: list[tuple[psutil.Process, int]] = []
    programs_found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if not Path(process.cwd()).is_relative_to(directory):
                continue
            found.append((process, os.getsid(process.pid)))
            if process.exe() in programs:
                programs_found.append(process)
        except (psutil.Error, OSError):
            continue  # it has exited, or is another user's
    ours = {*sessions, *(process.pid for process in programs_found)}
    yield from (p for p, session in found if session in ours or p in programs_found)


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name may have spaces and parentheses: the fields start after the last ')'.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_FIELD])
