"""The cost of the first moments after a switch: QPS of short runs after the other server's turn.

Two instances of one build take turns; each turn is a sequence of runs of 5 ms. The table has the
median QPS of each run in the sequence, relative to the median of the last ten runs of its turn.

    python -m bench.after_switch [--turns 100] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from bench.servers.side_by_side import ROWS, side_by_side
from slowdust.units import Second

SMALLEST = ("--turns", "1", "--tests", "point-query", "--rows", "1000")
TESTS = ("point-query", "range-covered-pk", "update-index")
RUN: Second = 0.005
RUNS_PER_TURN = 30
STEADY = 10
SHOWN = (0, 1, 2, 3, 4, 5, 7, 10, 15)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    print("ms after the switch   " + "".join(f"{place * RUN * 1000:>8.0f}" for place in SHOWN))
    for test in options.tests:
        relative = _relative(options, test)
        shown = "".join(f"{statistics.median(relative[place]):>8.3f}" for place in SHOWN)
        print(f"{test:<22}{shown}")
    return 0


def _relative(options: argparse.Namespace, test: str) -> list[list[float]]:
    """Return, for each run in the sequence, QPS / steady QPS of its turn, in all turns."""
    relative: list[list[float]] = [[] for _ in range(RUNS_PER_TURN)]
    with side_by_side([options.build] * 2, test, options.rows) as servers:
        for _ in range(options.turns):
            for contender in servers.contenders:
                turn = [servers.qps(contender, RUN) for _ in range(RUNS_PER_TURN)]
                steady = statistics.median(turn[-STEADY:])
                for place, qps in enumerate(turn):
                    relative[place].append(qps / steady)
    return relative


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=100, help="of each instance")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    return parser


if __name__ == "__main__":
    sys.exit(main())
