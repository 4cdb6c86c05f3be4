"""A/A, injected truth, coverage and the client's instructions, compared with a recorded baseline.

    python -m bench.baseline [--only simulated] [--record]

Prints a line for each figure: recorded, now, and whether it is significantly worse. Shares are
compared by Fisher's exact test, at 5% for all figures together; instructions with a tolerance of
1%. Simulations have fixed seeds, so that a different figure means that the engine has changed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy

from bench.baselines.figures import Baseline, Figure, compare
from bench.baselines.measured import (
    POSTGRES,
    counted_sqlite,
    equal_sqlite,
    injected_in_postgres,
    slowed_postgres,
)
from bench.baselines.simulated import simulated
from slowdust.builds import cache

SMALLEST = ("--experiments", "2", "--budget", "3s", "--only", "simulated", "sqlite")
RECORDED = Path(__file__).with_name("baseline.json")
_WIDTHS = (66, 24, 24)


def _parts(options: argparse.Namespace) -> Mapping[str, Callable[[], Iterator[tuple[str, Figure]]]]:
    """Return the chosen parts that this machine can measure."""
    parts: dict[str, Callable[[], Iterator[tuple[str, Figure]]]] = {
        "simulated": lambda: simulated(options.experiments),
        "sqlite": lambda: equal_sqlite(options.budget),
        "sqlite-work": lambda: counted_sqlite(options.budget),
        "postgres": lambda: slowed_postgres(options.budget),
        "postgres-work": lambda: injected_in_postgres(max(1, options.experiments // 25)),
    }
    if shutil.which("valgrind") is None:
        del parts["sqlite-work"], parts["postgres-work"]
    if not cache.cached(*POSTGRES.split("@")):
        parts = {name: part for name, part in parts.items() if not name.startswith("postgres")}
    return {name: part for name, part in parts.items() if name in (options.only or parts)}


def _conditions(load_before: float) -> dict[str, str]:
    return {
        "cores": str(os.cpu_count()),
        "load average": f"{load_before:.1f} at the start, {os.getloadavg()[0]:.1f} at the end",
        "Python": f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and compare; return 1 if a figure is significantly worse."""
    parser = argparse.ArgumentParser(prog="bench.baseline", description=__doc__)
    parser.add_argument("--experiments", type=int, default=100, help="of a simulated figure")
    parser.add_argument("--budget", default="30s", help="of each real experiment")
    parts = ("simulated", "sqlite", "sqlite-work", "postgres", "postgres-work")
    parser.add_argument("--only", nargs="+", choices=parts, help="parts to measure  [all]")
    parser.add_argument("--recorded", type=Path, default=RECORDED, metavar="FILE")
    parser.add_argument("--record", action="store_true", help="renew the recorded baseline")
    options = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    figures: dict[str, Figure] = {}
    for name, part in _parts(options).items():
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        figures |= part()
    now = Baseline(_conditions(load), figures)
    if options.record:
        now.write(options.recorded)
        return 0
    return _show(Baseline.read(options.recorded), now)


def _show(recorded: Baseline, now: Baseline) -> int:
    for name, value in now.conditions.items():
        print(f"{name}: {recorded.conditions.get(name, 'unknown')}; now {value}")
    _print("figure", "recorded", "now", "verdict")
    compared = compare(recorded.figures, now.figures)
    for name, verdict in compared.items():
        before, after = recorded.figures.get(name, "-"), now.figures.get(name, "-")
        _print(name, str(before), str(after), verdict)
    return int("worse" in compared.values())


def _print(name: str, before: str, after: str, verdict: str) -> None:
    cells = zip((name, before, after), _WIDTHS, strict=True)
    print("  ".join(f"{cell:<{width}}" for cell, width in cells), verdict, flush=True)


if __name__ == "__main__":
    sys.exit(main())
