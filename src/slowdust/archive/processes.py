"""`ps aux`, taken every ten or thirty seconds beside a run (sb.ps)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_COLUMNS = 11
_USER, _PID, _VSZ, _RSS = 0, 1, 4, 5


@dataclass(frozen=True)
class Peaks:
    """The largest sizes that any one process of the server had, in KB."""

    vsz_kb: int
    rss_kb: int
    """Of one process: shared memory would be counted once for each in a sum."""
    largest: str
    """The command of the process with the largest virtual size."""


def read(lines: Sequence[str]) -> Peaks | None:
    """The peaks over all samples; None where no process is listed."""
    rows = list(_rows(lines))
    if not rows:
        return None
    vsz, largest = max(((int(row[_VSZ]), row[-1]) for row in rows), key=lambda pair: pair[0])
    return Peaks(vsz, max(int(row[_RSS]) for row in rows), largest)


def _rows(lines: Sequence[str]) -> Iterator[list[str]]:
    for line in lines:
        row = line.split(None, _COLUMNS - 1)
        if len(row) == _COLUMNS and row[_PID].isdigit() and row[_VSZ].isdigit():
            yield row
