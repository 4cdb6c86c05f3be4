"""Reading small kernel files fast: probes do it some dozens of times around every slice."""

from __future__ import annotations

import os

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""Length of one `USER_HZ` tick, the unit of CPU times in /proc: 10 ms everywhere Linux runs."""

_CHUNK = 1 << 16


def read_bytes(path: str) -> bytes:
    """The whole of a kernel file.

    Bare system calls: `Path.read_bytes` costs several times the kernel's own work. Opened anew for
    each reading, which costs 2 microseconds and needs no descriptor per process and file kept open.

    Raises:
        OSError: the file, or the process it is about, is not there or not ours to read.
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


def read_text(path: str) -> str | None:
    """A kernel file's text without surrounding blanks; None where it cannot be read."""
    try:
        return read_bytes(path).decode(errors="replace").strip()
    except OSError:
        return None


def number_after(content: bytes, label: bytes) -> int | None:
    """The first number behind `label` on its line; None where the label is missing.

    Raises:
        ValueError: what follows the label is no number.
    """
    start = content.find(label)
    if start < 0:
        return None
    start += len(label)
    end = content.find(b"\n", start)
    line = content[start:] if end < 0 else content[start:end]
    return int(line.removesuffix(b"kB"))
