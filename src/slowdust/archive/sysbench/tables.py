"""The summary tables of runs: rates (qps.abs, qps.rel, o.sum) and hardware (o.met).

A relative rate is made of the rates as printed, that is rounded to integers. The tables of 2020,
o.sum.*.abs and o.qps.abs, have a test's rate at each number of clients without these numbers; their
first block may be of the load, and rates of scan, in millions of rows/s of three decimals, are left
out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.sysbench.hardware import Met
from slowdust.archive.sysbench.names import FileName, common_of_test, parse_file
from slowdust.archive.sysbench.output import SCAN
from slowdust.formats.text import collation, is_number

_COLUMN = re.compile(r"col-(\d{1,9}) : (?P<run>.+)")
_TITLES = re.compile(r"col-1(?:\tcol-\d+)*")
_RELATIVE_TO = "Relative to: "
_WRITES = re.compile("delete|insert|update|write")
_POINT, _WARM, _PRE = "point", "warm", "pre"


@dataclass(frozen=True)
class RateTable:
    """Rates of tests (label -> one for each run), in the order of the file."""

    runs: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    """Rates as printed; an empty text where there is none."""
    base: str | None = None
    """The run that the rates are relative to; None where they are absolute."""
    repeated: tuple[str, ...] = ()
    """Labels of lines that come again behind their row."""


def usual_clients(counts: Mapping[int, int]) -> int:
    """Return the number of clients that most results have; of as many, the larger one."""
    return max(counts, key=lambda clients: (counts[clients], clients))


def order_tests(tests: Iterable[FileName]) -> list[FileName]:
    """Return the tests of the tables in their order: point, the rest, writes; none of `pre`."""
    kept = [test for test in tests if not (test.phase or "").endswith(_PRE)]
    groups: list[list[FileName]] = [[], [], []]
    for test in sorted(kept, key=lambda test: collation(test.common)):
        if _WRITES.search(test.test):
            groups[2].append(test)
        elif _POINT not in test.test:
            groups[1].append(test)
        elif _WARM not in (test.phase or ""):
            groups[0].append(test)
    return [test for group in groups for test in group]


def order_suffixes(suffixes: Iterable[str]) -> list[str]:
    """Return all tests, `FileName.suffix`, as `order` has them; those of no table at the end."""
    all_tests = set(suffixes)
    files = [
        file for suffix in all_tests if (file := parse_file(f"sb.met.{common_of_test(suffix)}"))
    ]
    in_tables = [file.suffix for file in order_tests(files)]
    return [*in_tables, *sorted(all_tests - set(in_tables))]


def relative_rates(table: RateTable) -> RateTable:
    rows = {
        label: tuple(relative_rate(rate, rates[0]) for rate in rates[1:])
        for label, rates in table.rows.items()
    }
    return RateTable(table.runs[1:], rows, base=table.runs[0])


def write_tsv(table: RateTable) -> str:
    lines = [] if table.base is None else [f"{_RELATIVE_TO}{table.base}"]
    lines += [f"col-{number} : {run}" for number, run in enumerate(table.runs, start=1)]
    lines += ["", "\t".join(f"col-{number}" for number in range(1, len(table.runs) + 1))]
    lines += ["\t".join([*rates, label]) for label, rates in table.rows.items()]
    return "".join(f"{line}\n" for line in lines)


def write_csv(table: RateTable) -> str:
    return "".join(",".join([label, *rates]) + "\n" for label, rates in table.rows.items())


def read_tsv(lines: Sequence[str]) -> tuple[RateTable, list[str]]:
    """Read the table, and the lines that are no part of one (a hand has edited them)."""
    runs: dict[int, str] = {}
    base: str | None = None
    rows: dict[str, tuple[str, ...]] = {}
    strange: list[str] = []
    repeated: list[str] = []
    for line in lines:
        if line.startswith(_RELATIVE_TO):
            base = line.removeprefix(_RELATIVE_TO).strip()
        elif (match := _COLUMN.fullmatch(line.strip())) and match["run"].isprintable():
            runs[int(match[1])] = match["run"]
        elif line.strip() and not _TITLES.fullmatch(line.rstrip()):
            *cells, label = (cell.strip() for cell in line.split("\t"))
            if label in rows:
                repeated.append(label)
            elif len(cells) == len(runs) and all(map(_is_rate, cells)):
                rows[label] = tuple(cells)
            else:
                strange.append(line)
    columns = tuple(runs[number] for number in sorted(runs))
    return RateTable(columns, rows, base, tuple(repeated)), strange


def read_csv(lines: Sequence[str]) -> tuple[RateTable, list[str]]:
    """Read the table, whose columns are called by numbers, and the lines that are no part of it.

    Most lines have as many cells as the table has columns.
    """
    split = [(line, line.strip().split(",")) for line in lines if line.strip()]
    widths = Counter(len(cells) - 1 for _, cells in split)
    width = widths.most_common(1)[0][0] if widths else 0
    rows: dict[str, tuple[str, ...]] = {}
    strange: list[str] = []
    repeated: list[str] = []
    for line, (label, *cells) in split:
        if label in rows:
            repeated.append(label)
        elif len(cells) == width and all(map(_is_rate, cells)):
            rows[label] = tuple(cells)
        else:
            strange.append(line)
    runs = tuple(f"col-{number}" for number in range(1, width + 1))
    return RateTable(runs, rows, repeated=tuple(repeated)), strange


def relative_rate(rate: str, base: str) -> str:
    """Return the ratio of two rates as printed; an empty text where one is missing."""
    return f"{float(rate) / float(base):.2f}" if rate and base and float(base) else ""


def _is_rate(cell: str) -> bool:
    return cell == "" or (is_number(cell) and float(cell) >= 0)


_ABSOLUTE, _RELATIVE = "--- absolute", "--- relative to first result"
HARDWARE_COLUMNS = ("cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s")
_BASES = re.compile(r"base1 (?P<first>\S+) and base2 (?P<others>\S+)")
_RUN = "dbms"
_ABSENT = "-"


@dataclass(frozen=True)
class MetRow:
    """One run's numbers, as printed, in the order of `COLUMNS`; empty where there is none."""

    run: str
    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[HARDWARE_COLUMNS.index(column)]

    @classmethod
    def of(cls, met: Met, run: str) -> MetRow:
        storage = (f"{float(met[column]):.6g}" for column in ("r/o", "rKB/o", "wKB/o"))
        return cls(run, (met["cpu/o"], met["cs/o"], *storage, f"{float(met.rate):.0f}"))


def write_block(file_name: str, rows: Sequence[MetRow], others: str | None = None) -> str:
    """Write the block of one test, without columns that no row has; a missing number is a dash.

    The rows behind the first may be of the file `others`, which is the test with more clients.
    """
    base, *behind = rows
    kept = [
        place for place in range(len(HARDWARE_COLUMNS)) if any(row.cells[place] for row in rows)
    ]
    first, *rest = (HARDWARE_COLUMNS[place] for place in kept)
    lines = [file_name] if others is None else [file_name, f"base1 {file_name} and base2 {others}"]
    lines += [_ABSOLUTE, "\t".join([f"{first}\t", *rest, _RUN])]
    lines += [
        "\t".join([*(row.cells[place] or _ABSENT for place in kept), row.run]) for row in rows
    ]
    lines.append(_RELATIVE)
    for row in behind:
        cells = relative_cells(row, base)
        first, *rest = (cells[HARDWARE_COLUMNS[place]] for place in kept)
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
        for place, row in enumerate(self.blocks[name]):
            yield (self.others.get(name, name) if place else name), row

    @property
    def rows(self) -> Iterator[tuple[str, MetRow]]:
        """The file name and the row, of all rows of all blocks."""
        for block in self.blocks:
            yield from self.rows_by_file(block)

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys([*self.blocks, *self.others.values()]))


def read_met_table(lines: Sequence[str]) -> tuple[MetTable, list[str]]:
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
            elif (
                len(row) == len(names)
                and test
                and all(cell == _ABSENT or is_number(cell) for cell in row[:-1])
            ):
                values = (cells.get(name, _ABSENT) for name in HARDWARE_COLUMNS)
                printed = tuple("" if value == _ABSENT else value for value in values)
                table.blocks.setdefault(test, []).append(MetRow(row[-1], printed))
            else:
                strange.append(line)
        elif row and part == _RELATIVE and len(row) == len(names):
            table.relative.setdefault((test, row[-1]), dict(zip(names, row[:-1], strict=False)))
        elif row and part != _RELATIVE:
            strange.append(line)
    return table, strange


def relative_cells(row: MetRow, base: MetRow) -> dict[str, str]:
    """Return the value of each column relative to the base, as printed."""
    cells = {}
    for name, value, of_base in zip(HARDWARE_COLUMNS, row.cells, base.cells, strict=True):
        if not value or not of_base:
            cells[name] = _ABSENT
        elif float(of_base):
            cells[name] = f"{float(value) / float(of_base):.2f}"
        else:
            cells[name] = "inf" if float(value) else "1"
    return cells


_KIND = "r.qps"

LevelTable = dict[tuple[str, str], tuple[str, ...]]
"""`FileName.common` and run -> rates as printed, by number of clients, the smallest first."""


def read_levels(lines: Sequence[str]) -> tuple[LevelTable, list[str]]:
    """Read the rates, and the lines that are no part of the table."""
    table: LevelTable = {}
    strange: list[str] = []
    block: FileName | None = None
    for line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        rates, run = _rates(cells[:-1]), cells[-1]
        if (file := parse_file(line.strip())) is not None:
            block = file
        elif rates and block is not None and (block.common, run) not in table:
            if block.kind == _KIND and block.test != SCAN:
                table[block.common, run] = rates
        elif line.strip():
            strange.append(line)
    return table, strange


def _rates(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells; a test that ran once may have its name behind its rate."""
    named = len(cells) > 1 and not is_number(cells[-1])
    numbers = cells[:-1] if named else cells
    return tuple(numbers) if numbers and all(map(is_number, numbers)) else ()
