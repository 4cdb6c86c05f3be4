"""The microbenchmarks: names, groups, order and suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Group, Phase, Test, rows_of_range
from slowdust.sql import Dbms

_NAME = "micro"
_ROWS_OF_AGGREGATES = 1000
"""The range of `read-only-sum` and similar tests, whose names do not contain it."""

_READS: tuple[tuple[str, Group], ...] = (
    ("point-query", Group.POINT),
    ("random-points.10", Group.POINT),
    ("random-points.100", Group.POINT),
    ("random-points.1000", Group.POINT),
    ("hot-points", Group.POINT),
    ("points-covered-pk", Group.POINT),
    ("points-covered-si", Group.POINT),
    ("points-notcovered-pk", Group.POINT),
    ("points-notcovered-si", Group.POINT),
    ("range-covered-pk", Group.RANGE),
    ("range-covered-si", Group.RANGE),
    ("range-notcovered-pk", Group.RANGE),
    ("range-notcovered-si", Group.RANGE),
    ("read-only.10", Group.AGGREGATION),
    ("read-only.100", Group.AGGREGATION),
    ("read-only.10000", Group.AGGREGATION),
    ("read-only-simple", Group.AGGREGATION),
    ("read-only-sum", Group.AGGREGATION),
    ("read-only-order", Group.AGGREGATION),
    ("read-only-distinct", Group.AGGREGATION),
    ("read-only-count", Group.AGGREGATION),
)
_WRITES = (
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write.10",
    "read-write.100",
)


class _MicroTest(Test):
    """A test of few rows, or of the work before execution: connecting, planning."""

    @property
    def consumes(self) -> bool:
        """Whether it deletes rows and inserts none."""
        return self.name == "delete"

    @property
    def reconnects(self) -> bool:
        return self.group is Group.CONNECTING

    @property
    def encrypted(self) -> bool:
        return self.name == "connect-tls"

    def lack(self, dbms: Dbms, engine: str | None) -> str | None:
        """Return why a DBMS lacks the test: no SQL, no encryption or no partitions."""
        if self.group in (Group.CONNECTING, Group.PLANNING) and dbms.sql is None:
            return "connecting and planning are only tested with SQL databases"
        if self.encrypted:
            return dbms.lacks("encryption", engine)
        return dbms.lacks("partitions", engine) if self == _PARTITIONS else None


_PARTITIONS = _MicroTest(_NAME, "plan-partitions", Group.PLANNING, Phase.AGED)
_BEFORE_EXECUTION = (
    *(
        _MicroTest(_NAME, name, Group.CONNECTING, Phase.AGED)
        for name in ("connect", "connect-query", "connect-tls")
    ),
    *(
        _MicroTest(_NAME, name, Group.PLANNING, Phase.AGED)
        for name in ("plan-simple", "plan-joins")
    ),
    _PARTITIONS,
)


def _test(name: str, group: Group, phase: Phase) -> Test:
    aggregates = name.startswith("read-only-")
    return _MicroTest(
        benchmark=_NAME,
        name=name,
        group=group,
        phase=phase,
        least_rows=_ROWS_OF_AGGREGATES if aggregates else rows_of_range(name),
    )


_TESTS: tuple[Test, ...] = (
    *(_test(f"{name}.{Phase.PRE}", group, Phase.PRE) for name, group in _READS),
    *(_test(name, Group.WRITE, Phase.WRITE) for name in _WRITES),
    _test("scan", Group.RANGE, Phase.AGED),
    *(_test(name, group, Phase.AGED) for name, group in _READS),
    *_BEFORE_EXECUTION,
    _test("delete", Group.WRITE, Phase.LAST),
    _test("insert", Group.WRITE, Phase.LAST),
)


class _MicroBenchmark(Benchmark):
    """The benchmark. Its partitioned table is loaded only for the test that reads it."""

    def choosing(self, tests: Sequence[Test]) -> Benchmark:
        with_partitions = _PARTITIONS in tests
        return replace(self, driver_benchmark="partitioned") if with_partitions else self

    def further_tables(self) -> Mapping[str, Test]:
        loaded = self.driver_benchmark == "partitioned"
        return {"sbtest_partitioned": _PARTITIONS} if loaded else {}


MICRO = _MicroBenchmark(
    name=_NAME,
    tests=_TESTS,
    suites={
        "full": tuple(test.name for test in _TESTS),
        DEFAULT_SUITE: tuple(test.name for test in _TESTS if test.phase is not Phase.PRE),
        "quick": (
            "update-index",
            "write-only",
            "point-query",
            "random-points.100",
            "range-covered-pk",
            "range-notcovered-si",
            "read-only.100",
            "insert",
        ),
    },
)
