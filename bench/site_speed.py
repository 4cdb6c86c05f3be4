"""The time and size of a site of many experiments, and the time of `slowdust diff`.

python -m bench.site_speed [--nights 30] [--slices 1000] [--runs 3]
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

SMALLEST = ("--nights", "2", "--slices", "1", "--runs", "1")
_LARGEST_PAGE_MB = 1.0


def rows(nights: int, slices: int, runs: int) -> Iterator[Row]:
    """Time the commands as users call them, on nights of at least `slices` slices each."""
    with tempfile.TemporaryDirectory() as directory:
        results, site = Path(directory, "results"), Path(directory, "site")
        for number in range(nights):
            count = _write_night(results, number, slices)
        command = ("site", str(site), "--results", str(results))
        what = f"slowdust site of {nights} experiments of {count:,} slices"
        yield timed_row(what, command, 1, 2.0 * nights + 2)
        pair = ("diff", "night-0", "night-1", "--results", str(results))
        yield timed_row("slowdust diff of two of them", pair, runs, 2.0)
        for page in ("index.html", "dates.html", "versions.html"):
            size = (site / page).stat().st_size / 1e6
            measured, goal = f"{size:.2f} MB", f"under {_LARGEST_PAGE_MB:g} MB"
            yield Row(f"{page} of it", measured, goal, size < _LARGEST_PAGE_MB)


def _write_night(results: Path, number: int, least_slices: int) -> int:
    """Write one experiment; return the number of its slices."""
    tests = MICRO.suites["default"]
    blocks = max(2, least_slices // (len(tests) * 2 * 2 * 2))
    manifest, slices = synthetic_experiment(
        ["a@1", "a@2"], tests, incarnations=2, blocks=blocks, seed=number
    )
    manifest.experiment = f"night-{number}"
    manifest.started = f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T02:00:00Z"
    manifest.host = {"CPU": "synthetic"}
    with writing(Folder(results / manifest.experiment)) as writer:
        writer.write_manifest(manifest)
        writer.append(*slices)
    return len(slices)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nights", type=int, default=30, help="number of experiments")
    parser.add_argument("--slices", type=int, default=1_000, help="at least, of each experiment")
    parser.add_argument("--runs", type=int, default=3, help="of each command; the median counts")
    options = parser.parse_args(arguments)
    met = show("The speed of sites", rows(options.nights, options.slices, options.runs))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
