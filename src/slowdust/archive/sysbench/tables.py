"""The summary tables of runs: rates (qps.abs, qps.rel, o.sum), hardware (o.met), counters (join).

A relative rate is computed from the printed rates, which are rounded to integers. The tables of
2020, o.sum.*.abs and o.qps.abs, have a test's rate at each number of clients, but not the numbers
themselves. Their first block may be the load. Rates of scan, in millions of rows/s with three
decimals, are skipped.

A table that was made from another one, or from the files of runs, adds nothing if its source
exists. Then it is only compared with its source; otherwise it is used itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from slowdust.archive.classic import Row, relative_cells
from slowdust.archive.files import TWICE, size_of
from slowdust.archive.sysbench.counters import read_joined
from slowdust.archive.sysbench.names import (
    SCAN,
    FileName,
    common_of_test,
    parse_file,
    parse_label,
)
from slowdust.exchange import Files
from slowdust.store.manifest import Fate
from slowdust.text import (
    DamagedError,
    beginning,
    collation,
    ends_whole,
    is_number,
    lines_of,
    plain,
    read_content,
)

_COLUMN = re.compile(r"col-(\d{1,9}) : (?P<run>.+)")
_TITLES = re.compile(r"col-1(?:\tcol-\d+)*")
_RELATIVE_TO = "Relative to: "
_WRITES = re.compile("delete|insert|update|write")


@dataclass(kw_only=True)
class Table:
    """A table with a column or a line for each run; tables with the same content are equal."""

    path: Path = field(default=Path(), compare=False)
    tag: str = field(default="", compare=False)
    named: bool = field(default=True, compare=False)
    """Whether the file, or a neighbouring one, names its columns."""
    repeated: list[str] = field(default_factory=list, compare=False)
    """Repeated lines: labels, or 'sb.met.scan.range100.pk1.dop8 of x.pg174'."""

    @property
    def runs(self) -> Sequence[str]:
        """The runs, the base first; empty without names."""
        return ()

    @property
    def empty(self) -> bool:
        return not self.runs


@dataclass(kw_only=True)
class Rates(Table):
    """Rates of tests, absolute without a base."""

    columns: Sequence[str]
    rows: dict[str, tuple[str, ...]]
    """Label -> rates as printed, one for each column; '' for a missing rate."""
    base: str | None = None
    """The run that the rates are relative to."""

    @property
    def runs(self) -> Sequence[str]:
        return self.columns if self.base is None else [self.base, *self.columns]

    @property
    def empty(self) -> bool:
        return not (self.columns and self.rows)

    @property
    def cells(self) -> Iterator[tuple[str, str, str]]:
        """The label, the run and the rate of each cell."""
        for label, rates in self.rows.items():
            for run, rate in zip(self.columns, rates, strict=True):
                yield label, run, rate

    def name(self, runs: Sequence[str]) -> None:
        if self.base is None:
            self.columns = tuple(runs)
        else:
            self.base, self.columns = runs[0], tuple(runs[1:])


HARDWARE_COLUMNS = ("cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s")
_ABSOLUTE, _RELATIVE = "--- absolute", "--- relative to first result"
_BASES = re.compile(r"base1 (?P<first>\S+) and base2 (?P<others>\S+)")
_RUN = "dbms"
ABSENT = "-"


@dataclass(kw_only=True)
class Hardware(Table):
    """Hardware per operation, in blocks by the file name of a test."""

    blocks: dict[str, list[Row]] = field(default_factory=dict)
    """File name of a test -> its absolute rows, with `HARDWARE_COLUMNS`."""
    relative: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """File name of a test and run -> column -> value relative to the first run, as printed."""
    others: dict[str, str] = field(default_factory=dict)
    """File name of a test -> file name of the rows after the first, in a table that compares a test
    with itself at more clients."""

    @property
    def runs(self) -> Sequence[str]:
        return list(dict.fromkeys(row.run for block in self.blocks.values() for row in block))

    @property
    def rows(self) -> Iterator[tuple[str, str, Row]]:
        """The block, the file name of the test and the row, for all rows."""
        for block, rows in self.blocks.items():
            for place, row in enumerate(rows):
                yield block, (self.others.get(block, block) if place else block), row


@dataclass(kw_only=True)
class Levels(Table):
    """Rates of each test at each number of clients."""

    rates: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """`FileName.common` and run -> rates as printed, by increasing number of clients."""

    @property
    def runs(self) -> Sequence[str]:
        return list(dict.fromkeys(run for _, run in self.rates))


@dataclass(kw_only=True)
class Joined(Table):
    """One test's counters in one iteration."""

    file: FileName
    """The name of the counters' files that it joins."""
    relative: bool
    columns: list[dict[str, str]]
    """Counter -> value as printed, for each run except the base of a relative table."""

    @property
    def empty(self) -> bool:
        return not self.columns


_Kind = TypeVar("_Kind", bound=Table)


@dataclass
class Tables(Files):
    """The tables of an experiment."""

    all: list[Table] = field(default_factory=list)
    derived: list[tuple[Rates, Rates]] = field(default_factory=list)
    """Tables of rates that were made from other ones, with their sources."""

    def of_kind(self, kind: type[_Kind]) -> list[_Kind]:
        return [table for table in self.all if isinstance(table, kind)]

    @property
    def rates(self) -> list[Rates]:
        return [table for table in self.of_kind(Rates) if table.base is None]

    @property
    def relative(self) -> list[Rates]:
        """Relative rates without the absolute ones."""
        return [table for table in self.of_kind(Rates) if table.base is not None]

    @property
    def of_runs(self) -> list[Table]:
        """Tables with a column or a line for each run."""
        return [*self.rates, *self.relative, *self.of_kind(Hardware), *self.of_kind(Levels)]

    @property
    def runs(self) -> set[str]:
        return {run for table in self.of_runs if table.named for run in table.runs}

    @property
    def checked(self) -> Counter[str]:
        names = [plain(table.path.name).split(".") for table, _ in self.derived]
        kinds = Counter(f"{name[0]}.{name[1]}.{name[-1]}" for name in names)
        return kinds + Counter({"rates by number of clients": len(self.of_kind(Levels))})

    @property
    def with_results(self) -> list[Table]:
        return [*self.of_kind(Rates), *self.of_kind(Hardware)]

    def add(self, other: Tables) -> None:
        self.all += other.all
        self.derived += other.derived
        self.by_products += other.by_products
        self.problems += other.problems


def usual_clients(counts: Mapping[int, int]) -> int:
    """Return the number of clients of most results; of equally frequent ones, the largest."""
    return max(counts, key=lambda clients: (counts[clients], clients))


def order_tests(tests: Iterable[FileName]) -> list[FileName]:
    """Return the tests in the order of tables: point, the rest, writes; without `pre`."""
    groups: list[list[FileName]] = [[], [], []]
    for test in sorted(tests, key=lambda test: collation(test.common)):
        phase = test.phase or ""
        if phase.endswith("pre"):
            continue
        if _WRITES.search(test.test):
            groups[2].append(test)
        elif "point" not in test.test:
            groups[1].append(test)
        elif "warm" not in phase:
            groups[0].append(test)
    return [test for group in groups for test in group]


def order_suffixes(suffixes: Iterable[str]) -> list[str]:
    """Return all tests (`FileName.suffix`) in the order of `order_tests`; tests in no table
    last."""
    all_tests = set(suffixes)
    files = (parse_file(f"sb.met.{common_of_test(suffix)}") for suffix in all_tests)
    in_tables = [file.suffix for file in order_tests(file for file in files if file)]
    return [*in_tables, *sorted(all_tests - set(in_tables))]


def relative_rates(table: Rates) -> Rates:
    base, *others = table.columns
    rows = {
        label: tuple(relative_rate(rate, rates[0]) for rate in rates[1:])
        for label, rates in table.rows.items()
    }
    return Rates(columns=tuple(others), rows=rows, base=base)


def relative_rate(rate: str, base: str) -> str:
    """Return the ratio of two rates as printed; '' if either is missing."""
    return f"{float(rate) / float(base):.2f}" if rate and base and float(base) else ""


def write_tsv(table: Rates) -> str:
    lines = [] if table.base is None else [f"{_RELATIVE_TO}{table.base}"]
    lines += [f"col-{number} : {run}" for number, run in enumerate(table.columns, start=1)]
    lines += ["", "\t".join(f"col-{number}" for number in range(1, len(table.columns) + 1))]
    lines += ["\t".join([*rates, label]) for label, rates in table.rows.items()]
    return "".join(f"{line}\n" for line in lines)


def write_csv(table: Rates) -> str:
    return "".join(",".join([label, *rates]) + "\n" for label, rates in table.rows.items())


def read_tsv(lines: Sequence[str]) -> tuple[Rates, list[str]]:
    """Read the table, and the lines outside of the table, which were added by hand."""
    runs: dict[int, str] = {}
    base: str | None = None
    split: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(_RELATIVE_TO):
            base = line.removeprefix(_RELATIVE_TO).strip()
        elif (match := _COLUMN.fullmatch(line.strip())) and match["run"].isprintable():
            runs[int(match[1])] = match["run"]
        elif line.strip() and not _TITLES.fullmatch(line.rstrip()):
            *cells, label = (cell.strip() for cell in line.split("\t"))
            split.append((line, [label, *cells]))
    table, strange = _rates(tuple(runs[number] for number in sorted(runs)), split)
    table.base = base
    return table, strange


def read_csv(lines: Sequence[str]) -> tuple[Rates, list[str]]:
    """Read the table, with numbered columns, and the lines outside of the table.

    Most lines have as many cells as the table has columns.
    """
    split = [(line, line.strip().split(",")) for line in lines if line.strip()]
    widths = Counter(len(cells) - 1 for _, cells in split)
    width = widths.most_common(1)[0][0] if widths else 0
    return _rates(tuple(f"col-{number}" for number in range(1, width + 1)), split)


def _rates(
    columns: tuple[str, ...], lines: Iterable[tuple[str, list[str]]]
) -> tuple[Rates, list[str]]:
    table = Rates(columns=columns, rows={})
    strange = []
    for line, (label, *cells) in lines:
        are_rates = all(not cell or (is_number(cell) and float(cell) >= 0) for cell in cells)
        if label in table.rows:
            table.repeated.append(label)
        elif len(cells) == len(columns) and are_rates:
            table.rows[label] = tuple(cells)
        else:
            strange.append(line)
    return table, strange


def hardware_row(met: Row, run: str) -> Row:
    storage = (f"{float(met[column]):.6g}" for column in ("r/o", "rKB/o", "wKB/o"))
    cells = (met["cpu/o"], met["cs/o"], *storage, f"{float(met['o/s']):.0f}")
    return Row(run, HARDWARE_COLUMNS, cells)


def write_block(file_name: str, rows: Sequence[Row], others: str | None = None) -> str:
    """Write the block of one test, without empty columns; a missing number is a dash.

    The rows after the first may be from the file `others`, the test with more clients.
    """
    base, *further = rows
    kept = [name for name in HARDWARE_COLUMNS if any(row[name] for row in rows)]
    bases = [] if others is None else [f"base1 {file_name} and base2 {others}"]
    lines = [file_name, *bases, _ABSOLUTE, "\t".join([f"{kept[0]}\t", *kept[1:], _RUN])]
    lines += ["\t".join([*(row[name] or ABSENT for name in kept), row.run]) for row in rows]
    lines.append(_RELATIVE)
    for row in further:
        ratios = relative_cells(row, base, ABSENT)
        first, *rest = (ratios[name] for name in kept)
        lines.append("\t".join([f"{first}\t", *rest, row.run]))
    return "".join(f"{line}\n" for line in lines)


def read_met_table(lines: Sequence[str]) -> tuple[Hardware, list[str]]:
    table = Hardware()
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
            good = all(cell == ABSENT or is_number(cell) for cell in row[:-1])
            if any(known.run == row[-1] for known in table.blocks.get(test, ())):
                table.repeated.append(f"{test} of {row[-1]}")
            elif len(row) == len(names) and test and good:
                values = (cells.get(name, ABSENT) for name in HARDWARE_COLUMNS)
                printed = tuple("" if value == ABSENT else value for value in values)
                table.blocks.setdefault(test, []).append(Row(row[-1], HARDWARE_COLUMNS, printed))
            else:
                strange.append(line)
        elif row and part == _RELATIVE and len(row) == len(names):
            table.relative.setdefault((test, row[-1]), dict(zip(names, row[:-1], strict=False)))
        elif row and part != _RELATIVE:
            strange.append(line)
    return table, strange


def _read_levels(lines: Sequence[str]) -> tuple[Levels, list[str]]:
    table = Levels()
    strange: list[str] = []
    block: FileName | None = None
    for line in lines:
        *rates, run = (cell.strip() for cell in line.split("\t"))
        if len(rates) > 1 and not is_number(rates[-1]):
            rates.pop()  # the name may follow the rate if a test ran once
        if (file := parse_file(line.strip())) is not None:
            block = file
        elif (
            rates
            and all(map(is_number, rates))
            and block
            and (block.common, run) not in table.rates
        ):
            if block.kind == "r.qps" and block.test != SCAN:
                table.rates[block.common, run] = rates
        elif line.strip():
            strange.append(line)
    return table, strange


_RATES = re.compile(r"qps\.(?P<kind>abs|rel)(?:\.(?P<tag>.+))?\.(?P<form>tsv|csv)")
_HARDWARE = re.compile(r"(?:o\.met(?:\.(?P<tag>.+))?|met\.(?P<text>.+)\.txt)")
"""Names of tables of hardware, and of renamed ones: met.<tag>.txt."""
_LEVELS = re.compile(r"o\.(?:sum\.\w+\.(?P<kind>abs|rel)|qps\.(?P<other>abs|rel)(?:\..+)?)")
_COUNTERS = re.compile(
    r"join(?P<iteration>\d+)\.(?P<kind>abs|rel)\.(?P<tag>.+?)\.(?P<file>sb\.perf\.hw\..+)"
)
_COPY = re.compile(r".+\.(?:edit|markup)")
_ORDER = (("abs", "tsv"), ("abs", "csv"), ("rel", "tsv"), ("rel", "csv"))
"""Kinds and forms of tables of rates: each contains the numbers of the following ones."""
_QUOTED = 50
"""Maximum number of characters of a quoted line."""
_Reader = Callable[[Sequence[str]], tuple[_Kind, list[str]]]
"""Lines -> a table, and the lines outside of it."""


def is_table(name: str) -> bool:
    forms = (_RATES, _HARDWARE, _LEVELS, _COUNTERS, _COPY)
    return any(form.fullmatch(plain(name)) for form in forms)


def take_tables(tables: Tables, directory: Path, names: Collection[str]) -> None:
    rates: dict[str, dict[tuple[str, str], Path]] = {}
    there = set(names)
    for full_name in sorted(there):
        path, name = directory / full_name, plain(full_name)
        if name != full_name and name in there and size_of(str(directory / name)):
            tables.skip(path, TWICE)
        elif _COPY.fullmatch(name):
            tables.by_products["copies edited by hand (.edit, .markup)"] += 1
        elif match := _RATES.fullmatch(name):
            of_tag = rates.setdefault(match["tag"] or "", {})
            if compressed_too := of_tag.get((match["kind"], match["form"])):
                tables.skip(compressed_too, "empty")
            of_tag[match["kind"], match["form"]] = path
        elif match := _HARDWARE.fullmatch(name):
            _take(tables, path, match["tag"] or match["text"] or "", _read_hardware)
        elif match := _LEVELS.fullmatch(name):
            if "rel" in (match["kind"], match["other"]):  # made from the absolute one
                tables.by_products["relative rates by number of clients"] += 1
            else:
                _take(tables, path, path.name, _read_levels)
        elif match := _COUNTERS.fullmatch(name):
            _take_counters(tables, path, match)
    for tag, paths in rates.items():
        _take_rates(tables, tag, paths)


def _take_counters(tables: Tables, path: Path, match: re.Match[str]) -> None:
    if (file := parse_file(match["file"])) is None:
        tables.skip(path, "counters of an unknown test")
    else:
        read = partial(_read_joined, file=file, relative=match["kind"] == "rel")
        _take(tables, path, match["tag"], read)


def _take_rates(tables: Tables, tag: str, paths: dict[tuple[str, str], Path]) -> None:
    """Take the four files of a tag: the first usable one is the source of the others."""
    source: Rates | None = None
    for kind, form in _ORDER:
        if (kind, form) not in paths:
            continue
        read = partial(_read_rates, relative=kind == "rel", read=_FORMS[form])
        if (table := _read(tables, paths[kind, form], tag, read)) is None:
            continue
        if source is None:
            table.named = form == "tsv"
            source = table
            tables.all.append(table)
            continue
        alike = len(table.runs) == len(source.runs)
        if (kind, form) == ("rel", "tsv") and not source.named and alike:
            source.name(table.runs)
            source.named = True
        tables.derived.append((table, source))


_ReadRates = Callable[[Sequence[str]], tuple[Rates, list[str]]]
_FORMS: dict[str, _ReadRates] = {"tsv": read_tsv, "csv": read_csv}


def _read_rates(
    lines: Sequence[str], *, relative: bool, read: _ReadRates
) -> tuple[Rates, list[str]]:
    table, strange = read(lines)
    strange += [label for label in table.rows if parse_label(label) is None]
    table.rows = {label: cells for label, cells in table.rows.items() if parse_label(label)}
    table.base = (table.base or "base") if relative else None
    table.repeated = [label for label in table.repeated if label in table.rows]
    return table, strange


def _read_hardware(lines: Sequence[str]) -> tuple[Hardware, list[str]]:
    table, strange = read_met_table(lines)
    strange += [name for name in table.blocks if parse_file(name) is None]
    table.blocks = {name: rows for name, rows in table.blocks.items() if parse_file(name)}
    return table, strange


def _read_joined(
    lines: Sequence[str], *, file: FileName, relative: bool
) -> tuple[Joined, list[str]]:
    columns, strange = read_joined(lines, name_at=-1 if relative else 0)
    return Joined(file=file, relative=relative, columns=columns), strange


def _take(tables: Tables, path: Path, tag: str, read: _Reader[_Kind]) -> None:
    if (table := _read(tables, path, tag, read)) is not None:
        tables.all.append(table)


def _read(tables: Tables, path: Path, tag: str, read: _Reader[_Kind]) -> _Kind | None:
    """Read a table; note problems of the file, and return None if nothing is usable.

    A last line without an end may be cut, and is skipped.
    """

    try:
        content = read_content(path)
    except DamagedError as error:
        tables.skip(path, str(error), Fate.SKIPPED)
        return None
    lines = lines_of(content)
    if not ends_whole(content):
        reason = f"its last line has no end and is skipped: {lines.pop()[:_QUOTED]!r}"
        tables.skip(path, reason, Fate.PARTLY)
    table, strange = read(lines)
    table.path, table.tag = path, tag
    if table.repeated:
        names = beginning(list(dict.fromkeys(table.repeated)), 2)
        tables.skip(path, f"repeated lines (the first is used): {names}", Fate.PARTLY)
    if strange:  # added by hand, or torn
        quoted = beginning([repr(line.strip()[:_QUOTED]) for line in strange], 2, between=" / ")
        fate = Fate.SKIPPED if table.empty else Fate.PARTLY
        tables.skip(path, f"lines that do not belong to a table, skipped: {quoted}", fate)
    elif table.empty and isinstance(table, Rates | Hardware):
        tables.skip(path, "no rows", Fate.SKIPPED)
    return None if table.empty else table
