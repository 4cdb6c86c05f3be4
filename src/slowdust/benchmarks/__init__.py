"""The benchmarks: one module for each says what its tests are, and nobody else does."""

from __future__ import annotations

from slowdust.benchmarks.archived import SYSBENCH
from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.model import Benchmark, Measuring, Test
from slowdust.benchmarks.slap import SLAP
from slowdust.errors import UsageError

DEFAULT = MICRO
BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (MICRO, INSERT, SLAP)
}
_ARCHIVED: dict[str, Benchmark] = {SYSBENCH.name: SYSBENCH}
"""Those that records may be of, and that nobody can run."""


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        UsageError: there is none; says which there are.
    """
    if name not in BENCHMARKS:
        raise UsageError(f"unknown benchmark '{name}': there are {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]


def known_test(benchmark_name: str, test: str) -> Test | None:
    """A test of a record, if its benchmark is one of this version's and has it."""
    known = BENCHMARKS.get(benchmark_name) or _ARCHIVED.get(benchmark_name)
    return known.test(test) if known else None


def measured_in_steps(benchmark_name: str) -> bool:
    """Whether the tests of a record's benchmark are long steps, of which each is one slice."""
    known = BENCHMARKS.get(benchmark_name)
    return known is not None and known.measuring is Measuring.STEPS


def was_imported(benchmark_name: str) -> bool:
    """Whether a record's benchmark is one that nobody can run, so that its runs are archived."""
    return benchmark_name in _ARCHIVED
