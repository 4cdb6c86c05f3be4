"""The output of `vmstat 1` beside a run (sb.vm).

The published averages count two kinds of lines that are no samples: the first row, which is the
mean since the host booted, and each repeated `procs` header but the first, as zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slowdust.formats.text import is_number

_FIELDS = 17
_MOST_PERCENT = 101.0
"""User and system time, which are rounded each."""
_SWITCHES, _USER, _SYSTEM = 11, 12, 13
_COLUMNS = b"swpd"
_TITLE = b"procs"


@dataclass(frozen=True)
class Vmstat:
    """Sums over the samples."""

    samples: int
    switches: float
    """Context switches per second."""
    cpu: float
    """User and system time, percent of the host."""
    impossible: int = 0
    """Number of samples that are left out, since they have numbers that nothing can have."""

    @property
    def switches_per_second(self) -> float:
        """Mean number of context switches per second."""
        return self.switches / self.samples

    @property
    def cpu_percent(self) -> float:
        """Mean percent of the whole host."""
        return self.cpu / self.samples


def read_published(content: bytes) -> Vmstat | None:
    """Add up the lines by the published rule; return None where there is nothing to average."""
    counted = [line for line in content.split(b"\n") if _COLUMNS not in line][1:]
    if counted and not counted[-1]:
        counted.pop()  # behind the last end of a line
    return _sum(counted, len(counted))


def read_clean(content: bytes) -> Vmstat | None:
    """Add up the samples alone, without the mean since boot; return None where there is none."""
    rows = [row for row in content.split(b"\n") if row.lstrip()[:1].isdigit()][1:]
    if len(b"\n".join(rows).split()) != _FIELDS * len(rows):
        rows = [row for row in rows if len(row.split()) >= _FIELDS]  # others are torn
    possible = [row for row in rows if _is_possible(row.split())]
    sums = _sum(possible, len(possible))
    return sums and replace(sums, impossible=len(rows) - len(possible))


def _is_possible(cells: Sequence[bytes]) -> bool:
    """Return whether no number is negative or beyond all percent; kernels have printed such."""
    negative = any(cell.startswith(b"-") for cell in cells[:_FIELDS])
    return not negative and _number(cells, _USER, _SYSTEM) <= _MOST_PERCENT


def _sum(lines: Sequence[bytes], samples: int) -> Vmstat | None:
    """Add up lines; a cell that is no number counts 0, as in awk."""
    if not samples:
        return None
    rows = [line for line in lines if not line.startswith(_TITLE)]
    cells = b"\n".join(rows).split()
    if len(cells) != _FIELDS * len(rows):
        return _sum_one_by_one(rows, samples)
    try:
        switches, user, system = (
            sum(map(int, cells[column::_FIELDS])) for column in (_SWITCHES, _USER, _SYSTEM)
        )
    except ValueError:
        return _sum_one_by_one(rows, samples)
    return Vmstat(samples, float(switches), float(user + system))


def _sum_one_by_one(lines: Sequence[bytes], samples: int) -> Vmstat:
    rows = [line.split() for line in lines]
    return Vmstat(
        samples,
        sum(_number(row, _SWITCHES) for row in rows),
        sum(_number(row, _USER, _SYSTEM) for row in rows),
    )


def _number(row: Sequence[bytes], *columns: int) -> float:
    """Return the sum of the columns that are numbers."""
    cells = (row[column].decode(errors="replace") for column in columns if column < len(row))
    return sum(map(float, filter(is_number, cells)), start=0.0)
