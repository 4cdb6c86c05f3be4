"""The effect of probing on throughput: QPS of runs with probes / without probes.

python -m bench.probe_effect [--pairs 150] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from bench.results.ratios import alternate, ratio
from bench.results.rows import Row, show
from bench.servers.side_by_side import ROWS, side_by_side
from slowdust.units import Second

SMALLEST = ("--pairs", "6", "--rows", "1000")
TEST = "point-query"
SLICE: Second = 0.1
GOAL = 0.99


def rows(build: str, pairs: int, table_rows: int) -> Iterator[Row]:
    """Alternate runs with and without probes on one of two instances of `build`."""
    with side_by_side([build, build], TEST, table_rows) as servers:
        contender = servers.contenders[0]
        measured = alternate(
            lambda: servers.probed_qps(contender, SLICE),
            lambda: servers.qps(contender, SLICE),
            pairs,
        )
    effect = ratio([probed for probed, _ in measured], [other for _, other in measured])
    quantity = f"{TEST}, QPS of probed slices of {SLICE} s / others'"
    yield Row(quantity, str(effect), f"at least {GOAL:g}", effect.median >= GOAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 1 if the goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    options = parser.parse_args(arguments)
    met = show("The effect of probes", rows(options.build, options.pairs, options.rows))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
