"""Hardware per operation (sb.met): how it was published, byte for byte, and how it is read.

The formulas round as C's printf does: half to even, on the binary value. So does Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowdust.archive.iostat import Iostat
from slowdust.archive.vmstat import Vmstat

_TITLE = "iostat, vmstat normalized by operation rate"
_STORAGE = "samp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s"
_CPU = "samp\tcs/s\tcpu/s\tcs/o\tcpu/o"
_KB_PER_MB = 1024


@dataclass(frozen=True)
class Met:
    """The published numbers of a test, as printed."""

    reads_per_o: str
    read_kb_per_o: str
    written_kb_per_o: str
    rate: str
    switches_per_o: str
    cpu_per_o: str
    """Percent of the host per operation/s."""


def write(rate: str, storage: Iostat, cpu: Vmstat) -> str:
    """The file, from the sums of the probes and the rate as printed."""
    operations = float(rate)
    io, vm = storage.samples, cpu.samples
    return (
        f"{_TITLE}\n{_STORAGE}\n"
        f"{io}\t{storage.reads / io:.1f}\t{storage.read_kb / io / _KB_PER_MB:.1f}"
        f"\t{storage.writes / io:.1f}\t{storage.written_kb / io / _KB_PER_MB:.1f}"
        f"\t{storage.reads / io / operations:.3f}\t{storage.read_kb / io / operations:.3f}"
        f"\t{storage.written_kb / io / operations:.3f}\t{rate}\n\n"
        f"{_CPU}\n"
        f"{vm}\t{cpu.switches / vm:.0f}\t{cpu.cpu / vm:.1f}"
        f"\t{cpu.switches / vm / operations:.3f}\t{cpu.cpu / vm / operations:.6f}\n"
    )


def read(lines: Sequence[str]) -> Met | None:
    """The numbers of a file; None where it is empty or torn."""
    rows = [line.split() for line in lines]
    values = {tuple(name): row for name, row in pairwise(rows)}
    storage = values.get(tuple(_STORAGE.split()), [])
    cpu = values.get(tuple(_CPU.split()), [])
    if len(storage) != len(_STORAGE.split()) or len(cpu) != len(_CPU.split()):
        return None
    return Met(
        reads_per_o=storage[5],
        read_kb_per_o=storage[6],
        written_kb_per_o=storage[7],
        rate=storage[8],
        switches_per_o=cpu[3],
        cpu_per_o=cpu[4],
    )
