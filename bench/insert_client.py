"""What the driver itself costs in the Insert Benchmark: CPU per inserted row, busiest thread.

A load by one client is measured with server and client on one processor, as in `load_generators`:
what a wake-up across processors costs is the machine's matter. l.i1 and l.i2 are measured as an
experiment has them, with deleters beside, and every connection where the driver seats it.

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
from slowdust.experiment.driver.placement import cpus_of_connections, keep_on
from slowdust.experiment.driver.process import find_driver

Work = dict[str, object]

BUILDS = ("postgres@17.6", "mysql@9.7.4")
CLASSIC_CLIENT: peers.Microsecond = 6.6
"""CPU per row of the classic Python client at 5 rows per commit."""
GOALS: dict[int, peers.Microsecond] = {100: 0.25, 5: CLASSIC_CLIENT / 5}
"""By rows per commit: CPU per inserted row, user and system, of the inserter's thread."""
GOALS_OF_STEPS: dict[str, peers.Microsecond] = {"l.i2": GOALS[5]}
"""As `GOALS`, of steps in which a deleter is beside the inserter."""
L_I1, L_I2 = 50, 5
"""Rows per commit of the steps that replace rows."""
ROWS = {100: 1_000_000, L_I1: 50_000, L_I2: 50_000}
"""Of each client in a load, by rows per commit."""
RUNS = 5
CLIENTS = 4
INDEX: Work = {"kind": "index"}
QUERY: Work = {"kind": "query", "seconds": 2, "writes_per_second": 1000, "rows_per_commit": 50}
BUSIEST_THREAD = 0.5
"""A thread that computes half of the time waits for the server the other half."""


@dataclass(frozen=True)
class Load:
    """Clients, the processors of theirs and the server's, and how they load."""

    clients: int
    processors: frozenset[int]
    rows_per_commit: int

    @property
    def work(self) -> Work:
        """The step that fills the tables."""
        rows = ROWS[self.rows_per_commit]
        return {"kind": "load", "rows": rows, "rows_per_commit": self.rows_per_commit}

    @property
    def replace(self) -> Work:
        """The step that inserts as many rows again and deletes as many."""
        return self.work | {"kind": "replace"}


def perform(server: Server, program: Path, load: Load, *works: Work) -> dict[str, Any]:
    """The driver's account of the last of some steps on tables that were made for them."""
    server.use_processors(load.processors)
    tables = {"target": to_builtins(server.target), "tables": load.clients}
    crew = {"clients": load.clients, "seed": 7, "inserted": [0] * load.clients,
            "statements": "prepared", "cpus": seating(load)}  # fmt: skip
    performed: dict[str, Any] = {}
    confined = ["taskset", "--cpu-list", ",".join(map(str, sorted(load.processors)))]
    with subprocess.Popen(
        [*confined, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        peers.converse(process, {"id": 0, "command": "create", **tables})
        for number, work in enumerate(works):
            step = {"id": number, "session": str(number)}
            command = {"command": "prepare", "work": work, **step, **tables, **crew}
            seats = peers.converse(process, command)["seats"]
            keep_on([seat["process"] for seat in seats], [seat["cpu"] for seat in seats])
            performed = peers.converse(process, {"command": "perform", **step})
            peers.converse(process, {"command": "close", **step})
    return performed


def seating(load: Load) -> list[int] | None:
    """The CPUs of the connections, as in an experiment."""
    return cpus_of_connections(load.clients, sorted(load.processors))


def rows(server: Server, program: Path, runs: int) -> Iterator[Row]:
    """Measure the driver `program`."""
    processors = frozenset(os.sched_getaffinity(0))
    for rows_per_commit, goal in GOALS.items():
        alone = Load(1, frozenset({min(processors)}), rows_per_commit)
        costs = [
            _cpu_per_row(perform(server, program, alone, alone.work), "insert") for _ in range(runs)
        ]
        what = f"l.i0 by {rows_per_commit} rows per commit, one CPU: inserter's CPU per row"
        yield _row(what, costs, goal, "us")
    for step, rows_per_commit in {"l.i1": L_I1, "l.i2": L_I2}.items():
        seated = Load(1, processors, rows_per_commit)
        replaced = [
            perform(server, program, seated, seated.work, INDEX, seated.replace)
            for _ in range(runs)
        ]
        what = f"{step}, {rows_per_commit} rows per commit"
        inserter = [_cpu_per_row(performed, "insert") for performed in replaced]
        yield _row(
            f"{what}: inserter's CPU per inserted row", inserter, GOALS_OF_STEPS.get(step), "us"
        )
        both = [_cpu_per_row(performed, "insert", "delete") for performed in replaced]
        yield _row(f"{what}: inserter's and deleter's", both, None, "us")
    several = Load(CLIENTS, processors, 5)
    for name, works in {
        "l.i0": [several.work],
        "l.i2": [several.work, INDEX, several.replace],
        "qr1000": [several.work, INDEX, QUERY | {"query": "range"}],
        "qp1000": [several.work, INDEX, QUERY | {"query": "point"}],
    }.items():
        shares = [_busiest(perform(server, program, several, *works)) for _ in range(runs)]
        what = f"busiest client thread of {CLIENTS} clients, {name}"
        yield _row(what, shares, BUSIEST_THREAD, "of a CPU")


def _cpu_per_row(performed: dict[str, Any], *roles: str) -> peers.Microsecond:
    """CPU of these roles by rows that were inserted."""
    used = sum(performed["roles"][role]["client_cpu_s"] for role in roles)
    return float(used / performed["roles"]["insert"]["rows"] * 1e6)


def _busiest(performed: dict[str, Any]) -> float:
    return float(performed["client"]["busiest_thread"])


def _row(what: str, measured: list[float], at_most: float | None, unit: str) -> Row:
    median = statistics.median(measured)
    span = f"{median:.3f} {unit} ({min(measured):.3f} to {max(measured):.3f})"
    goal = "" if at_most is None else f"at most {at_most:g}"
    return Row(what, span, goal, met=at_most is None or median <= at_most)


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
