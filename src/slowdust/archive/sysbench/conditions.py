"""Tables of other conditions in one directory: each set becomes an experiment of its own.

Tables that have other rates for the same tests of the same runs (`qps.abs.io.tsv` and
`qps.abs.mem.tsv`) were measured under other conditions. A ratio of one rate to a rate of the other
set would compare the conditions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slowdust.archive.sysbench.clients import of_table
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.scanning import Directory
from slowdust.archive.sysbench.slices import rate_of
from slowdust.archive.sysbench.tables.summary_tables import (
    Derived,
    Hardware,
    Joined,
    Levels,
    Rates,
    Tables,
)
from slowdust.formats.sysbench.names import common_of, parse_file
from slowdust.formats.sysbench.rates import SCAN, ScanRule
from slowdust.wording import listing

_ALIKE = 0.01
"""Relative difference of rates that may be rounding or a hand's: two runs rarely come so close."""
Table = Rates | Hardware
_Cells = Mapping[tuple[str, str, str], Mapping[int | None, str]]
"""Run that the rates are relative to (or none), run and `FileName.common` -> clients -> rate."""


@dataclass
class _Condition:
    """Rates that may be of one condition, and the tables that have them."""

    words: list[str] = field(default_factory=list)
    """The words in the names of its first table and its directories."""
    own: frozenset[tuple[str, str, str]] = frozenset()
    """The keys of the rates in the runs' own files, if it is theirs."""
    rates: dict[tuple[str, str, str], dict[int | None, str]] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)

    def add(self, table: Table, words: Sequence[str], cells: _Cells) -> None:
        """Add a table."""
        self.tables.append(table)
        self.words = self.words or list(words)
        self.learn(cells)

    def learn(self, cells: _Cells) -> None:
        """Add rates; those that are known stay."""
        for key, by_clients in cells.items():
            self.rates[key] = {**by_clients, **self.rates.get(key, {})}

    def has_all(self, cells: _Cells) -> bool:
        """Return whether the runs' own files have all rates, so that none is taken from a table."""
        return bool(self.own) and self.own.issuperset(cells)

    def compared(self, cells: _Cells) -> tuple[int, int]:
        """Return how many rates are the same, and how many differ."""
        found: Counter[bool] = Counter()
        for key, by_clients in cells.items():
            there = self.rates.get(key, {})
            for clients, rate in by_clients.items():
                others = [
                    other
                    for count, other in there.items()
                    if count == clients or None in (count, clients)
                ]
                if others:
                    found[any(_same(rate, other) for other in others)] += 1
        return found[True], found[False]


def by_condition(directory: Directory, runs: Sequence[RunDirectory]) -> list[Directory]:
    """Return the directory with the tables of its runs' condition, and one for each other.

    Where no run has a rate, the first table's condition is the first.
    """
    tables = directory.tables
    conditions = []
    if own := _of_runs(runs):
        conditions.append(_Condition(own=frozenset(own)))
        conditions[0].learn(own)
    compared: list[Table] = [*tables.rates, *tables.relative, *tables.hardware]
    for table in compared:
        _place(conditions, table, _words(directory, table), _cells(table))
    if len(conditions) < 2:
        return [directory]
    titles = _titles(conditions)
    name, parts = directory.name, _parts(directory, conditions)
    for title, condition in zip(titles[1:], conditions[1:], strict=True):
        files = listing([table.path.name for table in condition.tables])
        parts[0].assumed.append(
            f"{files}: other rates of the same tests, so of another condition: imported by itself, "
            f"under a name that ends with '-{title}'"
        )
    for part, title in zip(parts, titles, strict=True):
        part.condition = title
        part.name = f"{name}-{title}" if title else name
    return parts


def _place(conditions: list[_Condition], table: Table, words: Sequence[str], cells: _Cells) -> None:
    """Add a table to the condition that it is most like; where it is like none, to a new one."""
    likeness = {}
    for place, condition in enumerate(conditions):
        same, others = condition.compared(cells)
        if others <= same or condition.has_all(cells):
            likeness[place] = (same, len(set(words) & set(condition.words)), -place)
    if likeness:
        conditions[max(likeness, key=lambda place: likeness[place])].add(table, words, cells)
    else:
        conditions.append(_Condition())
        conditions[-1].add(table, words, cells)


def _parts(directory: Directory, conditions: Sequence[_Condition]) -> list[Directory]:
    """Return a directory for each condition; everything without rates stays with the first."""
    parts = [replace(directory, runs={}, tables=Tables(), assumed=[]) for _ in conditions[1:]]
    for part, condition in zip(parts, conditions[1:], strict=True):
        _move(directory.tables, part.tables, condition.tables)
    alike: list[tuple[Sequence[str], Tables]] = [
        (condition.words, part.tables)
        for condition, part in zip(conditions, [directory, *parts], strict=True)
    ]
    others: list[Joined | Levels] = [*directory.tables.joined, *directory.tables.levels]
    for table in others:
        words = set(_words(directory, table))
        target = max(alike, key=lambda pair: len(words & set(pair[0])))[1]
        if target is not directory.tables:
            _move_other(directory.tables, target, table)
    return [directory, *parts]


def _move(source: Tables, target: Tables, tables: Sequence[Table]) -> None:
    """Move tables, and those that are made of them, with their counts."""
    for name in ("rates", "relative", "hardware"):
        there = getattr(source, name)
        setattr(target, name, [table for table in there if _is_in(table, tables)])
        setattr(source, name, [table for table in there if not _is_in(table, tables)])
    moved = [table for table in source.derived if _is_in(table.source, tables)]
    source.derived = [table for table in source.derived if table not in moved]
    target.derived = moved
    checked = Counter(_kind(table) for table in moved)
    source.checked -= checked
    target.checked += checked
    target.used = len(tables)
    source.used -= len(tables)


def _move_other(source: Tables, target: Tables, table: Joined | Levels) -> None:
    if isinstance(table, Joined):
        source.joined.remove(table)
        target.joined.append(table)
    else:
        source.levels.remove(table)
        target.levels.append(table)


def _is_in(table: Table, tables: Sequence[Table]) -> bool:
    return any(table is other for other in tables)


def _kind(table: Derived) -> str:
    """Return the kind by which a derived table is counted: `qps.rel.csv`."""
    kind, _, rest = table.path.name.removesuffix(".gz").removeprefix("qps.").partition(".")
    return f"qps.{kind}.{rest.rpartition('.')[2]}"


def _words(directory: Directory, table: Table | Joined | Levels) -> list[str]:
    """Return the words by which tables of conditions are called, of path and tag."""
    below = table.path.parent.relative_to(directory.path).parts
    tag = table.path.name.split(".") if isinstance(table, Levels) else table.tag.split(".")
    return [word for word in (*below, *tag) if word]


def _titles(conditions: Sequence[_Condition]) -> list[str]:
    """Return the words that tell conditions apart, or numbers; the runs' condition has none."""
    of_tables = [set(each.words) for each in conditions if not each.own]
    common = set.intersection(*of_tables) if len(of_tables) > 1 else set()
    titles = []
    for number, condition in enumerate(conditions, start=1):
        words = [word for word in condition.words if word not in common]
        told = "-".join(words) or ("" if number == 1 else str(number))
        titles.append("" if condition.own else told)
    return titles


def _cells(table: Table) -> _Cells:
    """Return the rates of a table; those of 0 say nothing."""
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for key, clients, rate in _of_hardware(table) if isinstance(table, Hardware) else _of(table):
        if rate and float(rate):
            cells.setdefault(key, {})[clients] = rate
    return cells


def _of(table: Rates) -> Iterator[tuple[tuple[str, str, str], int | None, str]]:
    named = of_table(table.path)
    clients = named.count if named else None
    for label, rates in table.table.rows.items():
        for run, rate in zip(table.table.runs, rates, strict=True):
            if (common := common_of(label, run)) is not None:
                yield (table.table.base or "", run, common), clients, rate


def _of_hardware(table: Hardware) -> Iterator[tuple[tuple[str, str, str], int | None, str]]:
    for block in table.table.blocks:
        for name, row in table.table.rows_by_file(block):
            if (file := parse_file(name)) is not None and file.kind == "met":
                yield ("", row.run, file.common), file.dop, row["o/s"]


def _of_runs(runs: Sequence[RunDirectory]) -> _Cells:
    """Return the published rates of runs, but of scan, which has two rules."""
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for run in runs:
        for test in run.tests.values():
            rate = rate_of(test, ScanRule.ALL_THREADS)
            if rate is not None and not test.is_load and test.file.test != SCAN:
                cells.setdefault(("", run.name, test.file.common), {})[test.dop] = rate.whole
    return cells


def _same(rate: str, other: str) -> bool:
    return math.isclose(float(rate), float(other), rel_tol=_ALIKE)
