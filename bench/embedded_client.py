"""Point queries of SQLite: the driver's process beside the loop of SQLite's own speed test.

    python -m bench.embedded_client [--builds sqlite@3.50.2] [--pairs 10] [--operations 1000000]

Both load the same library, open the same database and have a cache of the same size. CPU time per
operation is that of the process, as the kernel accounts for it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench.clients import point_queries
from bench.clients.process import check_programs, execute
from bench.results.ratios import alternate, ratio
from bench.results.rows import Row, show
from bench.servers.scratch import Server, scratch_server
from slowdust import builds
from slowdust.driver_program import find_driver
from slowdust.probes.server.process import CLOCK_SCHEDULER, process_clock
from slowdust.units import Second

SMALLEST = ("--pairs", "1", "--operations", "2000")
BUILDS = ("sqlite@3.24.0", "sqlite@3.50.2")
SOURCE = Path(point_queries.__file__).with_name("point_query_sqlite.c")
ROWS = 100_000
_CACHE_KIB = "-1048576"
"""Far more than the table has."""
_MOST_CPU = 0.9
"""Goal: CPU time per operation / that of the speed test's loop."""


def rows(server: Server, library: Path, pairs: int, operations: int) -> Iterator[Row]:
    """Measure the CPU time per operation of both, and yield their ratio."""
    point_queries.load(server, find_driver(), ROWS)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "point_query_sqlite"
        subprocess.run(["cc", "-O2", "-o", program, SOURCE, "-ldl"], check=True)
        measured = alternate(
            lambda: _driver(server, operations),
            lambda: _loop(program, library, server, operations),
            pairs,
        )
    ours, theirs = zip(*measured, strict=True)
    cpu = ratio(ours, theirs)
    met = cpu.median <= _MOST_CPU
    yield Row("CPU per point query / that of the loop", str(cpu), f"at most {_MOST_CPU:g}", met)


def _driver(server: Server, operations: int) -> Second:
    """Return the CPU time of the process with the library, for so many operations."""
    target: dict[str, Any] = to_builtins(server.target)
    with subprocess.Popen(
        [find_driver()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        shape = {"tables": 1, "rows": ROWS, "seed": 1}
        session = {"id": 1, "session": "s"}
        opened = {"command": "open", "target": target, "test": "point-query", "clients": 1}
        execute(process, session | opened | shape)
        before = process_clock(server.pid, CLOCK_SCHEDULER)
        execute(process, session | {"command": "run", "stop": {"positions": [operations]}})
        used = process_clock(server.pid, CLOCK_SCHEDULER) - before
        assert process.stdin is not None
        process.stdin.close()
    return used / 1e9


def _loop(program: Path, library: Path, server: Server, operations: int) -> Second:
    (database,) = Path(f"/proc/{server.pid}/cwd").resolve().glob("*.db")
    command = [*map(str, (program, library, database, _CACHE_KIB, ROWS, operations))]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each build; return 1 where the goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="sqlite@VERSION")
    parser.add_argument("--pairs", type=int, default=10, help="of runs")
    parser.add_argument("--operations", type=int, default=1_000_000, help="of one run")
    options = parser.parse_args(arguments)
    check_programs("cc")
    all_met = True
    for name in options.builds:
        dbms, _, version = name.partition("@")
        library = builds.resolve(dbms, version, print).server
        with scratch_server(name) as server:
            measured = rows(server, library, options.pairs, options.operations)
            all_met &= show(f"The driver on {name}", measured)
    return int(not all_met)


if __name__ == "__main__":
    sys.exit(main())
