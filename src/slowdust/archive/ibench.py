"""The Insert Benchmark's tables: o.sum (a run's steps), mrg (a step's runs), rel (relative)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COLUMNS = (
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99", "tag",
)  # fmt: skip
SEPARATOR = "-"
NOT_AVAILABLE = "NA"
_INTEGERS = ("ips", "qps", "rps")
_LONG_STALL = 10.0
_SIZE = re.compile(r"^\d+m\.")
STEPS_2021 = (
    "l.i0", "l.x", "l.i1",
    *(f"q{rate}.{loop}" for rate in (100, 200, 400, 600, 800, 1000) for loop in (1, 2)),
)  # fmt: skip
STEPS_2024 = (
    "l.i0", "l.x", "l.i1", "l.i2",
    "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One run in one step: the cells as printed, by column."""

    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[COLUMNS.index(column)]

    @property
    def tag(self) -> str:
        """The run."""
        return self.cells[-1]


def read_steps(lines: Sequence[str]) -> list[Row]:
    """The steps of one run (o.sum), in the order in which they ran."""
    return [row for row in map(_row, lines) if row is not None]


def steps_of(rows: Sequence[Row]) -> tuple[str, ...] | None:
    """What the steps are called, by their number; None where it is unknown."""
    return {len(STEPS_2021): STEPS_2021, len(STEPS_2024): STEPS_2024}.get(len(rows))


def read_groups(lines: Sequence[str]) -> list[list[Row]]:
    """The groups of a file mrg, which are compared each with its own first row."""
    groups: list[list[Row]] = [[]]
    for line in lines:
        if line.strip() == SEPARATOR:
            groups.append([])
        elif (row := _row(line)) is not None:
            groups[-1].append(row)
    return [group for group in groups if group]


def merged(row: Row) -> Row:
    """A row of o.sum as mrg has it."""
    return Row(tuple(map(_merged, COLUMNS, row.cells)))


def relative(group: Sequence[Row]) -> list[Row]:
    """Each row but the first relative to it."""
    base, *others = group
    return [Row((*map(_relative, row.cells[:-1], base.cells[:-1]), row.tag)) for row in others]


def write(groups: Iterable[Sequence[Row]]) -> str:
    """A file mrg or rel."""
    lines = ["\t".join(COLUMNS)]
    for number, group in enumerate(groups):
        lines += [SEPARATOR] if number else []
        lines += ["\t".join(row.cells) for row in group]
    return "".join(f"{line}\n" for line in lines)


def _row(line: str) -> Row | None:
    cells = line.rstrip("\n").split("\t")
    if len(cells) != len(COLUMNS) or cells[0] == COLUMNS[0]:
        return None
    return Row(tuple(cells))


def _merged(column: str, cell: str) -> str:
    if column == "tag":
        return _SIZE.sub("", cell)
    if column in _INTEGERS:
        return f"{float(cell):.0f}"
    if column == "maxop" and cell != NOT_AVAILABLE and float(cell) >= _LONG_STALL:
        return f"{float(cell):.1f}"
    return cell


def _relative(cell: str, base: str) -> str:
    if NOT_AVAILABLE in (cell, base):
        return NOT_AVAILABLE
    ours, theirs = float(cell), float(base)
    if theirs == 0:
        return "inf" if ours else "1"
    return f"{ours / theirs:.2f}"
