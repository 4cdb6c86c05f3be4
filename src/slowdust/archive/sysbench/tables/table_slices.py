"""Rows of published tables, where the runs' own files are not there, as slices of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.clients import NamedClients, TableClients, TestRun, of_directories
from slowdust.archive.sysbench.scanning import Directory
from slowdust.archive.sysbench.slices import per_operation
from slowdust.archive.sysbench.tables.summary_tables import Hardware, Levels, Rates
from slowdust.benchmarks.archived import LOAD, SYSBENCH
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import LOAD_BLOCK, FileName, common_of, parse_file, test_of
from slowdust.formats.sysbench.rates import ScanRule, Unit, relative_to, unit_of
from slowdust.store.archived import Archived, Classic
from slowdust.store.manifest import Fate
from slowdust.store.slice import Place, Slice
from slowdust.wording import counted

FROM_RELATIVE = "from a table of relative rates alone: absolute ones are not known"
FROM_TABLE = "from a table alone: the run's files are not there"


@dataclass
class Row:
    """The numbers of one test of one run, from the tables of a directory."""

    run: str
    common: str
    """`FileName.common`."""
    test: str
    clients: int
    rate: str | None = None
    """The rate of the table of rates."""
    hardware: MetRow | None = None
    relative_to: str | None = None
    """The run that `rate` is relative to, where no absolute one is known."""

    @property
    def key(self) -> TestRun:
        """The run, test and clients."""
        return self.run, LOAD if self.test == LOAD else self.common, self.clients


@dataclass
class TableRows:
    """The rows of all tables of an experiment."""

    rows: dict[TestRun, Row] = field(default_factory=dict)
    without_clients: set[str] = field(default_factory=set)
    """Names of tables whose number of clients is not known."""
    named: set[NamedClients] = field(default_factory=set)
    """Numbers of clients that only names tell."""
    problems: list[Problem] = field(default_factory=list)

    def complain(self, rates: Rates | Levels, count: int, what: str, why: str) -> None:
        """Note that `count` rows or rates of a table are not used."""
        if count:
            reason = f"not used: {counted(count, what)} {why}"
            self.problems.append(Problem(rates.path, reason, Fate.PARTLY))


def read_tables(directory: Directory, records: Iterable[Slice], clients: int | None) -> TableRows:
    """Merge the tables of an experiment.

    `records` are those of the runs' own files; their clients are also those of tables of rates,
    which do not have them. `clients` is the user's number.
    """
    merged = TableRows()
    in_runs = {
        (
            record.archived.classic.run,
            LOAD if record.place.test == LOAD else record.archived.classic.file,
            record.place.clients,
        )
        for record in records
        if record.archived is not None and record.archived.classic.file is not None
    }
    blocks = list(_blocks(directory.tables.hardware))
    for block in blocks:
        if block.clients is not None:
            _take_block(block, block.clients, merged)
    known = in_runs | merged.rows.keys()
    levels = TableClients(known, clients, of_directories(directory.around))
    for block in blocks:
        if block.clients is None and not block.is_load:
            _take_block(block, levels.of(block.path, block.runs, block.file.common), merged)
    compared = in_runs | merged.rows.keys()
    for rates in directory.tables.rates:
        _take_absolute(rates, merged, levels)
    for of_levels in directory.tables.levels:
        _take_levels(of_levels, merged, in_runs)
    absolute = compared | merged.rows.keys()
    for rates in directory.tables.relative:
        _take_relative(rates, merged, levels, compared, absolute)
    for block in blocks:
        if block.is_load:
            of_rows = [row.clients for row in merged.rows.values() if row.test != LOAD]
            _take_block(block, levels.of_load(block.path, of_rows), merged)
    merged.named = levels.named
    return merged


@dataclass(frozen=True)
class _Block:
    """A block of a table of hardware per operation."""

    path: Path
    file: FileName
    is_load: bool
    rows: list[MetRow]

    @property
    def runs(self) -> list[str]:
        return [row.run for row in self.rows]

    @property
    def clients(self) -> int | None:
        return None if self.is_load else self.file.dop


def _blocks(tables: Iterable[Hardware]) -> Iterator[_Block]:
    for table in tables:
        for block in table.table.blocks:
            by_file: dict[str, list[MetRow]] = {}
            for name, row in table.table.rows_by_file(block):
                by_file.setdefault(name, []).append(row)
            for name, rows in by_file.items():
                if (file := parse_file(name)) is not None:
                    yield _Block(table.path, file, name.startswith(LOAD_BLOCK), rows)


def _take_block(block: _Block, clients: int | None, merged: TableRows) -> None:
    if clients is None:
        merged.without_clients.add(block.path.name)
        return
    test = LOAD if block.is_load else block.file.suffix
    for hardware in block.rows:
        row = Row(hardware.run, block.file.common, test, clients, hardware=hardware)
        merged.rows.setdefault(row.key, row)


def _take_absolute(rates: Rates, merged: TableRows, clients: TableClients) -> None:
    others = 0
    for row in _rows_of_rates(rates, merged, clients):
        there = merged.rows.setdefault(row.key, row)
        others += there.rate not in (None, row.rate)
        there.rate = there.rate or row.rate
    merged.complain(rates, others, "rate", "that another table has otherwise")


def _take_levels(table: Levels, merged: TableRows, in_runs: Set[TestRun]) -> None:
    """Take the tests that ran, in any run, at as many numbers of clients as the table has rates."""
    levels: dict[str, set[int]] = {}
    for _, common, clients in in_runs | merged.rows.keys():
        levels.setdefault(common, set()).add(clients)
    unknown = 0
    for (common, run), rates in table.table.items():
        counts = sorted(levels.get(common, ()))
        if len(counts) != len(rates):
            unknown += 1
            continue
        for clients, rate in zip(counts, rates, strict=True):
            row = Row(run, common, test_of(common), clients, rate=rate)
            if row.key not in in_runs:
                merged.rows.setdefault(row.key, row)
    merged.complain(table, unknown, "row", "of which nothing says at how many clients they ran")


def _take_relative(
    rates: Rates,
    merged: TableRows,
    clients: TableClients,
    compared: Set[TestRun],
    absolute: Set[TestRun],
) -> None:
    """Take the tests of which nothing is `absolute`; those that are in `compared` are not lost."""
    by_test: dict[str, list[Row]] = {}
    for row in _rows_of_rates(rates, merged, clients):
        by_test.setdefault(row.common, []).append(row)
    others = 0
    for of_test in by_test.values():
        keys = {row.key for row in of_test}
        if keys.isdisjoint(absolute):
            first = [merged.rows.setdefault(row.key, row) for row in of_test]
            others += first != of_test
        else:
            others += not keys <= compared
    merged.complain(rates, others, "row", "whose rates, of some runs at least, are elsewhere")


def _rows_of_rates(rates: Rates, merged: TableRows, clients: TableClients) -> Iterator[Row]:
    """Yield the rows of a table; the rates of its base are 1, if it has one."""
    base = rates.table.base
    ones = [] if base is None else ["1"]
    zeros = 0
    for label, values in rates.table.rows.items():
        for run, rate in zip(rates.runs, (*ones, *values), strict=True):
            common = common_of(label, run)
            if common is None or not rate:
                continue
            if not float(rate):
                zeros += 1
                continue
            count = clients.of(rates.path, rates.runs, common)
            if count is None:
                merged.without_clients.add(rates.path.name)
            else:
                yield Row(run, common, test_of(common), count, rate=rate, relative_to=base)
    merged.complain(rates, zeros, "rate", "of 0, of which there is no ratio")


def slice_of(row: Row, contender: str, scan: ScanRule, cpus: int | None) -> Slice | None:
    """Return the slice; None where no rate is known."""
    hardware = row.hardware
    rate = row.rate or (hardware["o/s"] if hardware else "")
    if not rate or float(rate) <= 0:
        return None
    return Slice(
        place=Place(
            benchmark=SYSBENCH.name, test=row.test, clients=row.clients, contender=contender
        ),
        qps=float(rate),
        unit=_unit(row, rate, scan),
        archived=Archived(
            per_operation=per_operation(hardware, cpus) if hardware else {},
            notes=[FROM_TABLE if row.relative_to is None else FROM_RELATIVE],
            classic=Classic(
                run=row.run,
                file=row.common,
                whole_rate=rate,
                table_row=list(hardware.cells) if hardware else None,
            ),
        ),
    )


def _unit(row: Row, rate: str, scan: ScanRule) -> str:
    if row.relative_to is not None:
        return relative_to(row.relative_to)
    if row.test == LOAD:
        return Unit.ROWS.value
    return unit_of(row.common.partition(".")[0], rate, scan).value
