"""The table `[insert]` of an experiment file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from slowdust.benchmarks.options import AsCount, Duration
from slowdust.benchmarks.steps import StepTable
from slowdust.wording import no_such

WORKLOADS = ("quick", "cached", "less-io-bound", "more-io-bound")
"""Sizes of the data; the first is the default."""
RATES = (100, 500, 1000)
"""Rows per second of each client that are inserted, and deleted, beside the queries."""
_FEWEST_ROWS = 100
"""Rows among which queries can look for ten."""

Positive = Annotated[int, Field(ge=1), AsCount]
WritesPerSecond = Annotated[int, Field(ge=1, le=10_000_000), AsCount]
RowsPerCommit = Annotated[int, Field(ge=1, le=1000), AsCount]
"""A number of rows that fits into one statement of every DBMS."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int | str) and not isinstance(value, bool) else value


class InsertTable(StepTable):
    """The keys of the table; those that are left out have the workload's values."""

    workload: str = WORKLOADS[0]
    rows: Annotated[list[Positive], BeforeValidator(_as_list)] | None = Field(
        default=None, min_length=1, max_length=3
    )
    """Rows that each client inserts in l.i0, l.i1 and l.i2; those left out follow from l.i0's."""
    seconds: Duration | None = None
    """Length of each step with queries."""
    rates: list[WritesPerSecond] = Field(default=list(RATES), min_length=1)
    rows_per_commit: list[RowsPerCommit] = Field(
        default=[100, 50, 5, 50], min_length=4, max_length=4
    )
    """Rows per commit of l.i0, l.i1, l.i2 and the steps with queries."""

    @field_validator("workload")
    @classmethod
    def _known_workload(cls, value: str) -> str:
        if value not in WORKLOADS:
            raise ValueError(no_such("workload", value, WORKLOADS))
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
            raise ValueError("the same rate is given twice")
        return sorted(value)
