"""What one client of the Insert Benchmark did, row by row, and which of its rows can be believed.

Each row has the rates of its interval, and the rates and counts since the beginning. So rows that
are missing, replaced or edited contradict themselves or their neighbours, while the counts since
the beginning of any later row are still those of all that was done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowdust.archive.text import counted
from slowdust.store.records import Second

COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
ROLES = ("insert", "delete", "query")
"""The order in which the columns below are."""
_RATES = ("i_ips", "i_dps", "i_qps")
_MEAN_RATES = ("t_ips", "t_dps", "t_qps")
_LONGEST = ("max_i", "max_d", "max_q")
_TOTALS = ("t_ins", "t_del", "t_query")
_ROUNDED_RATE, _ROUNDED_SECONDS = 0.6, 0.07
"""How far printed numbers may be from what was measured, with a little room."""
_ROUNDED_LENGTHS = 0.25
"""The same of three lengths of time, in seconds."""
_TOLD = "rates are those of its counts since the beginning"

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


def courses(rows: Floats, torn: int) -> Courses | None:
    """What the rows, with `COLUMNS` each, say; None where none of them agrees with itself.

    `torn` is how many more there are that have not as many columns.
    """
    finite = rows[np.isfinite(rows).all(axis=1)]
    believed = _in_order(finite[_agree(finite)])
    if not len(believed):
        return None
    lengths, ends = _columns(believed, "i_sec")[:, 0], _columns(believed, "t_sec")[:, 0]
    between = np.diff(ends, prepend=0) - lengths
    slack = np.maximum(_ROUNDED_LENGTHS, 0.1 * lengths)
    totals = _columns(believed, *_TOTALS)
    done = np.diff(totals, axis=0, prepend=0)
    gaps = between > slack
    damage = [
        *_missing(believed, between[gaps].sum(), torn + len(rows) - len(believed)),
        *_contradictions(believed, done, gaps, between < -slack),
    ]
    longest = _columns(believed, *_LONGEST)
    return Courses(
        lengths=lengths,
        elapsed=float(ends[-1]),
        of_roles={
            role: Course(done[:, place], longest[:, place], int(totals[-1, place]))
            for place, role in enumerate(ROLES)
        },
        unbroken=not gaps.any() and len(believed) == len(rows) and not torn,
        damage=tuple(f"{told}: {_TOLD}" for told in damage[:1]),
    )


def _columns(rows: Floats, *names: str) -> Floats:
    return rows[:, [COLUMNS.index(name) for name in names]]


def _agree(rows: Floats) -> Truths:
    """Whether the counts of a row are those of its time and its mean rates."""
    seconds, means = _columns(rows, "t_sec"), _columns(rows, *_MEAN_RATES)
    off = np.abs(_columns(rows, *_TOTALS) - means * seconds)
    allowed = _ROUNDED_RATE * seconds + _ROUNDED_SECONDS * means + 1
    return np.asarray(np.all(off <= allowed, axis=1))


def _in_order(rows: Floats) -> Floats:
    """Without those that are not later than all before them."""
    ends = _columns(rows, "t_sec")[:, 0]
    latest = np.maximum.accumulate(np.concatenate(([0.0], ends)))[:-1]
    return rows[ends > latest]


def _missing(believed: Floats, seconds: float, damaged: int) -> Iterator[str]:
    if seconds:
        end = believed[-1, COLUMNS.index("t_sec")]
        yield f"rows of {seconds:.0f} of its {end:.0f} s are missing or damaged"
    elif damaged:
        yield counted(damaged, "damaged row")


def _contradictions(rows: Floats, done: Floats, gaps: Truths, overlapping: Truths) -> Iterator[str]:
    """Intervals that are not between the rows that they are said to be between."""
    lengths, rates = _columns(rows, "i_sec"), _columns(rows, *_RATES)
    real = done / np.maximum(lengths, _ROUNDED_SECONDS)
    allowed = _ROUNDED_RATE * lengths + _ROUNDED_SECONDS * np.abs(real) + 1
    wrong = (np.abs(done - rates * lengths) > allowed) & ~gaps[:, None]
    wrong_rows = np.flatnonzero(wrong.any(axis=1) | overlapping)
    if not len(wrong_rows):
        return
    first = wrong_rows[0]
    end = rows[first, COLUMNS.index("t_sec")]
    if overlapping[first]:
        pair = "i_sec and t_sec"
    else:
        place = int(np.argmax(wrong[first]))
        pair = f"{_RATES[place]} and {_TOTALS[place]}"
    more = f", and {len(wrong_rows) - 1} more" if len(wrong_rows) > 1 else ""
    yield f"{pair} contradict each other at {end:.1f} s{more}"
