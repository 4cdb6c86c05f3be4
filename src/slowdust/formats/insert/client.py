"""What the Insert Benchmark's client printed: o.ib, a file for each client.

A header and a row each second, then the histograms of the response times. A row is recognised by
its number of columns; a torn one is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from slowdust.formats.insert.course import COLUMNS, Courses, courses, courses_of_whole
from slowdust.formats.text import number_of
from slowdust.units import Second, known

BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
_HEADER = b"i_sec"
_FIRST_HISTOGRAM = b"Insert rt:"
_COMMAND_LINE = 10_000
"""Bytes at the beginning of a file, in which it is."""
_NUMBERS = re.compile(rb"(?:(?:\d+(?:\.\d+)?|\.\d+)(?: |$))+")
_RESPONSE_TIMES = re.compile(rb"^(Insert|Delete|Query) rt:([^\n]*)", re.MULTILINE)
_ENDED = re.compile(rb"^Done", re.MULTILINE)
_TOTALS = re.compile(rb"^Totals: [\d.]+ secs, [\d.]+ rows/sec, (\d{1,15}) rows", re.MULTILINE)
_ROWS_PER_COMMIT = re.compile(rb"--rows_per_commit=(\d{1,9})")
_AS_JSON = bytes.maketrans(b"\t\n", b",,")
_DECODER = msgspec.json.Decoder(list[float])


@dataclass(frozen=True)
class ResponseTimes:
    """A histogram: how many took at most as long as each of `BUCKETS` says."""

    counts: tuple[int, ...]
    longest: Second


@dataclass(frozen=True)
class ClientOutput:
    """All of a file."""

    courses: Courses
    response_times: dict[str, ResponseTimes]
    """By role."""
    rows_per_commit: int | None
    """Of an insert, as of a delete."""
    ended: bool
    """Whether the client came to its end."""
    complete: bool
    """Whether it did, and has all of its rows up to there."""
    damage: tuple[str, ...]
    """What is wrong with it, in words."""


def read(content: bytes) -> ClientOutput | None:
    """What the file tells; None where it has no whole row."""
    end = content.find(_FIRST_HISTOGRAM)
    head, tail = (content, b"") if end < 0 else (content[:end], content[end:])
    lines = head[head.find(_HEADER) :].partition(b"\n")[2] if _HEADER in head else head
    found = _courses(lines)
    if found is None:
        return None
    commit = _ROWS_PER_COMMIT.search(head, 0, _COMMAND_LINE)
    ended, end_missing = _ENDED.search(tail) is not None, tuple(_end_missing(found, tail))
    return ClientOutput(
        courses=found,
        response_times=_response_times(tail),
        rows_per_commit=int(commit[1]) if commit else None,
        ended=ended,
        complete=ended and not end_missing,
        damage=(*found.damage, *end_missing),
    )


def _courses(lines: bytes) -> Courses | None:
    """Nearly every file is whole: only one that shows itself damaged is looked at row by row."""
    numbers = _numbers(lines)
    if numbers and len(numbers) == len(COLUMNS) * lines.count(b"\n"):
        rows = np.fromiter(numbers, float, len(numbers)).reshape(-1, len(COLUMNS))
        if (whole := courses_of_whole(rows)) is not None:
            return whole
    cells = [line.split() for line in lines.splitlines()]
    rows_of_numbers = [
        list(map(float, row))
        for row in cells
        if len(row) == len(COLUMNS) and _NUMBERS.fullmatch(b" ".join(row))
    ]
    begun = sum(bool(row) and row[0][:1].isdigit() for row in cells)
    rows = np.array(rows_of_numbers).reshape(-1, len(COLUMNS))
    return courses(rows, max(0, begun - len(rows)))


def _numbers(lines: bytes) -> list[float] | None:
    """All numbers of lines that have nothing else; None of others."""
    try:
        return _DECODER.decode(b"[" + lines[:-1].translate(_AS_JSON) + b"]")
    except msgspec.DecodeError:
        return None


def _end_missing(found: Courses, tail: bytes) -> Iterator[str]:
    """The client says in the end how many rows it had inserted when it printed the last row."""
    there = found.of_roles["insert"].total
    if (told := _TOTALS.search(tail)) is not None and int(told[1]) != there:
        yield f"{there:,} rows inserted by its last row and {int(told[1]):,} by its end"


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
