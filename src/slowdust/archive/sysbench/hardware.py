"""Samples of a host next to a run (iostat, vmstat, ps), and hardware per operation made of them.

The averages that were published of `vmstat 1` (sb.vm) count two kinds of lines that are no samples:
the first row, which is the mean since the host booted, and each repeated `procs` header but the
first, as zeros. The formulas of sb.met round as C's printf does: half to even, on the binary value.
So does Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from slowdust.formats.text import ends_whole, is_number

_OF_IOSTAT = (b"r/s", b"rkB/s", b"w/s", b"wkB/s")
_HEADER = re.compile(rb"^Device[^\n]*", re.MULTILINE)
_HOST = re.compile(
    rb"Linux (?P<kernel>\S+) \((?P<host>[^)]*)\)\s+(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})"
)


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


def read_traffic(content: bytes) -> dict[str, float]:
    """Return the KB read and written over the file, by device."""
    layout = _layout(content)
    if layout is None:
        return {}
    width, places = layout
    sums: dict[str, float] = {}
    for line in content.split(b"\n"):
        row = line.split()
        if len(row) == width and not row[0].startswith((b"Device", b"loop")):
            try:
                kilobytes = float(row[places[1]]) + float(row[places[3]])
            except ValueError:
                continue
            name = row[0].decode(errors="replace")
            sums[name] = sums.get(name, 0.0) + kilobytes
    return sums


def busiest(traffic_by_device: Mapping[str, float]) -> str | None:
    """Return the device that read and wrote most; an array before its members."""
    devices = traffic_by_device
    arrays = {name: sum_ for name, sum_ in devices.items() if name.startswith("md")}
    candidates = arrays if any(arrays.values()) else devices
    return max(candidates, key=lambda name: candidates[name], default=None)


def read_iostat(content: bytes, device: str) -> Iostat | None:
    """Add up the lines that have `device` in them; return None where there are none.

    The layout is that of the first header; its columns are found by their names.
    """
    layout = _layout(content)
    if layout is None:
        return None
    width, places = layout
    wanted = device.encode()
    lines = [line for line in content.split(b"\n") if wanted in line]
    cells = b"\n".join(lines).split()
    if len(cells) == width * len(lines):
        columns = [cells[place::width] for place in places]
    else:
        rows = [row for row in map(bytes.split, lines) if len(row) >= width]  # others are torn
        columns = [[row[place] for row in rows] for place in places]
    samples = len(columns[0])
    try:
        reads, read_kb, writes, written_kb = (sum(map(float, column)) for column in columns)
    except ValueError:
        return None
    if not samples or not math.isfinite(reads + read_kb + writes + written_kb):
        return None
    sums = Iostat(samples, reads, read_kb, writes, written_kb)
    if (match := _HOST.match(content)) is None:
        return sums
    text = {name: value.decode(errors="replace") for name, value in match.groupdict().items()}
    day = f"{text['year']}-{text['month']}-{text['day']}"
    return replace(sums, kernel=text["kernel"], host=text["host"], day=day)


def _layout(content: bytes) -> tuple[int, list[int]] | None:
    match = _HEADER.search(content)
    header: Sequence[bytes] = match[0].split() if match else []
    if not set(_OF_IOSTAT) <= set(header):
        return None
    return len(header), [header.index(name) for name in _OF_IOSTAT]


_FIELDS = 17
_MOST_PERCENT = 101.0
"""User and system time, which are rounded each."""
_SWITCHES, _USER, _SYSTEM = 11, 12, 13
_OF_VMSTAT = b"swpd"
_HEADER_OF_VMSTAT = b"procs"


@dataclass(frozen=True)
class Vmstat:
    """Sums over the samples."""

    samples: int
    switches: float
    """Context switches per second."""
    cpu: float
    """User and system time, percent of the host."""
    impossible: int = 0
    """Number of samples that are left out, since they have numbers that nothing can have."""

    @property
    def switches_per_second(self) -> float:
        """Mean number of context switches per second."""
        return self.switches / self.samples

    @property
    def cpu_percent(self) -> float:
        """Mean percent of the whole host."""
        return self.cpu / self.samples


def read_published_vmstat(content: bytes) -> Vmstat | None:
    """Add up the lines by the published rule; return None where there is nothing to average."""
    counted = [line for line in content.split(b"\n") if _OF_VMSTAT not in line][1:]
    if counted and not counted[-1]:
        counted.pop()  # behind the last end of a line
    return _sum(counted, len(counted))


def read_clean_vmstat(content: bytes) -> Vmstat | None:
    """Add up the samples alone, without the mean since boot; return None where there is none."""
    rows = [row for row in content.split(b"\n") if row.lstrip()[:1].isdigit()][1:]
    if len(b"\n".join(rows).split()) != _FIELDS * len(rows):
        rows = [row for row in rows if len(row.split()) >= _FIELDS]  # others are torn
    possible = [row for row in rows if _is_possible(row.split())]
    sums = _sum(possible, len(possible))
    return sums and replace(sums, impossible=len(rows) - len(possible))


def _is_possible(cells: Sequence[bytes]) -> bool:
    """Return whether no number is negative or beyond all percent; kernels have printed such."""
    negative = any(cell.startswith(b"-") for cell in cells[:_FIELDS])
    return not negative and _number(cells, _USER, _SYSTEM) <= _MOST_PERCENT


def _sum(lines: Sequence[bytes], samples: int) -> Vmstat | None:
    """Add up lines; a cell that is no number counts 0, as in awk."""
    if not samples:
        return None
    rows = [line for line in lines if not line.startswith(_HEADER_OF_VMSTAT)]
    cells = b"\n".join(rows).split()
    if len(cells) != _FIELDS * len(rows):
        return _sum_one_by_one(rows, samples)
    try:
        switches, user, system = (
            sum(map(int, cells[column::_FIELDS])) for column in (_SWITCHES, _USER, _SYSTEM)
        )
    except ValueError:
        return _sum_one_by_one(rows, samples)
    return Vmstat(samples, float(switches), float(user + system))


def _sum_one_by_one(lines: Sequence[bytes], samples: int) -> Vmstat:
    rows = [line.split() for line in lines]
    return Vmstat(
        samples,
        sum(_number(row, _SWITCHES) for row in rows),
        sum(_number(row, _USER, _SYSTEM) for row in rows),
    )


def _number(row: Sequence[bytes], *columns: int) -> float:
    cells = (row[column].decode(errors="replace") for column in columns if column < len(row))
    return sum(map(float, filter(is_number, cells)), start=0.0)


_ROW = re.compile(rb"^\S+[ ]+\d+[ ]+\S+[ ]+\S+[ ]+(\d{1,15})[ ]+(\d{1,15})[ ]", re.MULTILINE)


@dataclass(frozen=True)
class Peaks:
    """The largest sizes that any one process of the server had, in KB."""

    vsz_kb: int
    rss_kb: int
    """Resident size of one process: a sum would count shared memory once for each."""
    whole: bool
    """Whether the last line has an end."""


def read_ps(content: bytes) -> Peaks | None:
    """Return the peaks over all samples; None where no process is listed."""
    sizes = _ROW.findall(content)
    if not sizes:
        return None
    vsz, rss = (max(map(int, column)) for column in zip(*sizes, strict=True))
    return Peaks(vsz, rss, ends_whole(content))


_TITLE = "iostat, vmstat normalized by operation rate"
_STORAGE = ("samp", "r/s", "rMB/s", "w/s", "wMB/s", "r/o", "rKB/o", "wKB/o", "o/s")
_CPU = ("samp", "cs/s", "cpu/s", "cs/o", "cpu/o")
MET_COLUMNS = (*_STORAGE, *_CPU)
"""All columns; those of the samples are called alike in both tables."""
_KB_PER_MB = 1024


@dataclass(frozen=True)
class Met:
    """The published numbers of a test, as printed, in the order of `COLUMNS`.

    `o/s` is what those per operation were divided by, `cpu/o` percent of the host per operation/s.
    """

    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[MET_COLUMNS.index(column)]

    @property
    def rate(self) -> str:
        """Operations per second."""
        return self["o/s"]

    @property
    def seconds(self) -> float:
        """Samples of storage: one a second."""
        return float(self["samp"])


def make_met(rate: str, storage: Iostat, cpu: Vmstat) -> Met:
    operations = float(rate)
    io, vm = storage.samples, cpu.samples
    return Met(
        (
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
    )


def write_met(met: Met) -> str:
    width = len(_STORAGE)
    rows = (_STORAGE, met.cells[:width], (), _CPU, met.cells[width:])
    return "".join(f"{line}\n" for line in (_TITLE, *map("\t".join, rows)))


def read_met(lines: Sequence[str]) -> Met | None:
    """Read the numbers of a file; return None where it is empty or torn."""
    rows = [tuple(line.split()) for line in lines]
    values = dict(pairwise(rows))
    storage, cpu = values.get(_STORAGE, ()), values.get(_CPU, ())
    if len(storage) != len(_STORAGE) or len(cpu) != len(_CPU):
        return None
    if not all(map(is_number, (*storage, *cpu))) or float(storage[-1]) <= 0:
        return None
    return Met((*storage, *cpu))
