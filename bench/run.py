"""`make bench`: Slowdust beside its peers, on one server, as ratios of alternating pairs.

python -m bench.run [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from bench import load_generators, probe_effect, report_speed
from bench.load_generators import Effort
from bench.rows import Row
from bench.scratch_server import scratch_server
from slowdust.experiment.driver import find_driver

VERSION = "17.6"


def main() -> None:
    """Measure everything and print the table; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10, help="of runs, per comparison")
    parser.add_argument("--seconds", type=int, default=3, help="of one run")
    options = parser.parse_args()
    for program in ("sysbench", "cc", "taskset"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing: apt-get install sysbench build-essential util-linux")
    rows = []
    for row in _measure(Effort(options.pairs, options.seconds)):
        print(f"{row.what}: {row.measured}", file=sys.stderr)
        rows.append(row)
    _print(rows)
    sys.exit(0 if all(row.met for row in rows) else 1)


def _measure(effort: Effort) -> Iterator[Row]:
    yield from report_speed.rows()
    yield from probe_effect.rows(f"postgres@{VERSION}")
    with scratch_server(VERSION) as server:
        yield from load_generators.rows(server, find_driver(), effort)


def _print(rows: list[Row]) -> None:
    table = Table("what", "measured", "goal", "met", title="Slowdust beside its peers")
    for row in rows:
        table.add_row(
            row.what, row.measured, row.goal, ("yes" if row.met else "no") * bool(row.goal)
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
