"""The files of a sysbench run: its output (sb.o), and samples of the host during the run.

Between the command line and the end of sb.o there may be a megabyte of plans, which is skipped. A
file may have the output of several runs, one after the other.

The published averages of `vmstat 1` (sb.vm) include two kinds of lines that are not samples: the
first row, which is the mean since the host booted, and each repeated `procs` header but the first,
as zeros. The formulas of sb.met round like C's printf: half to even, on the binary value. So does
Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from slowdust.archive.classic import Row
from slowdust.text import ends_whole, is_number
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
"""Maximum number of characters of a quoted message of sysbench."""
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
    """Number of errors that sysbench ignored: deadlocks, and other transactions that it retried."""
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
    """Read the numbers of each finished run, in order; empty without a finished run.

    Raises:
        ValueError: a rate is not a positive number.
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
    """Return in words why `read_output` finds no run in a file."""
    if version := _EARLIER.search(content):
        return (
            f"from sysbench {version[1].decode()}, which prints no queries/s; sysbench 1.0 or "
            "later is required"
        )
    if failure := _FAILURE.search(content):
        return f"sysbench failed: {failure[1][:_LONGEST_QUOTED].decode(errors='replace')}"
    return (
        "the test did not finish" if _OF_SYSBENCH.search(content) else "not the output of sysbench"
    )


def read_load(content: bytes) -> LoadOutput | None:
    """Read the last line of a load; return None if it did not finish.

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


_OF_IOSTAT = (b"r/s", b"rkB/s", b"w/s", b"wkB/s")
_HEADER = re.compile(rb"^Device[^\n]*", re.MULTILINE)
_HOST = re.compile(rb"Linux (\S+) \(([^)]*)\)\s+(\d\d)/(\d\d)/(\d{4})")


@dataclass(frozen=True)
class Iostat:
    """Sums over the samples of the chosen device."""

    samples: int
    reads: float
    read_kb: float
    writes: float
    written_kb: float
    kernel: str | None = None
    host: str | None = None
    day: str | None = None
    """The day in ISO 8601."""


def _layout(content: bytes) -> tuple[int, list[int]] | None:
    """Return the width of the first header, and the indices of the columns that are read."""
    match = _HEADER.search(content)
    header: Sequence[bytes] = match[0].split() if match else []
    if not set(_OF_IOSTAT) <= set(header):
        return None
    return len(header), [header.index(name) for name in _OF_IOSTAT]


def read_traffic(content: bytes) -> dict[str, float]:
    if (layout := _layout(content)) is None:
        return {}
    width, (_, read_kb, _, written_kb) = layout
    sums: dict[str, float] = {}
    for line in content.split(b"\n"):
        row = line.split()
        if len(row) == width and not row[0].startswith((b"Device", b"loop")):
            try:
                kilobytes = float(row[read_kb]) + float(row[written_kb])
            except ValueError:
                continue
            name = row[0].decode(errors="replace")
            sums[name] = sums.get(name, 0.0) + kilobytes
    return sums


def busiest(traffic_by_device: Mapping[str, float]) -> str | None:
    """Return the device with the most traffic; arrays precede their members."""
    arrays = {name: sum_ for name, sum_ in traffic_by_device.items() if name.startswith("md")}
    candidates = arrays if any(arrays.values()) else traffic_by_device
    return max(candidates, key=lambda name: candidates[name], default=None)


def read_iostat(content: bytes, device: str) -> Iostat | None:
    """Add up the lines that contain `device`; return None without any."""
    if (layout := _layout(content)) is None:
        return None
    width, places = layout
    lines = [line for line in content.split(b"\n") if device.encode() in line]
    cells = b"\n".join(lines).split()
    if len(cells) != width * len(lines):  # some are torn
        cells = [
            cell for row in map(bytes.split, lines) if len(row) >= width for cell in row[:width]
        ]
    samples = len(cells) // width
    try:
        sums = [sum(map(float, cells[place::width])) for place in places]
    except ValueError:
        return None
    if not samples or not math.isfinite(sum(sums)):
        return None
    reads, read_kb, writes, written_kb = sums
    facts = Iostat(samples, reads, read_kb, writes, written_kb)
    if (match := _HOST.match(content)) is None:
        return facts
    kernel, host, month, day, year = (text.decode(errors="replace") for text in match.groups())
    return replace(facts, kernel=kernel, host=host, day=f"{year}-{month}-{day}")


_FIELDS = 17
_MOST_PERCENT = 101.0
"""Largest sum of user and system time, allowing for rounding."""
_SWITCHES, _USER, _SYSTEM = 11, 12, 13


@dataclass(frozen=True)
class Vmstat:
    """Sums over the samples."""

    samples: int
    switches: float
    """Context switches per second."""
    cpu: float
    """User and system time, percent of the host."""
    impossible: int = 0
    """Number of excluded samples with impossible numbers."""

    @property
    def switches_per_second(self) -> float:
        return self.switches / self.samples

    @property
    def cpu_percent(self) -> float:
        return self.cpu / self.samples


@dataclass(frozen=True)
class Cpu:
    """Sums over the samples of vmstat by the published rule, and over true samples only."""

    published: Vmstat
    clean: Vmstat


def read_vmstat(content: bytes) -> Cpu | None:
    lines = content.split(b"\n")
    published = [line for line in lines if b"swpd" not in line][1:]
    if published and not published[-1]:
        published.pop()  # after the last line
    rows = [row for row in lines if row.lstrip()[:1].isdigit()][1:]  # the first is since boot
    if len(b"\n".join(rows).split()) != _FIELDS * len(rows):
        rows = [row for row in rows if len(row.split()) >= _FIELDS]  # others are torn
    # Kernels have printed negative numbers, and more than 100 percent.
    possible = [
        row
        for row, cells in zip(rows, map(bytes.split, rows), strict=True)
        if not any(cell.startswith(b"-") for cell in cells[:_FIELDS])
        and _number(cells, _USER, _SYSTEM) <= _MOST_PERCENT
    ]
    if not published or not possible:
        return None
    clean = Vmstat(len(possible), *_sums(possible), impossible=len(rows) - len(possible))
    samples = [line for line in published if not line.startswith(b"procs")]
    return Cpu(Vmstat(len(published), *_sums(samples)), clean)


def _sums(rows: Sequence[bytes]) -> tuple[float, float]:
    """Add up context switches and CPU time; a cell that is not a number counts as 0, as in awk."""
    cells = b"\n".join(rows).split()
    try:
        if len(cells) == _FIELDS * len(rows):
            switches, user, system = (
                sum(map(int, cells[column::_FIELDS])) for column in (_SWITCHES, _USER, _SYSTEM)
            )
            return float(switches), float(user + system)
    except ValueError:
        pass
    split = [row.split() for row in rows]
    return sum(_number(r, _SWITCHES) for r in split), sum(_number(r, _USER, _SYSTEM) for r in split)


def _number(row: Sequence[bytes], *columns: int) -> float:
    cells = (row[column].decode(errors="replace") for column in columns if column < len(row))
    return sum(map(float, filter(is_number, cells)), start=0.0)


_ROW = re.compile(rb"^\S+[ ]+\d+[ ]+\S+[ ]+\S+[ ]+(\d{1,15})[ ]+(\d{1,15})[ ]", re.MULTILINE)


@dataclass(frozen=True)
class Peaks:
    """The largest sizes of any single process of the server, in KB."""

    vsz_kb: int
    rss_kb: int
    """Resident size of one process: a sum would count shared memory several times."""
    whole: bool
    """Whether the last line is complete."""


def read_ps(content: bytes) -> Peaks | None:
    sizes = _ROW.findall(content)
    if not sizes:
        return None
    vsz, rss = (max(map(int, column)) for column in zip(*sizes, strict=True))
    return Peaks(vsz, rss, ends_whole(content))


_TITLE = "iostat, vmstat normalized by operation rate"
_STORAGE = ("samp", "r/s", "rMB/s", "w/s", "wMB/s", "r/o", "rKB/o", "wKB/o", "o/s")
_CPU = ("samp", "cs/s", "cpu/s", "cs/o", "cpu/o")
MET_COLUMNS = (*_STORAGE, *_CPU)
"""The columns of sb.met. `o/s` is the divisor of columns per operation, `cpu/o` percent of the host
per operation/s, and the first `samp` the number of samples of storage, one a second."""
_KB_PER_MB = 1024


def make_met(rate: str, storage: Iostat, cpu: Vmstat) -> Row:
    operations = float(rate)
    io, vm = storage.samples, cpu.samples
    cells = (
        f"{io}",
        f"{storage.reads / io:.1f}",
        f"{storage.read_kb / io / _KB_PER_MB:.1f}",
        f"{storage.writes / io:.1f}",
        f"{storage.written_kb / io / _KB_PER_MB:.1f}",
        f"{storage.reads / io / operations:.3f}",
        f"{storage.read_kb / io / operations:.3f}",
        f"{storage.written_kb / io / operations:.3f}",
        rate,
        f"{vm}",
        f"{cpu.switches / vm:.0f}",
        f"{cpu.cpu / vm:.1f}",
        f"{cpu.switches / vm / operations:.3f}",
        f"{cpu.cpu / vm / operations:.6f}",
    )
    return Row("", MET_COLUMNS, cells)


def write_met(met: Row) -> str:
    width = len(_STORAGE)
    rows = (_STORAGE, met.cells[:width], (), _CPU, met.cells[width:])
    return "".join(f"{line}\n" for line in (_TITLE, *map("\t".join, rows)))


def read_met(lines: Sequence[str]) -> Row | None:
    values = dict(pairwise(tuple(line.split()) for line in lines))
    cells = (*values.get(_STORAGE, ()), *values.get(_CPU, ()))
    met = Row("", MET_COLUMNS, cells)
    if len(values.get(_STORAGE, ())) != len(_STORAGE) or len(cells) != len(MET_COLUMNS):
        return None
    return met if all(map(is_number, cells)) and float(met["o/s"]) > 0 else None
