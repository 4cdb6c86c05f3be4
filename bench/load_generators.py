"""The driver beside sysbench and a minimal loop in C, on the same servers, as ratios of pairs.

The driver is placed as in an experiment: a client and the server's process that serves it share a
CPU, and clients take the CPUs in turn. The others run where the scheduler puts them; one client and
its server share one CPU with them, too.

    python -m bench.load_generators [--builds mysql@9.7.4] [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.clients import point_queries
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
SOURCE = Path(point_queries.__file__).with_name("point_query.c")
ROWS = 100_000
"""Rows of the table of the point queries."""


@dataclass(frozen=True)
class Size:
    """The number of pairs of runs, and the size of each run."""

    pairs: int
    seconds: int
    """Length of one run of point queries."""
    clients: Sequence[int]
    load_pairs: int
    load_rows: int


def rows(server: Server, program: Path, size: Size) -> Iterator[Row]:
    """Measure the driver `program` beside its peers."""
    load = _load_ratio(server, program, size)
    yield _row(f"load of {size.load_rows:,} rows, seconds / sysbench's", load, at_most=1.0)
    point_queries.load(server, program, ROWS)
    with tempfile.TemporaryDirectory() as directory:
        for peer in _peers(server, program, Path(directory)):
            if peer.clients in size.clients:
                yield from _compare(server, point_queries.driver(program), peer, size)


def _peers(server: Server, program: Path, directory: Path) -> list[Peer]:
    """Return the peers; the loop in C speaks Postgres' protocol alone."""
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
        loop = point_queries.loop_in_c(_compile(SOURCE, directory / "point_query"))
        peers.insert(1, Peer("loop in C", loop, 1, most_cpu=1.15))
    return peers


def _row(
    quantity: str, measured: Ratio, at_most: float | None = None, at_least: float | None = None
) -> Row:
    if at_most is not None:
        return Row(quantity, str(measured), f"at most {at_most:g}", measured.median <= at_most)
    if at_least is not None:
        return Row(quantity, str(measured), f"at least {at_least:g}", measured.median >= at_least)
    return Row(quantity, str(measured), "", met=True)


def _compile(source: Path, program: Path) -> Path:
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


@dataclass(frozen=True)
class Peer:
    """A client that the driver is compared with, and with how many connections."""

    name: str
    client: point_queries.Client
    clients: int
    most_cpu: float | None = None
    least_qps: float | None = None


def _compare(server: Server, driver: point_queries.Client, peer: Peer, size: Size) -> Iterator[Row]:
    processors = frozenset(os.sched_getaffinity(0))
    used = frozenset({min(processors)}) if peer.clients == 1 else processors
    server.use_processors(used)
    workload = point_queries.Workload(ROWS, peer.clients, size.seconds, used)
    measured = alternate(
        lambda: driver(server, workload), lambda: peer.client(server, workload), size.pairs
    )
    cpu = ratio(
        [ours.cpu_per_operation for ours, _ in measured],
        [theirs.cpu_per_operation for _, theirs in measured],
    )
    qps = ratio([ours.qps for ours, _ in measured], [theirs.qps for _, theirs in measured])
    title = f"point-query, {peer.clients} clients" if peer.clients > 1 else "point-query, 1 client"
    yield _row(f"{title}, client CPU per operation / {peer.name}'s", cpu, at_most=peer.most_cpu)
    yield _row(f"{title}, QPS / {peer.name}'s", qps, at_least=peer.least_qps)
    switches = ratio(
        [ours.switches_per_operation for ours, _ in measured],
        [theirs.switches_per_operation for _, theirs in measured],
    )
    yield _row(f"{title}, context switches / {peer.name}'s", switches)


def _load_ratio(server: Server, program: Path, size: Size) -> Ratio:
    measured = alternate(
        lambda: point_queries.load(server, program, size.load_rows),
        lambda: _load_with_sysbench(server, size.load_rows),
        size.load_pairs,
    )
    return ratio([ours for ours, _ in measured], [theirs for _, theirs in measured])


def _load_with_sysbench(server: Server, rows: int) -> Second:
    """Return the time of sysbench's prepare, over a table that is dropped before."""
    command = point_queries.sysbench_command(server, rows, 1)
    subprocess.run([*command, "cleanup"], check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    subprocess.run([*command, "prepare"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each build; return 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--pairs", type=int, default=10, help="of runs, per comparison")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--load-pairs", type=int, default=6)
    parser.add_argument("--load-rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    check_programs("sysbench", "cc", "taskset")
    size = Size(
        options.pairs, options.seconds, options.clients, options.load_pairs, options.load_rows
    )
    all_met = True
    for build in options.builds:
        with scratch_server(build) as server:
            all_met &= show(f"The driver on {build}", rows(server, find_driver(), size))
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
