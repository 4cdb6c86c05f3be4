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


def devices(lines: Sequence[str]) -> list[str]:
    """The devices of the file, in their order."""
    found: dict[str, None] = {}
    listing = False
    for line in lines:
        row = line.split()
        if not row:
            listing = False
        elif row[0].startswith("Device"):
            listing = True
        elif listing:
            found.setdefault(row[0])
    return list(found)


def read(lines: Sequence[str], device: str) -> Iostat | None:
    """The sums of the lines that `device` is a part of; None where there is none.

    The layout is that of the first header; its columns are found by their names.
    """
    header = next((line.split() for line in lines if line.startswith("Device")), None)
    if header is None or not set(_COLUMNS) <= set(header):
        return None
    places = [header.index(name) for name in _COLUMNS]
    sums = [0.0] * len(places)
    samples = 0
    for line in lines:
        if device not in line:
            continue
        row = line.split()
        if len(row) < len(header):
            continue  # torn
        samples += 1
        for place, column in enumerate(places):
            sums[place] += float(row[column])
    return Iostat(samples, *sums) if samples else None
