"""What one client of the Insert Benchmark did, row by row, and which of its rows can be believed.

Each row has the rates of its interval, and the rates and counts since the beginning. So rows that
are missing, replaced or edited contradict themselves or their neighbours, while the counts since
the beginning of any later row are still those of all that was done.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slowdust.units import Second
from slowdust.wording import counted

COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
ROLES = ("insert", "delete", "query")
"""The order in which the columns below are."""
_LENGTH, _END = 0, 1
_RATES, _MEAN_RATES = slice(2, 8, 2), slice(3, 8, 2)
_LONGEST, _TOTALS = slice(8, 11), slice(11, 14)
_ROUNDED_RATE, _ROUNDED_SECONDS = 0.6, 0.07
"""How far printed numbers may be from what was measured, with a little room."""
_ROUNDED_LENGTHS = 0.25
"""The same of three lengths of time, in seconds."""

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class Course:
    """What one client did in one role."""

    done: Floats
    """Rows inserted or deleted, or queries, in each interval."""
    longest_us: Floats
    total: int


@dataclass(frozen=True)
class Courses:
    """What one client did."""

    lengths: Floats
    """Of the intervals, in seconds."""
    elapsed: Second
    """From the beginning to the last row that can be believed."""
    of_roles: dict[str, Course]
    unbroken: bool
    """Whether there is a row for every interval."""
    damage: tuple[str, ...]
    """What is wrong with the rows, in words."""


@np.errstate(all="ignore")
def courses_of_whole(rows: Floats) -> Courses | None:
    """What rows with `COLUMNS` each say that contradict nothing; None of others."""
    done = np.diff(rows[:, _TOTALS], axis=0, prepend=0)
    between, slack = _between(rows)
    whole = (
        bool((np.abs(between) <= slack).all())
        and bool((_off(rows, done) <= 0).all())
        and bool(_agree(rows[-1:]).all())
        and rows.min() >= 0
    )
    return _courses(rows, done) if whole else None


@np.errstate(all="ignore")
def courses(rows: Floats, torn: int) -> Courses | None:
    """What any rows say; None where none of them agrees with itself.

    `torn` is how many more there are that have not as many columns.
    """
    finite = rows[np.isfinite(rows).all(axis=1)]
    believed = _in_order(finite[_agree(finite) & (finite[:, _END] > 0)])
    if not len(believed):
        return None
    between, slack = _between(believed)
    gaps = between > slack
    done = np.diff(believed[:, _TOTALS], axis=0, prepend=0)
    wrong = _off(believed, done) > 0
    wrong[gaps] = False
    damage = [
        *_missing(believed, between[gaps].sum(), torn + len(rows) - len(believed)),
        *_contradictions(believed, wrong, between < -slack),
    ]
    return replace(
        _courses(believed, done),
        unbroken=not gaps.any() and len(believed) == len(rows) and not torn,
        damage=tuple(damage[:1]),
    )


def _courses(rows: Floats, done: Floats) -> Courses:
    return Courses(
        lengths=rows[:, _LENGTH],
        elapsed=float(rows[-1, _END]),
        of_roles={
            role: Course(done[:, place], longest_us, int(rows[-1, _TOTALS][place]))
            for place, (role, longest_us) in enumerate(zip(ROLES, rows.T[_LONGEST], strict=True))
        },
        unbroken=True,
        damage=(),
    )


def _between(rows: Floats) -> tuple[Floats, Floats]:
    """Seconds from the end of a row to the beginning of the next, and how many mean nothing."""
    lengths = rows[:, _LENGTH]
    slack = np.maximum(_ROUNDED_LENGTHS, 0.1 * lengths)
    return np.diff(rows[:, _END], prepend=0) - lengths, slack


def _off(rows: Floats, done: Floats) -> Floats:
    """By how much more than rounding the rates of intervals are not what was done in them."""
    lengths = rows[:, _LENGTH, None]
    real = np.abs(done) / np.maximum(lengths, _ROUNDED_SECONDS)
    allowed = _ROUNDED_RATE * lengths + _ROUNDED_SECONDS * real + 1
    return np.abs(done - rows[:, _RATES] * lengths) - allowed


def _agree(rows: Floats) -> Truths:
    """Whether the counts of a row are those of its time and its mean rates."""
    seconds, means = rows[:, _END, None], rows[:, _MEAN_RATES]
    off = np.abs(rows[:, _TOTALS] - means * seconds)
    allowed = _ROUNDED_RATE * seconds + _ROUNDED_SECONDS * means + 1
    return np.asarray(np.all(off <= allowed, axis=1))


def _in_order(rows: Floats) -> Floats:
    """Without as few as possible each is later than the one before: one row with a wrong time
    is left out, not all those behind it."""
    earliest: list[float] = []
    """The least end of as many rows in order as its place says."""
    places = []
    for end in rows[:, _END]:
        place = bisect_left(earliest, end)
        earliest[place : place + 1] = [end]
        places.append(place)
    kept, wanted = [], len(earliest) - 1
    for row in reversed(range(len(rows))):
        if places[row] == wanted:
            kept.append(row)
            wanted -= 1
    return rows[kept[::-1]]


def _missing(believed: Floats, seconds: float, damaged: int) -> Iterator[str]:
    if seconds:
        end = believed[-1, _END]
        yield f"rows of {seconds:.0f} of its {end:.0f} s are missing or damaged"
    elif damaged:
        yield counted(damaged, "damaged row")


def _contradictions(rows: Floats, wrong: Truths, overlapping: Truths) -> Iterator[str]:
    """Intervals in which less, or more, was done than their rates or lengths say."""
    found = np.flatnonzero(wrong.any(axis=1) | overlapping)
    if not len(found):
        return
    first = found[0]
    pair = "i_sec and t_sec"
    if not overlapping[first]:
        place = int(np.argmax(wrong[first]))
        pair = f"{COLUMNS[_RATES][place]} and {COLUMNS[_TOTALS][place]}"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    yield f"{pair} contradict each other at {rows[first, _END]:.1f} s{more}"
