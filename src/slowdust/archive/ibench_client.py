"""What the Insert Benchmark's client printed: o.ib, a file for each client.

A header and a row each second, then the histograms of the response times. A row is recognised by
its number of columns; a torn one is none.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowdust.analysis.known import known
from slowdust.archive.text import number_of
from slowdust.store.records import Second

COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
ROLES = {
    "insert": ("i_ips", "max_i", "t_ins"),
    "delete": ("i_dps", "max_d", "t_del"),
    "query": ("i_qps", "max_q", "t_query"),
}
"""Columns: the rate of an interval, its longest operation, and the count since the beginning."""
_ROWS = re.compile(rb"^(?:[\d.\t ]+\n)+", re.MULTILINE)
_RESPONSE_TIMES = re.compile(rb"^(Insert|Delete|Query) rt:([^\n]*)", re.MULTILINE)
_ENDED = re.compile(rb"^Done", re.MULTILINE)
_ROWS_PER_COMMIT = re.compile(rb"--rows_per_commit=(\d{1,9})")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ResponseTimes:
    """A histogram: how many took at most as long as each of `BUCKETS` says."""

    counts: tuple[int, ...]
    longest: Second


@dataclass(frozen=True)
class Course:
    """What one client did in one role, interval by interval."""

    rates: Floats
    """Rows inserted or deleted, or queries, per second."""
    longest_us: Floats
    total: int


@dataclass(frozen=True)
class ClientOutput:
    """All of a file."""

    lengths: Floats
    """Of the intervals, in seconds."""
    elapsed: Second
    """Their sum."""
    courses: dict[str, Course]
    """By role, as in `ROLES`."""
    response_times: dict[str, ResponseTimes]
    """By role."""
    rows_per_commit: int | None
    """Of an insert, as of a delete."""
    ended: bool
    """Whether the client came to its end."""


def read(content: bytes) -> ClientOutput | None:
    """What the file tells; None where it has no whole row."""
    table = _table(content)
    if not len(table):
        return None
    commit = _ROWS_PER_COMMIT.search(content)
    lengths = _column(table, "i_sec")
    return ClientOutput(
        lengths=lengths,
        elapsed=float(lengths.sum()),
        courses={
            role: Course(
                rates=_column(table, rate),
                longest_us=_column(table, longest),
                total=int(_column(table, total)[-1]),
            )
            for role, (rate, longest, total) in ROLES.items()
        },
        response_times=_response_times(content),
        rows_per_commit=int(commit[1]) if commit else None,
        ended=_ENDED.search(content) is not None,
    )


def _column(table: Floats, name: str) -> Floats:
    return np.ascontiguousarray(table[:, COLUMNS.index(name)])


def _table(content: bytes) -> Floats:
    """The whole rows."""
    rows = b"".join(_ROWS.findall(content))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values = np.fromstring(rows.decode(), sep=" ")
        except (ValueError, DeprecationWarning):
            values = np.empty(0)
    if values.size == rows.count(b"\n") * len(COLUMNS):
        return values.reshape(-1, len(COLUMNS))
    whole = [cells for line in rows.decode().splitlines() if (cells := _cells(line)) is not None]
    return np.array(whole, dtype=float).reshape(-1, len(COLUMNS))


def _cells(line: str) -> list[float] | None:
    numbers = known(map(number_of, line.split()))
    return numbers if len(numbers) == len(COLUMNS) == len(line.split()) else None


def _response_times(content: bytes) -> dict[str, ResponseTimes]:
    """A line with the header of each role is followed by one with its values."""
    found: dict[str, ResponseTimes] = {}
    for title, cells in _RESPONSE_TIMES.findall(content):
        values = known(map(number_of, cells.decode(errors="replace").split()))
        if len(values) == len(BUCKETS) + 1:
            *counts, longest = values
            role = title.decode().lower()
            found[role] = ResponseTimes(tuple(map(int, counts)), longest)
    return found
