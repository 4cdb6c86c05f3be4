"""The time to import 4,000 files with 100 MB of each benchmark, and to report on them.

python -m bench.import_speed [--tests 40] [--clients 100] [--runs 5]
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.results.commands import timed_row
from bench.results.rows import Row, show
from tests.unit.archive.insert_files import STEPS, client_output
from tests.unit.archive.sysbench_files import Written

SMALLEST = ("--tests", "1", "--clients", "1", "--runs", "1")
VERSIONS = (1023, 1122, 1215, 174, 180)
SECONDS = 330
"""Length of each test, and the number of its samples, as in the published runs."""
PLANS = 2000
"""Lines of plans in each sb.o."""
DISKS = 2
BACKENDS = 40
INSERT_RUNS = tuple(f"8m.pg{version}_o2nofp.c1" for version in (1023, 1215, 174, 180))
CLIENT_SECONDS = 290
BY_PRODUCTS = (
    "sb.sz",
    "sb.time",
    "sb.r.trx",
    "sb.pgs.bg",
    "sb.pgs.db",
    "sb.pgs.io",
    "sb.pgs.idxs",
    "sb.pgs.tabs",
)


def rows(tests: int, clients: int, runs: int) -> Iterator[Row]:
    """Time the commands as users call them.

    Each run directory of sysbench has `tests` tests, and each step of an insert run has the output
    of `clients` clients.
    """
    yield from _rows_of("sysbench", functools.partial(_write_tests, tests), runs)
    yield from _rows_of("iibench", functools.partial(_write_clients, clients), runs)


def _rows_of(kind: str, write: Callable[[Path], None], runs: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory, "archive")
        write(archive)
        files = [path for path in archive.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        results = ("--results", str(Path(directory, "results")))
        quantity = f"slowdust import {kind} of {len(files):,} files, {size / 1e6:.0f} MB"
        yield timed_row(quantity, ["import", kind, str(archive), *results], runs, 3.0)
        yield timed_row("slowdust report over them", ["report", *results], runs, 2.0)
        yield timed_row("slowdust history of them", ["history", *results], runs, 1.0)


def _write_tests(count: int, archive: Path) -> None:
    letters = ("".join(pair) for pair in itertools.product("abcdefgh", repeat=2))
    names = [f"range-covered-{pair}" for pair in itertools.islice(letters, count)]
    for version in VERSIONS:
        run = archive / f"x.pg{version}_o2nofp.x10a_c32r128.pk1"
        for place, name in enumerate(names):
            test = Written(
                test=name,
                rate=1000.0 + version % 7 + place,
                seconds=SECONDS,
                counters=(10**9 + version, 10**9 + place, 10**9),
                plans=PLANS,
                disks=DISKS,
                backends=BACKENDS,
                zipped=frozenset(),
            )
            test.write(run)
            for kind in BY_PRODUCTS:
                (run / f"{kind}.{test.common}").write_text("1\n")


def _write_clients(count: int, archive: Path) -> None:
    """Write the output of each client of each step."""
    steady = [10_000 + second % 7 for second in range(CLIENT_SECONDS)]
    output = client_output(steady, queries=steady, deletes=steady)
    for run in INSERT_RUNS:
        for step in STEPS:
            folder = archive / run / step
            folder.mkdir(parents=True)
            for client in range(1, count + 1):
                (folder / f"o.ib.dop{count}.{client}").write_bytes(output)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=int, default=40, help="of each sysbench run, at most 64")
    parser.add_argument("--clients", type=int, default=100, help="of each insert step")
    parser.add_argument("--runs", type=int, default=5, help="of each command; the median counts")
    options = parser.parse_args(arguments)
    met = show("The speed of imports", rows(options.tests, options.clients, options.runs))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
