"""The Insert Benchmark's histograms of response times: o.rt.t.<role> and mrg.<step>.rt.<role>.

o.rt.t has a line of counts for each client (t1:, t2:, ...), one of their sums (sum:) and one of
percent (pct:); mrg.<step>.rt the percentages of each run. A bucket above 0 that prints as 0.000
reads `nonzero`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.formats.insert.client import BUCKETS, ResponseTimes
from slowdust.formats.text import number_of
from slowdust.units import Second

_NONZERO = "nonzero"
_SUM = "sum:"
_SEPARATOR = "-"
_MAXIMUM = "max"
_CELLS = len(BUCKETS) + 2
"""The number of cells: the buckets, the longest, the tag."""


@dataclass(frozen=True)
class Shares:
    """Percent of the statements in each of `BUCKETS`; None where it is above 0 and below 0.0005."""

    percent: tuple[float | None, ...]
    longest: Second


def read_sum(lines: Sequence[str]) -> ResponseTimes | None:
    """Return the counts of all clients of a step (o.rt.t); None where there are none."""
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) == _CELLS and cells[-1].startswith(_SUM):
            counts = [_number(cell) for cell in cells[:-2]]
            longest = _number(cells[-2])
            if longest is not None and None not in counts:
                return ResponseTimes(tuple(int(count or 0) for count in counts), longest)
    return None


def read_merged(lines: Sequence[str]) -> tuple[dict[str, Shares], list[str]]:
    """Return the histogram of each tag in a step (mrg.<step>.rt), and the damaged lines."""
    shares_by_tag: dict[str, Shares] = {}
    damaged = []
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if line.strip() in ("", _SEPARATOR) or _MAXIMUM in cells:
            continue
        shares = _shares(cells)
        if shares is None:
            damaged.append(line)
        else:
            shares_by_tag.setdefault(cells[-1], shares)
    return shares_by_tag, damaged


def _shares(cells: Sequence[str]) -> Shares | None:
    if len(cells) != _CELLS:
        return None
    percent = [_number(cell) for cell in cells[:-2]]
    longest = _number(cells[-2])
    whole = all(
        value is not None or cell == _NONZERO
        for value, cell in zip(percent, cells[:-2], strict=True)
    )
    return Shares(tuple(percent), longest) if whole and longest is not None else None


def _number(cell: str) -> float | None:
    """Return the number of a bucket or a time; an empty bucket may be an empty cell."""
    return number_of(cell) if cell else 0.0
