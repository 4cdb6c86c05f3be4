"""The output of sysbench: of a test (sb.o) and of the load (sb.prepare.o).

Between the command line and the end there may be a megabyte of plans, which are skipped. A file may
have the output of several runs, one after the other.
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
_TRANSACTIONS = re.compile(rb"^    transactions: +\d+ +\((?:%b) per sec\.\)" % _NUMBER, re.M)
_PRINTED_RATE = re.compile(rb"^    (?:queries|transactions): .*\((?P<rate>\S+) per sec\.\)", re.M)
_ELAPSED = re.compile(rb"^    (?:time elapsed|total time): +(%b)s" % _NUMBER, re.M)
_THREADS = re.compile(rb"^Number of threads: (\d{1,9})\s*$", re.M)
_IGNORED = re.compile(rb"^    ignored errors: +(\d{1,15}) ", re.M)
_LATENCY = re.compile(rb"^ +(avg|max|95th percentile): +(%b)\s*$" % _NUMBER, re.M)
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
    elapsed: Second | None
    average_ms: str | None
    longest_ms: str | None
    p95_ms: str | None
    ignored: int
    """Number of errors that sysbench ignored: deadlocks, and other transactions that it repeats."""
    torn: bool
    """Whether a part of the lines after the rates is missing."""


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
    whole = content[: content.rfind(b"\n") + 1]
    ends = [match.start() for match in re.finditer(re.escape(_END), whole)] or [0]
    stops = [*ends[1:], len(whole)]
    head = whole[:_HEAD_BYTES]
    options = {name: int(value) for name, value in _OPTION.findall(head.partition(b"\n")[0])}
    driver, cpus = _DRIVER.search(head), _CPUS.search(head)
    outputs = []
    for begin, end, stop in zip([0, *ends], ends, stops, strict=False):
        statistics = whole[end:stop]
        for printed in _PRINTED_RATE.findall(statistics):
            if not _RATE.fullmatch(printed) or not float(printed):
                raise ValueError(f"a rate of {printed[:40].decode(errors='replace')}/s")
        queries = _QUERIES.search(statistics)
        if queries is None or not _TRANSACTIONS.search(statistics):
            continue
        threads = _THREADS.findall(whole, begin, end)
        latency = {name: ms.decode() for name, ms in _LATENCY.findall(statistics)}
        elapsed, ignored = _ELAPSED.search(statistics), _IGNORED.search(statistics)
        cut_off = stop == len(whole) < len(content)
        outputs.append(
            Output(
                table_size=options.get(b"table-size"),
                tables=options.get(b"tables"),
                threads=int(threads[-1]) if threads else options.get(b"threads"),
                cpus=int(cpus[1]) if cpus else None,
                driver=driver[1].decode() if driver else None,
                count=int(queries["count"]),
                queries=queries["rate"].decode(),
                elapsed=float(elapsed[1]) if elapsed else None,
                average_ms=latency.get(b"avg"),
                longest_ms=latency.get(b"max"),
                p95_ms=latency.get(b"95th percentile"),
                ignored=int(ignored[1]) if ignored else 0,
                torn=cut_off or not _PERCENTILE.search(statistics),
            )
        )
    return outputs


def why_unread(content: bytes) -> str:
    """Say why a file has no run that `read_output` returns, in words."""
    if version := _EARLIER.search(content):
        return (
            f"of sysbench {version[1].decode()}, which prints no queries/s: output of sysbench 1.0 "
            "and later is read"
        )
    if failure := _FAILURE.search(content):
        return f"sysbench failed: {failure[1][:_LONGEST_QUOTED].decode(errors='replace')}"
    return "the test did not end" if _OF_SYSBENCH.search(content) else "not the output of sysbench"


def read_load(content: bytes) -> LoadOutput | None:
    """Read the last line of a load; return None where it did not end.

    Raises:
        ValueError: its rate is 0.
    """
    loads = _LOADED.findall(content)
    if not loads:
        return None
    seconds, tables, inserts = loads[-1]
    if not int(inserts):
        raise ValueError("a rate of 0/s")
    return LoadOutput(int(seconds), int(tables), inserts.decode())
