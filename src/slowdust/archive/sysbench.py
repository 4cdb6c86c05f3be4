"""What sysbench printed at the end of a test (sb.o), and at the end of the load (sb.prepare.o)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.store.records import Second

_QUERIES = re.compile(r"^    queries: +\d+ +\((?P<rate>[\d.]+) per sec\.\)")
_TRANSACTIONS = re.compile(r"^    transactions: +\d+ +\((?P<rate>[\d.]+) per sec\.\)")
_ELAPSED = re.compile(r"^    time elapsed: +(?P<seconds>[\d.]+)s")
_LATENCY = re.compile(r"^ +(?P<name>avg|max|95th percentile): +(?P<ms>[\d.]+)$")
_OPTION = re.compile(r"--(table-size|tables|threads|time)=(\d+)")
_CPUS = re.compile(r"^(\d+) CPUs")
_LOADED = re.compile(r"^Load seconds is (\d+) for (\d+) tables, \S+ Mips, (\d+) ips")


@dataclass(frozen=True)
class Output:
    """The end of a test, as printed."""

    table_size: int | None
    tables: int | None
    threads: int | None
    cpus: int | None
    queries: str
    """Per second, with two decimals."""
    transactions: str
    elapsed: Second | None
    average_ms: str | None
    longest_ms: str | None
    p95_ms: str | None


@dataclass(frozen=True)
class LoadOutput:
    """The end of the load."""

    seconds: int
    tables: int
    inserts: str
    """Per second."""


def read(lines: Sequence[str]) -> Output | None:
    """The numbers of a test that ended; None where it did not."""
    options = dict(_OPTION.findall(lines[0])) if lines else {}
    cpus = next((found[1] for line in lines[:3] if (found := _CPUS.match(line))), None)
    queries = transactions = None
    elapsed: Second | None = None
    latency: dict[str, str] = {}
    for line in lines:
        if not line.startswith("  "):
            continue
        if found := _QUERIES.match(line):
            queries = found["rate"]
        elif found := _TRANSACTIONS.match(line):
            transactions = found["rate"]
        elif found := _ELAPSED.match(line):
            elapsed = float(found["seconds"])
        elif found := _LATENCY.match(line):
            latency[found["name"]] = found["ms"]
    if queries is None or transactions is None:
        return None
    return Output(
        table_size=_int(options.get("table-size")),
        tables=_int(options.get("tables")),
        threads=_int(options.get("threads")),
        cpus=_int(cpus),
        queries=queries,
        transactions=transactions,
        elapsed=elapsed,
        average_ms=latency.get("avg"),
        longest_ms=latency.get("max"),
        p95_ms=latency.get("95th percentile"),
    )


def read_load(lines: Sequence[str]) -> LoadOutput | None:
    """The last line of a load; None where it did not end."""
    for line in reversed(lines):
        if found := _LOADED.match(line):
            return LoadOutput(int(found[1]), int(found[2]), found[3])
    return None


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)
