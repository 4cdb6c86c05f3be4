"""The output of `iostat -y -kx 1` beside a run (sb.io)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_COLUMNS = (b"r/s", b"rkB/s", b"w/s", b"wkB/s")
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


def traffic(content: bytes) -> dict[str, float]:
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


def read(content: bytes, device: str) -> Iostat | None:
    """Add up the lines that have `device` in them; return None where there are none.

    The layout is that of the first header; its columns are found by their names.
    """
    layout = _layout(content)
    if layout is None:
        return None
    width, places = layout
    lines = _lines_with(content, device.encode())
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
    return Iostat(samples, reads, read_kb, writes, written_kb, **_host(content))


def _lines_with(content: bytes, device: bytes) -> list[bytes]:
    lines = re.findall(rb"^%b[^\n]*" % re.escape(device), content, re.MULTILINE)
    if len(lines) == content.count(device):
        return lines
    return [line for line in content.split(b"\n") if device in line]


def _layout(content: bytes) -> tuple[int, list[int]] | None:
    """Return the number of columns and the places of those that count; None without a header."""
    match = _HEADER.search(content)
    header: Sequence[bytes] = match[0].split() if match else []
    if not set(_COLUMNS) <= set(header):
        return None
    return len(header), [header.index(name) for name in _COLUMNS]


def _host(content: bytes) -> dict[str, str]:
    match = _HOST.match(content)
    if match is None:
        return {}
    text = {name: value.decode(errors="replace") for name, value in match.groupdict().items()}
    return {
        "kernel": text["kernel"],
        "host": text["host"],
        "day": f"{text['year']}-{text['month']}-{text['day']}",
    }
