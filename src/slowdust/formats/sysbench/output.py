"""The end of sysbench's output, of a test (sb.o) and of the load (sb.prepare.o).

Between the command line and the end there may be a megabyte of plans, which nobody looks at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_ELAPSED = re.compile(rb"^    time elapsed: +(?P<seconds>%b)s" % _NUMBER, re.M)
_LATENCY = re.compile(rb"^ +(?P<name>avg|max|95th percentile): +(?P<ms>%b)\s*$" % _NUMBER, re.M)
_PERCENTILE = re.compile(rb"^ +\d{1,2}th percentile: ", re.M)
_OPTION = re.compile(rb"--(table-size|tables|threads|time)=(\d{1,15})\b")
_DRIVER = re.compile(rb"--db-driver=(\w+)")
_CPUS = re.compile(rb"^(\d{1,6}) CPUs", re.M)
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
    torn: bool = False
    """Whether a part of the lines behind the rates is missing."""


@dataclass(frozen=True)
class LoadOutput:
    """The end of the load."""

    seconds: int
    tables: int
    inserts: str
    """Inserts per second."""


def read(content: bytes) -> Output | None:
    """Read the numbers of a test that ended; return None where it did not.

    Raises:
        ValueError: its rate is none.
    """
    whole_lines = content[: content.rfind(b"\n") + 1]
    head, end = whole_lines[:_HEAD_BYTES], whole_lines[max(0, whole_lines.rfind(_END)) :]
    for printed in _PRINTED_RATE.findall(end):
        if not _RATE.fullmatch(printed) or not float(printed):
            raise ValueError(f"a rate of {printed[:40].decode(errors='replace')}/s")
    queries, transactions = _QUERIES.search(end), _TRANSACTIONS.search(end)
    if queries is None or transactions is None:
        return None
    options = {name: int(value) for name, value in _OPTION.findall(head.partition(b"\n")[0])}
    latency = {match["name"]: match["ms"].decode() for match in _LATENCY.finditer(end)}
    elapsed, driver, cpus = _ELAPSED.search(end), _DRIVER.search(head), _CPUS.search(head)
    return Output(
        table_size=options.get(b"table-size"),
        tables=options.get(b"tables"),
        threads=options.get(b"threads"),
        cpus=int(cpus[1]) if cpus else None,
        driver=driver[1].decode() if driver else None,
        count=int(queries["count"]),
        queries=queries["rate"].decode(),
        transactions=transactions["rate"].decode(),
        elapsed=float(elapsed["seconds"]) if elapsed else None,
        average_ms=latency.get(b"avg"),
        longest_ms=latency.get(b"max"),
        p95_ms=latency.get(b"95th percentile"),
        torn=len(whole_lines) < len(content) or not _PERCENTILE.search(end),
    )


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
