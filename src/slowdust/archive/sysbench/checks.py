"""Comparing files and tables with what they are made of: they may be edited, cut or damaged.

The numbers of the source are used; a difference is a problem of the file. A table that was cut
lacks tests that its runs have, or rows of a test; it is written whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.classic import ClassicTable
from slowdust.archive.files import Cell, differing
from slowdust.archive.sysbench.clients import of_table
from slowdust.archive.sysbench.hardware import MET_COLUMNS, make_met
from slowdust.archive.sysbench.names import block_name, common_of, load_block_name, parse_file
from slowdust.archive.sysbench.output import Rate
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory, extraction_kind
from slowdust.archive.sysbench.scan_rules import ScanRules
from slowdust.archive.sysbench.slices import published_met, rate_of
from slowdust.archive.sysbench.summary_tables import Derived, Hardware, Levels, Rates, Tables
from slowdust.archive.sysbench.tables import (
    HARDWARE_COLUMNS,
    MetRow,
    RateTable,
    order_suffixes,
    order_tests,
    relative_cells,
    relative_rate,
    relative_rates,
    usual_clients,
)
from slowdust.exchange import Problem
from slowdust.formats.text import beginning
from slowdust.store.manifest import Fate
from slowdust.wording import counted


def check_runs(runs: Iterable[RunDirectory], scan: ScanRules) -> Iterator[Problem]:
    for run in runs:
        for test in run.tests.values():
            published = rate_of(test, scan.rule(run.name))
            if published is not None:
                for kind, cells, source in (*_met(test, published), *_rates(test, published)):
                    yield from differing(run.path / test.names[kind], cells, source)
            for (iteration, form), values in test.extracted.items():
                expected = test.counters.get(iteration)
                if expected is not None and expected is not values:
                    path = run.path / test.names[extraction_kind(iteration, form)]
                    names = {**expected, **values}
                    cells = [(name, values.get(name, ""), expected.get(name, "")) for name in names]
                    source = f"sb.perf.hw.{test.file.common}.{iteration}"
                    yield from differing(path, cells, source)


def check_tables(tables: Tables, rates: RatesOfTests, hardware: PublishedRows) -> Iterator[Problem]:
    """Compare tables that are made of each other, or of the runs' files."""
    for derived in tables.derived:
        yield from differing(derived.path, _derived(derived), derived.source.path.name)
    for table in tables.rates:
        yield from differing(table.path, _absolute(table, rates), "the run's files")
    known: RatesOfTests = {}
    for of_hardware in tables.hardware:
        yield from differing(of_hardware.path, _blocks(of_hardware, hardware), "the run's files")
        yield from differing(of_hardware.path, _relative_blocks(of_hardware), "its absolute rows")
        for name, row in of_hardware.table.rows:
            file = parse_file(name)
            if file is not None and file.kind == "met" and (rate := row["o/s"]):
                known.setdefault((row.run, file.common), {})[file.dop] = rate
    known |= rates
    for table in tables.relative:
        yield from differing(table.path, _relative(table, known), "the rates of the runs")
    for levels in tables.levels:
        yield from differing(levels.path, _levels(levels, known), "o.met or the runs' files")


def _met(test: ArchivedTest, published: Rate) -> Iterator[tuple[str, list[Cell], str]]:
    """Yield kind of file, cells and source of sb.met."""
    if test.met is None:
        return
    kind = "prepare.met" if test.is_load else "met"
    if test.storage is not None and test.cpu is not None:
        expected = make_met(published.text, test.storage, test.cpu.published)
        has_rate = test.output is not None or test.load is not None
        source = "sb.o, sb.io and sb.vm" if has_rate else "sb.io and sb.vm"
        yield kind, list(zip(MET_COLUMNS, test.met.cells, expected.cells, strict=True)), source
    else:
        yield kind, [("o/s", test.met.rate, published.text)], "sb.o"


def _rates(test: ArchivedTest, published: Rate) -> Iterator[tuple[str, list[Cell], str]]:
    """Yield kind of file, cells and source of the files of rates."""
    if (output := test.output) is not None:
        sources = {
            "r.qps": published.whole,
            "r.rtavg": output.average_ms,
            "r.rtmax": output.longest_ms,
            "r.rt95": output.p95_ms,
        }
    else:
        sources = {"r.qps": published.whole} if test.met is not None else {}
    for kind, printed in test.rates.items():
        if source := sources.get(kind):
            what = "the rate" if kind == "r.qps" else "the time"
            yield kind, [(what, printed.number, source)], "sb.o" if output else "sb.met"


RatesOfTests = dict[tuple[str, str], dict[int | None, str]]
"""Run and `FileName.common` -> clients -> its rate, as tables have it."""
PublishedRows = dict[tuple[str, str], MetRow]
"""Name of a block and run -> its row of hardware."""


def published_numbers(
    runs: Iterable[RunDirectory], scan: ScanRules
) -> tuple[RatesOfTests, PublishedRows]:
    """Return the rates and the rows of hardware that tables of these runs are made of."""
    rates: RatesOfTests = {}
    rows: PublishedRows = {}
    for run in runs:
        for test in run.tests.values():
            published = rate_of(test, scan.rule(run.name))
            if published is None:
                continue
            if not test.is_load:
                rates.setdefault((run.name, test.file.common), {})[test.dop] = published.whole
            if (numbers := published_met(test, published)) is not None:
                common = test.file.common
                block = load_block_name(common) if test.is_load else block_name(common, test.dop)
                rows[block, run.name] = MetRow.of(numbers, run.name)
    return rates, rows


def _derived(derived: Derived) -> list[Cell]:
    table, expected = derived.table, derived.source.table
    if table.base is not None and expected.base is None:
        wanted = (table.base, *table.runs)
        if set(wanted) <= set(expected.runs):  # .csv has no names
            places = [expected.runs.index(run) for run in wanted]
            rows = {label: tuple(row[at] for at in places) for label, row in expected.rows.items()}
            expected = RateTable(wanted, rows)
        expected = relative_rates(expected)
    if len(table.runs) != len(expected.runs):
        return [("columns", f"{len(table.runs)}", f"{len(expected.runs)}")]
    nothing = ("",) * len(table.runs)
    return [
        (f"{label} of {run}", there, source)
        for label in {**expected.rows, **table.rows}
        for run, there, source in zip(
            expected.runs,
            table.rows.get(label, nothing),
            expected.rows.get(label, nothing),
            strict=False,
        )
    ]


def _absolute(table: Rates, known: RatesOfTests) -> Iterator[Cell]:
    for label, run, there in _cells(table):
        expected = _rates_of(table, label, run, known).values()
        if there and expected and there not in expected:
            yield f"{label} of {run}", there, min(expected)


def _relative(table: Rates, known: RatesOfTests) -> Iterator[Cell]:
    """Compare a table beside which there are no absolute rates."""
    for label, run, there in _cells(table):
        base = _rates_of(table, label, table.table.base or "", known)
        expected = {
            relative_rate(rate, base[clients])
            for clients, rate in _rates_of(table, label, run, known).items()
            if clients in base
        }
        if expected and there not in expected:
            yield f"{label} of {run}", there, min(expected)


def _levels(table: Levels, known: RatesOfTests) -> Iterator[Cell]:
    """Compare a table that has no numbers of clients with the rates of those that are known."""
    for (common, run), there in table.table.items():
        rates = known.get((run, common), {})
        expected = [rates[clients] for clients in sorted(rates, key=lambda level: level or 0)]
        if len(expected) == len(there):
            for pair in zip(there, expected, strict=True):
                yield f"{common} of {run}", *pair


def _cells(table: Rates) -> Iterator[tuple[str, str, str]]:
    for label, values in table.table.rows.items():
        for run, there in zip(table.table.runs, values, strict=True):
            yield label, run, there


def _rates_of(table: Rates, label: str, run: str, known: RatesOfTests) -> Mapping[int | None, str]:
    """Return the rates of the clients in the table's name, if the runs have these; else all."""
    rates = known.get((run, common_of(label, run) or ""), {})
    named = of_table(table.path)
    return {named.count: rates[named.count]} if named and named.count in rates else rates


def _blocks(table: Hardware, known: PublishedRows) -> Iterator[Cell]:
    for name, row in table.table.rows:
        if (expected := known.get((name, row.run))) is not None:
            for column, there, cell in zip(
                HARDWARE_COLUMNS, row.cells, expected.cells, strict=True
            ):
                if there:
                    yield f"{name}, {column} of {row.run}", there, cell


def _relative_blocks(table: Hardware) -> Iterator[Cell]:
    blocks = table.table.blocks
    rows = {(name, row.run): row for name, block in blocks.items() for row in block}
    for (name, run), printed in table.table.relative.items():
        if (row := rows.get((name, run))) is not None:
            expected = relative_cells(row, blocks[name][0])
            for column, there in printed.items():
                if column in expected:
                    yield f"{name}, relative {column} of {run}", there, expected[column]


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
        return Problem(self.path, f"cut: {self.missing}", Fate.PARTLY)


def find_cut(tables: Tables, rates: RatesOfTests, rows: PublishedRows) -> Iterator[CutTable]:
    """Find the tables that have less than the runs' own files give, `rates` and `rows`.

    Where the runs are not there, only rows can be missing: those that other tests have. A table
    of rates may be of some tests on purpose, unless it lacks the last ones.
    """
    for absolute in (*tables.rates, *tables.relative):
        expected = _labels(absolute, rates)
        known = [label for label in expected if label in absolute.table.rows]
        short = _short(set(known), set(expected)) if known == expected[: len(known)] else ""
        if short:
            yield CutTable(absolute.path, short, [])
    for hardware in tables.hardware:
        short = _short(set(hardware.table.blocks), _expected_blocks(hardware, rows))
        parts = [part for part in (short, _missing_rows(hardware, rows)) if part]
        if parts:
            whole = _whole_blocks(hardware, rows) if short else None
            yield CutTable(hardware.path, "; ".join(parts), whole)


def _short(there: set[str], expected: set[str]) -> str:
    """Return '13 of 36 tests' where many are missing; a few may lack on purpose."""
    missing = len(expected - there)
    if missing <= _FEW * len(expected):
        return ""
    return f"{len(expected) - missing} of {counted(len(expected), 'test')}"


def _labels(table: Rates, rates: RatesOfTests) -> list[str]:
    mine = {key: levels for key, levels in rates.items() if key[0] in table.runs}
    counts = Counter(count for levels in mine.values() for count in levels if count)
    named = of_table(table.path)
    usual = usual_clients(counts) if counts else None
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
    return [file.label for file in order_tests(file for file in files if file is not None)]


def _expected_blocks(table: Hardware, rows: PublishedRows) -> set[str]:
    levels = {_level(name) for name in table.table.blocks}
    blocks = [{name for name, run in rows if run == row} for row in table.runs]
    return {name for name in _in_all(blocks) if _level(name) in levels}


def _whole_blocks(table: Hardware, rows: PublishedRows) -> list[str]:
    there = table.table.blocks
    levels = {_level(name) for name in there}
    files = {name: file for name, _ in rows if (file := parse_file(name)) is not None}
    order = order_suffixes(file.suffix for file in files.values())
    missing = [name for name in files if name not in there and _level(name) in levels]
    return [*there, *sorted(missing, key=lambda name: order.index(files[name].suffix))]


def _level(block: str) -> tuple[str, int | None]:
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


def classic_tables(tables: Tables, home: Path, cut: Iterable[CutTable]) -> list[ClassicTable]:
    """Return the tables that can be written, those that are `cut` with the rows of whole ones."""
    whole = {table.path: table.rows for table in cut if table.rows is not None}

    def listed(table: Rates | Hardware, kind: str, rows: Iterable[str]) -> ClassicTable:
        below = table.path.parent != home
        return ClassicTable(
            kind=kind,
            tag=table.tag,
            runs=list(table.runs),
            rows=list(whole.get(table.path, rows)),
            folder=str(table.path.parent.relative_to(home)) if below else "",
        )

    listed_tables = [listed(rates, "rates", rates.table.rows) for rates in tables.rates]
    listed_tables += [listed(each, "relative rates", each.table.rows) for each in tables.relative]
    for hardware in tables.hardware:
        listed_tables.append(listed(hardware, "hardware", hardware.table.blocks))
        listed_tables[-1].others = hardware.table.others
    tags = dict.fromkeys(table.tag for table in tables.joined)
    return [*listed_tables, *(ClassicTable(kind="counters", tag=tag, runs=[]) for tag in tags)]
