"""The Insert Benchmark's histograms of response times: o.rt.t.<role> and mrg.<step>.rt.<role>.

o.rt.t has a line of counts for each client (t1:, t2:, ...), one of their sums (sum:) and one of
percent (pct:); mrg.<step>.rt the percentages of each run, of which the longest time is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.formats.insert.client import BUCKETS, ResponseTimes
from slowdust.formats.text import number_of
from slowdust.units import Second

_NONZERO = "nonzero"
_SUM = "sum:"
_SEPARATOR = "-"
_MAXIMUM = "max"
_CELLS = len(BUCKETS) + 2
"""The number of cells: the buckets, the longest, the tag."""


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


def read_merged(lines: Sequence[str]) -> tuple[dict[str, Second], list[str]]:
    """Return the longest time of each tag in a step (mrg.<step>.rt), and the damaged lines."""
    longest_by_tag: dict[str, Second] = {}
    damaged = []
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if line.strip() in ("", _SEPARATOR) or _MAXIMUM in cells:
            continue
        longest = _number(cells[-2]) if len(cells) == _CELLS else None
        if longest is None or not all(map(_is_share, cells[:-2])):
            damaged.append(line)
        else:
            longest_by_tag.setdefault(cells[-1], longest)
    return longest_by_tag, damaged


def _is_share(cell: str) -> bool:
    """Return whether a cell is a percentage; one above 0 that prints as 0.000 is `nonzero`."""
    return cell == _NONZERO or _number(cell) is not None


def _number(cell: str) -> float | None:
    """Return the number of a bucket or a time; an empty bucket may be an empty cell."""
    return number_of(cell) if cell else 0.0
