"""What other programs do to the log ratios of blocks, and whether it helps to leave blocks out.

Measured here with real servers; `busy_blocks` simulates the same with a known truth.

Two instances of one build (an A/A comparison: the truth is 0), one client, blocks as in an
experiment, beside a program that is busy now and then. First table: the blocks by the share of the
CPUs that other programs used in them, with the spread of their log ratios. Second: the standard
deviation of the estimate from as many blocks as the budget affords (drawn from the measured ones
with replacement), by the rule that treats busy blocks: all alike (20% trimmed mean of blocks; the
analysis trims half blocks, which a rule for blocks cannot do), left out from a share on, or weighed
by the variance of their third of the shares. To measure a busy block again costs its time once
more, so at an equal budget it is the same as leaving it out. A rule looks at whole blocks only, and
never at the rates.

    python -m bench.other_programs [--blocks 150] [--build postgres@17.6]
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

from bench.results.busy import RULES, SHARES, spread
from bench.servers.load import busy_now_and_then
from bench.servers.side_by_side import ROWS, SideBySide, side_by_side
from slowdust.experiment.slices.schedule import block_order
from slowdust.store.measured import OTHERS
from slowdust.units import Second

SMALLEST = ("--blocks", "12", "--tests", "point-query", "--rows", "1000", "--draws", "10")
TESTS = ("point-query", "range-covered-pk", "update-index")
SLICE: Second = 0.1
DISCARD: Second = 0.025
BUSY: tuple[Second, Second] = (0.2, 2.0)
BUDGET: Second = 60.0


@dataclass
class Blocks:
    """The measured blocks of one test."""

    log_ratios: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """CPU time of other programs in the block's slices / time of all CPUs in them."""
    seconds: Second = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print both tables."""
    options = _parser().parse_args(arguments)
    measured = {}
    with busy_now_and_then(*BUSY):
        for test in options.tests:
            with side_by_side([options.build] * 2, test, options.rows) as servers:
                measured[test] = _measure(servers, options.blocks)
    print(f"{'test':<20}{'others':>10}{'blocks':>8}{'mean':>9}{'spread':>9}")
    for test, blocks in measured.items():
        _print_by_share(test, blocks)
    print(f"\n{'test':<20}{'rule':<22}{'mean':>9}{'deviation':>11}")
    for test, blocks in measured.items():
        _print_rules(test, blocks, options.draws)
    return 0


def _measure(servers: SideBySide, count: int) -> Blocks:
    blocks = Blocks()
    rng = random.Random(1)
    begun = time.monotonic()
    for _ in range(count):
        logs = [0.0 for _ in servers.contenders]
        others = capacity = 0.0
        for place in block_order(len(logs), rng):
            contender = servers.contenders[place]
            servers.qps(contender, DISCARD)
            window = contender.window(servers.contenders)
            window.open()
            logs[place] += math.log(servers.qps(contender, SLICE)) / 2
            closed = window.close()
            use = closed.uses[OTHERS]
            others += use["cpu_s"]
            capacity += use["cpus"] * closed.seconds
        base, other = logs
        blocks.log_ratios.append(other - base)
        blocks.shares.append(min(1.0, others / capacity))
    blocks.seconds = time.monotonic() - begun
    return blocks


def _print_by_share(test: str, blocks: Blocks) -> None:
    shares, ratios = np.array(blocks.shares), np.array(blocks.log_ratios)
    for low, high in zip((0.0, *SHARES), (*SHARES, 1.01), strict=True):
        chosen = ratios[(shares >= low) & (shares < high)]
        if len(chosen) > 1:
            label = f"{low:.0%}-{min(high, 1):.0%}"
            print(
                f"{test:<20}{label:>10}{len(chosen):>8}{chosen.mean():>9.3f}{spread(chosen):>9.3f}"
            )


def _print_rules(test: str, blocks: Blocks, draws: int) -> None:
    shares, ratios = np.array(blocks.shares), np.array(blocks.log_ratios)
    affordable = max(2, round(BUDGET / (blocks.seconds / len(ratios))))
    for name, rule in RULES.items():
        rng = np.random.default_rng(1)
        picks = [rng.integers(len(ratios), size=affordable) for _ in range(draws)]
        estimates = np.array([rule(ratios[pick], shares[pick]) for pick in picks])
        print(f"{test:<20}{name:<22}{estimates.mean():>9.3f}{estimates.std():>11.4f}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=150, help="blocks of each test")
    parser.add_argument("--draws", type=int, default=2000, help="estimates of each rule")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    return parser


if __name__ == "__main__":
    sys.exit(main())
