"""The benchmarks. Each module defines the tests of one benchmark."""

from __future__ import annotations

from slowdust.benchmarks.htap import HTAP
from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.io import IO
from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.model import Benchmark, Group, Measuring, Test
from slowdust.benchmarks.slap import SLAP
from slowdust.benchmarks.sysbench import SYSBENCH
from slowdust.benchmarks.vector import VECTOR
from slowdust.errors import UsageError
from slowdust.store.manifest import WorkloadFacts
from slowdust.wording import listing, no_such

DEFAULT = MICRO
_GROUPS = {group.value: group for group in Group}
BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (MICRO, INSERT, SLAP, IO, HTAP, VECTOR)
}
NAMES = (*BENCHMARKS, SYSBENCH.name)
"""The names of all benchmarks in records, except users' own workloads."""


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by its name.

    Raises UsageError for an unknown name; the message lists the known ones.
    """
    if name not in BENCHMARKS:
        if having := [known for known, each in BENCHMARKS.items() if name in each.suites]:
            text = f"'{name}' is a suite of {listing(having)}, not a benchmark: see --suite"
            raise UsageError(text)
        raise UsageError(no_such("benchmark", name, tuple(BENCHMARKS)))
    return BENCHMARKS[name]


def known_group(benchmark_name: str, test: str, workload: WorkloadFacts | None) -> Group | None:
    """Return the group of a record's test; None if no known benchmark has the test.

    `workload` is the user's own workload of the experiment.
    """
    if workload is not None and benchmark_name == workload.name:
        return _GROUPS.get(workload.groups.get(test, ""))
    found = known_test(benchmark_name, test)
    return found.group if found else None


def known_test(benchmark_name: str, test: str) -> Test | None:
    """Return a test of a record; None if no benchmark of Slowdust has it."""
    known = SYSBENCH if benchmark_name == SYSBENCH.name else BENCHMARKS.get(benchmark_name)
    return known.test(test) if known else None


def measured_in_steps(benchmark_name: str) -> bool:
    """Return whether the tests of a record's benchmark are long steps, measured as one slice."""
    known = BENCHMARKS.get(benchmark_name)
    return known is not None and known.measuring is Measuring.STEPS
