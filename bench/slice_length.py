"""The best length of a slice: how narrow an interval one minute of measuring gives, by length.

Two instances of one build (an A/A comparison), one client. Blocks of every length take turns, in
random order, so that all lengths meet the same machine. Of the blocks' log ratios the 20% trimmed
mean is taken, as the analysis does; printed is what half of its 95% interval would be after 60 s of
nothing but blocks of that length (discarding and probing included), and the mean itself as rqps.

    python -m bench.slice_length [--cycles 40] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.servers.side_by_side import ROWS, SideBySide, side_by_side
from slowdust.analysis.comparison.location import trimmed_mean
from slowdust.experiment.slices.schedule import block_order
from slowdust.units import Second

SMALLEST = ("--cycles", "2", "--tests", "point-query", "--rows", "1000")
TESTS = ("point-query", "range-covered-pk", "update-index")
PACES = ((0.025, 0.01), (0.05, 0.01), (0.1, 0.01), (0.1, 0.025), (0.25, 0.025))
"""Seconds of a slice, and of what is discarded before it."""
MEASURING: Second = 60.0
NORMAL_95 = 1.96


@dataclass
class Blocks:
    """The measured blocks of one pace."""

    log_ratios: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def half_width(self) -> float:
        """Return half the width of the interval after `MEASURING` seconds of such blocks."""
        count = len(self.log_ratios)
        mean = trimmed_mean(np.array(self.log_ratios)[:, None])
        variance_of_one = mean.squares / (mean.size * (mean.size - 1)) * count
        affordable = MEASURING / (self.seconds / count)
        return NORMAL_95 * math.sqrt(variance_of_one / affordable)

    def rqps(self) -> float:
        """Return the QPS of one instance relative to the other: 1 is right."""
        return math.exp(trimmed_mean(np.array(self.log_ratios)[:, None]).mean)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    print(f"{'test':<20}{'slice':>8}{'discard':>9}{'blocks':>8}{'rqps':>8}{'half-width':>12}")
    for test in options.tests:
        for (length, discard), blocks in _measure(options, test).items():
            print(
                f"{test:<20}{length * 1000:>6.0f}ms{discard * 1000:>7.0f}ms"
                f"{len(blocks.log_ratios):>8}{blocks.rqps():>8.3f}{blocks.half_width():>12.2%}"
            )
    return 0


def _measure(options: argparse.Namespace, test: str) -> dict[tuple[Second, Second], Blocks]:
    measured = {pace: Blocks() for pace in PACES}
    rng = random.Random(1)
    with side_by_side([options.build] * 2, test, options.rows) as servers:
        for _ in range(options.cycles):
            for pace in rng.sample(PACES, len(PACES)):
                _add_block(measured[pace], pace, servers, rng)
    return measured


def _add_block(
    blocks: Blocks, pace: tuple[Second, Second], servers: SideBySide, rng: random.Random
) -> None:
    length, discard = pace
    begun = time.monotonic()
    logs = [0.0 for _ in servers.contenders]
    for place in block_order(len(logs), rng):
        servers.qps(servers.contenders[place], discard)
        logs[place] += math.log(servers.probed_qps(servers.contenders[place], length)) / 2
    base, other = logs
    blocks.log_ratios.append(other - base)
    blocks.seconds += time.monotonic() - begun


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=40, help="blocks of each length, at least 2")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    return parser


if __name__ == "__main__":
    sys.exit(main())
