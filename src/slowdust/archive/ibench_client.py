"""What the Insert Benchmark's client printed: o.ib, a file for each client.

A header and a row each second, then the histograms of the response times. A row is recognised by
its number of columns; a torn one is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_HEADER = b"i_sec"
_FIRST_HISTOGRAM = b"Insert rt:"
_COMMAND_LINE = 10_000
"""Bytes at the beginning of a file, in which it is."""
_OF_NUMBERS = b"0123456789.\t\n "
_NUMBERS = re.compile(rb"(?:(?:\d+(?:\.\d+)?|\.\d+)(?: |$))+")
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
    end = content.find(_FIRST_HISTOGRAM)
    head, tail = (content, b"") if end < 0 else (content[:end], content[end:])
    lines = head[head.find(_HEADER) :].partition(b"\n")[2] if _HEADER in head else head
    measured = _measured(lines)
    if measured is None:
        return None
    lengths, courses = measured
    commit = _ROWS_PER_COMMIT.search(head, 0, _COMMAND_LINE)
    return ClientOutput(
        lengths=lengths,
        elapsed=float(lengths.sum()),
        courses=courses,
        response_times=_response_times(tail),
        rows_per_commit=int(commit[1]) if commit else None,
        ended=_ENDED.search(tail) is not None,
    )


def _measured(lines: bytes) -> tuple[Floats, dict[str, Course]] | None:
    """Lengths of the intervals, and what each role did in them; None without a whole row.

    Nearly every file is whole: only one that shows itself torn is looked at row by row.
    """
    cells = lines.split()
    whole = len(cells) == len(COLUMNS) * lines.count(b"\n")
    if cells and whole and not lines.translate(None, _OF_NUMBERS):
        try:
            return _columns(cells)
        except ValueError:
            pass
    kept = _cells_of_whole_rows(lines)
    return _columns(kept) if kept else None


def _columns(cells: Sequence[bytes]) -> tuple[Floats, dict[str, Course]]:
    """Raises ValueError where a cell that is needed is no number."""
    courses = {
        role: Course(
            rates=_column(cells, rate),
            longest_us=_column(cells, longest),
            total=int(float(cells[COLUMNS.index(total) - len(COLUMNS)])),
        )
        for role, (rate, longest, total) in ROLES.items()
    }
    return _column(cells, "i_sec"), courses


def _column(cells: Sequence[bytes], name: str) -> Floats:
    return np.array(list(map(float, cells[COLUMNS.index(name) :: len(COLUMNS)])))


def _cells_of_whole_rows(lines: bytes) -> list[bytes]:
    """One row after the other."""
    rows = (line.split() for line in lines.splitlines())
    return [
        cell
        for row in rows
        if len(row) == len(COLUMNS) and _NUMBERS.fullmatch(b" ".join(row))
        for cell in row
    ]


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
