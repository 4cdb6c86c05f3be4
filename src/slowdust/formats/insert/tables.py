"""The Insert Benchmark's tables: o.sum (a run's steps), mrg (a step's runs), rel (relative)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowdust.formats.insert.names import without_size
from slowdust.formats.text import number_of

COLUMNS = (
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99", "tag",
)  # fmt: skip
SEPARATOR = "-"
RUN_TABLE = "o.sum"
MERGED_TABLES = "mrg"
"""The kinds of tables."""
NOT_AVAILABLE = "NA"
_INTEGERS = ("ips", "qps", "rps")
_LONG_STALL = 10.0
_FORMS = {
    "ips": ".0f", "qps": ".0f", "rps": ".1f", "rmbps": ".1f", "wps": ".1f", "wmbps": ".1f",
    "rpq": ".3f", "rkbpq": ".3f", "wpi": ".3f", "wkbpi": ".3f", "csps": ".0f", "cpups": ".1f",
    "cspq": ".3f", "cpupq": ".0f", "dbgb1": ".1f", "dbgb2": ".1f", "rss": ".1f", "maxop": ".3f",
    "p50": ".0f", "p99": ".0f",
}  # fmt: skip
"""Format of the numbers of each column."""
_WORDS = frozenset({NOT_AVAILABLE, "inf"})


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

    def number(self, column: str) -> float | None:
        """Return the value of a cell; None where it is not available."""
        return number_of(self[column])

    @property
    def queries(self) -> bool:
        """Whether the step has queries."""
        return bool(self.number("qps"))


def read_steps(lines: Sequence[str]) -> tuple[list[Row | None], list[str]]:
    """Read a run's steps (o.sum) in the order in which they ran, and the damaged lines.

    A damaged line is None among the steps, so that the others keep their places.
    """
    content = [line for line in lines if not _is_header(line)]
    rows = [_row(line) for line in content]
    tag = next((row.tag for row in rows if row is not None), None)
    whole = [row if row is not None and row.tag == tag else None for row in rows]
    return whole, [line for line, row in zip(content, whole, strict=True) if row is None]


def read_groups(lines: Sequence[str]) -> tuple[list[list[Row]], list[str]]:
    """Read the groups of a file mrg or rel, and the damaged lines.

    Each group is compared with its own first row.
    """
    groups: list[list[Row]] = [[]]
    damaged = []
    for line in lines:
        if line.strip() == SEPARATOR:
            groups.append([])
        elif (row := _row(line)) is not None:
            groups[-1].append(row)
        elif not _is_header(line):
            damaged.append(line)
    return [group for group in groups if group], damaged


def row_of_values(values: Mapping[str, float | str | None], tag: str) -> Row:
    """Print numbers as a row of o.sum; cells stay as they are, and a missing value is NA."""

    def cell(column: str) -> str:
        value = values.get(column)
        if isinstance(value, str):
            return value
        return NOT_AVAILABLE if value is None else f"{value:{_FORMS[column]}}"

    return Row((*map(cell, COLUMNS[:-1]), tag))


def rate_kept(rates: Iterable[float], share: float) -> float | None:
    """Return the rate that a share of the seconds reached; the classic p99 is the one of 99%."""
    descending = sorted(rates, reverse=True)
    return descending[max(1, round(share * len(descending))) - 1] if descending else None


def merged_row(row: Row) -> Row:
    """Return a row of o.sum as mrg has it."""
    return Row(tuple(map(_merged, COLUMNS, row.cells)))


def relative_rows(group: Sequence[Row]) -> list[Row]:
    """Return each row but the first, relative to the first."""
    base, *others = group
    return [Row((*map(_relative, row.cells[:-1], base.cells[:-1]), row.tag)) for row in others]


def write_table(groups: Iterable[Sequence[Row]]) -> str:
    """Write a file mrg or rel."""
    lines = ["\t".join(COLUMNS)]
    for number, group in enumerate(groups):
        lines += [SEPARATOR] if number else []
        lines += ["\t".join(row.cells) for row in group]
    return "".join(f"{line}\n" for line in lines)


def _is_header(line: str) -> bool:
    return not line.strip() or line.startswith(f"{COLUMNS[0]}\t")


def _row(line: str) -> Row | None:
    cells = line.rstrip("\n").split("\t")
    if len(cells) != len(COLUMNS) or not cells[-1].strip():
        return None
    if not all(cell in _WORDS or number_of(cell) is not None for cell in cells[:-1]):
        return None
    return Row(tuple(cells))


def _merged(column: str, cell: str) -> str:
    if column == "tag":
        return without_size(cell)
    if cell in _WORDS:
        return cell
    if column in _INTEGERS:
        return f"{float(cell):.0f}"
    if column == "maxop" and float(cell) >= _LONG_STALL:
        return f"{float(cell):.1f}"
    return cell


def _relative(cell: str, base: str) -> str:
    if NOT_AVAILABLE in (cell, base):
        return NOT_AVAILABLE
    ours, theirs = float(cell), float(base)
    if theirs == 0:
        return "inf" if ours else "1"
    return f"{ours / theirs:.2f}"
