"""The share of Slowdust's intervals and verdicts that are right, with a known truth.

    python -m bench.interval_coverage [--experiments 100] [--table NAME]

Prints the tables of docs/statistics.md, from seeded experiments. Slowdust's interval is compared
with the two simplest ones: a bootstrap of all blocks, and Student's t over the means of starts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from bench.coverage.chunks import chunks
from bench.coverage.disturbances import outsiders, totals
from bench.coverage.intervals import coverage, other_noise, power
from bench.coverage.long_steps import long_steps
from bench.coverage.stopping import early_stop

SMALLEST = ("--experiments", "1")

TABLES: dict[str, tuple[Callable[[int], None], float]] = {
    "coverage": (coverage, 1.0),
    "other-noise": (other_noise, 1.0),
    "power": (power, 0.5),
    "early-stop": (early_stop, 0.1),
    "totals": (totals, 1.0),
    "long-steps": (long_steps, 2.0),
    "chunks": (chunks, 0.5),
    "outsiders": (outsiders, 1.0),
}
"""Name -> the function that prints it, and the share of the experiments that it uses."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=100, help="in each row of table 1")
    parser.add_argument("--table", choices=TABLES, action="append", help="repeatable  [all]")
    options = parser.parse_args(arguments)
    for name in options.table or TABLES:
        table, share = TABLES[name]
        print(f"\n{name}\n")
        table(max(1, round(options.experiments * share)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
