"""What the Insert Benchmark's client printed: o.ib, a file for each client.

A header and a row each second, then the histograms of the response times. A row is recognised by
its number of columns; a torn one is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.known import known
from slowdust.archive.text import number_of
from slowdust.store.records import Second

COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
_RESPONSE_TIMES = re.compile(r"(Insert|Delete|Query) rt:")
_ENDED = "Done"
_ROWS_PER_COMMIT = re.compile(r"--rows_per_commit=(\d+)")


@dataclass(frozen=True)
class SecondOfClient:
    """What one client did in one second."""

    seconds: Second
    """Length of the interval."""
    inserts: float
    """Rows per second, as are deletes."""
    deletes: float
    queries: float
    """Per second."""
    longest_insert_us: int
    longest_delete_us: int
    longest_query_us: int


@dataclass(frozen=True)
class ResponseTimes:
    """A histogram: how many took at most as long as each of `BUCKETS` says."""

    counts: tuple[int, ...]
    longest: Second


@dataclass(frozen=True)
class ClientOutput:
    """All of a file."""

    seconds: tuple[SecondOfClient, ...]
    inserts: int
    deletes: int
    queries: int
    response_times: dict[str, ResponseTimes]
    """`insert`, `delete`, `query`."""
    rows_per_commit: int | None
    """Of an insert, as of a delete."""
    ended: bool
    """Whether the client came to its end."""

    @property
    def elapsed(self) -> Second:
        """Of the rows."""
        return sum(second.seconds for second in self.seconds)


def read(lines: Sequence[str]) -> ClientOutput | None:
    """What the file tells; None where it has no whole row."""
    rows = [cells for line in lines if (cells := _row(line)) is not None]
    if not rows:
        return None
    last = dict(zip(COLUMNS, rows[-1], strict=True))
    return ClientOutput(
        seconds=tuple(map(_second, rows)),
        inserts=int(last["t_ins"]),
        deletes=int(last["t_del"]),
        queries=int(last["t_query"]),
        response_times=_response_times(lines),
        rows_per_commit=int(found[1]) if (found := _ROWS_PER_COMMIT.search(lines[0])) else None,
        ended=any(line.startswith(_ENDED) for line in lines[-3:]),
    )


def _row(line: str) -> list[float] | None:
    cells = line.split()
    if len(cells) != len(COLUMNS):
        return None
    numbers = known(map(number_of, cells))
    return numbers if len(numbers) == len(cells) else None  # the header, or torn


def _second(cells: Sequence[float]) -> SecondOfClient:
    row = dict(zip(COLUMNS, cells, strict=True))
    return SecondOfClient(
        seconds=row["i_sec"],
        inserts=row["i_ips"],
        deletes=row["i_dps"],
        queries=row["i_qps"],
        longest_insert_us=int(row["max_i"]),
        longest_delete_us=int(row["max_d"]),
        longest_query_us=int(row["max_q"]),
    )


def _response_times(lines: Sequence[str]) -> dict[str, ResponseTimes]:
    found: dict[str, ResponseTimes] = {}
    for number, line in enumerate(lines[:-2]):
        if title := _RESPONSE_TIMES.match(line):
            cells = lines[number + 1].split()
            if cells[: len(BUCKETS)] == list(BUCKETS):
                cells = lines[number + 2].split()
            values = known(map(number_of, cells))
            if len(values) == len(BUCKETS) + 1:
                *counts, longest = values
                found[title[1].lower()] = ResponseTimes(tuple(map(int, counts)), longest)
    return found
