"""Reading the summary tables of sysbench's runs in a directory.

A table that is made of another one, or of the files of runs, tells nothing new where its source is
there. Then it is `Derived`, and only compared with what it is made of; else it is read itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from slowdust.archive.files import TWICE, size_of
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.names import FileName, parse_file, parse_label
from slowdust.archive.sysbench.tables import (
    LevelTable,
    MetTable,
    RateTable,
    read_csv,
    read_levels,
    read_met_table,
    read_tsv,
)
from slowdust.exchange import Problem
from slowdust.formats.text import DamagedError, beginning, ends_whole, lines_of, plain, read_content
from slowdust.store.manifest import Fate

_RATES = re.compile(r"qps\.(?P<kind>abs|rel)(?:\.(?P<tag>.+))?\.(?P<form>tsv|csv)")
_HARDWARE = re.compile(r"(?:o\.met(?:\.(?P<tag>.+))?|met\.(?P<text>.+)\.txt)")
"""Names of tables of hardware, and of renamed ones: met.<tag>.txt."""
_LEVELS = re.compile(r"o\.(?:sum\.\w+\.(?P<kind>abs|rel)|qps\.(?P<other>abs|rel)(?:\..+)?)")
_COUNTERS = re.compile(
    r"join(?P<iteration>\d+)\.(?P<kind>abs|rel)\.(?P<tag>.+?)\.(?P<file>sb\.perf\.hw\..+)"
)
_COPY = re.compile(r".+\.(?:edit|markup)")
_ORDER = (("abs", "tsv"), ("abs", "csv"), ("rel", "tsv"), ("rel", "csv"))
"""Kinds and forms of tables of rates: each has all the numbers of those behind it."""
_MOST_QUOTED, _QUOTED = 2, 50
"""Lines, and characters of each."""


@dataclass
class Rates:
    """A table of rates; absolute ones where it has no base."""

    path: Path
    tag: str
    table: RateTable
    named: bool = True
    """Whether the file, or one beside it, names its columns."""

    @property
    def runs(self) -> tuple[str, ...]:
        base = self.table.base
        return self.table.runs if base is None else (base, *self.table.runs)

    def name(self, runs: Sequence[str]) -> None:
        """Name the columns, the base first."""
        base = None if self.table.base is None else runs[0]
        columns = runs if base is None else runs[1:]
        self.table = RateTable(tuple(columns), self.table.rows, base)


@dataclass(frozen=True)
class Hardware:
    """A table of hardware per operation."""

    path: Path
    tag: str
    table: MetTable
    named: ClassVar[bool] = True

    @property
    def runs(self) -> list[str]:
        rows = self.table.blocks.values()
        return list(dict.fromkeys(row.run for block in rows for row in block))


@dataclass(frozen=True)
class Joined:
    """A table of one test's counters in one iteration."""

    path: Path
    tag: str
    file: FileName
    """The name of the counters' files that it joins."""
    relative: bool
    columns: list[dict[str, str]]
    """Counter -> value as printed, for each run but a base that all are relative to."""


@dataclass(frozen=True)
class Levels:
    """A table of rates of each test at each number of clients."""

    path: Path
    table: LevelTable
    named: ClassVar[bool] = True

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(run for _, run in self.table))


@dataclass(frozen=True)
class Derived:
    """A table of rates that is made of another one."""

    path: Path
    table: RateTable
    source: Rates


@dataclass
class Tables:
    """The tables of an experiment."""

    rates: list[Rates] = field(default_factory=list)
    relative: list[Rates] = field(default_factory=list)
    """Relative rates beside which there are no absolute ones."""
    hardware: list[Hardware] = field(default_factory=list)
    joined: list[Joined] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    levels: list[Levels] = field(default_factory=list)
    used: int = 0
    """Number of files that something was read from."""
    checked: Counter[str] = field(default_factory=Counter)
    """Kind -> files that were only compared with their sources."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Kind -> files that are known and of no use here."""
    problems: list[Problem] = field(default_factory=list)

    @property
    def of_runs(self) -> list[Rates | Hardware | Levels]:
        """Tables with a column or a line for each run."""
        return [*self.rates, *self.relative, *self.hardware, *self.levels]

    @property
    def runs(self) -> set[str]:
        return {run for table in self.of_runs if table.named for run in table.runs}

    def add(self, other: Tables) -> None:
        for table in fields(self):
            setattr(self, table.name, getattr(self, table.name) + getattr(other, table.name))


def is_table(name: str) -> bool:
    forms = (_RATES, _HARDWARE, _LEVELS, _COUNTERS, _COPY)
    return any(form.fullmatch(plain(name)) for form in forms)


def take_tables(tables: Tables, directory: Path, names: Collection[str]) -> None:
    """Read the tables of a directory, given by their names."""
    rates: dict[str, dict[tuple[str, str], Path]] = {}
    there = set(names)
    for full_name in sorted(there):
        path, name = directory / full_name, plain(full_name)
        if name != full_name and name in there and size_of(str(directory / name)):
            tables.problems.append(Problem(path, TWICE))
        elif _COPY.fullmatch(name):
            tables.by_products["copies edited by hand (.edit, .markup)"] += 1
        elif match := _RATES.fullmatch(name):
            of_tag = rates.setdefault(match["tag"] or "", {})
            if compressed_too := of_tag.get((match["kind"], match["form"])):
                tables.problems.append(Problem(compressed_too, "empty"))
            of_tag[match["kind"], match["form"]] = path
        elif match := _HARDWARE.fullmatch(name):
            _take_hardware(tables, path, match["tag"] or match["text"] or "")
        elif match := _LEVELS.fullmatch(name):
            _take_levels(tables, path, match["kind"] or match["other"])
        elif match := _COUNTERS.fullmatch(name):
            _take_joined(tables, path, match)
    for tag, paths in rates.items():
        _take_rates(tables, tag, paths)


def _take_rates(tables: Tables, tag: str, paths: dict[tuple[str, str], Path]) -> None:
    """Take the four files of a tag: the first that is usable is the source of the others."""
    source: Rates | None = None
    for kind in _ORDER:
        if kind not in paths or (table := _read_rates(tables, paths[kind], kind)) is None:
            continue
        if source is None:
            source = Rates(paths[kind], tag, table, named=kind[1] == "tsv")
            tables.used += 1
            (tables.rates if kind[0] == "abs" else tables.relative).append(source)
            continue
        runs = table.runs if table.base is None else (table.base, *table.runs)
        if kind == ("rel", "tsv") and not source.named and len(runs) == len(source.runs):
            source.name(runs)
            source.named = True
        tables.checked[".".join(("qps", *kind))] += 1
        tables.derived.append(Derived(paths[kind], table, source))


def _read_rates(tables: Tables, path: Path, kind: tuple[str, str]) -> RateTable | None:
    if (lines := _lines(tables, path)) is None:
        return None
    table, strange = (read_tsv if kind[1] == "tsv" else read_csv)(lines)
    known = {label: cells for label, cells in table.rows.items() if parse_label(label)}
    strange += [label for label in table.rows if label not in known]
    base = (table.base or "base") if kind[0] == "rel" else None
    repeated = [label for label in table.repeated if label in known]
    table = RateTable(table.runs, known, base)
    usable = bool(table.runs and table.rows)
    _complain(tables, path, strange, repeated, usable=usable)
    return table if usable else None


def _take_hardware(tables: Tables, path: Path, tag: str) -> None:
    if (lines := _lines(tables, path)) is None:
        return
    table, strange = read_met_table(lines)
    for name in [name for name in table.blocks if parse_file(name) is None]:
        strange.append(name)
        del table.blocks[name]
    _complain(tables, path, strange, table.repeated, usable=bool(table.blocks))
    if table.blocks:
        tables.hardware.append(Hardware(path, tag, table))
        tables.used += 1


def _take_levels(tables: Tables, path: Path, kind: str) -> None:
    """Take a table by numbers of clients; a relative one is made of the absolute one."""
    if kind == "rel":
        tables.by_products["relative rates by number of clients"] += 1
    elif (lines := _lines(tables, path)) is not None:
        table, strange = read_levels(lines)
        _complain_of_strange(tables, path, strange, usable=bool(table))
        if table:
            tables.levels.append(Levels(path, table))
            tables.checked["rates by number of clients"] += 1


def _take_joined(tables: Tables, path: Path, match: re.Match[str]) -> None:
    if (file := parse_file(match["file"])) is None:
        tables.problems.append(Problem(path, "counters of an unknown test"))
    elif (lines := _lines(tables, path)) is not None:
        relative = match["kind"] == "rel"
        read = counters.read_joined_relative if relative else counters.read_joined
        columns, strange = read(lines)
        _complain_of_strange(tables, path, strange, usable=bool(columns))
        if columns:
            tables.joined.append(Joined(path, match["tag"], file, relative, columns))


def _lines(tables: Tables, path: Path) -> list[str] | None:
    """Read the whole lines of a file of text; return None where there is nothing to be read.

    A line that is cut is noted.
    """
    try:
        content = read_content(path)
    except DamagedError as error:
        tables.problems.append(Problem(path, str(error)))
        return None
    lines = lines_of(content)
    if not ends_whole(content):
        reason = f"its last line has no end and is left out: {lines.pop()[:50]!r}"
        tables.problems.append(Problem(path, reason, Fate.PARTLY))
    return lines


def _complain(
    tables: Tables, path: Path, strange: Sequence[str], repeated: Sequence[str], *, usable: bool
) -> None:
    if repeated:
        names = beginning(list(dict.fromkeys(repeated)), 2)
        reason = f"more than once, of which the first counts: {names}"
        tables.problems.append(Problem(path, reason, Fate.PARTLY))
    _complain_of_strange(tables, path, strange, usable=usable)
    if not usable and not strange:
        tables.problems.append(Problem(path, "no rows"))


def _complain_of_strange(
    tables: Tables, path: Path, strange: Sequence[str], *, usable: bool
) -> None:
    """Note lines that a hand has put in, or that were torn."""
    if strange:
        shown = [repr(line.strip()[:_QUOTED]) for line in strange]
        quoted = beginning(shown, _MOST_QUOTED, between=" / ")
        reason = f"lines that are no part of a table, left out: {quoted}"
        tables.problems.append(Problem(path, reason, Fate.PARTLY if usable else Fate.SKIPPED))
