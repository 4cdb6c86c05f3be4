"""A waterfall of characters: bars that begin where the one above them ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

UNICODE, ASCII = ("█", "▒", "│"), ("#", "=", "|")
"""Signs of a bar that costs more, of one that costs less, and of the base's level."""
_LEAST = 0.02
"""Least change, in logs of ratios, that the axis has room for: noise shall not look like much."""


@dataclass(frozen=True)
class Bar:
    """A bar from `start` to its end, in logs of ratios."""

    start: float
    change: float


def falling(changes: Sequence[float]) -> list[Bar]:
    """Return the bars of changes that follow each other, and that of their sum from 0."""
    starts = accumulate(changes, initial=0.0)
    bars = [Bar(start, change) for start, change in zip(starts, changes, strict=False)]
    return [*bars, Bar(0.0, sum(changes))]


def drawn(bars: Sequence[Bar], columns: int, signs: tuple[str, str, str] = UNICODE) -> list[str]:
    """Return each bar as a line of so many columns; the level of the base is in all of them.

    What costs more goes to the right. A bar that is too small for a column is one column wide.
    """
    more, less, level = signs
    ends = [end for bar in bars for end in (bar.start, bar.start + bar.change)]
    low, high = min(*ends, -_LEAST), max(*ends, _LEAST)

    def column(position: float) -> int:
        return round((position - low) / (high - low) * (columns - 1))

    lines = []
    for bar in bars:
        cells = [" "] * columns
        cells[column(0.0)] = level
        first, last = sorted((column(bar.start), column(bar.start + bar.change)))
        for place in range(first, max(last, first + 1)):
            cells[min(place, columns - 1)] = more if bar.change > 0 else less
        lines.append("".join(cells).rstrip())
    return lines
