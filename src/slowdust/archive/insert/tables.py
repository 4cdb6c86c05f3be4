"""The Insert Benchmark's tables: o.sum (a run's steps), mrg (a step's runs), rel (relative), o.res.

The scripts' summary of a step, o.res, has a first line with the rates, the hardware per insert and
per query (as sb.met), sizes, the longest statements, and the rates that were exceeded in some
percent of the seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.insert.names import without_size
from slowdust.formats.text import number_of
from slowdust.units import Second

COLUMNS = (
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99", "tag",
)  # fmt: skip
SEPARATOR = "-"
RUN_TABLE = "o.sum"
MERGED_TABLES = "mrg"
"""The kinds of tables."""
NOT_AVAILABLE = "NA"
_HEADER = f"{COLUMNS[0]}\t"
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
        return self.cells[-1]

    def number(self, column: str) -> float | None:
        return number_of(self[column])

    @property
    def queries(self) -> bool:
        return bool(self.number("qps"))


def read_steps(lines: Sequence[str]) -> tuple[list[Row | None], list[str]]:
    """Read a run's steps (o.sum) in the order in which they ran, and the damaged lines.

    A damaged line is None among the steps, so that the others keep their places.
    """
    content = [line for line in lines if line.strip() and not line.startswith(_HEADER)]
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

    return Row((*map(cell, COLUMNS[:-1]), tag))


def rate_kept(rates: Iterable[float], share: float) -> float | None:
    """Return the rate that a share of the seconds reached; the classic p99 is the one of 99%."""
    descending = sorted(rates, reverse=True)
    return descending[max(1, round(share * len(descending))) - 1] if descending else None


def merged_row(row: Row) -> Row:
    """Return a row of o.sum as mrg has it."""
    cells = []
    for column, cell in zip(COLUMNS, row.cells, strict=False):
        if column == "tag":
            cells.append(without_size(cell))
        elif column in _INTEGERS and cell not in _WORDS:
            cells.append(f"{float(cell):.0f}")
        elif column == "maxop" and cell not in _WORDS and float(cell) >= _LONG_STALL:
            cells.append(f"{float(cell):.1f}")
        else:
            cells.append(cell)
    return Row(tuple(cells))


def relative_rows(group: Sequence[Row]) -> list[Row]:
    def relative(cell: str, base: str) -> str:
        if NOT_AVAILABLE in (cell, base):
            return NOT_AVAILABLE
        if float(base):
            return f"{float(cell) / float(base):.2f}"
        return "inf" if float(cell) else "1"

    base, *others = group
    return [Row((*map(relative, row.cells[:-1], base.cells[:-1]), row.tag)) for row in others]


def write_table(groups: Iterable[Sequence[Row]]) -> str:
    lines = ["\t".join(COLUMNS)]
    for number, group in enumerate(groups):
        lines += [SEPARATOR] if number else []
        lines += ["\t".join(row.cells) for row in group]
    return "".join(f"{line}\n" for line in lines)


def _row(line: str) -> Row | None:
    cells = line.rstrip("\n").split("\t")
    if len(cells) != len(COLUMNS) or not cells[-1].strip():
        return None
    if not all(cell in _WORDS or number_of(cell) is not None for cell in cells[:-1]):
        return None
    return Row(tuple(cells))


_FIRST = re.compile(
    r"(?P<processes>\d{1,6}) processes, (?P<rows>\d{1,15}) rows-per-process, "
    r"(?P<seconds>\d{1,9}) seconds, (?P<ips>[\d.]+) rows-per-second, "
    r"[\d.]+ rows-per-second-per-user"
    r"(?:, (?P<queries>\d{1,15}) queries, (?P<qps>[\d.]+) queries-per-second)?"
    r"(?:, (?:yes|no) deletes)?\s*",
    re.ASCII,
)
_TITLE = re.compile(r"iostat, vmstat normalized by (?P<operation>insert|query) rate")
_SAMPLES = "nsamp"
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

    processes: int
    rows_per_process: int
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

    @property
    def rows(self) -> int:
        return self.processes * self.rows_per_process


def read_result(lines: Sequence[str]) -> StepResult | None:
    """Read the file; return None where it does not begin with the line of rates."""
    first = _FIRST.fullmatch(lines[0]) if lines else None
    if first is None:
        return None
    result = StepResult(
        processes=int(first["processes"]),
        rows_per_process=int(first["rows"]),
        seconds=float(first["seconds"]),
        ips=first["ips"],
        qps=first["qps"],
        queries=int(first["queries"]) if first["queries"] else None,
    )
    operation = None
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if title := _TITLE.match(line):
            operation = title["operation"]
        elif line.startswith(_SAMPLES) and operation is not None:
            _take_hardware(result, operation, line.split(), following.split())
        elif title := _LONGEST.match(line):
            if (longest := number_of(following)) is not None:
                result.longest[title["role"]] = longest
        else:
            _take_line(result, line)
    return result


def _take_hardware(
    result: StepResult, operation: str, columns: Sequence[str], cells: Sequence[str]
) -> None:
    if len(columns) == len(cells):
        row = dict(zip(columns, cells, strict=True))
        result.hardware.setdefault(operation, {}).update(row)


def _take_line(result: StepResult, line: str) -> None:
    if match := _SIZE.match(line):
        if match["of"] == "dbGB":
            result.database_gb = number_of(match["gb"])
        else:
            result.directory_gb = number_of(match["gb"])
    elif match := _PERCENTILE.match(line):
        for role in ("insert", "delete", "query"):
            if (match[role] or "").isdecimal():
                rates = result.exceeded.setdefault(role, {})
                rates.setdefault(int(match["percent"]), int(match[role]))
    elif match := _PROCESS.match(line):
        result.resident_kb = float(match["resident"])
