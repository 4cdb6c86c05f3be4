"""The output of the Insert Benchmark's client: o.ib, a file for each client.

A header and a row for each second, then the histograms of the response times. A row has the
rates of its interval, and the rates and counts since the beginning. The scripts around the client
extract the histograms: o.rt.t.<role> has a line of counts for each client (t1:, t2:, ...), one of
their sums (sum:) and one of percent (pct:); mrg.<step>.rt.<role> the percentages of each run, of
which the longest time is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowdust.formats.text import number_of
from slowdust.units import Second, known
from slowdust.wording import counted

COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
ROLES = ("insert", "delete", "query")
"""The order of the columns below."""
_LENGTH, _END, _LONGEST, _TOTALS = 0, 1, slice(8, 11), slice(11, 14)
BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
_HEADER = b"i_sec"
_COMMAND_LINE = 10_000
"""Bytes at the beginning of a file that have the command line."""
_ROW = re.compile(rb"(?:(?:\d{1,15}(?:\.\d+)?|\.\d+)(?: |$))+")
_LARGEST = 1e15
_RESPONSE_TIMES = re.compile(rb"^(Insert|Delete|Query) rt:([^\n]*)", re.MULTILINE)
_ENDED = re.compile(rb"^Done", re.MULTILINE)
_TOTALS_AT_END = re.compile(
    rb"^Totals: [\d.]+ secs, [\d.]+ rows/sec, (\d{1,15}) rows", re.MULTILINE
)
_ROWS_PER_COMMIT = re.compile(rb"--rows_per_commit=(\d{1,9})")
_AS_JSON = bytes.maketrans(b"\t\n", b",,")
_DECODER = msgspec.json.Decoder(list[float])

Floats = NDArray[np.float64]

_GAP: Second = 0.5
"""Distance of a row from the one before it that rounding cannot explain."""
_CELLS = len(BUCKETS) + 2
"""Cells of a line of a histogram: the buckets, the longest, the tag."""


@dataclass(frozen=True)
class ResponseTimes:
    """A histogram: the statements that took at most as long as each of `BUCKETS` says."""

    counts: tuple[int, ...]
    longest: Second


@dataclass(frozen=True)
class RoleOutput:
    """The work of one client in one role."""

    done: Floats
    """Rows inserted or deleted, or queries, in each interval."""
    longest_us: Floats
    """The longest statement of each interval."""
    total: int


@dataclass(frozen=True)
class ClientOutput:
    """The content of a file."""

    lengths: Floats
    """Seconds of each interval."""
    elapsed: Second
    """The time from the beginning to the last row."""
    roles: dict[str, RoleOutput]
    """The work in each of `ROLES`."""
    response_times: dict[str, ResponseTimes]
    """Role -> its histogram, where the file has one."""
    rows_per_commit: int | None
    """Rows of an insert, as of a delete."""
    unbroken: bool
    """Whether all of its rows can be read, and each follows the one before."""
    ended: bool
    """Whether the client came to its end."""
    complete: bool
    """Whether it came to its end, and its last row has all that was inserted."""
    damage: tuple[str, ...]
    """Damage of the file, in words."""


def read(content: bytes) -> ClientOutput | None:
    """Read a file; return None where it has no whole row."""
    end = content.find(b"Insert rt:")
    head, tail = (content, b"") if end < 0 else (content[:end], content[end:])
    lines = head[head.find(_HEADER) :].partition(b"\n")[2] if _HEADER in head else head
    rows, damaged = _read_rows(lines)
    if not len(rows):
        return None
    done = np.diff(rows[:, _TOTALS], axis=0, prepend=0)
    roles = {
        role: RoleOutput(done[:, place], longest_us, int(rows[-1, _TOTALS][place]))
        for place, (role, longest_us) in enumerate(zip(ROLES, rows.T[_LONGEST], strict=True))
    }
    commit = _ROWS_PER_COMMIT.search(head, 0, _COMMAND_LINE)
    ended = _ENDED.search(tail) is not None
    missing, inserted = [], roles["insert"].total
    if (total := _TOTALS_AT_END.search(tail)) is not None and int(total[1]) != inserted:
        missing = [f"{inserted:,} rows inserted by its last row and {int(total[1]):,} by its end"]
    # Counts only grow, and a row begins where the one before it ended.
    gaps = np.abs(np.diff(rows[:, _END], prepend=0) - rows[:, _LENGTH]) > _GAP
    broken = 0 if damaged else int(np.sum(gaps | (done < 0).any(axis=1)))
    response_times: dict[str, ResponseTimes] = {}
    for title, cells in _RESPONSE_TIMES.findall(tail):  # a line of names, and one of values
        values = known(map(number_of, cells.decode(errors="replace").split()))
        if len(values) == len(BUCKETS) + 1:
            *counts, longest = values
            histogram = ResponseTimes(tuple(map(int, counts)), longest)
            response_times[title.decode().lower()] = histogram
    return ClientOutput(
        lengths=rows[:, _LENGTH],
        elapsed=float(rows[-1, _END]),
        roles=roles,
        response_times=response_times,
        rows_per_commit=int(commit[1]) if commit else None,
        unbroken=not damaged and not broken,
        ended=ended,
        complete=ended and not missing,
        damage=(
            *([counted(damaged, "damaged row")] if damaged else []),
            *([f"{counted(broken, 'row')} not following the one before"] if broken else []),
            *missing,
        ),
    )


def _read_rows(lines: bytes) -> tuple[Floats, int]:
    """Return the rows, and the number of lines that begin like a row and cannot be read."""
    whole, _, torn = lines.rpartition(b"\n")
    separated = whole.split(b"\n")
    if not torn and {line.count(b"\t") for line in separated} == {len(COLUMNS) - 1}:
        with suppress(msgspec.DecodeError):  # a cell is something else than a number
            numbers = np.array(_DECODER.decode(b"[" + whole.translate(_AS_JSON) + b"]"))
            if len(numbers) == len(separated) * len(COLUMNS):
                rows = numbers.reshape(-1, len(COLUMNS))
                if rows.min() >= 0 and rows.max() < _LARGEST:
                    return rows, 0
    cells = [line.split() for line in separated]
    readable = [
        list(map(float, row))
        for row in cells
        if len(row) == len(COLUMNS) and _ROW.fullmatch(b" ".join(row))
    ]
    begun = sum(bool(row) and row[0][:1].isdigit() for row in [*cells, torn.split()])
    return np.array(readable).reshape(-1, len(COLUMNS)), max(0, begun - len(readable))


def read_sum(lines: Sequence[str]) -> ResponseTimes | None:
    """Return the counts of all clients of a step (o.rt.t); None where there are none."""
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) == _CELLS and cells[-1].startswith("sum:"):
            *counts, longest = known(map(_number, cells[:-1])) or [0.0]
            if len(counts) == len(BUCKETS):
                return ResponseTimes(tuple(map(int, counts)), longest)
    return None


def read_merged(lines: Sequence[str]) -> tuple[dict[str, Second], list[str]]:
    """Return the longest time of each tag in a step (mrg.<step>.rt), and the damaged lines."""
    longest_by_tag: dict[str, Second] = {}
    damaged = []
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if line.strip() in ("", "-") or "max" in cells:
            continue
        longest = _number(cells[-2]) if len(cells) == _CELLS else None
        # A percentage above 0 that prints as 0.000 is `nonzero`.
        shares = [cell for cell in cells[:-2] if cell != "nonzero"]
        if longest is None or None in map(_number, shares):
            damaged.append(line)
        else:
            longest_by_tag.setdefault(cells[-1], longest)
    return longest_by_tag, damaged


def _number(cell: str) -> float | None:
    """Return the number of a bucket or a time; an empty bucket may be an empty cell."""
    return number_of(cell) if cell else 0.0
