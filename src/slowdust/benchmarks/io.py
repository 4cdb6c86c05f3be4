"""Microbenchmarks of data larger than the servers' page caches: reads and updates of random rows.

The rows are wide, so that few rows exceed the page cache: nearly every operation misses it for the
row, but not for the inner pages of the primary key.
"""

from __future__ import annotations

from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Candidate, Group, Phase, Test

_NAME = "io"
ROW_BYTES = 4 + 4 + 119 + 1799
"""Bytes of a row's values: `id`, `k`, `c` and `pad`."""


class _IoTest(Test):
    """A test of wide rows."""

    @property
    def row_bytes(self) -> int:
        return ROW_BYTES


_TESTS = (
    _IoTest(_NAME, "page-read-peak", Group.POINT, Phase.PRE),
    _IoTest(_NAME, "update-beyond-pool", Group.WRITE, Phase.WRITE),
    _IoTest(_NAME, "update-beyond-pool-si", Group.WRITE, Phase.WRITE),
)


class _IoBenchmark(Benchmark):
    """The benchmark, for servers that find rows by their key."""

    def refusal(self, server: Candidate) -> str | None:
        return server.dbms.lacks("look-ups", server.engine)


IO = _IoBenchmark(
    name=_NAME,
    tests=_TESTS,
    suites={DEFAULT_SUITE: tuple(test.name for test in _TESTS)},
    driver_benchmark="wide",
)
