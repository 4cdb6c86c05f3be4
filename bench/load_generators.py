"""The driver compared with sysbench and a minimal C loop, on the same servers, as ratios of pairs.

The driver is placed as in an experiment: a client and the server process that serves it share a
CPU, and clients are assigned to the CPUs in turn. The scheduler places the others; a single client
and its server always share one CPU.

    python -m bench.load_generators [--builds mysql@9.7.4] [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.clients import point_queries
from bench.clients.peers import Peer, Runs, compare, compile_loop, row
from bench.clients.process import check_programs
from bench.results.ratios import Ratio, alternate, ratio
from bench.results.rows import Row, show
from bench.servers.scratch import Server, scratch_server
from slowdust.driver_program import find_driver
from slowdust.units import Second

SMALLEST = (
    *("--builds", "postgres@17.6", "--pairs", "1", "--seconds", "1", "--clients", "1"),
    *("--load-pairs", "1", "--load-rows", "1000"),
)
BUILDS = ("postgres@17.6", "mysql@9.7.4")
CLIENTS = (1, 4, 16, 64, 256)
ROWS = 100_000
"""Rows of the table of the point queries."""


@dataclass(frozen=True)
class Size:
    """The runs of point queries with their numbers of clients, and the loads."""

    runs: Runs
    clients: Sequence[int]
    load_pairs: int
    load_rows: int


def rows(server: Server, program: Path, size: Size) -> Iterator[Row]:
    """Compare the driver `program` with its peers."""
    load = _load_ratio(server, program, size)
    yield row(f"load of {size.load_rows:,} rows, seconds / sysbench's", load, at_most=1.0)
    point_queries.load(server, program, ROWS)
    with tempfile.TemporaryDirectory() as directory:
        for peer in _peers(server, program, Path(directory)):
            if peer.clients in size.clients:
                yield from compare(server, point_queries.driver(program), peer, size.runs)


def _peers(server: Server, program: Path, directory: Path) -> list[Peer]:
    """Return the peers; the C loop only speaks Postgres' protocol."""
    unplaced = point_queries.driver(program, point_queries.anywhere)
    peers = [
        Peer("sysbench", point_queries.sysbench, 1, most_cpu=0.9, least_qps=1.0),
        Peer("sysbench", point_queries.sysbench, 4),
        *(
            Peer("sysbench", point_queries.sysbench, clients, most_cpu=0.7, least_qps=1.0)
            for clients in (16, 64, 256)
        ),
        *(Peer("unplaced driver", unplaced, clients) for clients in (16, 64, 256)),
    ]
    if server.target.dbms == "postgres":
        loop = compile_loop("point_query", directory)
        peers.insert(1, Peer("loop in C", loop, 1, most_cpu=1.15))
    return peers


def _load_ratio(server: Server, program: Path, size: Size) -> Ratio:
    measured = alternate(
        lambda: point_queries.load(server, program, size.load_rows),
        lambda: _load_with_sysbench(server, size.load_rows),
        size.load_pairs,
    )
    return ratio([ours for ours, _ in measured], [theirs for _, theirs in measured])


def _load_with_sysbench(server: Server, rows: int) -> Second:
    """Return the time of sysbench's prepare, after dropping the table."""
    command = point_queries.sysbench_command(server, rows, 1)
    subprocess.run([*command, "cleanup"], check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    subprocess.run([*command, "prepare"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each build; return 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--pairs", type=int, default=10, help="of runs, per comparison")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--load-pairs", type=int, default=6)
    parser.add_argument("--load-rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    check_programs("sysbench", "cc", "taskset")
    runs = Runs(ROWS, options.pairs, options.seconds)
    size = Size(runs, options.clients, options.load_pairs, options.load_rows)
    all_met = True
    for build in options.builds:
        with scratch_server(build) as server:
            all_met &= show(f"The driver on {build}", rows(server, find_driver(), size))
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
