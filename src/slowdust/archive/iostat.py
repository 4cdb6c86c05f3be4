"""`iostat -y -kx 1` beside a run (sb.io)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_COLUMNS = ("r/s", "rkB/s", "w/s", "wkB/s")


@dataclass(frozen=True)
class Iostat:
    """Sums over the samples of the chosen device."""

    samples: int
    reads: float
    read_kb: float
    writes: float
    written_kb: float


def busiest(lines: Sequence[str]) -> str | None:
    """The device that read and wrote most over the file; an array before its members."""
    places = _places(lines)
    if places is None:
        return None
    traffic: dict[str, float] = {}
    width = _width(lines)
    for line in lines:
        row = line.split()
        if len(row) == width and not row[0].startswith(("Device", "loop")) and row[1][0].isdigit():
            kilobytes = float(row[places[1]]) + float(row[places[3]])
            traffic[row[0]] = traffic.get(row[0], 0.0) + kilobytes
    arrays = {name: sum_ for name, sum_ in traffic.items() if name.startswith("md")}
    candidates = arrays if any(arrays.values()) else traffic
    return max(candidates, key=lambda name: candidates[name], default=None)


def read(lines: Sequence[str], device: str) -> Iostat | None:
    """The sums of the lines that `device` is a part of; None where there is none.

    The layout is that of the first header; its columns are found by their names.
    """
    places = _places(lines)
    if places is None:
        return None
    width = _width(lines)
    sums = [0.0] * len(places)
    samples = 0
    for line in lines:
        if device not in line:
            continue
        row = line.split()
        if len(row) < width:
            continue  # torn
        samples += 1
        for place, column in enumerate(places):
            sums[place] += float(row[column])
    return Iostat(samples, *sums) if samples else None


def _header(lines: Sequence[str]) -> list[str]:
    return next((line.split() for line in lines if line.startswith("Device")), [])


def _width(lines: Sequence[str]) -> int:
    return len(_header(lines))


def _places(lines: Sequence[str]) -> list[int] | None:
    """Where the columns are; None where there is no header that has them."""
    header = _header(lines)
    return [header.index(name) for name in _COLUMNS] if set(_COLUMNS) <= set(header) else None
