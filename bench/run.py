"""`make bench`: runs all benchmarks of this folder.

python -m bench.run [--smallest] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from bench.clients.process import check_programs

SMALLEST = ("--smallest", "disk_shares")
_PROGRAMS = ("sysbench", "cc", "taskset", "valgrind")


class Benchmark(Protocol):
    """A module of this folder."""

    SMALLEST: Sequence[str]
    """Arguments for the smallest run."""

    def main(self, arguments: Sequence[str]) -> int:
        """Measure and print; return 1 if a goal is not met."""


def benchmark_names() -> list[str]:
    """Return the names of all modules of this folder except this one."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "run")


def load(name: str) -> Benchmark:
    """Import a benchmark."""
    return cast(Benchmark, importlib.import_module(f"bench.{name}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks in sequence; return 1 if a goal is not met."""
    names = benchmark_names()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}  [all]")
    parser.add_argument(
        "--smallest", action="store_true", help="use the smallest sizes, to check that it works"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"unknown benchmark: {', '.join(sorted(unknown))}")
    if not options.names:
        check_programs(*_PROGRAMS)
    codes = []
    for name in options.names or names:
        print(f"\n{name}", flush=True)
        benchmark = load(name)
        codes.append(benchmark.main(benchmark.SMALLEST if options.smallest else ()))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
