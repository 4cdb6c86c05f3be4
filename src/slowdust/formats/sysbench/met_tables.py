"""The tables of hardware per operation (o.met): a block for each test, a line for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.formats.sysbench.met import Met
from slowdust.formats.text import is_number

_ABSOLUTE, _RELATIVE = "--- absolute", "--- relative to first result"
_HEADER = ("cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s")
_RUN = "dbms"
_ABSENT = "-"


@dataclass(frozen=True)
class MetRow:
    """One run's numbers, as printed."""

    cpu: str
    """Percent of the host per operation/s."""
    switches: str
    reads: str
    read_kb: str
    written_kb: str
    rate: str
    run: str

    @classmethod
    def of(cls, met: Met, run: str) -> MetRow:
        """Return the row of a file sb.met."""
        return cls(
            cpu=met.cpu_per_o,
            switches=met.switches_per_o,
            reads=_short(met.reads_per_o),
            read_kb=_short(met.read_kb_per_o),
            written_kb=_short(met.written_kb_per_o),
            rate=f"{float(met.rate):.0f}",
            run=run,
        )

    def named_cells(self) -> dict[str, str]:
        """Return the number of each column."""
        return dict(zip(_HEADER, self.cells(), strict=True))

    def cells(self) -> tuple[str, ...]:
        """Return the numbers."""
        return (
            self.cpu,
            self.switches,
            self.reads,
            self.read_kb,
            self.written_kb,
            self.rate,
        )


def row(cells: Sequence[str], run: str) -> MetRow:
    """Return a row of cells in the order of `MetRow.cells`."""
    cpu, switches, reads, read_kb, written_kb, rate = cells
    return MetRow(cpu, switches, reads, read_kb, written_kb, rate, run)


def block(file_name: str, rows: Sequence[MetRow]) -> str:
    """Write the block of one test, without columns that no row has; a missing number is a dash."""
    base, *others = rows
    kept = [place for place in range(len(_HEADER)) if any(row.cells()[place] for row in rows)]
    first, *rest = (_HEADER[place] for place in kept)
    lines = [file_name, _ABSOLUTE, "\t".join([f"{first}\t", *rest, _RUN])]
    lines += [
        "\t".join([*(row.cells()[place] or _ABSENT for place in kept), row.run]) for row in rows
    ]
    lines.append(_RELATIVE)
    for row in others:
        cells = relative(row, base)
        first, *rest = (cells[_HEADER[place]] for place in kept)
        lines.append("\t".join([f"{first}\t", *rest, row.run]))
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class MetTable:
    """The blocks of a file."""

    blocks: dict[str, list[MetRow]] = field(default_factory=dict)
    """File name of a test -> its absolute rows."""
    relative: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """File name of a test and run -> column -> value relative to the first run, as printed."""
    repeated: list[str] = field(default_factory=list)
    """Absolute rows that come again: 'sb.met.scan.range100.pk1.dop8 of x.pg174'."""


def read(lines: Sequence[str]) -> tuple[MetTable, list[str]]:
    """Read the blocks, and the lines that are no part of one."""
    table = MetTable()
    strange: list[str] = []
    names: Sequence[str] = ()
    test = part = ""
    for line in lines:
        row = line.split()
        if line.startswith("sb."):
            test, part = line.strip(), ""
        elif line.strip() in (_ABSOLUTE, _RELATIVE):
            part = line.strip()
        elif line.startswith("cpu/o"):
            names = row if row[-1] == _RUN else ()
        elif row and part == _ABSOLUTE:
            cells = dict(zip(names, row, strict=False))
            if any(known.run == row[-1] for known in table.blocks.get(test, ())):
                table.repeated.append(f"{test} of {row[-1]}")
            elif len(row) == len(names) and test and all(map(_is_cell, row[:-1])):
                table.blocks.setdefault(test, []).append(_row(cells))
            else:
                strange.append(line)
        elif row and part == _RELATIVE and len(row) == len(names):
            table.relative.setdefault((test, row[-1]), dict(zip(names, row[:-1], strict=False)))
        elif row and part != _RELATIVE:
            strange.append(line)
    return table, strange


def relative(row: MetRow, base: MetRow) -> dict[str, str]:
    """Return the value of each column relative to the base, as printed."""
    pairs = zip(_HEADER, row.cells(), base.cells(), strict=True)
    return {name: _relative(ours, theirs) for name, ours, theirs in pairs}


def _row(cells: Mapping[str, str]) -> MetRow:
    values = (cells.get(name, _ABSENT) for name in _HEADER)
    return row(["" if value == _ABSENT else value for value in values], cells[_RUN])


def _short(value: str) -> str:
    return f"{float(value):.6g}"


def _is_cell(text: str) -> bool:
    return text == _ABSENT or is_number(text)


def _relative(value: str, base: str) -> str:
    if not value or not base:
        return _ABSENT
    ours, theirs = float(value), float(base)
    if theirs == 0:
        return "inf" if ours else "1"
    return f"{ours / theirs:.2f}"
