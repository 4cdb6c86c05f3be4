"""The driver beside sysbench and a minimal loop in C, on the same servers, as ratios of pairs.

With one client, server and client share one processor: they never run at the same time, and a
wake-up across processors, dear and erratic on a virtual machine, would be most of what is measured.

By itself:

python -m bench.load_generators [--builds mysql@5.6.24] [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from bench import peers
from bench.ratios import Ratio, alternate, ratio
from bench.rows import Row, show
from bench.scratch_server import Server, scratch_server
from slowdust.experiment.driver.process import find_driver

BUILDS = ("postgres@17.6", "mysql@5.6.24")
SOURCE = Path(__file__).with_name("point_query.c")
LOAD_PAIRS = 6
LOAD_ROWS = 1_000_000
ROWS = 100_000


@dataclass(frozen=True)
class Effort:
    """How long is measured."""

    pairs: int
    seconds: int
    """Of one run."""


def rows(server: Server, program: Path, effort: Effort) -> Iterator[Row]:
    """Measure the driver `program` beside its peers."""
    load = _load_ratio(server, program)
    yield _row(f"load of {LOAD_ROWS:,} rows, seconds / sysbench's", load, at_most=1.0)
    _load_with_driver(server, program, ROWS)
    with tempfile.TemporaryDirectory() as directory:
        for peer in _peers(server, Path(directory)):
            yield from _compare(server, peers.driver(program), peer, effort)


def _peers(server: Server, directory: Path) -> list[Peer]:
    """What the driver is compared with; the loop in C speaks Postgres' protocol alone."""
    found = [
        Peer("sysbench", peers.sysbench, 1, most_cpu=0.9, least_qps=1.0),
        Peer("sysbench", peers.sysbench, 4),
        Peer("sysbench", peers.sysbench, 64, most_cpu=0.7, least_qps=1.0),
    ]
    if server.target.dbms == "postgres":
        floor = peers.loop_in_c(_compile(SOURCE, directory / "point_query"))
        found.insert(1, Peer("loop in C", floor, 1, most_cpu=1.15))
    return found


def _row(
    what: str, found: Ratio, at_most: float | None = None, at_least: float | None = None
) -> Row:
    if at_most is not None:
        return Row(what, str(found), f"at most {at_most:g}", found.median <= at_most)
    if at_least is not None:
        return Row(what, str(found), f"at least {at_least:g}", found.median >= at_least)
    return Row(what, str(found), "", met=True)


def _compile(source: Path, program: Path) -> Path:
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


@dataclass(frozen=True)
class Peer:
    """What the driver is compared with, and with how many clients."""

    name: str
    client: peers.Client
    clients: int
    most_cpu: float | None = None
    least_qps: float | None = None


def _compare(server: Server, driver: peers.Client, peer: Peer, effort: Effort) -> Iterator[Row]:
    processors = frozenset(os.sched_getaffinity(0))
    used = frozenset({min(processors)}) if peer.clients == 1 else processors
    server.use_processors(used)
    workload = peers.Workload(ROWS, peer.clients, effort.seconds, used)
    measured = alternate(
        lambda: driver(server, workload), lambda: peer.client(server, workload), effort.pairs
    )
    cpu = ratio(
        [ours.cpu_per_operation for ours, _ in measured],
        [theirs.cpu_per_operation for _, theirs in measured],
    )
    qps = ratio([ours.qps for ours, _ in measured], [theirs.qps for _, theirs in measured])
    what = f"point-query, {peer.clients} clients" if peer.clients > 1 else "point-query, 1 client"
    yield _row(f"{what}, client CPU per operation / {peer.name}'s", cpu, at_most=peer.most_cpu)
    yield _row(f"{what}, QPS / {peer.name}'s", qps, at_least=peer.least_qps)


def _load_ratio(server: Server, program: Path) -> Ratio:
    measured = alternate(
        lambda: _load_with_driver(server, program, LOAD_ROWS),
        lambda: _load_with_sysbench(server, LOAD_ROWS),
        LOAD_PAIRS,
    )
    return ratio([ours for ours, _ in measured], [theirs for _, theirs in measured])


def _load_with_driver(server: Server, program: Path, rows: int) -> peers.Second:
    """Seconds from the start of the driver to its end."""
    begin = time.monotonic()
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        load = {"id": 1, "command": "load", "target": to_builtins(server.target), "tables": 1,
                "rows": rows, "seed": 7, "parallel": 2}  # fmt: skip
        peers.converse(process, load)
    return time.monotonic() - begin


def _load_with_sysbench(server: Server, rows: int) -> peers.Second:
    """Seconds of sysbench's prepare, over a table that is dropped before."""
    command = peers.sysbench_command(server, rows, 1)
    subprocess.run([*command, "cleanup"], check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    subprocess.run([*command, "prepare"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What and how long is measured."""
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--pairs", type=int, default=10, help="of runs, per comparison")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")


def check_programs() -> None:
    """Exit where a peer cannot be run."""
    for program in ("sysbench", "cc", "taskset"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing: apt-get install sysbench build-essential util-linux")


def tables(options: argparse.Namespace) -> Iterator[bool]:
    """Print a table for each build; whether its goals are met."""
    for build in options.builds:
        with scratch_server(build) as server:
            effort = Effort(options.pairs, options.seconds)
            yield show(f"The driver on {build}", rows(server, find_driver(), effort))


def main() -> None:
    """Measure and print the tables; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_arguments(parser)
    options = parser.parse_args()
    check_programs()
    sys.exit(0 if all(list(tables(options))) else 1)


if __name__ == "__main__":
    main()
