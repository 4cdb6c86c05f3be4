"""The table `[insert]` of an experiment file: how the Insert Benchmark is run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from slowdust.benchmarks.insert import RATES, WORKLOADS
from slowdust.experiment.spec.values import Duration, Strict

Positive = Annotated[int, Field(ge=1)]
WritesPerSecond = Annotated[int, Field(ge=1, le=10_000_000)]
RowsPerCommit = Annotated[int, Field(ge=1, le=1000)]
"""More would not fit into one statement of every DBMS."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


class InsertSpec(Strict):
    """Field names are the keys of the table; what is left out is the workload's."""

    workload: str = WORKLOADS[0]
    rows: Annotated[list[Positive], BeforeValidator(_as_list)] | None = Field(
        default=None, min_length=1, max_length=3
    )
    """Rows that each client inserts in l.i0, l.i1 and l.i2; those left out follow from l.i0's."""
    seconds: Duration | None = None
    """Of each step with queries."""
    rates: list[Annotated[int, Field(ge=1, le=10_000_000)]] = Field(
        default=list(RATES), min_length=1
    )
    """Rows per second of each client that are inserted, and deleted, beside queries."""
    rows_per_commit: list[RowsPerCommit] = Field(
        default=[100, 50, 5, 50], min_length=4, max_length=4
    )
    """Of l.i0, l.i1, l.i2 and the steps with queries."""
    table: Literal["per-client", "shared"] = "per-client"
    partitions: int = Field(default=0, ge=0, le=1000)
    """Of each table, by ranges of the primary key; 0: not partitioned."""
    long_transaction: Duration | None = None
    """Beside the work a transaction is held open so long, and then begun anew."""
    statements: Literal["prepared", "text"] = "prepared"

    @field_validator("workload")
    @classmethod
    def _known_workload(cls, value: str) -> str:
        if value not in WORKLOADS:
            raise ValueError(f"unknown workload '{value}': there are {', '.join(WORKLOADS)}")
        return value

    @field_validator("rows")
    @classmethod
    def _enough_to_query(cls, value: list[int] | None) -> list[int] | None:
        if value is not None and value[0] < _FEWEST_ROWS:
            raise ValueError(f"l.i0 needs at least {_FEWEST_ROWS} rows")
        return value

    @field_validator("rates")
    @classmethod
    def _distinct_rates(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same rate stands there twice")
        return sorted(value)

    @field_validator("partitions")
    @classmethod
    def _more_than_one(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one partition is none: write 2 or more, or leave it out")
        return value

    @property
    def shares_table(self) -> bool:
        """Whether all clients have one table."""
        return self.table == "shared"

    def tables(self, clients: int) -> int:
        """How many tables so many clients have."""
        return 1 if self.shares_table else clients


_FEWEST_ROWS = 100
"""Queries look for ten rows among them."""
