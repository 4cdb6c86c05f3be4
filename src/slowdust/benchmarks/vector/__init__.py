"""Nearest-neighbour searches: recall and QPS of vector indexes, and the cost of building them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from slowdust.benchmarks.model import Benchmark, Candidate, Test
from slowdust.benchmarks.options import Table, own_options, unused_keys
from slowdust.benchmarks.vector.data import read_header
from slowdust.benchmarks.vector.options import (
    NAME,
    VectorTable,
    VectorTest,
    make_suites,
    make_tests,
    test_called,
)
from slowdust.benchmarks.vector.tables import VectorData
from slowdust.errors import UsageError
from slowdust.places import named_path
from slowdust.wording import counted

__all__ = ["VECTOR", "VectorBenchmark"]

_USUAL_ROWS = 10_000


@dataclass(frozen=True)
class VectorBenchmark(Benchmark):
    """The benchmark, with the searches and the data of its table."""

    settings: VectorTable = field(default_factory=VectorTable)

    def configured(self, table: Table) -> VectorBenchmark:
        assert isinstance(table, VectorTable)
        header = table.header
        return replace(
            self,
            tests=make_tests(table),
            suites=make_suites(table),
            settings=table,
            most_rows=header.rows if header else None,
        )

    def test(self, name: str) -> Test | None:
        return test_called(name)

    def usual_rows(self, table: object) -> int:
        """Return the rows of the file, if there is a readable one."""
        if isinstance(table, Mapping) and isinstance(path := table.get("dataset"), str):
            with suppress(ValueError, UsageError):
                return read_header(named_path(path)).rows
        return _USUAL_ROWS

    def refusal(self, server: Candidate) -> str | None:
        sql = server.dbms.sql
        if sql is None or sql.vectors is None:
            return f"{server.dbms.name} has no vector indexes"
        metric = self.settings.distance.name
        return sql.vectors.refusal(server.version, server.root, server.engine, metric)

    def loaded(self, rows: int) -> str:
        header = self.settings.header
        dimensions = header.dimensions if header else self.settings.of_shape.dimensions
        return f"{counted(rows, 'vector')} of {counted(dimensions, 'dimension')}"

    def choosing(self, tests: Sequence[Test]) -> VectorBenchmark:
        """Return the benchmark with these tests only, so that only their tables are created."""
        return replace(self, tests=tuple(tests))

    def described(self, rows: int, tables: int, seed: int) -> VectorData:
        tests = [test for test in self.tests if isinstance(test, VectorTest)]
        return VectorData(self.settings, rows, seed, tests)


VECTOR = VectorBenchmark(
    name=NAME,
    tests=(),
    suites={},
    config=NAME,
    incarnations_of_a_load=1,  # the links of an index are random
    options_type=VectorTable,
    options=own_options(NAME),
    unused_keys=unused_keys(NAME),
).configured(VectorTable())
