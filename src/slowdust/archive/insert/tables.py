"""The files of the Insert Benchmark: tables, o.res of a step, and o.ib of a client.

Tables are o.sum (a run's steps), mrg (a step's runs) and rel (relative). The scripts' summary of a
step, o.res, has a first line with the rates, the hardware per insert and per query (as in sb.met),
sizes, the longest statements, and the rates that were exceeded in some percent of the seconds.

o.ib has a header and a row for each second, then the histograms of response times. A row has the
rates of its interval, and rates and counts since the beginning. The scripts around the client
extract the histograms: o.rt.t.<role> has a line of counts for each client (t1:, t2:, ...), one with
their sums (sum:) and one with percentages (pct:); mrg.<step>.rt.<role> has the percentages of each
run, and its longest time, which is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowdust.archive.classic import Row, relative_cells
from slowdust.archive.insert.names import without_size
from slowdust.text import number_of
from slowdust.units import Second, known
from slowdust.wording import counted

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
_TITLES = f"{COLUMNS[0]}\t"


def table_row(cells: Sequence[str]) -> Row:
    return Row(cells[-1], NUMBERS, tuple(cells[:-1]))


def _read_row(line: str) -> Row | None:
    cells = line.rstrip("\n").split("\t")
    if len(cells) != len(COLUMNS) or not cells[-1].strip():
        return None
    if not all(cell in _WORDS or number_of(cell) is not None for cell in cells[:-1]):
        return None
    return table_row(cells)


def read_steps(lines: Sequence[str]) -> tuple[list[Row | None], list[str]]:
    """Read a run's steps (o.sum) in running order, and the damaged lines.

    Damaged lines become None, so that the others keep their positions.
    """
    content = [line for line in lines if line.strip() and not line.startswith(_TITLES)]
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
        elif line.strip() and not line.startswith(_TITLES):
            damaged.append(line)
    return [group for group in groups if group], damaged


def row_of_values(values: Mapping[str, float | str | None], tag: str) -> Row:
    """Format numbers as a row of o.sum; text cells are unchanged, and missing values are NA."""

    def cell(column: str) -> str:
        value = values.get(column)
        if isinstance(value, str):
            return value
        return NOT_AVAILABLE if value is None else f"{value:{_FORMS[column]}}"

    return Row(tag, NUMBERS, tuple(map(cell, NUMBERS)))


def rate_kept(rates: Iterable[float], share: float) -> float | None:
    """Return the rate that a share of the seconds reached; the classic p99 is for 99%."""
    descending = sorted(rates, reverse=True)
    return descending[max(1, round(share * len(descending))) - 1] if descending else None


def merged_row(row: Row) -> Row:
    """Return a row of o.sum in the format of mrg."""

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
    """One step of one run; values that the file lacks are absent."""

    rows: int
    """Rows inserted, or indexed."""
    seconds: Second
    """The time from starting the clients to the end of the last one."""
    ips: str
    """Rows/s and, below, queries/s of all clients as printed: cut after one decimal."""
    qps: str | None
    queries: int | None
    hardware: dict[str, dict[str, str]] = field(default_factory=dict)
    """`insert`, `query` -> column -> cell as printed."""
    database_gb: float | None = None
    directory_gb: float | None = None
    longest: dict[str, Second] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the longest statement over all clients."""
    exceeded: dict[str, dict[int, int]] = field(default_factory=dict)
    """`insert`, ... -> percent -> the rate that client 1 exceeded in this share of its seconds."""
    resident_kb: float | None = None
    """Resident size of the server process that is listed last."""


def read_result(lines: Sequence[str]) -> StepResult | None:
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


CLIENT_COLUMNS = (
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
)  # fmt: skip
ROLES = ("insert", "delete", "query")
"""The order of the columns below."""
_LENGTH, _END, _MAXIMA, _TOTALS = 0, 1, slice(8, 11), slice(11, 14)
BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
_HEADER = b"i_sec"
_COMMAND_LINE = 10_000
"""Number of bytes at the beginning of a file that contain the command line."""
_ROW = re.compile(rb"(?:(?:\d{1,15}(?:\.\d+)?|\.\d+)(?: |$))+")
_LARGEST = 1e15
_RESPONSE_TIMES = re.compile(rb"^(Insert|Delete|Query) rt:([^\n]*)", re.MULTILINE)
_ENDED = re.compile(rb"^Done", re.MULTILINE)
_TOTALS_AT_END = re.compile(
    rb"^Totals: [\d.]+ secs, [\d.]+ rows/sec, (\d{1,15}) rows", re.MULTILINE
)
_ROWS_PER_COMMIT = re.compile(rb"--rows_per_commit=(\d{1,9})")
_AS_JSON = bytes.maketrans(b"\t\n", b",,")
_DECODER = msgspec.json.Decoder(list[float])

Floats = NDArray[np.float64]

_GAP: Second = 0.5
"""Distance between a row and the preceding one that rounding cannot explain."""
_CELLS = len(BUCKETS) + 2
"""Cells of a line of a histogram: the buckets, the longest time, the tag."""


@dataclass(frozen=True)
class ResponseTimes:
    """A histogram: the numbers of statements that took at most the time of each of `BUCKETS`."""

    counts: tuple[int, ...]
    longest: Second


@dataclass(frozen=True)
class RoleOutput:
    """The work of one client in one role."""

    done: Floats
    """Rows inserted or deleted, or queries, in each interval."""
    longest_us: Floats
    """The longest statement in each interval."""
    total: int


@dataclass(frozen=True)
class ClientOutput:
    """The content of a file."""

    lengths: Floats
    """Seconds of each interval."""
    elapsed: Second
    """The time from the beginning to the last row."""
    roles: dict[str, RoleOutput]
    """The work in each of `ROLES`."""
    response_times: dict[str, ResponseTimes]
    """Role -> histogram, if the file has one."""
    rows_per_commit: int | None
    """Rows of an insert, and of a delete."""
    unbroken: bool
    """Whether all of its rows are readable and consecutive."""
    ended: bool
    """Whether the client finished."""
    complete: bool
    """Whether it finished, and its last row includes all inserted rows."""
    damage: tuple[str, ...]
    """Damage of the file, in words."""


def read_client(content: bytes) -> ClientOutput | None:
    end = content.find(b"Insert rt:")
    head, tail = (content, b"") if end < 0 else (content[:end], content[end:])
    lines = head[head.find(_HEADER) :].partition(b"\n")[2] if _HEADER in head else head
    rows, damaged = _read_rows(lines)
    if not len(rows):
        return None
    done = np.diff(rows[:, _TOTALS], axis=0, prepend=0)
    roles = {
        role: RoleOutput(done[:, place], longest_us, int(rows[-1, _TOTALS][place]))
        for place, (role, longest_us) in enumerate(zip(ROLES, rows.T[_MAXIMA], strict=True))
    }
    commit = _ROWS_PER_COMMIT.search(head, 0, _COMMAND_LINE)
    ended = _ENDED.search(tail) is not None
    missing, inserted = [], roles["insert"].total
    if (total := _TOTALS_AT_END.search(tail)) is not None and int(total[1]) != inserted:
        missing = [f"rows inserted: {inserted:,} in its last row, {int(total[1]):,} in its totals"]
    # Counts only grow, and a row begins where the preceding one ended.
    gaps = np.abs(np.diff(rows[:, _END], prepend=0) - rows[:, _LENGTH]) > _GAP
    broken = 0 if damaged else int(np.sum(gaps | (done < 0).any(axis=1)))
    response_times: dict[str, ResponseTimes] = {}
    for title, cells in _RESPONSE_TIMES.findall(tail):  # a line of names and a line of values
        values = known(map(number_of, cells.decode(errors="replace").split()))
        if len(values) == len(BUCKETS) + 1:
            *counts, longest = values
            histogram = ResponseTimes(tuple(map(int, counts)), longest)
            response_times[title.decode().lower()] = histogram
    return ClientOutput(
        lengths=rows[:, _LENGTH],
        elapsed=float(rows[-1, _END]),
        roles=roles,
        response_times=response_times,
        rows_per_commit=int(commit[1]) if commit else None,
        unbroken=not damaged and not broken,
        ended=ended,
        complete=ended and not missing,
        damage=(
            *([counted(damaged, "damaged row")] if damaged else []),
            *([f"{counted(broken, 'row')} not consecutive"] if broken else []),
            *missing,
        ),
    )


def _read_rows(lines: bytes) -> tuple[Floats, int]:
    """Return the rows, and the number of lines that begin like a row and are unreadable."""
    whole, _, torn = lines.rpartition(b"\n")
    separated = whole.split(b"\n")
    if not torn and {line.count(b"\t") for line in separated} == {len(CLIENT_COLUMNS) - 1}:
        with suppress(msgspec.DecodeError):  # a cell is not a number
            numbers = np.array(_DECODER.decode(b"[" + whole.translate(_AS_JSON) + b"]"))
            if len(numbers) == len(separated) * len(CLIENT_COLUMNS):
                rows = numbers.reshape(-1, len(CLIENT_COLUMNS))
                if rows.min() >= 0 and rows.max() < _LARGEST:
                    return rows, 0
    cells = [line.split() for line in separated]
    readable = [
        list(map(float, row))
        for row in cells
        if len(row) == len(CLIENT_COLUMNS) and _ROW.fullmatch(b" ".join(row))
    ]
    begun = sum(bool(row) and row[0][:1].isdigit() for row in [*cells, torn.split()])
    return np.array(readable).reshape(-1, len(CLIENT_COLUMNS)), max(0, begun - len(readable))


def read_sum(lines: Sequence[str]) -> ResponseTimes | None:
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) == _CELLS and cells[-1].startswith("sum:"):
            *counts, longest = known(map(_number, cells[:-1])) or [0.0]
            if len(counts) == len(BUCKETS):
                return ResponseTimes(tuple(map(int, counts)), longest)
    return None


def read_merged(lines: Sequence[str]) -> tuple[dict[str, Second], list[str]]:
    """Return the longest time of each tag in a step (mrg.<step>.rt), and the damaged lines."""
    longest_by_tag: dict[str, Second] = {}
    damaged = []
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if line.strip() in ("", "-") or "max" in cells:
            continue
        longest = _number(cells[-2]) if len(cells) == _CELLS else None
        # A percentage above 0 that prints as 0.000 is `nonzero`.
        shares = [cell for cell in cells[:-2] if cell != "nonzero"]
        if longest is None or None in map(_number, shares):
            damaged.append(line)
        else:
            longest_by_tag.setdefault(cells[-1], longest)
    return longest_by_tag, damaged


def _number(cell: str) -> float | None:
    """Return the number of a bucket or a time; an empty cell may be an empty bucket."""
    return number_of(cell) if cell else 0.0
