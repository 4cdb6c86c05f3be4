"""Values of a specification that are no plain numbers: sizes, durations, a rate."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from slowdust.benchmarks.options import AsNumber, Duration, Table
from slowdust.units import parse_size

_MB = 1 << 20
_MOST_BYTES = 1 << 50
_LEAST_MEMORY = 64 * _MB
"""No server of today starts with less."""


def _size(value: object) -> object:
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, int) and size < _LEAST_MEMORY:
        raise ValueError(f"{value} is too little: write at least {_LEAST_MEMORY // _MB}MB")
    return _bounded(value, size)


def _whole_megabytes(value: object) -> object:
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, int) and (size < _MB or size % _MB):
        raise ValueError(f"{value} is not a whole number of megabytes: write 1MB, 64MB or more")
    return _bounded(value, size)


def _bounded(value: object, size: object) -> object:
    """Return a size as it is; refuse one, written as `value`, that no machine has."""
    if isinstance(size, int) and size > _MOST_BYTES:
        raise ValueError(f"{value} is too much: write at most {_MOST_BYTES >> 40}TB")
    return size


Memory = Annotated[int, BeforeValidator(_size)]
"""Bytes."""
Pool = Annotated[int, BeforeValidator(_whole_megabytes)]
"""Bytes."""
ShortDuration = Annotated[Duration, Field(le=3600)]
"""Seconds, an hour at most."""


class TrialsTable(Table):
    """Trials in place of slices: a search for the highest rate that meets an SLA."""

    sla: str
    precision: Annotated[float, Field(gt=0)]
    """The half-width of the intervals, a share of 1, at which the search ends."""
    length: Duration | None = None
    """The length of a trial at least."""
    arrivals: Literal["poisson", "uniform"] = "poisson"


class RateTable(Table):
    """An open loop: operations per second over all clients, whatever the server answers."""

    per_second: Annotated[float, Field(gt=0, le=10_000_000), AsNumber]
    arrivals: Literal["poisson", "uniform"] = "poisson"
