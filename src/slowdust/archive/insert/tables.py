"""The Insert Benchmark's tables: o.sum (a run's steps), mrg (a step's runs), rel (relative), o.res.

The scripts' summary of a step, o.res, has a first line with the rates, the hardware per insert and
per query (as sb.met), sizes, the longest statements, and the rates that were exceeded in some
percent of the seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.classic import Row, relative_cells
from slowdust.archive.insert.names import without_size
from slowdust.formats.text import number_of
from slowdust.units import Second

_FORMS = {
    "ips": ".0f", "qps": ".0f", "rps": ".1f", "rmbps": ".1f", "wps": ".1f", "wmbps": ".1f",
    "rpq": ".3f", "rkbpq": ".3f", "wpi": ".3f", "wkbpi": ".3f", "csps": ".0f", "cpups": ".1f",
    "cspq": ".3f", "cpupq": ".0f", "dbgb1": ".1f", "dbgb2": ".1f", "rss": ".1f", "maxop": ".3f",
    "p50": ".0f", "p99": ".0f",
}  # fmt: skip
"""Columns of numbers, and their formats."""
NUMBERS = tuple(_FORMS)
COLUMNS = (*NUMBERS, "tag")
_MERGED_INTEGERS = ("ips", "qps", "rps")
_LONG_STALL = 10.0
SEPARATOR = "-"
RUN_TABLE = "o.sum"
MERGED_TABLES = "mrg"
"""The kinds of tables."""
NOT_AVAILABLE = "NA"
_WORDS = frozenset({NOT_AVAILABLE, "inf"})
_HEADER = f"{COLUMNS[0]}\t"


def table_row(cells: Sequence[str]) -> Row:
    """Return the row of a line's cells, the last of which is the run's tag."""
    return Row(cells[-1], NUMBERS, tuple(cells[:-1]))


def _read_row(line: str) -> Row | None:
    cells = line.rstrip("\n").split("\t")
    if len(cells) != len(COLUMNS) or not cells[-1].strip():
        return None
    if not all(cell in _WORDS or number_of(cell) is not None for cell in cells[:-1]):
        return None
    return table_row(cells)


def read_steps(lines: Sequence[str]) -> tuple[list[Row | None], list[str]]:
    """Read a run's steps (o.sum) in the order in which they ran, and the damaged lines.

    A damaged line is None among the steps, so that the others keep their places.
    """
    content = [line for line in lines if line.strip() and not line.startswith(_HEADER)]
    rows = [_read_row(line) for line in content]
    tag = next((row.run for row in rows if row is not None), None)
    whole = [row if row is not None and row.run == tag else None for row in rows]
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
        elif (row := _read_row(line)) is not None:
            groups[-1].append(row)
        elif line.strip() and not line.startswith(_HEADER):
            damaged.append(line)
    return [group for group in groups if group], damaged


def row_of_values(values: Mapping[str, float | str | None], tag: str) -> Row:
    """Print numbers as a row of o.sum; cells stay as they are, and a missing value is NA."""

    def cell(column: str) -> str:
        value = values.get(column)
        if isinstance(value, str):
            return value
        return NOT_AVAILABLE if value is None else f"{value:{_FORMS[column]}}"

    return Row(tag, NUMBERS, tuple(map(cell, NUMBERS)))


def rate_kept(rates: Iterable[float], share: float) -> float | None:
    """Return the rate that a share of the seconds reached; the classic p99 is the one of 99%."""
    descending = sorted(rates, reverse=True)
    return descending[max(1, round(share * len(descending))) - 1] if descending else None


def merged_row(row: Row) -> Row:
    """Return a row of o.sum as mrg has it."""

    def merged(column: str, cell: str) -> str:
        if cell not in _WORDS and column in _MERGED_INTEGERS:
            return f"{float(cell):.0f}"
        if cell not in _WORDS and column == "maxop" and float(cell) >= _LONG_STALL:
            return f"{float(cell):.1f}"
        return cell

    return Row(without_size(row.run), NUMBERS, tuple(map(merged, NUMBERS, row.cells)))


def relative_rows(group: Sequence[Row]) -> list[Row]:
    base, *others = group
    ratios = [(row.run, relative_cells(row, base, NOT_AVAILABLE)) for row in others]
    return [Row(run, NUMBERS, tuple(cells.values())) for run, cells in ratios]


def write_table(groups: Iterable[Sequence[Row]]) -> str:
    lines = ["\t".join(COLUMNS)]
    for number, group in enumerate(groups):
        lines += [SEPARATOR] if number else []
        lines += ["\t".join([*row.cells, row.run]) for row in group]
    return "".join(f"{line}\n" for line in lines)


_FIRST = re.compile(
    r"(?P<processes>\d{1,6}) processes, (?P<rows>\d{1,15}) rows-per-process, "
    r"(?P<seconds>\d{1,9}) seconds, (?P<ips>[\d.]+) rows-per-second, "
    r"[\d.]+ rows-per-second-per-user"
    r"(?:, (?P<queries>\d{1,15}) queries, (?P<qps>[\d.]+) queries-per-second)?"
    r"(?:, (?:yes|no) deletes)?\s*",
    re.ASCII,
)
_TITLE = re.compile(r"iostat, vmstat normalized by (?P<operation>insert|query) rate")
_LONGEST = re.compile(r"Max (?P<role>insert|delete|query)")
_PERCENTILE = re.compile(
    r"(?P<percent>\d{1,3})th, \d+ / \d+ = (?P<insert>\w{1,15}) insert, "
    r"(?:(?P<delete>\w{1,15}) delete, )?(?P<query>\w{1,15}) query",
    re.ASCII,
)
_PROCESS = re.compile(
    r"\S+\s+\d+\s+\d{1,6}\.\d\s+\d{1,3}\.\d\s+\d+\s+(?P<resident>\d{1,12})\s+\S+\s+[A-Z]\S*\s"
)
"""A line of `ps aux`."""
_SIZE = re.compile(r"(?P<of>dbGB|dbdirGB)\t(?P<gb>[\d.]+)(?:\s|$)")


@dataclass
class StepResult:
    """One step of one run; values that the file does not have are absent."""

    rows: int
    """Rows inserted, or indexed."""
    seconds: Second
    """The time from starting the clients to the end of the last."""
    ips: str
    """Rows/s and, below, queries/s of all clients as printed: cut after one decimal."""
    qps: str | None
    queries: int | None
    hardware: dict[str, dict[str, str]] = field(default_factory=dict)
    """`insert`, `query` -> column -> cell as printed."""
    database_gb: float | None = None
    directory_gb: float | None = None
    longest: dict[str, Second] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the longest statement of all clients."""
    exceeded: dict[str, dict[int, int]] = field(default_factory=dict)
    """`insert`, ... -> percent -> the rate that client 1 exceeded in so many of its seconds."""
    resident_kb: float | None = None
    """Resident size of the server's process that is listed last."""


def read_result(lines: Sequence[str]) -> StepResult | None:
    """Read the file; return None where it does not begin with the line of rates."""
    first = _FIRST.fullmatch(lines[0]) if lines else None
    if first is None:
        return None
    result = StepResult(
        rows=int(first["processes"]) * int(first["rows"]),
        seconds=float(first["seconds"]),
        ips=first["ips"],
        qps=first["qps"],
        queries=int(first["queries"]) if first["queries"] else None,
    )
    operation = None
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if match := _TITLE.match(line):
            operation = match["operation"]
        elif line.startswith("nsamp") and operation is not None:
            columns, cells = line.split(), following.split()
            if len(columns) == len(cells):
                row = dict(zip(columns, cells, strict=True))
                result.hardware.setdefault(operation, {}).update(row)
        elif match := _LONGEST.match(line):
            if (longest := number_of(following)) is not None:
                result.longest[match["role"]] = longest
        elif match := _SIZE.match(line):
            of = "database_gb" if match["of"] == "dbGB" else "directory_gb"
            setattr(result, of, number_of(match["gb"]))
        elif match := _PERCENTILE.match(line):
            for role in ("insert", "delete", "query"):
                if (match[role] or "").isdecimal():
                    rates = result.exceeded.setdefault(role, {})
                    rates.setdefault(int(match["percent"]), int(match[role]))
        elif match := _PROCESS.match(line):
            result.resident_kb = float(match["resident"])
    return result
