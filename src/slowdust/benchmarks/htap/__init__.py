"""Mixed load: transactions and analytic queries on the same tables, concurrently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator

from slowdust.benchmarks.htap.tests import (
    HOLD,
    MOST_CLIENTS,
    NAME,
    QUERIES,
    QUERY_SET,
    TRANSACTIONS,
    HtapTest,
    clients_of_point,
    make_tests,
    point,
)
from slowdust.benchmarks.htap.transactions import HtapData
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Test
from slowdust.benchmarks.options import AsCount, AsNumber, Table, own_options, unused_keys
from slowdust.benchmarks.steps import Hold
from slowdust.sql import Dbms
from slowdust.units import Second

__all__ = ["HTAP", "HtapTest"]

_GRID = re.compile(r"(\d+)x(\d+)")


def _grid(value: object) -> object:
    if not isinstance(value, str):
        return value
    if (match := _GRID.fullmatch(value.strip())) is None:
        raise ValueError(f"'{value}' is not a grid: write clients of both sides, such as 4x2")
    return int(match[1]), int(match[2])


Clients = Annotated[int, Field(ge=1, le=MOST_CLIENTS)]
Grid = Annotated[
    tuple[Clients, Clients],
    BeforeValidator(_grid),
    PlainSerializer(lambda grid: f"{grid[0]}x{grid[1]}", return_type=str),
]
"""The largest numbers of clients of transactions and of queries."""


class HtapTable(Table):
    """The table `[htap]` of an experiment file."""

    transactions: Literal["tpcc", "read-write", "insert"] = "tpcc"
    rate: Annotated[float, Field(gt=0, le=10_000_000), AsNumber] = 100.0
    """Transactions per second of all clients, in the background of queries."""
    warehouses: Annotated[int, Field(ge=1, le=10_000), AsCount] = 2
    hold: Hold = 0.0
    """The time that a transaction is held open in the tests `*.hold`; with 0 no suite includes
    them."""
    grid: Grid = (2, 2)

    @field_validator("hold")
    @classmethod
    def _long_enough(cls, value: float) -> float:
        if 0 < value < 1:
            raise ValueError("write 0, or at least 1s")
        return value


_USUAL_HOLD: Second = 10.0
"""The hold of tests `*.hold` that are chosen by name without a hold in the table."""


@dataclass(frozen=True)
class HtapBenchmark(Benchmark):
    """The mixed load, with the tests of its table."""

    settings: HtapTable = field(default_factory=HtapTable)

    def configured(self, table: Table) -> HtapBenchmark:
        assert isinstance(table, HtapTable)
        tests = make_tests(table.rate, table.hold or _USUAL_HOLD, table.grid)
        sides = [QUERY_SET, TRANSACTIONS]
        beside = [f"{side}.beside" for side in sides]
        held = [f"{side}.{HOLD}" for side in sides]
        suites = {
            DEFAULT_SUITE: (*sides, *beside, *(held if table.hold else ())),
            "quick": (*sides, beside[0]),
            "queries": (*QUERIES, QUERY_SET),
            "frontier": tuple(test.name for test in tests if clients_of_point(test.name)),
            "full": tuple(test.name for test in tests if table.hold or test.name not in held),
        }
        return replace(
            self,
            tests=tests,
            suites=suites,
            settings=table,
            connections=sum(table.grid) + 1,  # plus one for a long transaction
        )

    def suits(self, dbms: Dbms) -> bool:
        return dbms.sql is not None and dbms.sql.snapshot is not None

    def described(self, rows: int, tables: int, seed: int) -> HtapData:
        """Return the tables and tests for the driver; the parameters do not matter."""
        return HtapData(self.settings.warehouses, self.settings.transactions)

    def loaded(self, rows: int) -> str:
        return self.described(rows, 1, 0).phrase

    def test(self, name: str) -> Test | None:
        """Return the test with this name, including points of other grids; None if unknown."""
        clients = clients_of_point(name)
        return point(*clients) if clients and any(clients) else super().test(name)

    def sequence(self, tests: Sequence[Test], levels: Sequence[int]) -> list[tuple[Test, int]]:
        """Return each test at each number of clients, and points of a frontier at their own."""
        return [
            (test, clients)
            for test in tests
            for clients in (
                [test.clients] if isinstance(test, HtapTest) and test.clients else levels
            )
        ]


HTAP = HtapBenchmark(
    name=NAME,
    tests=(),
    suites={},
    most_clients=MOST_CLIENTS,
    options_type=HtapTable,
    options=own_options(NAME),
    unused_keys=unused_keys(NAME),
).configured(HtapTable())
