"""Hardware per operation (sb.met): the published formulas, byte for byte, and the reader.

The formulas round as C's printf does: half to even, on the binary value. So does Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.vmstat import Vmstat
from slowdust.formats.text import is_number

_TITLE = "iostat, vmstat normalized by operation rate"
_STORAGE = ("samp", "r/s", "rMB/s", "w/s", "wMB/s", "r/o", "rKB/o", "wKB/o", "o/s")
_CPU = ("samp", "cs/s", "cpu/s", "cs/o", "cpu/o")
COLUMNS = (*_STORAGE, *_CPU)
"""All columns; those of the samples are called alike in both tables."""
_KB_PER_MB = 1024


@dataclass(frozen=True)
class Met:
    """The published numbers of a test, as printed, in the order of `COLUMNS`.

    `o/s` is what those per operation were divided by, `cpu/o` percent of the host per operation/s.
    """

    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[COLUMNS.index(column)]

    @property
    def rate(self) -> str:
        """Operations per second."""
        return self["o/s"]

    @property
    def seconds(self) -> float:
        """Samples of storage: one a second."""
        return float(self["samp"])


def make(rate: str, storage: Iostat, cpu: Vmstat) -> Met:
    """Compute the numbers from the sums of the probes and the rate as printed."""
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


def write(met: Met) -> str:
    """Write the file."""
    storage, cpu = met.cells[: len(_STORAGE)], met.cells[len(_STORAGE) :]
    storage_table, cpu_table = (
        "\n".join(map("\t".join, table)) for table in ((_STORAGE, storage), (_CPU, cpu))
    )
    return f"{_TITLE}\n{storage_table}\n\n{cpu_table}\n"


def read(lines: Sequence[str]) -> Met | None:
    """Read the numbers of a file; return None where it is empty or torn."""
    rows = [tuple(line.split()) for line in lines]
    values = dict(pairwise(rows))
    storage, cpu = values.get(_STORAGE, ()), values.get(_CPU, ())
    if len(storage) != len(_STORAGE) or len(cpu) != len(_CPU):
        return None
    if not all(map(is_number, (*storage, *cpu))) or float(storage[-1]) <= 0:
        return None
    return Met((*storage, *cpu))
