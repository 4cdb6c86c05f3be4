"""How long the report of a large experiment takes, and `slowdust --help`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row
from slowdust.benchmarks.micro import MICRO
from slowdust.store.folder import Folder, writing
from tests.unit.synthetic import synthetic_experiment

SLICES = 10_000
RUNS = 5
COMMAND = Path(sys.executable).with_name("slowdust")


def rows() -> Iterator[Row]:
    """Time the commands as a person calls them."""
    with tempfile.TemporaryDirectory() as directory:
        count = _write_experiment(Path(directory))
        seconds = median_seconds("report", "large", "--results", directory)
        yield _row(f"slowdust report over {count:,} slices", seconds, 2.0)
    yield _row("slowdust --help", median_seconds("--help"), 0.3)


def _row(what: str, seconds: float, goal: float) -> Row:
    return Row(what, f"{seconds:.2f} s, median of {RUNS}", f"under {goal:g} s", seconds < goal)


def _write_experiment(results: Path) -> int:
    tests = MICRO.suites["default"]
    blocks = SLICES // (len(tests) * 2 * 4) + 1
    manifest, slices = synthetic_experiment(["a@1", "a@2"], tests, incarnations=2, blocks=blocks)
    with writing(Folder(results / "large")) as writer:
        writer.write_manifest(manifest)
        for record in slices:
            writer.append(record)
    return len(slices)


def median_seconds(*arguments: str) -> float:
    """Of a command, as often as `RUNS` says."""
    return statistics.median(_seconds(arguments) for _ in range(RUNS))


def _seconds(arguments: tuple[str, ...]) -> float:
    begin = time.monotonic()
    subprocess.run([COMMAND, *arguments], check=True, capture_output=True)
    return time.monotonic() - begin
