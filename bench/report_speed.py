"""The time that the report of a large experiment takes, and `slowdust --help`.

python -m bench.report_speed [--slices 10000] [--runs 5]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.results.commands import timed_row
from bench.results.rows import Row, show
from slowdust.benchmarks.micro import MICRO
from slowdust.store.folder import Folder, writing
from tests.unit.synthetic import synthetic_experiment

SMALLEST = ("--slices", "1", "--runs", "1")


def rows(slices: int, runs: int) -> Iterator[Row]:
    """Time the commands as a person calls them, on an experiment of at least so many slices."""
    with tempfile.TemporaryDirectory() as directory:
        count = _write_experiment(Path(directory), slices)
        report = ("report", "large", "--results", directory)
        yield timed_row(f"slowdust report over {count:,} slices", report, runs, 2.0)
    yield timed_row("slowdust --help", ["--help"], runs, 0.3)


def _write_experiment(results: Path, least_slices: int) -> int:
    tests = MICRO.suites["default"]
    blocks = least_slices // (len(tests) * 2 * 4) + 1
    manifest, slices = synthetic_experiment(["a@1", "a@2"], tests, incarnations=2, blocks=blocks)
    with writing(Folder(results / "large")) as writer:
        writer.write_manifest(manifest)
        for record in slices:
            writer.append(record)
    return len(slices)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--slices", type=int, default=10_000, help="at least, of the experiment")
    parser.add_argument("--runs", type=int, default=5, help="of each command; the median counts")
    options = parser.parse_args(arguments)
    met = show("The speed of reports", rows(options.slices, options.runs))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
