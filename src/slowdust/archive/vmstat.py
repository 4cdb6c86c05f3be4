"""`vmstat 1` beside a run (sb.vm).

The published averages count two kinds of lines that are no samples: the first row, which is the
mean since the host booted, and each repeated `procs` header but the first, as zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FIELDS = 17
_SWITCHES, _USER, _SYSTEM = 11, 12, 13


@dataclass(frozen=True)
class Vmstat:
    """Sums over the samples."""

    samples: int
    switches: float
    """Context switches per second."""
    cpu: float
    """User and system time, percent of the host."""

    @property
    def switches_per_second(self) -> float:
        """The mean."""
        return self.switches / self.samples

    @property
    def cpu_percent(self) -> float:
        """The mean, of the whole host."""
        return self.cpu / self.samples


def read_published(lines: Sequence[str]) -> Vmstat | None:
    """By the published rule; None where there is nothing to average."""
    counted = [line.split() for line in lines if "swpd" not in line][1:]
    rows = [(_number(row, _SWITCHES), _number(row, _USER, _SYSTEM)) for row in counted]
    return _sum(rows)


def read_clean(lines: Sequence[str]) -> Vmstat | None:
    """The samples alone, without the mean since boot; None where there is none."""
    rows = list(_samples(lines))[1:]
    return _sum([(_number(row, _SWITCHES), _number(row, _USER, _SYSTEM)) for row in rows])


def _samples(lines: Sequence[str]) -> Iterator[list[str]]:
    for line in lines:
        row = line.split()
        if len(row) >= _FIELDS and row[0].isdigit():
            yield row


def _sum(rows: Sequence[tuple[float, float]]) -> Vmstat | None:
    if not rows:
        return None
    return Vmstat(len(rows), sum(row[0] for row in rows), sum(row[1] for row in rows))


def _number(row: Sequence[str], *columns: int) -> float:
    """The sum of the columns; what is no number counts 0, as in awk."""
    total = 0.0
    for column in columns:
        if column < len(row):
            try:
                total += float(row[column])
            except ValueError:
                continue
    return total
