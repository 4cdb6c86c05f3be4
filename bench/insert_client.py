"""What the driver itself costs in the Insert Benchmark: CPU per inserted row, busiest thread.

With one client, server and client share one processor, as in `load_generators`: what a wake-up
across processors costs is the machine's matter.

By itself:

python -m bench.insert_client [--builds mysql@5.6.24] [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench import peers
from bench.rows import Row, show
from bench.scratch_server import Server, scratch_server
from slowdust.experiment.driver import find_driver

Work = dict[str, object]

BUILDS = ("postgres@17.6", "mysql@9.7.4")
CLASSIC_CLIENT: peers.Microsecond = 6.6
"""CPU per row of the classic Python client at 5 rows per commit."""
GOALS: dict[int, peers.Microsecond] = {100: 0.25, 5: CLASSIC_CLIENT / 5}
"""By rows per commit: CPU per inserted row, user and system, of the inserter's thread."""
STATEMENTS = 10_000
"""Of each client in a load."""
RUNS = 5
CLIENTS = 4
INDEX: Work = {"kind": "index"}
QUERY: Work = {"kind": "query", "seconds": 2, "writes_per_second": 1000, "rows_per_commit": 50}
BUSIEST_THREAD = 0.5
"""A thread that computes half of the time waits for the server the other half."""


@dataclass(frozen=True)
class Load:
    """Clients, where they run, and how they load."""

    clients: int
    processors: frozenset[int]
    rows_per_commit: int

    @property
    def work(self) -> Work:
        """The step that fills the tables."""
        rows = STATEMENTS * self.rows_per_commit
        return {"kind": "load", "rows": rows, "rows_per_commit": self.rows_per_commit}


def perform(server: Server, program: Path, load: Load, *works: Work) -> dict[str, Any]:
    """The driver's account of the last of some steps on tables that were made for them."""
    server.use_processors(load.processors)
    tables = {"target": to_builtins(server.target), "tables": load.clients}
    crew = {"clients": load.clients, "seed": 7, "inserted": [0] * load.clients,
            "statements": "prepared"}  # fmt: skip
    performed: dict[str, Any] = {}
    confined = ["taskset", "--cpu-list", ",".join(map(str, sorted(load.processors)))]
    with subprocess.Popen(
        [*confined, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        peers.converse(process, {"id": 0, "command": "create", **tables})
        for number, work in enumerate(works):
            step = {"id": number, "session": str(number)}
            peers.converse(process, {"command": "prepare", "work": work, **step, **tables, **crew})
            performed = peers.converse(process, {"command": "perform", **step})
            peers.converse(process, {"command": "close", **step})
    return performed


def rows(server: Server, program: Path, runs: int) -> Iterator[Row]:
    """Measure the driver `program`."""
    processors = frozenset(os.sched_getaffinity(0))
    for rows_per_commit, goal in GOALS.items():
        alone = Load(1, frozenset({min(processors)}), rows_per_commit)
        costs = [_cpu_per_row(perform(server, program, alone, alone.work)) for _ in range(runs)]
        what = f"client CPU per inserted row, {rows_per_commit} rows per commit"
        yield _row(what, costs, goal, "us")
    several = Load(CLIENTS, processors, 5)
    replace = several.work | {"kind": "replace"}
    for name, works in {
        "l.i0": [several.work],
        "l.i2": [several.work, INDEX, replace],
        "qr1000": [several.work, INDEX, QUERY | {"query": "range"}],
        "qp1000": [several.work, INDEX, QUERY | {"query": "point"}],
    }.items():
        shares = [_busiest(perform(server, program, several, *works)) for _ in range(runs)]
        what = f"busiest client thread of {CLIENTS} clients, {name}"
        yield _row(what, shares, BUSIEST_THREAD, "of a CPU")


def _cpu_per_row(performed: dict[str, Any]) -> peers.Microsecond:
    inserts = performed["roles"]["insert"]
    return float(inserts["client_cpu_s"] / inserts["rows"] * 1e6)


def _busiest(performed: dict[str, Any]) -> float:
    return float(performed["client"]["busiest_thread"])


def _row(what: str, measured: list[float], at_most: float, unit: str) -> Row:
    median = statistics.median(measured)
    span = f"{median:.3f} {unit} ({min(measured):.3f} to {max(measured):.3f})"
    return Row(what, span, f"at most {at_most:g}", median <= at_most)


def tables(builds: Sequence[str], runs: int) -> Iterator[bool]:
    """Print a table for each build; whether its goals are met."""
    for build in builds:
        with scratch_server(build) as server:
            found = rows(server, find_driver(), runs)
            yield show(f"The client of the Insert Benchmark on {build}", found)


def main() -> None:
    """Measure and print the tables; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each step; the median counts")
    options = parser.parse_args()
    sys.exit(0 if all(list(tables(options.builds, options.runs))) else 1)


if __name__ == "__main__":
    main()
