"""The driver compared with another client that runs the same point queries, as ratios of pairs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.clients import point_queries
from bench.results.ratios import Ratio, alternate, ratio
from bench.results.rows import Row
from bench.servers.scratch import Server


@dataclass(frozen=True)
class Peer:
    """A client to compare the driver with, and its number of connections."""

    name: str
    client: point_queries.Client
    clients: int
    most_cpu: float | None = None
    least_qps: float | None = None


@dataclass(frozen=True)
class Runs:
    """The rows of the table, the number of pairs of runs, and the length of each run."""

    rows: int
    pairs: int
    seconds: int


def compare(server: Server, driver: point_queries.Client, peer: Peer, runs: Runs) -> Iterator[Row]:
    """Measure the driver and a peer alternately; a single client shares a CPU with its server."""
    processors = frozenset(os.sched_getaffinity(0))
    used = frozenset({min(processors)}) if peer.clients == 1 else processors
    server.use_processors(used)
    workload = point_queries.Workload(runs.rows, peer.clients, runs.seconds, used)
    measured = alternate(
        lambda: driver(server, workload), lambda: peer.client(server, workload), runs.pairs
    )
    cpu = ratio(
        [ours.cpu_per_operation for ours, _ in measured],
        [theirs.cpu_per_operation for _, theirs in measured],
    )
    qps = ratio([ours.qps for ours, _ in measured], [theirs.qps for _, theirs in measured])
    title = f"point-query, {peer.clients} clients" if peer.clients > 1 else "point-query, 1 client"
    yield row(f"{title}, client CPU per operation / {peer.name}'s", cpu, at_most=peer.most_cpu)
    yield row(f"{title}, QPS / {peer.name}'s", qps, at_least=peer.least_qps)
    switches = ratio(
        [ours.switches_per_operation for ours, _ in measured],
        [theirs.switches_per_operation for _, theirs in measured],
    )
    yield row(f"{title}, context switches / {peer.name}'s", switches)


def row(
    quantity: str, measured: Ratio, at_most: float | None = None, at_least: float | None = None
) -> Row:
    """Return a ratio with its goal, if any."""
    if at_most is not None:
        return Row(quantity, str(measured), f"at most {at_most:g}", measured.median <= at_most)
    if at_least is not None:
        return Row(quantity, str(measured), f"at least {at_least:g}", measured.median >= at_least)
    return Row(quantity, str(measured), "", met=True)


def compile_loop(name: str, directory: Path) -> point_queries.Client:
    """Compile a C loop of this folder into a directory; return it as a client."""
    program = directory / name
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return point_queries.loop_in_c(program)
