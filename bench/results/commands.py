"""The wall-clock time of `slowdust` commands, with a goal."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.results.rows import Row
from slowdust.units import Second

COMMAND = Path(sys.executable).with_name("slowdust")


def timed_row(quantity: str, arguments: Sequence[str], runs: int, goal: Second) -> Row:
    """Run a command `runs` times; return its median time with the goal."""
    seconds = statistics.median(_seconds(arguments) for _ in range(runs))
    measured = f"{seconds:.2f} s, median of {runs}"
    return Row(quantity, measured, f"under {goal:g} s", seconds < goal)


def _seconds(arguments: Sequence[str]) -> Second:
    begin = time.monotonic()
    subprocess.run([COMMAND, *arguments], check=True, capture_output=True)
    return time.monotonic() - begin
