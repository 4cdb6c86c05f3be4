"""The best length of a slice: the width of the interval after one minute of measuring, by length.

Two instances of one build (an A/A comparison) have one client. Blocks of all lengths alternate in
random order, so that all lengths have the same conditions. The log ratio is the 20% trimmed mean of
the blocks, as in the analysis. The table has the half-width of its 95% interval after 60 s of
blocks of that length (discarding and probing included), and the mean as rqps.

Before each of several rounds a length is chosen like in an experiment, from a record of the
machine's speed. Half-widths are geometric means over the rounds; the row `chosen` has the
half-width of the chosen lengths.

    python -m bench.slice_length [--rounds 4] [--cycles 20] [--build postgres@17.6]
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
from slowdust.experiment.engine.schedule import block_order
from slowdust.experiment.engine.slice_length import LENGTHS, RUN, SpeedRecord, choose_length
from slowdust.stats.location import trimmed_mean
from slowdust.units import Second

SMALLEST = ("--rounds", "1", "--cycles", "2", "--tests", "point-query", "--rows", "1000")
TESTS = ("point-query", "range-covered-pk", "update-index")
DISCARD: Second = 0.01
RECORD: Second = 2.0
MEASURING: Second = 60.0
NORMAL_95 = 1.96


@dataclass
class Blocks:
    """The measured blocks of one length."""

    log_ratios: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def half_width(self) -> float:
        """Return the half-width of the interval after `MEASURING` seconds of such blocks."""
        count = len(self.log_ratios)
        mean = trimmed_mean(np.array(self.log_ratios)[:, None])
        variance_of_one = mean.squares / (mean.size * (mean.size - 1)) * count
        affordable = MEASURING / (self.seconds / count)
        return NORMAL_95 * math.sqrt(variance_of_one / affordable)

    def rqps(self) -> float:
        """Return the QPS of one instance relative to the other: the truth is 1."""
        return math.exp(trimmed_mean(np.array(self.log_ratios)[:, None]).mean)


@dataclass
class Round:
    """The blocks of all lengths, and the length that was chosen before the round."""

    chosen: Second
    blocks: dict[Second, Blocks]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    print(f"{'test':<20}{'slice':>8}{'chosen':>8}{'blocks':>8}{'rqps':>8}{'half-width':>12}")
    for test in options.tests:
        rounds = _measure(options, test)
        for length in LENGTHS:
            times = sum(done.chosen == length for done in rounds)
            print(_row(test, f"{length * 1000:.0f}ms", times, [r.blocks[length] for r in rounds]))
        print(_row(test, "chosen", len(rounds), [done.blocks[done.chosen] for done in rounds]))
    return 0


def _row(test: str, name: str, times: int, rounds: list[Blocks]) -> str:
    together = Blocks([ratio for blocks in rounds for ratio in blocks.log_ratios])
    half_width = math.exp(sum(math.log(blocks.half_width()) for blocks in rounds) / len(rounds))
    return (
        f"{test:<20}{name:>8}{times:>8}{len(together.log_ratios):>8}{together.rqps():>8.3f}"
        f"{half_width:>12.2%}"
    )


def _measure(options: argparse.Namespace, test: str) -> list[Round]:
    rng = random.Random(1)
    rounds = []
    with side_by_side([options.build] * 2, test, options.rows) as servers:
        for _ in range(options.rounds):
            chosen = choose_length(_record_speed(servers), DISCARD)
            blocks = {length: Blocks() for length in LENGTHS}
            for _ in range(options.cycles):
                for length in rng.sample(LENGTHS, len(LENGTHS)):
                    _add_block(blocks[length], length, servers, rng)
            rounds.append(Round(chosen, blocks))
    return rounds


def _record_speed(servers: SideBySide) -> SpeedRecord:
    """Record the speed of the first contender, as in an experiment."""
    contender = servers.contenders[0]
    runs = []
    end = time.monotonic() + RECORD
    while time.monotonic() < end:
        runs.append(servers.run(contender, RUN))
    begun = time.monotonic()
    seconds_of_run = servers.probed_run(contender, RUN).seconds
    return SpeedRecord(
        operations=np.array([float(run.operations) for run in runs]),
        seconds=np.array([run.seconds for run in runs]),
        overhead=time.monotonic() - begun - seconds_of_run,
    )


def _add_block(blocks: Blocks, length: Second, servers: SideBySide, rng: random.Random) -> None:
    begun = time.monotonic()
    logs = [0.0 for _ in servers.contenders]
    for place in block_order(len(logs), rng):
        servers.qps(servers.contenders[place], DISCARD)
        logs[place] += math.log(servers.probed_qps(servers.contenders[place], length)) / 2
    base, other = logs
    blocks.log_ratios.append(other - base)
    blocks.seconds += time.monotonic() - begun


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument(
        "--cycles", type=int, default=20, help="blocks of each length in a round, at least 2"
    )
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    return parser


if __name__ == "__main__":
    sys.exit(main())
