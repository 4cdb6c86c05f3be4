"""The table `[htap]` of an experiment file, and the options of `compare` that set its keys."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator

from slowdust.benchmarks.htap.tests import MOST_CLIENTS
from slowdust.benchmarks.options import AsCount, AsNumber, Option, Table
from slowdust.benchmarks.steps import Hold

_GRID = re.compile(r"(\d+)x(\d+)")


def _grid(value: object) -> object:
    if not isinstance(value, str):
        return value
    if (match := _GRID.fullmatch(value.strip())) is None:
        raise ValueError(f"'{value}' is no grid: write clients of both sides, 4x2")
    return int(match[1]), int(match[2])


Clients = Annotated[int, Field(ge=1, le=MOST_CLIENTS)]
Grid = Annotated[
    tuple[Clients, Clients],
    BeforeValidator(_grid),
    PlainSerializer(lambda grid: f"{grid[0]}x{grid[1]}", return_type=str),
]
"""The most clients of transactions, and of queries."""


class HtapTable(Table):
    """The keys of the table."""

    transactions: Literal["tpcc", "read-write", "insert"] = "tpcc"
    rate: Annotated[float, Field(gt=0, le=10_000_000), AsNumber] = 100.0
    """Transactions per second beside the queries, of all clients."""
    warehouses: Annotated[int, Field(ge=1, le=10_000), AsCount] = 2
    hold: Hold = 0.0
    """The time for which a transaction is held open in the tests called `.hold`; 0: no such test
    is in a suite."""
    grid: Grid = (2, 2)

    @field_validator("hold")
    @classmethod
    def _long_enough(cls, value: float) -> float:
        if 0 < value < 1:
            raise ValueError("a transaction is held for a second at the least, or not (0)")
        return value


OPTIONS = (
    Option(
        "--transactions",
        "[tpcc|read-write|insert]",
        "TPC-C's, sysbench's, or the Insert Benchmark's writers.  [tpcc]",
    ),
    Option("--rate", "NUMBER", "transactions/s of all clients beside the queries.  [100]"),
    Option("--warehouses", "INTEGER", "warehouses, of a tenth of TPC-C's rows each.  [2]"),
    Option("--hold", "TIME", "measure beside a transaction that is open so long, too.  [none]"),
    Option("--grid", "TxQ", "most clients of transactions and of queries in mixed.*.  [2x2]"),
)
"""Options of `slowdust compare`."""
