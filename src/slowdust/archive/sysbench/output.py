"""The output of sysbench (sb.o, of the load sb.prepare.o), and the rates made of it.

Between the command line and the end there may be a megabyte of plans, which are skipped. A file may
have the output of several runs, one after the other.

The published rate of a test is queries/s, and for scan thousands of rows/s, of two kinds: until mid
2025 a scan's rate was of all threads, afterwards of one thread on one table. The unit goes with the
number, and rates in different units are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from slowdust.units import Second

_END = b"SQL statistics:"
_HEAD_BYTES = 4096
_NUMBER = rb"\d{1,15}(?:\.\d+)?"
_RATE = re.compile(_NUMBER)
_QUERIES = re.compile(
    rb"^    queries: +(?P<count>\d{1,15}) +\((?P<rate>%b) per sec\.\)" % _NUMBER, re.M
)
_TRANSACTIONS = re.compile(rb"^    transactions: +\d+ +\((?P<rate>%b) per sec\.\)" % _NUMBER, re.M)
_PRINTED_RATE = re.compile(rb"^    (?:queries|transactions): .*\((?P<rate>\S+) per sec\.\)", re.M)
_ELAPSED = re.compile(rb"^    (?:time elapsed|total time): +(?P<seconds>%b)s" % _NUMBER, re.M)
_THREADS = re.compile(rb"^Number of threads: (\d{1,9})\s*$", re.M)
_IGNORED = re.compile(rb"^    ignored errors: +(\d{1,15}) ", re.M)
_LATENCY = re.compile(rb"^ +(?P<name>avg|max|95th percentile): +(?P<ms>%b)\s*$" % _NUMBER, re.M)
_PERCENTILE = re.compile(rb"^ +\d{1,2}th percentile: ", re.M)
_OPTION = re.compile(rb"--(table-size|tables|threads|time)=(\d{1,15})\b")
_DRIVER = re.compile(rb"--db-driver=(\w+)")
_CPUS = re.compile(rb"^(\d{1,6}) CPUs", re.M)
_EARLIER = re.compile(rb"^sysbench (0\.\d{1,3}(?:\.\d{1,3})?)\b", re.M)
_FAILURE = re.compile(rb"^FATAL: (.+?)\s*$", re.M)
_LONGEST_QUOTED = 120
"""Characters of a message of sysbench."""
_OF_SYSBENCH = re.compile(rb"\bsysbench\b|^Initializing worker threads|^Number of threads: ", re.M)
_LOADED = re.compile(
    rb"^Load seconds is (\d{1,9}) for (\d{1,9}) tables, \S+ Mips, (\d{1,15}) ips", re.M
)


@dataclass(frozen=True)
class Output:
    """The end of a test, as printed."""

    table_size: int | None
    tables: int | None
    threads: int | None
    cpus: int | None
    driver: str | None
    """pgsql or mysql: the DBMS in the files of rates."""
    count: int
    """Number of queries."""
    queries: str
    """Queries per second, with two decimals."""
    transactions: str
    elapsed: Second | None
    average_ms: str | None
    longest_ms: str | None
    p95_ms: str | None
    ignored: int = 0
    """Number of errors that sysbench ignored: deadlocks, and other transactions that it repeats."""
    torn: bool = False
    """Whether a part of the lines behind the rates is missing."""


@dataclass(frozen=True)
class LoadOutput:
    """The end of the load."""

    seconds: int
    tables: int
    inserts: str
    """Inserts per second."""


def read_output(content: bytes) -> list[Output]:
    """Read the numbers of each run that ended, in their order; none where there is no such run.

    Raises:
        ValueError: a rate is none.
    """
    whole_lines = content[: content.rfind(b"\n") + 1]
    ends = [match.start() for match in re.finditer(re.escape(_END), whole_lines)] or [0]
    outputs = []
    for begin, end, stop in zip([0, *ends], ends, [*ends[1:], len(whole_lines)], strict=False):
        last = stop == len(whole_lines)
        torn = last and len(whole_lines) < len(content)
        output = _read_run(whole_lines, (begin, end, stop))
        if output is not None:
            outputs.append(replace(output, torn=True) if torn else output)
    return outputs


def _read_run(content: bytes, places: tuple[int, int, int]) -> Output | None:
    """Read a run: where its output begins, where the statistics do, and where both end."""
    begin, end_of_run, stop = places
    head, end = content[:_HEAD_BYTES], content[end_of_run:stop]
    for printed in _PRINTED_RATE.findall(end):
        if not _RATE.fullmatch(printed) or not float(printed):
            raise ValueError(f"a rate of {printed[:40].decode(errors='replace')}/s")
    queries, transactions = _QUERIES.search(end), _TRANSACTIONS.search(end)
    if queries is None or transactions is None:
        return None
    options = {name: int(value) for name, value in _OPTION.findall(head.partition(b"\n")[0])}
    threads = _THREADS.findall(content, begin, end_of_run)
    latency = {match["name"]: match["ms"].decode() for match in _LATENCY.finditer(end)}
    elapsed, driver, cpus = _ELAPSED.search(end), _DRIVER.search(head), _CPUS.search(head)
    ignored = _IGNORED.search(end)
    return Output(
        table_size=options.get(b"table-size"),
        tables=options.get(b"tables"),
        threads=int(threads[-1]) if threads else options.get(b"threads"),
        cpus=int(cpus[1]) if cpus else None,
        driver=driver[1].decode() if driver else None,
        count=int(queries["count"]),
        queries=queries["rate"].decode(),
        transactions=transactions["rate"].decode(),
        elapsed=float(elapsed["seconds"]) if elapsed else None,
        average_ms=latency.get(b"avg"),
        longest_ms=latency.get(b"max"),
        p95_ms=latency.get(b"95th percentile"),
        ignored=int(ignored[1]) if ignored else 0,
        torn=not _PERCENTILE.search(end),
    )


def why_unread(content: bytes) -> str:
    """Say why a file has no run that `read` returns, in words."""
    if version := _EARLIER.search(content):
        return (
            f"of sysbench {version[1].decode()}, which prints no queries/s: output of sysbench 1.0 "
            "and later is read"
        )
    if failure := _FAILURE.search(content):
        return f"sysbench failed: {failure[1][:_LONGEST_QUOTED].decode(errors='replace')}"
    if _OF_SYSBENCH.search(content):
        return "the test did not end"
    return "not the output of sysbench"


def read_load(content: bytes) -> LoadOutput | None:
    """Read the last line of a load; return None where it did not end.

    Raises:
        ValueError: its rate is 0.
    """
    loads = list(_LOADED.finditer(content))
    if not loads:
        return None
    seconds, tables, inserts = loads[-1].groups()
    if not int(inserts):
        raise ValueError("a rate of 0/s")
    return LoadOutput(int(seconds), int(tables), inserts.decode())


SCAN = "scan"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_MONTH_AND_YEAR = re.compile(rf"(?:^|[^a-z])(?:({_MONTH})(\d\d)|(\d\d)({_MONTH}))(?:[^a-z0-9]|$)")
_FIRST_OF_ONE_THREAD = (2025, 7)
"""Year and month, between verified eras, from which scan's rate is assumed of one thread."""


class Unit(Enum):
    """The unit of a published rate."""

    QUERIES = "queries/s"
    ROWS = "rows/s"
    THOUSAND_ROWS = "thousand rows/s"
    THOUSAND_ROWS_OF_ONE_THREAD = "thousand rows/s of one thread"
    UNKNOWN = "unknown units"
    """The unit of a rate of scan that neither of the two rules gives: these round to integers."""


_RELATIVE = "relative to "


def relative_to(run: str) -> str:
    """Return the unit of rates that are only known relative to those of `run`."""
    return f"{_RELATIVE}{run}"


def is_relative(unit: str) -> bool:
    return unit.startswith(_RELATIVE)


def doubted(unit: str) -> str:
    """Return the unit of a rate that cannot be in `unit`, as was assumed."""
    return f"{unit}, {Unit.UNKNOWN.value}" if is_relative(unit) else Unit.UNKNOWN.value


class ScanRule(Enum):
    """The formula of a rate of scan."""

    ALL_THREADS = "all threads"
    ONE_THREAD = "one thread"

    @property
    def unit(self) -> Unit:
        of_one = self is ScanRule.ONE_THREAD
        return Unit.THOUSAND_ROWS_OF_ONE_THREAD if of_one else Unit.THOUSAND_ROWS


def unit_of(test: str, rate: str, scan: ScanRule) -> Unit:
    """Return the unit of a published rate of a test, which is a `FileName.test`."""
    if test != SCAN:
        return Unit.QUERIES
    return scan.unit if float(rate).is_integer() else Unit.UNKNOWN


@dataclass(frozen=True)
class Rate:
    """A rate as it was published: the text is the divisor of later formulas."""

    text: str
    unit: Unit

    @property
    def value(self) -> float:
        """The number, in `unit`."""
        return float(self.text)

    @property
    def whole(self) -> str:
        """The rate as tables have it: an integer, unless its unit is not known."""
        return self.text if self.unit is Unit.UNKNOWN else f"{self.value:.0f}"


def published_rate(test: str, output: Output, scan: ScanRule) -> Rate | None:
    """Return the divisor of the published numbers per operation; None if it is not known."""
    if test != SCAN:
        return Rate(output.queries, Unit.QUERIES)
    if output.table_size is None:
        return None
    if scan is ScanRule.ALL_THREADS:
        thousands = output.table_size * float(output.queries) / 1000
        return Rate(f"{thousands:.0f}", scan.unit)
    if output.average_ms is None or float(output.average_ms) == 0:
        return None
    thousands = (output.table_size / 1000) / (float(output.average_ms) / 1000)
    return Rate(f"{thousands:.0f}", scan.unit)


def clean_scan_rate(output: Output) -> float | None:
    """Return thousands of rows/s by all threads, whatever was published; None if unknown.

    A scan takes long: its queries per second, of two decimals, are known to 0.1% only. Their
    number and the time elapsed are exact.
    """
    if output.table_size is None:
        return None
    exact = output.count / output.elapsed if output.elapsed else float(output.queries)
    return output.table_size * exact / 1000


def rule_that_reproduces(scans: Iterable[tuple[Output, str]]) -> ScanRule | None:
    """Return the rule by which most published rates of scans come out of sysbench's output.

    One may have been edited. None where neither rule gives more than the other.
    """
    reproduced = dict.fromkeys(ScanRule, 0)
    for output, published in scans:
        for rule in ScanRule:
            rate = published_rate(SCAN, output, rule)
            reproduced[rule] += rate is not None and rate.text == published
    most = max(reproduced.values())
    best = [rule for rule, count in reproduced.items() if count == most]
    return best[0] if len(best) == 1 else None


def rule_of_day(day: str) -> ScanRule:
    """Return the rule of the time of a day (ISO 8601)."""
    late = (int(day[:4]), int(day[5:7])) >= _FIRST_OF_ONE_THREAD
    return ScanRule.ONE_THREAD if late else ScanRule.ALL_THREADS


def rule_in_name(name: str) -> ScanRule | None:
    """Return the rule of the month in a name: `mar25.pg.workmem`, `25apr.c48`; None without one."""
    if match := _MONTH_AND_YEAR.search(name.lower()):
        month, year = match[1] or match[4], match[2] or match[3]
        return rule_of_day(f"20{year}-{_MONTHS.index(month) + 1:02}")
    return None
