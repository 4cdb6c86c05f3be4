"""The noise of two instances of one build, with clients where the scheduler puts them and placed.

Placed means: a client and the server's process that serves it share a CPU, and clients take the
CPUs in turn, the last CPU first. Free means that the scheduler decides. Blocks A B B A of both take
turns within each session, so that both meet the same machine. Between sessions the clients connect
anew, and between restarts the servers are others.

Of a block's log ratio the true value is 0. "Block" is its scatter around its session's median: half
the distance of the 16th and the 84th percentile, which single stalls do not move. "Session" is the
root mean square of the sessions' medians, and the largest of them: what more blocks do not average
away.

    python -m bench.placement [--builds postgres@17.6] [--clients 4 16 64] [--restarts 3]
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import to_builtins

from bench.clients.point_queries import load
from bench.clients.process import execute
from bench.servers.scratch import Server, scratch_server
from slowdust.driver_program import find_driver
from slowdust.experiment.driver import placement
from slowdust.units import Second

SMALLEST = (
    *("--builds", "postgres@17.6", "--clients", "4", "--rows", "1000", "--tests", "point-query"),
    *("--restarts", "1", "--sessions", "1", "--blocks", "2"),
)
BUILDS = ("postgres@17.6", "mysql@9.7.4")
MODES = ("free", "placed")
WARM_UP: Second = 0.3
SLICE: Second = 0.1


@dataclass(frozen=True)
class Block:
    """A block of four slices, A B B A."""

    log_ratio: float
    qps: float
    """Geometric mean of its slices."""


Sessions = list[list[Block]]
"""The blocks of each session."""


class Clients:
    """A driver with sessions of a test on the instances."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def end(self) -> None:
        """End the driver."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    @contextmanager
    def session(
        self, server: Server, test: str, clients: int, rows: int, mode: str
    ) -> Iterator[str]:
        """Connect the clients, and place both ends where `mode` says so; yield the name."""
        cpus = None
        if mode == "placed":
            cpus = placement.cpus_of_clients(clients, placement.usable_cpus())
        name = f"{server.pid}-{mode}"
        opened = execute(
            self._process,
            {"id": 1, "command": "open", "session": name, "target": to_builtins(server.target),
             "test": test, "clients": clients, "tables": 1, "rows": rows, "seed": 7,
             "cpus": cpus},
        )  # fmt: skip
        if cpus is not None:
            placement.keep_on(opened["server_processes"], cpus)
        self.qps(name, WARM_UP)
        yield name
        execute(self._process, {"id": 1, "command": "close", "session": name})

    def qps(self, session: str, seconds: Second) -> float:
        """Run a slice; return its QPS."""
        run = {"id": 1, "command": "run", "session": session, "stop": {"seconds": seconds}}
        return float(execute(self._process, run)["qps"])

    def block(self, first: str, second: str) -> Block:
        """Run a slice of each session in the order A B B A."""
        a1, b1, b2, a2 = (
            math.log(self.qps(session, SLICE)) for session in (first, second, second, first)
        )
        return Block((a1 + a2 - b1 - b2) / 2, math.exp((a1 + b1 + b2 + a2) / 4))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    print(
        f"{'':<42}{'block':^18}{'session, largest':^30}{'QPS':^18}\n"
        f"{'build, test, clients':<42}{'free':>8}{'placed':>9}{'free':>15}{'placed':>15}"
        f"{'free':>9}{'placed / free':>15}"
    )
    for build in options.builds:
        for (test, clients), by_mode in _measure(build, options).items():
            print(_line(f"{build}, {test}, {clients}", by_mode["free"], by_mode["placed"]))
    return 0


def _measure(build: str, options: argparse.Namespace) -> dict[tuple[str, int], dict[str, Sessions]]:
    measured: dict[tuple[str, int], dict[str, Sessions]] = defaultdict(lambda: defaultdict(list))
    for _ in range(options.restarts):
        with ExitStack() as stack:
            servers = [stack.enter_context(scratch_server(build)) for _ in range(2)]
            driver = find_driver()
            for server in servers:
                load(server, driver, options.rows)
            clients = Clients(driver)
            stack.callback(clients.end)
            for test in options.tests:
                for count in options.clients:
                    for _ in range(options.sessions):
                        session = _session(clients, servers, test, count, options)
                        for mode, blocks in session.items():
                            measured[test, count][mode].append(blocks)
                        print(f"{build}: a session of {count} clients is over", file=sys.stderr)
    return measured


def _session(
    clients: Clients, servers: Sequence[Server], test: str, count: int, options: argparse.Namespace
) -> dict[str, list[Block]]:
    """Return the blocks of one session of each mode."""
    blocks: dict[str, list[Block]] = {mode: [] for mode in MODES}
    with ExitStack() as stack:
        names = {
            mode: [
                stack.enter_context(clients.session(server, test, count, options.rows, mode))
                for server in servers
            ]
            for mode in MODES
        }
        for number in range(options.blocks):
            for mode in MODES if number % 2 == 0 else reversed(MODES):
                blocks[mode].append(clients.block(*names[mode]))
    return blocks


def _line(title: str, free: Sessions, placed: Sessions) -> str:
    ratios = [
        placed_block.qps / free_block.qps
        for placed_session, free_session in zip(placed, free, strict=True)
        for placed_block, free_block in zip(placed_session, free_session, strict=True)
    ]
    qps = statistics.median(block.qps for session in free for block in session)
    return (
        f"{title:<42}{_scatter(free):>8.1%}{_scatter(placed):>9.1%}"
        f"{_between(free):>15}{_between(placed):>15}{qps:>9,.0f}{statistics.median(ratios):>15.2f}"
    )


def _scatter(sessions: Sessions) -> float:
    """Return the scatter of log ratios of blocks around the median of their session."""
    residuals: list[float] = []
    for session in sessions:
        ratios = [block.log_ratio for block in session]
        middle = statistics.median(ratios)
        residuals += [ratio - middle for ratio in ratios]
    low, high = np.percentile(residuals, (16, 84))
    return float(high - low) / 2


def _between(sessions: Sessions) -> str:
    medians = [statistics.median(block.log_ratio for block in session) for session in sessions]
    around_0 = math.sqrt(statistics.fmean(median**2 for median in medians))
    return f"{around_0:.1%}, {max(map(abs, medians)):.1%}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", nargs="+", default=BUILDS, help="DBMS@VERSION")
    parser.add_argument("--tests", nargs="+", default=("point-query", "update-index"))
    parser.add_argument("--clients", type=int, nargs="+", default=(4, 16, 64))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--restarts", type=int, default=3, help="of both servers")
    parser.add_argument("--sessions", type=int, default=2, help="for each restart")
    parser.add_argument("--blocks", type=int, default=12, help="of each mode in a session")
    return parser


if __name__ == "__main__":
    sys.exit(main())
