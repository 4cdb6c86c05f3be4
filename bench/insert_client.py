"""The cost of the driver in the Insert Benchmark: CPU per inserted row, busiest thread.

A load by one client is measured with server and client on one CPU, as in `load_generators`, because
the cost of a wake-up on another CPU depends on the machine. l.i1 and l.i2 are measured as in an
experiment, with concurrent deleters and the driver's placement of connections.

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

from bench.clients.process import check_programs, execute
from bench.results.rows import Row, show
from bench.servers.scratch import Server, scratch_server
from slowdust.driver_program import find_driver
from slowdust.experiment.cpus import pin, place_connections
from slowdust.units import Microsecond, Second

Work = dict[str, object]

SMALLEST = (
    *("--builds", "postgres@17.6", "--runs", "1", "--query-seconds", "1"),
    *("--load-rows", "1000", "--rows", "1000"),
)
BUILDS = ("postgres@17.6", "mysql@9.7.4")
CLASSIC_CLIENT: Microsecond = 6.6
"""CPU per row of the classic Python client at 5 rows per commit."""
GOALS: dict[int, Microsecond] = {100: 0.25, 5: CLASSIC_CLIENT / 5}
"""CPU per inserted row, user and system, of the inserter's thread; by rows per commit."""
GOALS_OF_STEPS: dict[str, Microsecond] = {"l.i2": GOALS[5]}
"""The same for steps with a concurrent deleter."""
L_I1, L_I2 = 50, 5
"""Rows per commit of the steps that replace rows."""
CLIENTS = 4
INDEX: Work = {"kind": "index"}
BUSIEST_THREAD = 0.5
"""The largest share of CPU time: the thread waits for the server the rest of the time."""


@dataclass(frozen=True)
class Size:
    """The number of runs, and the size of each."""

    runs: int
    """Runs of each step; the median counts."""
    load_rows: int
    """Rows that the single client loads with 100 rows per commit."""
    rows: int
    """Rows that each client inserts in all other loads."""
    query_seconds: Second


@dataclass(frozen=True)
class Load:
    """The clients of a load, the CPUs of clients and server, and the rows."""

    clients: int
    processors: frozenset[int]
    rows_per_commit: int
    rows: int
    """Rows of each client."""

    @property
    def work(self) -> Work:
        """The step that fills the tables."""
        return {"kind": "load", "rows": self.rows, "rows_per_commit": self.rows_per_commit}

    @property
    def replace(self) -> Work:
        """The step that inserts and deletes as many rows as the load."""
        return self.work | {"kind": "replace"}


def perform(server: Server, program: Path, load: Load, *works: Work) -> dict[str, Any]:
    """Run steps on new tables; return the driver's result of the last one."""
    server.use_processors(load.processors)
    tables = {"target": to_builtins(server.target), "tables": load.clients}
    connections = {"clients": load.clients, "seed": 7, "inserted": [0] * load.clients,
                   "statements": "prepared", "cpus": connection_cpus(load)}  # fmt: skip
    performed: dict[str, Any] = {}
    confined = ["taskset", "--cpu-list", ",".join(map(str, sorted(load.processors)))]
    with subprocess.Popen(
        [*confined, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        execute(process, {"id": 0, "command": "create", **tables})
        for number, work in enumerate(works):
            step = {"id": number, "session": str(number)}
            command = {"command": "prepare", "work": work, **step, **tables, **connections}
            seats = execute(process, command)["seats"]
            placed = [seat for seat in seats if seat["cpu"] is not None]
            pin([seat["process"] for seat in placed], [seat["cpu"] for seat in placed])
            performed = execute(process, {"command": "perform", **step})
            execute(process, {"command": "close", **step})
    return performed


def connection_cpus(load: Load) -> list[int] | None:
    """Return the CPU of each connection, as in an experiment."""
    return place_connections(load.clients, sorted(load.processors))


def rows(server: Server, program: Path, size: Size) -> Iterator[Row]:
    """Measure the driver `program`."""
    processors = frozenset(os.sched_getaffinity(0))
    for rows_per_commit, goal in GOALS.items():
        table_rows = size.load_rows if rows_per_commit == 100 else size.rows
        alone = Load(1, frozenset({min(processors)}), rows_per_commit, table_rows)
        costs = [
            _cpu_per_row(perform(server, program, alone, alone.work), "insert")
            for _ in range(size.runs)
        ]
        quantity = f"l.i0 by {rows_per_commit} rows per commit, one CPU: inserter's CPU per row"
        yield _row(quantity, costs, goal, "us")
    for step, rows_per_commit in {"l.i1": L_I1, "l.i2": L_I2}.items():
        seated = Load(1, processors, rows_per_commit, size.rows)
        replaced = [
            perform(server, program, seated, seated.work, INDEX, seated.replace)
            for _ in range(size.runs)
        ]
        title = f"{step}, {rows_per_commit} rows per commit"
        inserter = [_cpu_per_row(performed, "insert") for performed in replaced]
        yield _row(
            f"{title}: inserter's CPU per inserted row", inserter, GOALS_OF_STEPS.get(step), "us"
        )
        both = [_cpu_per_row(performed, "insert", "delete") for performed in replaced]
        yield _row(f"{title}: inserter's and deleter's", both, None, "us")
    several = Load(CLIENTS, processors, 5, size.rows)
    query = {
        "kind": "query",
        "seconds": size.query_seconds,
        "writes_per_second": 1000,
        "rows_per_commit": 50,
    }
    for name, works in {
        "l.i0": [several.work],
        "l.i2": [several.work, INDEX, several.replace],
        "qr1000": [several.work, INDEX, query | {"query": "range"}],
        "qp1000": [several.work, INDEX, query | {"query": "point"}],
    }.items():
        shares = [_busiest(perform(server, program, several, *works)) for _ in range(size.runs)]
        quantity = f"busiest client thread of {CLIENTS} clients, {name}"
        yield _row(quantity, shares, BUSIEST_THREAD, "of a CPU")


def _cpu_per_row(performed: dict[str, Any], *roles: str) -> Microsecond:
    """Return the CPU of these roles / the inserted rows."""
    used = sum(performed["roles"][role]["client_cpu_s"] for role in roles)
    return float(used / performed["roles"]["insert"]["rows"] * 1e6)


def _busiest(performed: dict[str, Any]) -> float:
    return float(performed["client"]["busiest_thread"])


def _row(quantity: str, measured: list[float], at_most: float | None, unit: str) -> Row:
    median = statistics.median(measured)
    span = f"{median:.3f} {unit} ({min(measured):.3f} to {max(measured):.3f})"
    goal = "" if at_most is None else f"at most {at_most:g}"
    return Row(quantity, span, goal, met=at_most is None or median <= at_most)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each build; return 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--runs", type=int, default=5, help="of each step; the median counts")
    parser.add_argument(
        "--load-rows", type=int, default=1_000_000, help="of the load by 100 rows per commit"
    )
    parser.add_argument(
        "--rows", type=int, default=50_000, help="of each client in each other load"
    )
    parser.add_argument("--query-seconds", type=int, default=2)
    options = parser.parse_args(arguments)
    check_programs("taskset")
    size = Size(options.runs, options.load_rows, options.rows, options.query_seconds)
    all_met = True
    for build in options.builds:
        with scratch_server(build) as server:
            title = f"The client of the Insert Benchmark on {build}"
            all_met &= show(title, rows(server, find_driver(), size))
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
