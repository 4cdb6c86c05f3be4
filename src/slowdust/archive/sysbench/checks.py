"""Comparing files that are made of others with these: they may be edited by hand, or damaged.

The numbers of the source are used; a difference is a problem of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowdust.archive.problems import Cell, Problem, differing
from slowdust.archive.sysbench.clients import of_table
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory, extraction_kind
from slowdust.archive.sysbench.scan_rules import ScanRules
from slowdust.archive.sysbench.slices import published_met, rate_of
from slowdust.archive.sysbench.tables.summary_tables import (
    Derived,
    Hardware,
    Levels,
    Rates,
    Tables,
)
from slowdust.formats.sysbench import met, met_tables, rate_tables
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import block_name, common_of, load_block_name, parse_file
from slowdust.formats.sysbench.rate_tables import RateTable
from slowdust.formats.sysbench.rates import ScanRule


def check_runs(runs: Iterable[RunDirectory], scan: ScanRules) -> Iterator[Problem]:
    """Compare the files of runs that are made of other files of them."""
    for run in runs:
        rule = scan.rule(run.name)
        for test in run.tests.values():
            yield from _met(run, test, rule)
            yield from _rates(run, test, rule)
            yield from _extractions(run, test)


def check_tables(tables: Tables, rates: RatesOfTests, hardware: PublishedRows) -> Iterator[Problem]:
    """Compare tables that are made of each other, or of the runs' files."""
    for derived in tables.derived:
        yield from _derived(derived)
    for table in tables.rates:
        yield from _absolute(table, rates)
    for hardware_table in tables.hardware:
        yield from _blocks(hardware_table, hardware)
        yield from _relative_blocks(hardware_table)
    known = _of_blocks(tables.hardware) | rates
    for table in tables.relative:
        yield from _relative(table, known)
    for levels in tables.levels:
        yield from _levels(levels, known)


def _met(run: RunDirectory, test: ArchivedTest, scan: ScanRule) -> Iterator[Problem]:
    published = rate_of(test, scan)
    if test.met is None or published is None:
        return
    name = test.names[f"{'prepare.' if test.is_load else ''}met"]
    if test.storage is not None and test.cpu is not None:
        expected = met.make(published.text, test.storage, test.cpu.published)
        compared = list(zip(met.COLUMNS, test.met.cells, expected.cells, strict=True))
        has_rate = test.output is not None or test.load is not None
        source = "sb.o, sb.io and sb.vm" if has_rate else "sb.io and sb.vm"
    else:
        compared, source = [("o/s", test.met.rate, published.text)], "sb.o"
    yield from differing(run.path / name, compared, source)


def _rates(run: RunDirectory, test: ArchivedTest, scan: ScanRule) -> Iterator[Problem]:
    output, published = test.output, rate_of(test, scan)
    if published is None:
        return
    if output is None:
        if test.met is not None and (printed := test.rates.get("r.qps")) is not None:
            cell = ("the rate", printed.number, published.whole)
            yield from differing(run.path / test.names["r.qps"], [cell], "sb.met")
        return
    sources = {
        "r.qps": published.whole,
        "r.rtavg": output.average_ms,
        "r.rtmax": output.longest_ms,
        "r.rt95": output.p95_ms,
    }
    for kind, printed in test.rates.items():
        if source := sources.get(kind):
            cell = ("the rate" if kind == "r.qps" else "the time", printed.number, source)
            yield from differing(run.path / test.names[kind], [cell], "sb.o")


def _extractions(run: RunDirectory, test: ArchivedTest) -> Iterator[Problem]:
    for (iteration, form), values in test.extracted.items():
        expected = test.counters.get(iteration)
        if expected is not None and expected is not values:
            path = run.path / test.names[extraction_kind(iteration, form)]
            cells = [
                (name, values.get(name, ""), expected.get(name, ""))
                for name in {**expected, **values}
            ]
            yield from differing(path, cells, f"sb.perf.hw.{test.file.common}.{iteration}")


RatesOfTests = dict[tuple[str, str], dict[int | None, str]]
"""Run and `FileName.common` -> clients -> its rate, as tables have it."""
PublishedRows = dict[tuple[str, str], MetRow]
"""Name of a block and run -> its row of hardware."""


def _of_blocks(tables: Iterable[Hardware]) -> RatesOfTests:
    rates: RatesOfTests = {}
    for table in tables:
        rows = (pair for name in table.table.blocks for pair in table.table.rows_by_file(name))
        for name, row in rows:
            file = parse_file(name)
            if file is not None and file.kind == "met" and (rate := row["o/s"]):
                rates.setdefault((row.run, file.common), {})[file.dop] = rate
    return rates


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


def _derived(derived: Derived) -> Iterator[Problem]:
    source, table = derived.source, derived.table
    expected = source.table
    if table.base is not None and expected.base is None:
        expected = rate_tables.relative(_with_first(expected, table))
    if len(table.runs) != len(expected.runs):
        counts = (f"{len(table.runs)}", f"{len(expected.runs)}")
        yield from differing(derived.path, [("columns", *counts)], source.path.name)
        return
    cells = (
        (f"{label} of {run}", *pair)
        for label in {**expected.rows, **table.rows}
        for run, pair in zip(
            expected.runs, _pairs(table.rows.get(label), expected.rows.get(label)), strict=False
        )
    )
    yield from differing(derived.path, cells, source.path.name)


def _with_first(absolute: RateTable, relative: RateTable) -> RateTable:
    """Return the columns of a table of rates that a relative one is of, in its order."""
    wanted = (relative.base or "", *relative.runs)
    if not set(wanted) <= set(absolute.runs):
        return absolute  # as .csv, which has no names
    places = [absolute.runs.index(run) for run in wanted]
    rows = {label: tuple(row[at] for at in places) for label, row in absolute.rows.items()}
    return RateTable(wanted, rows)


def _pairs(
    there: Sequence[str] | None, expected: Sequence[str] | None
) -> Iterator[tuple[str, str]]:
    """Pair the cells of a row that one of both may not have."""
    width = len(there or expected or ())
    nothing = [""] * width
    return zip(there or nothing, expected or nothing, strict=True)


def _absolute(table: Rates, known: RatesOfTests) -> Iterator[Problem]:
    cells = [
        (f"{label} of {run}", there, min(expected))
        for label, run, there in _cells(table)
        if there
        and (expected := _rates_of(table, label, run, known).values())
        and there not in expected
    ]
    yield from differing(table.path, cells, "the run's files")


def _relative(table: Rates, known: RatesOfTests) -> Iterator[Problem]:
    """Compare a table beside which there are no absolute rates."""
    cells = []
    for label, run, there in _cells(table):
        base = _rates_of(table, label, table.table.base or "", known)
        expected = {
            rate_tables.relative_rate(rate, base[clients])
            for clients, rate in _rates_of(table, label, run, known).items()
            if clients in base
        }
        if expected and there not in expected:
            cells.append((f"{label} of {run}", there, min(expected)))
    yield from differing(table.path, cells, "the rates of the runs")


def _levels(table: Levels, known: RatesOfTests) -> Iterator[Problem]:
    """Compare a table that has no numbers of clients with the rates of those that are known."""
    cells: list[Cell] = []
    for (common, run), there in table.table.items():
        rates = known.get((run, common), {})
        expected = [rates[clients] for clients in sorted(rates, key=lambda level: level or 0)]
        if len(expected) == len(there):
            cells += [(f"{common} of {run}", *pair) for pair in zip(there, expected, strict=True)]
    yield from differing(table.path, cells, "o.met or the runs' files")


def _cells(table: Rates) -> Iterator[tuple[str, str, str]]:
    """Yield label, run and rate of each cell."""
    for label, values in table.table.rows.items():
        for run, there in zip(table.table.runs, values, strict=True):
            yield label, run, there


def _rates_of(table: Rates, label: str, run: str, known: RatesOfTests) -> Mapping[int | None, str]:
    """Return the rates of the clients in the table's name, if the runs have these; else all."""
    rates = known.get((run, common_of(label, run) or ""), {})
    named = of_table(table.path)
    if named is None or named.count not in rates:
        return rates
    return {named.count: rates[named.count]}


def _blocks(table: Hardware, known: PublishedRows) -> Iterator[Problem]:
    cells = (
        (f"{name}, {column} of {row.run}", there, cell)
        for block in table.table.blocks
        for name, row in table.table.rows_by_file(block)
        if (expected := known.get((name, row.run))) is not None
        for column, there, cell in zip(met_tables.COLUMNS, row.cells, expected.cells, strict=True)
        if there
    )
    yield from differing(table.path, cells, "the run's files")


def _relative_blocks(table: Hardware) -> Iterator[Problem]:
    """Compare relative rows with the absolute ones of the same block."""
    blocks = table.table.blocks
    rows = {(name, row.run): row for name, block in blocks.items() for row in block}
    cells = []
    for (name, run), printed in table.table.relative.items():
        if (row := rows.get((name, run))) is not None:
            expected = met_tables.relative(row, blocks[name][0])
            cells += [
                (f"{name}, relative {column} of {run}", there, expected[column])
                for column, there in printed.items()
                if column in expected
            ]
    yield from differing(table.path, cells, "its absolute rows")
