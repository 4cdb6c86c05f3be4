"""Fast reading of small kernel files: probes read dozens of them around every slice."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from typing import ClassVar

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""Length of one `USER_HZ` tick, the unit of CPU times in /proc: 10 ms on all Linux systems."""

_CHUNK = 1 << 16


def read_bytes(path: str) -> bytes:
    """Return the whole content of a kernel file.

    Uses bare system calls: `Path.read_bytes` costs several times the kernel's own work. Raises
    OSError if the file or its process does not exist or is not readable.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = chunk = os.read(descriptor, _CHUNK)
        while chunk:
            chunk = os.read(descriptor, _CHUNK)
            content += chunk
        return content
    finally:
        os.close(descriptor)


class ThreadFiles:
    """Files in /proc/PID, kept open: rereading takes half the time of reopening.

    A descriptor belongs to the process, not to its pid: after the process has exited, reading fails
    even if the pid is reused. All objects together keep at most half of this program's descriptors;
    other files are opened for each reading.
    """

    kept_by_all: ClassVar[int] = 0

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._kept: dict[int, dict[str, int]] = {}
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2

    def read(self, pid: int, name: str, thread: int | None = None) -> bytes:
        """Return the file `name` of a process, or of one of its threads.

        Raises OSError if the process or thread has exited, or is not readable.
        """
        if thread is not None:
            name = f"task/{thread}/{name}"
        files = self._kept.setdefault(thread or pid, {})
        descriptor = files.get(name)
        if descriptor is not None:
            try:
                return _read_again(descriptor)
            except ProcessLookupError:
                self._close(files, name)
        path = f"{self._proc}/{pid}/{name}"
        if ThreadFiles.kept_by_all >= self._most:
            return read_bytes(path)
        files[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        ThreadFiles.kept_by_all += 1
        return _read_again(files[name])

    def threads(self, pid: int) -> tuple[int, ...]:
        with os.scandir(f"{self._proc}/{pid}/task") as entries:
            return tuple(int(entry.name) for entry in entries)

    def retain(self, threads: Collection[int]) -> None:
        for ended in self._kept.keys() - threads:
            for name in list(self._kept[ended]):
                self._close(self._kept[ended], name)
            del self._kept[ended]

    def __del__(self) -> None:
        self.retain(())

    def _close(self, files: dict[str, int], name: str) -> None:
        os.close(files.pop(name))
        ThreadFiles.kept_by_all -= 1


def _read_again(descriptor: int) -> bytes:
    content = chunk = os.pread(descriptor, _CHUNK, 0)
    while chunk:
        chunk = os.pread(descriptor, _CHUNK, len(content))
        content += chunk
    return content


def read_text(path: str) -> str | None:
    """Return a kernel file's text without surrounding blanks; None if it cannot be read."""
    try:
        return read_bytes(path).decode(errors="replace").strip()
    except OSError:
        return None


def number_after(content: bytes, label: bytes) -> int | None:
    """Return the first number after `label` on its line; None if the label is missing.

    Raises ValueError if the rest of the line is not a number.
    """
    start = content.find(label)
    if start < 0:
        return None
    start += len(label)
    end = content.find(b"\n", start)
    line = content[start:] if end < 0 else content[start:end]
    return int(line.removesuffix(b"kB"))
