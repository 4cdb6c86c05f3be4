"""What the driver itself costs in the Insert Benchmark: CPU per inserted row, busiest thread.

By itself:

python -m bench.insert_client [--builds mysql@5.6.24] [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bench import peers
from bench.rows import Row, show
from bench.scratch_server import Server, scratch_server
from slowdust.experiment.driver import find_driver

BUILDS = ("postgres@17.6", "mysql@9.7.4")
CLASSIC_CLIENT: peers.Microsecond = 6.6
"""CPU per row of the classic Python client at 5 rows per commit."""
GOALS: dict[int, peers.Microsecond] = {100: 0.25, 5: CLASSIC_CLIENT / 5}
"""By rows per commit: CPU per inserted row, user and system, of the inserter's thread."""
STATEMENTS = 10_000
CLIENTS = 4
BUSIEST_THREAD = 0.5
"""A thread that computes half of the time waits for the server the other half."""


@dataclass(frozen=True)
class Step:
    """What is performed, on tables that were made for it."""

    clients: int
    rows: int
    """Of each client."""
    rows_per_commit: int
    kind: str = "load"


def perform(server: Server, program: Path, step: Step) -> dict[str, Any]:
    """The driver's account of one step."""
    target = to_builtins(server.target)
    shape = {"target": target, "tables": step.clients}
    work = {"kind": step.kind, "rows": step.rows, "rows_per_commit": step.rows_per_commit}
    prepare = {"id": 2, "command": "prepare", "session": "s", "clients": step.clients,
               "seed": 7, "inserted": [0] * step.clients, "statements": "prepared",
               "work": work, **shape}  # fmt: skip
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        peers.converse(process, {"id": 1, "command": "create", **shape})
        peers.converse(process, prepare)
        return peers.converse(process, {"id": 3, "command": "perform", "session": "s"})


def rows(server: Server, program: Path, runs: int) -> Iterator[Row]:
    """Measure the driver `program`."""
    for rows_per_commit, goal in GOALS.items():
        step = Step(1, STATEMENTS * rows_per_commit, rows_per_commit)
        costs = [_cpu_per_row(perform(server, program, step)) for _ in range(runs)]
        what = f"client CPU per inserted row, {rows_per_commit} rows per commit"
        yield _row(what, costs, goal, "us")
    for kind in ("load", "replace"):
        step = Step(CLIENTS, STATEMENTS, 5, kind)
        shares = [_busiest(perform(server, program, step)) for _ in range(runs)]
        what = f"busiest client thread of {CLIENTS} clients, {kind}, 5 rows per commit"
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


def tables(builds: list[str], runs: int) -> Iterator[bool]:
    """Print a table for each build; whether its goals are met."""
    for build in builds:
        with scratch_server(build) as server:
            yield show(f"The Insert Benchmark's client on {build}", rows(server, find_driver(), runs))


def main() -> None:
    """Measure and print the tables; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--runs", type=int, default=5, help="of each step; the median counts")
    options = parser.parse_args()
    sys.exit(0 if all(list(tables(options.builds, options.runs))) else 1)


if __name__ == "__main__":
    main()
