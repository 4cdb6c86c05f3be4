"""The benchmarks: each module, and no other, defines the tests of its benchmark."""

from __future__ import annotations

from slowdust.benchmarks.archived import SYSBENCH
from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.model import Benchmark, Measuring, Test
from slowdust.benchmarks.slap import SLAP
from slowdust.errors import UsageError
from slowdust.wording import no_such

DEFAULT = MICRO
BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (MICRO, INSERT, SLAP)
}
_ARCHIVED: dict[str, Benchmark] = {SYSBENCH.name: SYSBENCH}
"""Benchmarks of archives whose tests have groups; those of other archives need no entry."""
LISTED = ", ".join((*BENCHMARKS, *(f"archived {name}" for name in _ARCHIVED)))
"""The names of all benchmarks that records can have."""


def benchmark(name: str) -> Benchmark:
    """Return the benchmark of a name.

    Raises:
        UsageError: the name is unknown; the message lists the known ones.
    """
    if name not in BENCHMARKS:
        raise UsageError(no_such("benchmark", name, tuple(BENCHMARKS)))
    return BENCHMARKS[name]


def known_test(benchmark_name: str, test: str) -> Test | None:
    """Return a test of a record; None where no benchmark is known to have it."""
    known = BENCHMARKS.get(benchmark_name) or _ARCHIVED.get(benchmark_name)
    return known.test(test) if known else None


def measured_in_steps(benchmark_name: str) -> bool:
    """Return whether the tests of a record's benchmark are long steps of one slice each."""
    known = BENCHMARKS.get(benchmark_name)
    return known is not None and known.measuring is Measuring.STEPS


def was_imported(benchmark_name: str) -> bool:
    """Return whether a record's benchmark is one that Slowdust cannot run, only import."""
    return benchmark_name not in BENCHMARKS
