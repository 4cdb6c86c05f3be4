"""The driver beside sysbench and a minimal loop in C, on one server, as ratios of pairs.

    python bench/driver_vs_sysbench.py --build DIR --driver target/release/slowdust-driver

DIR holds the server (bin/postgres). With one client, server and client share one processor: they
never run at the same time, and a wake-up across processors, dear and erratic on a virtual machine,
would be most of what is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import peers
from ratios import Ratio, alternate, ratio
from scratch_server import Server, scratch_server

SOURCE = Path(__file__).with_name("point_query.c")
LOAD_PAIRS = 6


def main() -> None:
    """Print the table of ratios."""
    options = _options()
    driver = peers.driver(options.driver)
    with tempfile.TemporaryDirectory() as directory, scratch_server(options.build) as server:
        floor = peers.loop_in_c(_compile(SOURCE, Path(directory) / "point_query"))
        print(f"load of {options.load_rows} rows, seconds: driver / sysbench = "
              f"{_load_ratio(server, options.driver, options.load_rows)}")  # fmt: skip
        _load_with_driver(server, options.driver, options.rows)
        for peer in [
            Peer("sysbench", peers.sysbench, 1),
            Peer("loop in C", floor, 1),
            Peer("sysbench", peers.sysbench, 4),
            Peer("sysbench", peers.sysbench, 64),
        ]:
            _compare(server, driver, peer, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="directory with bin/postgres")
    parser.add_argument("--driver", type=Path, required=True, help="the binary slowdust-driver")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--load-rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    parser.add_argument("--pairs", type=int, default=10)
    return parser.parse_args()


def _compile(source: Path, program: Path) -> Path:
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


@dataclass(frozen=True)
class Peer:
    """What the driver is compared with, and with how many clients."""

    name: str
    client: peers.Client
    clients: int


def _compare(server: Server, driver: peers.Client, peer: Peer, options: argparse.Namespace) -> None:
    processors = frozenset(os.sched_getaffinity(0))
    used = frozenset({min(processors)}) if peer.clients == 1 else processors
    server.use_processors(used)
    workload = peers.Workload(options.rows, peer.clients, options.seconds, used)
    measured = alternate(
        lambda: driver(server, workload), lambda: peer.client(server, workload), options.pairs
    )
    cpu = ratio(
        [ours.cpu_per_operation for ours, _ in measured],
        [theirs.cpu_per_operation for _, theirs in measured],
    )
    qps = ratio([ours.qps for ours, _ in measured], [theirs.qps for _, theirs in measured])
    print(f"{peer.clients} clients, driver / {peer.name}: CPU per operation {cpu}; QPS {qps}")


def _load_ratio(server: Server, program: Path, rows: int) -> Ratio:
    measured = alternate(
        lambda: _load_with_driver(server, program, rows),
        lambda: _load_with_sysbench(server, rows),
        LOAD_PAIRS,
    )
    return ratio([ours for ours, _ in measured], [theirs for _, theirs in measured])


def _load_with_driver(server: Server, program: Path, rows: int) -> peers.Second:
    """Seconds from the start of the driver to its end."""
    begin = time.monotonic()
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        load = {"id": 1, "command": "load", "target": peers.target(server), "tables": 1,
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


if __name__ == "__main__":
    main()
