"""How long it takes to import 4,000 files of 100 MB, of each benchmark, and to tell of them."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.report_speed import RUNS, median_seconds
from bench.rows import Row
from tests.unit.archive.ibench_files import STEPS, client_output
from tests.unit.archive.written import Written

VERSIONS = (1023, 1122, 1215, 174, 180)
TESTS = 40
SECONDS = 330
"""Of each test: as many samples, as in the published runs."""
PLANS = 2000
"""Lines of plans in each sb.o."""
DISKS = 2
BACKENDS = 40
INSERT_RUNS = tuple(f"8m.pg{version}_o2nofp.c1" for version in (1023, 1215, 174, 180))
CLIENTS = 100
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


def rows() -> Iterator[Row]:
    """Time the commands as a person calls them."""
    yield from _rows_of("sysbench", _write)
    yield from _rows_of("iibench", _write_clients)


def _rows_of(kind: str, write: Callable[[Path], None]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory, "archive")
        write(archive)
        files = [path for path in archive.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        results = ("--results", str(Path(directory, "results")))
        what = f"slowdust import {kind} of {len(files):,} files, {size / 1e6:.0f} MB"
        yield _row(what, median_seconds("import", kind, str(archive), *results), 3.0)
        yield _row("slowdust report over them", median_seconds("report", *results), 2.0)
        yield _row("slowdust history of them", median_seconds("history", *results), 1.0)


def _row(what: str, seconds: float, goal: float) -> Row:
    return Row(what, f"{seconds:.2f} s, median of {RUNS}", f"under {goal:g} s", seconds < goal)


def _write(archive: Path) -> None:
    letters = ("".join(pair) for pair in itertools.product("abcdefgh", repeat=2))
    names = [f"range-covered-{pair}" for pair in itertools.islice(letters, TESTS)]
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


def _write_clients(archive: Path) -> None:
    """What each client of each step printed."""
    steady = [10_000 + second % 7 for second in range(CLIENT_SECONDS)]
    printed = client_output(steady, queries=steady, deletes=steady)
    for run in INSERT_RUNS:
        for step in STEPS:
            folder = archive / run / step
            folder.mkdir(parents=True)
            for client in range(1, CLIENTS + 1):
                (folder / f"o.ib.dop{CLIENTS}.{client}").write_bytes(printed)
