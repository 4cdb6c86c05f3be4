"""The host that checks examine, and their findings."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from slowdust.probes.host.machine import Machine, read_machine
from slowdust.store.finding import Finding, Severity
from slowdust.units import Second

_BLOCK = bytes(8192)
_MOST = 200
_LIMIT_S = 0.5
_WARM_UP = 2
"""Writes that allocate the file's blocks before the measurement."""


class Syncs(NamedTuple):
    """Times of a write of 8 KiB with fdatasync, like a commit's write to a log."""

    number: int
    median_s: Second
    slowest_s: Second


def time_syncs(directory: Path) -> Syncs:
    """Overwrite a file of 8 KiB with fdatasync for half a second, at most 200 times.

    Raises:
        OSError: the directory is not writable.
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


@dataclass(frozen=True, kw_only=True)
class Host:
    """Facts of the machine, its kernel files and its programs.

    Tests use another `root`, and functions that do not access this machine.
    """

    machine: Machine
    root: Path = Path("/")
    """The directory that contains proc and sys."""
    syncs: Callable[[Path], Syncs] = time_syncs
    """Measures fsync in a directory; raises OSError if it is not writable."""
    program: Callable[[str], str | None] = shutil.which
    """Returns the path of a program; None if it is not installed."""
    open_files: tuple[int, int] = (0, 0)
    """The soft and hard limit of open files per process; -1 is no limit."""

    def text(self, path: str) -> str | None:
        """Return the content of a kernel file without surrounding white space; None on errors."""
        try:
            return (self.root / path).read_text(errors="replace", encoding="utf-8").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return the number in a kernel file; None if it has no number."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None


Check = Callable[[Host], Finding]


def read_host(data_directory: Path) -> Host:
    """Read the state of this machine, which takes half a second.

    Raises:
        OSError: no such directory.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Host(machine=read_machine(data_directory), open_files=limit)


def ok(check: str, state: str) -> Finding:
    return Finding(check=check, severity=Severity.OK, state=state)


def unknown(check: str, what: str) -> Finding:
    """Return a finding of a state that is unreadable; `what` is 'The frequency governor'."""
    return Finding(check=check, severity=Severity.UNKNOWN, state=f"{what} cannot be read here.")


def note(check: str, state: str, effect: str, remedy: str | None = None) -> Finding:
    """Return a finding that readers of results should know."""
    return _bad(check, Severity.NOTE, state, effect, remedy)


def warning(check: str, state: str, effect: str, remedy: str | None = None) -> Finding:
    """Return a finding about something that makes timed results noisier or biased."""
    return _bad(check, Severity.WARNING, state, effect, remedy)


def problem(check: str, state: str, effect: str, remedy: str | None = None) -> Finding:
    """Return a finding that makes timed results unreliable."""
    return _bad(check, Severity.PROBLEM, state, effect, remedy)


def _bad(check: str, severity: Severity, state: str, effect: str, remedy: str | None) -> Finding:
    return Finding(check=check, severity=severity, state=state, effect=effect, remedy=remedy)
