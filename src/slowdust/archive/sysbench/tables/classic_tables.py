"""The summary tables that can be written: those of an archive, whole where its own end too early.

A table that was cut lacks tests that its runs have, or rows of a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.checks import PublishedRows, RatesOfTests
from slowdust.archive.sysbench.clients import of_table
from slowdust.archive.sysbench.tables.summary_tables import Hardware, Rates, Tables
from slowdust.formats.sysbench import rate_tables
from slowdust.formats.sysbench.names import parse_file
from slowdust.formats.text import beginning
from slowdust.store.manifest import ArchivedTable, Fate
from slowdust.wording import counted

_MOST_LISTED = 2
_FEW = 0.1
"""The part of the tests that a table may lack on purpose: scripts leave out some of warm-up."""


@dataclass(frozen=True)
class CutTable:
    """A table that ends too early."""

    path: Path
    missing: str
    """The missing part: '13 of 39 tests'."""
    rows: Sequence[str] | None
    """Rows of a whole table; empty for all of its runs' tests, None if it lacks no test."""

    @property
    def problem(self) -> Problem:
        """The problem of its file."""
        return Problem(self.path, f"cut: {self.missing}", Fate.PARTLY)


def find_cut(tables: Tables, rates: RatesOfTests, rows: PublishedRows) -> Iterator[CutTable]:
    """Find the tables that have less than the runs' own files give, `rates` and `rows`.

    Where the runs are not there, only rows can be missing: those that other tests have.
    """
    for absolute in (*tables.rates, *tables.relative):
        if short := _cut_off(absolute.table.rows, _labels(absolute, rates)):
            yield CutTable(absolute.path, short, [])
    for hardware in tables.hardware:
        short = _short(set(hardware.table.blocks), _blocks(hardware, rows))
        parts = [part for part in (short, _missing_rows(hardware, rows)) if part]
        if parts:
            whole = _whole_blocks(hardware, rows) if short else None
            yield CutTable(hardware.path, "; ".join(parts), whole)


def _cut_off(there: Collection[str], expected: Sequence[str]) -> str:
    """Return '13 of 36 tests' where the end is missing; a table may be of some tests on purpose."""
    known = [label for label in expected if label in there]
    return _short(set(known), set(expected)) if known == [*expected[: len(known)]] else ""


def _short(there: set[str], expected: set[str]) -> str:
    """Return '13 of 36 tests' where many are missing; a few may lack on purpose."""
    missing = len(expected - there)
    if missing <= _FEW * len(expected):
        return ""
    return f"{len(expected) - missing} of {counted(len(expected), 'test')}"


def _labels(table: Rates, rates: RatesOfTests) -> list[str]:
    """Return the labels of the tests that all of its runs have at its number of clients."""
    mine = {key: levels for key, levels in rates.items() if key[0] in table.runs}
    counts = Counter(count for levels in mine.values() for count in levels if count)
    named = of_table(table.path)
    usual = rate_tables.usual_clients(counts) if counts else None
    level = named.count if named and named.count in counts else usual
    tests = [
        {
            test
            for (run, test), levels in mine.items()
            if run == column and {level, None} & {*levels}
        }
        for column in table.runs
    ]
    files = (parse_file(f"sb.met.{test}") for test in _in_all(tests))
    return [file.label for file in rate_tables.order(file for file in files if file is not None)]


def _blocks(table: Hardware, rows: PublishedRows) -> set[str]:
    """Return the blocks of the tests that all of its runs have, at its numbers of clients."""
    levels = {_level(name) for name in table.table.blocks}
    blocks = [{name for name, run in rows if run == row} for row in table.runs]
    return {name for name in _in_all(blocks) if _level(name) in levels}


def _whole_blocks(table: Hardware, rows: PublishedRows) -> list[str]:
    """Return the blocks that are there, and behind them those of its runs that are missing."""
    there = table.table.blocks
    levels = {_level(name) for name in there}
    files = {name: file for name, _ in rows if (file := parse_file(name)) is not None}
    order = rate_tables.order_of_suffixes(file.suffix for file in files.values())
    missing = [name for name in files if name not in there and _level(name) in levels]
    return [*there, *sorted(missing, key=lambda name: order.index(files[name].suffix))]


def _level(block: str) -> tuple[str, int | None]:
    """Return the kind and the clients of a block; the load is a level of its own."""
    file = parse_file(block)
    return (file.kind, file.dop) if file else ("", None)


def _in_all(sets: Sequence[set[str]]) -> set[str]:
    return set.intersection(*sets) if sets else set()


def _missing_rows(table: Hardware, known: PublishedRows) -> str:
    """Return 'sb.met.scan.range100.pk1.dop8: 1 of 3 rows', if all runs should have such a row."""
    runs_there = {run for _, run in known}
    blocks = table.table.blocks
    short = []
    for name, block in blocks.items():
        expected = [
            run
            for run in table.runs
            if run not in runs_there or (name, run) in known or name in table.table.others
        ]
        if len(block) < len(expected):
            short.append(f"{name}: {len(block)} of {counted(len(expected), 'row')}")
    last = list(blocks)[-1]
    relative = Counter(name for name, _ in table.table.relative)
    if relative and relative[last] < len(blocks[last]) - 1:
        whole = counted(len(blocks[last]) - 1, "relative row")
        short.append(f"{last}: {relative[last]} of {whole}")
    return beginning(short, _MOST_LISTED, "; ", "; and")


def classic_tables(tables: Tables, home: Path, cut: Iterable[CutTable]) -> list[ArchivedTable]:
    """Return the tables that can be written, those that are `cut` with the rows of whole ones."""
    whole = {table.path: table.rows for table in cut if table.rows is not None}
    of_rates = [
        ArchivedTable(
            kind="rates" if rates.table.base is None else "relative rates",
            tag=rates.tag,
            runs=list(rates.runs),
            rows=list(whole.get(rates.path, rates.table.rows)),
            folder=_folder(rates.path, home),
        )
        for rates in (*tables.rates, *tables.relative)
    ]
    of_hardware = [
        ArchivedTable(
            kind="hardware",
            tag=hardware.tag,
            runs=hardware.runs,
            rows=list(whole.get(hardware.path, hardware.table.blocks)),
            others=hardware.table.others,
            folder=_folder(hardware.path, home),
        )
        for hardware in tables.hardware
    ]
    counters = [ArchivedTable(kind="counters", tag=tag, runs=[]) for tag in tables.counter_tags]
    return [*of_rates, *of_hardware, *counters]


def _folder(path: Path, home: Path) -> str:
    return "" if path.parent == home else str(path.parent.relative_to(home))
