"""The time of fsync on the disk of a directory, which every durable commit waits for."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from slowdust.units import Second

_BLOCK = bytes(8192)
_MOST = 200
_LIMIT_S = 0.5
_WARM_UP = 2
"""Writes before the first that counts: they allocate the file's blocks."""


class Syncs(NamedTuple):
    """Times of a write of 8 KiB with fdatasync, as a commit does to a log."""

    number: int
    median_s: Second
    slowest_s: Second


def time_syncs(directory: Path) -> Syncs:
    """Overwrite a file of 8 KiB with fdatasync for half a second, at most 200 times.

    Raises:
        OSError: no file can be written there.
    """
    times: list[Second] = []
    with tempfile.TemporaryFile(dir=directory) as file:
        descriptor = file.fileno()
        for _ in range(_WARM_UP):
            os.pwrite(descriptor, _BLOCK, 0)
            os.fsync(descriptor)
        started = before = time.perf_counter()
        while not times or (len(times) < _MOST and before - started < _LIMIT_S):
            os.pwrite(descriptor, _BLOCK, 0)
            os.fdatasync(descriptor)
            after = time.perf_counter()
            times.append(after - before)
            before = after
    times.sort()
    return Syncs(len(times), times[len(times) // 2], times[-1])
