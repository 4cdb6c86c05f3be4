"""The benchmarks: each module, and no other, defines the tests of its benchmark."""

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
"""The names of all benchmarks that records can have, and no workload of a user's own."""


def benchmark(name: str) -> Benchmark:
    """Return the benchmark of a name.

    Raises UsageError if the name is unknown; the message lists the known ones.
    """
    if name not in BENCHMARKS:
        if having := [known for known, each in BENCHMARKS.items() if name in each.suites]:
            text = f"'{name}' is a suite of {listing(having)}, not a benchmark: see --suite"
            raise UsageError(text)
        raise UsageError(no_such("benchmark", name, tuple(BENCHMARKS)))
    return BENCHMARKS[name]


def known_group(benchmark_name: str, test: str, workload: WorkloadFacts | None) -> Group | None:
    """Return the group of a record's test; None where no benchmark is known to have it.

    `workload` is the user's own one that the experiment measured.
    """
    if workload is not None and benchmark_name == workload.name:
        return _GROUPS.get(workload.groups.get(test, ""))
    found = known_test(benchmark_name, test)
    return found.group if found else None


def known_test(benchmark_name: str, test: str) -> Test | None:
    """Return a test of a record; None where no benchmark of Slowdust's own is known to have it."""
    known = SYSBENCH if benchmark_name == SYSBENCH.name else BENCHMARKS.get(benchmark_name)
    return known.test(test) if known else None


def measured_in_steps(benchmark_name: str) -> bool:
    """Return whether the tests of a record's benchmark are long steps of one slice each."""
    known = BENCHMARKS.get(benchmark_name)
    return known is not None and known.measuring is Measuring.STEPS
