"""The tables of hardware per operation (o.met): a block for each test, a line for each run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from slowdust.formats.sysbench.met import Met
from slowdust.formats.text import is_number

_ABSOLUTE, _RELATIVE = "--- absolute", "--- relative to first result"
COLUMNS = ("cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s")
_BASES = re.compile(r"base1 (?P<first>\S+) and base2 (?P<others>\S+)")
_RUN = "dbms"
_ABSENT = "-"


@dataclass(frozen=True)
class MetRow:
    """One run's numbers, as printed, in the order of `COLUMNS`; empty where there is none."""

    run: str
    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[COLUMNS.index(column)]

    @classmethod
    def of(cls, met: Met, run: str) -> MetRow:
        """Return the row of a file sb.met."""
        storage = (f"{float(met[column]):.6g}" for column in ("r/o", "rKB/o", "wKB/o"))
        return cls(run, (met["cpu/o"], met["cs/o"], *storage, f"{float(met.rate):.0f}"))


def block(file_name: str, rows: Sequence[MetRow], others: str | None = None) -> str:
    """Write the block of one test, without columns that no row has; a missing number is a dash.

    The rows behind the first may be of the file `others`, which is the test with more clients.
    """
    base, *behind = rows
    kept = [place for place in range(len(COLUMNS)) if any(row.cells[place] for row in rows)]
    first, *rest = (COLUMNS[place] for place in kept)
    lines = [file_name] if others is None else [file_name, f"base1 {file_name} and base2 {others}"]
    lines += [_ABSOLUTE, "\t".join([f"{first}\t", *rest, _RUN])]
    lines += [
        "\t".join([*(row.cells[place] or _ABSENT for place in kept), row.run]) for row in rows
    ]
    lines.append(_RELATIVE)
    for row in behind:
        cells = relative(row, base)
        first, *rest = (cells[COLUMNS[place]] for place in kept)
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
    others: dict[str, str] = field(default_factory=dict)
    """File name of a test -> that of the rows behind the first, in a table that compares a test
    with itself at more clients."""

    def rows_by_file(self, name: str) -> Iterator[tuple[str, MetRow]]:
        """Yield the file name and the row, of all rows of a block."""
        for place, row in enumerate(self.blocks[name]):
            yield (self.others.get(name, name) if place else name), row

    @property
    def files(self) -> list[str]:
        """File names of all rows."""
        return list(dict.fromkeys([*self.blocks, *self.others.values()]))


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
        elif (bases := _BASES.fullmatch(line.strip())) and bases["first"] == test:
            table.others[test] = bases["others"]
        elif line.strip() in (_ABSOLUTE, _RELATIVE):
            part = line.strip()
        elif line.startswith("cpu/o"):
            names = row if row[-1] == _RUN else ()
        elif row and part == _ABSOLUTE:
            cells = dict(zip(names, row, strict=False))
            if any(known.run == row[-1] for known in table.blocks.get(test, ())):
                table.repeated.append(f"{test} of {row[-1]}")
            elif len(row) == len(names) and test and all(map(_is_cell, row[:-1])):
                values = (cells.get(name, _ABSENT) for name in COLUMNS)
                printed = tuple("" if value == _ABSENT else value for value in values)
                table.blocks.setdefault(test, []).append(MetRow(row[-1], printed))
            else:
                strange.append(line)
        elif row and part == _RELATIVE and len(row) == len(names):
            table.relative.setdefault((test, row[-1]), dict(zip(names, row[:-1], strict=False)))
        elif row and part != _RELATIVE:
            strange.append(line)
    return table, strange


def relative(row: MetRow, base: MetRow) -> dict[str, str]:
    """Return the value of each column relative to the base, as printed."""
    pairs = zip(COLUMNS, row.cells, base.cells, strict=True)
    return {name: _relative(ours, theirs) for name, ours, theirs in pairs}


def _is_cell(text: str) -> bool:
    return text == _ABSENT or is_number(text)


def _relative(value: str, base: str) -> str:
    if not value or not base:
        return _ABSENT
    ours, theirs = float(value), float(base)
    if theirs == 0:
        return "inf" if ours else "1"
    return f"{ours / theirs:.2f}"
