"""What the first moments after a switch cost: QPS of short runs behind the other's turn.

Two instances of one build take turns; each turn is a row of runs of 5 ms. Printed is the median of
each place's QPS relative to the median of the last ten places of the same turn.

    python -m bench.after_switch [--turns 100] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import statistics

from bench.contest import contest

PIECE = 0.005
PIECES = 30
STEADY = 10
SHOWN = (0, 1, 2, 3, 4, 5, 7, 10, 15)


def main() -> None:
    """Measure and print the table."""
    options = _options()
    print("ms after the switch   " + "".join(f"{place * PIECE * 1000:>8.0f}" for place in SHOWN))
    for test in ("point-query", "range-covered-pk", "update-index"):
        relative = _relative(options, test)
        shown = "".join(f"{statistics.median(relative[place]):>8.3f}" for place in SHOWN)
        print(f"{test:<22}{shown}")


def _relative(options: argparse.Namespace, test: str) -> list[list[float]]:
    """Per place in a turn, its QPS / the turn's steady QPS, of all turns."""
    relative: list[list[float]] = [[] for _ in range(PIECES)]
    with contest([options.build, options.build], test) as running:
        for _ in range(options.turns):
            for contender in running.contenders:
                turn = [running.qps(contender, PIECE) for _ in range(PIECES)]
                steady = statistics.median(turn[-STEADY:])
                for place, qps in enumerate(turn):
                    relative[place].append(qps / steady)
    return relative


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--build", default="postgres@17.6")
    return parser.parse_args()


if __name__ == "__main__":
    main()
