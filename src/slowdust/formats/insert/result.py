"""The summary of a step by the scripts around the Insert Benchmark's client: o.res.

A first line with the rates, the hardware per insert and per query (as sb.met), sizes, the longest
statements, and the rates that were exceeded in some percent of the seconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from slowdust.formats.text import number_of
from slowdust.units import Second

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
        """Rows of all clients."""
        return self.processes * self.rows_per_process


def read(lines: Sequence[str]) -> StepResult | None:
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
    """Take a block of iostat or vmstat, unless it is torn."""
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
