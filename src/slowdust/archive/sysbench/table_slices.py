"""Rows of published tables, where the runs' own files are not there, as records of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.found_tables import Hardware, Rates
from slowdust.archive.sysbench.scanning import Place as FoundPlace
from slowdust.benchmarks.archived import LOAD, SYSBENCH
from slowdust.formats.sysbench import named_clients
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.named_clients import NamedClients
from slowdust.formats.sysbench.names import FileName, common_of, parse_file, test_of
from slowdust.formats.sysbench.rates import ScanRule, Unit, relative_to, unit_of
from slowdust.store.archived import Archived, Classic
from slowdust.store.manifest import Fate
from slowdust.store.slice import Place, Slice
from slowdust.units import present
from slowdust.wording import counted

FROM_RELATIVE = "from a table of relative rates alone: absolute ones are not known"
FROM_TABLE = "from a table alone: the run's files are not there"
_PREPARE = "sb.prepare.met."

Key = tuple[str, str, int]
"""Run, test as the names of files have it (or `LOAD`), clients."""


@dataclass
class Row:
    """What the tables of a directory say of one test of one run."""

    run: str
    common: str
    """`FileName.common`."""
    test: str
    clients: int
    rate: str | None = None
    """Of the table of rates."""
    hardware: MetRow | None = None
    relative_to: str | None = None
    """The run that `rate` is relative to, where no absolute one is known."""

    @property
    def key(self) -> Key:
        """What it is of."""
        return self.run, LOAD if self.test == LOAD else self.common, self.clients


@dataclass
class TableRows:
    """Everything that the tables of an experiment say."""

    rows: dict[Key, Row] = field(default_factory=dict)
    without_clients: set[str] = field(default_factory=set)
    """Names of tables whose number of clients is not known."""
    named: set[NamedClients] = field(default_factory=set)
    """Numbers of clients that only names tell."""
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class _Clients:
    """What tells the number of clients of rows that do not."""

    levels: Mapping[str, Mapping[str, Collection[int]]]
    """Test as the names of files have it -> run -> its numbers of clients."""
    loads: Sequence[int]
    """Those of the loads of the runs' own files."""
    given: int | None
    """By the user."""
    of_place: NamedClients | None

    @classmethod
    def made_of(
        cls, known: Iterable[Key], given: int | None, of_place: NamedClients | None
    ) -> _Clients:
        """`known` are the tests and loads whose numbers are known."""
        levels: dict[str, dict[str, set[int]]] = {}
        loads = []
        for run, test, count in known:
            if test == LOAD:
                loads.append(count)
            else:
                levels.setdefault(test, {}).setdefault(run, set()).add(count)
        return cls(levels, loads, given, of_place)

    def of(self, path: Path, runs: Collection[str], common: str, found: TableRows) -> int | None:
        """Of a test of a table of `runs`; what only names tell is noted.

        A table is of one number, that of most of its tests, but for tests that no run has so.
        """
        if common not in self.levels:
            return self._otherwise(path, found)
        levels, named = self._counted([common], runs), named_clients.of_table(path)
        if named and named.count in levels:
            return named.count
        usual = named_clients.most_common(self._counted(self.levels, runs))
        return usual if usual in levels else named_clients.most_common(levels)

    def _counted(self, tests: Iterable[str], runs: Collection[str]) -> Counter[int]:
        """Numbers of clients of tests of `runs`; of all runs where these have none."""
        found = [(run, some) for test in tests for run, some in self.levels[test].items()]
        mine = Counter(count for run, some in found if run in runs for count in some)
        return mine or Counter(count for _, some in found for count in some)

    def of_load(self, path: Path, found: TableRows) -> int | None:
        """That of other loads, else of most tests: the load itself has none."""
        in_rows = (row.clients for row in found.rows.values() if row.test != LOAD)
        told = Counter(self.loads or [*in_rows, *self._counted(self.levels, ()).elements()])
        return named_clients.most_common(told) if told else self._otherwise(path, found)

    def _otherwise(self, path: Path, found: TableRows) -> int | None:
        named = named_clients.of_table(path) or self.of_place
        if self.given is None and named is not None:
            found.named.add(named)
            return named.count
        told = self._counted(self.levels, ())
        return self.given or (named_clients.most_common(told) if told else None)


def read_tables(place: FoundPlace, records: Iterable[Slice], clients: int | None) -> TableRows:
    """Merge the tables of an experiment.

    `records` are those of the runs' own files; their clients are also those of tables of rates,
    which do not say. `clients` is what the user says.
    """
    found = TableRows()
    in_runs = {
        (
            one.archived.classic.run,
            LOAD if one.place.test == LOAD else one.archived.classic.file,
            one.place.clients,
        )
        for one in records
        if one.archived is not None and one.archived.classic.file is not None
    }
    blocks = list(_blocks(place.tables.hardware))
    for block in blocks:
        if block.clients is not None:
            _take_block(block, block.clients, found)
    known = in_runs | found.rows.keys()
    told = _Clients.made_of(known, clients, named_clients.of_directories(place.around))
    for block in blocks:
        if block.clients is None and not block.is_load:
            _take_block(block, told.of(block.path, block.runs, block.file.common, found), found)
    compared = in_runs | found.rows.keys()
    for rates in place.tables.rates:
        _take_absolute(rates, found, told)
    absolute = compared | found.rows.keys()
    for rates in place.tables.relative:
        _take_relative(rates, found, told, compared, absolute)
    for block in blocks:
        if block.is_load:
            _take_block(block, told.of_load(block.path, found), found)
    return found


@dataclass(frozen=True)
class _Block:
    """Of a table of hardware per operation."""

    path: Path
    file: FileName
    is_load: bool
    rows: list[MetRow]

    @property
    def runs(self) -> list[str]:
        """Those of its rows."""
        return [row.run for row in self.rows]

    @property
    def clients(self) -> int | None:
        """As its name says."""
        return None if self.is_load else self.file.dop


def _blocks(tables: Iterable[Hardware]) -> Iterator[_Block]:
    for table in tables:
        for name, rows in table.table.blocks.items():
            if (file := parse_file(name)) is not None:
                yield _Block(table.path, file, name.startswith(_PREPARE), rows)


def _take_block(block: _Block, clients: int | None, found: TableRows) -> None:
    if clients is None:
        found.without_clients.add(block.path.name)
        return
    test = LOAD if block.is_load else block.file.suffix
    for one in block.rows:
        row = Row(one.run, block.file.common, test, clients, hardware=one)
        found.rows.setdefault(row.key, row)


def _take_absolute(rates: Rates, found: TableRows, clients: _Clients) -> None:
    others = 0
    for row in _of_rates(found, rates, clients):
        there = found.rows.setdefault(row.key, row)
        others += there.rate not in (None, row.rate)
        there.rate = there.rate or row.rate
    _complain(found, rates, others, "rate", "that another table has otherwise")


def _take_relative(
    rates: Rates, found: TableRows, clients: _Clients, compared: Set[Key], absolute: Set[Key]
) -> None:
    """Those of tests of which nothing is `absolute`; those that are in `compared` are not lost."""
    by_test: dict[str, list[Row]] = {}
    for row in _of_rates(found, rates, clients):
        by_test.setdefault(row.common, []).append(row)
    others = 0
    for of_test in by_test.values():
        keys = {row.key for row in of_test}
        if keys.isdisjoint(absolute):
            first = [found.rows.setdefault(row.key, row) for row in of_test]
            others += first != of_test
        else:
            others += not keys <= compared
    _complain(found, rates, others, "row", "whose rates, of some runs at least, are elsewhere")


def _complain(found: TableRows, rates: Rates, count: int, what: str, why: str) -> None:
    if count:
        reason = f"not used: {counted(count, what)} {why}"
        found.problems.append(Problem(rates.path, reason, Fate.PARTLY))


def _of_rates(found: TableRows, rates: Rates, clients: _Clients) -> Iterator[Row]:
    """Of a table; those of its base are 1, if it has one."""
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
            count = clients.of(rates.path, rates.runs, common, found)
            if count is None:
                found.without_clients.add(rates.path.name)
            else:
                yield Row(run, common, test_of(common), count, rate=rate, relative_to=base)
    _complain(found, rates, zeros, "rate", "of 0, of which there is no ratio")


def slice_of(row: Row, contender: str, scan: ScanRule, cpus: int | None) -> Slice | None:
    """The record; None where no rate is known."""
    hardware = row.hardware
    rate = row.rate or (hardware.rate if hardware else "")
    if not rate or float(rate) <= 0:
        return None
    return Slice(
        place=Place(
            benchmark=SYSBENCH.name, test=row.test, clients=row.clients, contender=contender
        ),
        qps=float(rate),
        unit=_unit(row, rate, scan),
        archived=Archived(
            per_operation=_per_operation(hardware, cpus) if hardware else {},
            notes=[FROM_TABLE if row.relative_to is None else FROM_RELATIVE],
            classic=Classic(
                run=row.run,
                file=row.common,
                whole_rate=rate,
                table_row=list(hardware.cells()) if hardware else None,
            ),
        ),
    )


def _unit(row: Row, rate: str, scan: ScanRule) -> str:
    if row.relative_to is not None:
        return relative_to(row.relative_to)
    if row.test == LOAD:
        return Unit.ROWS.value
    return unit_of(row.common.partition(".")[0], rate, scan).value


def _per_operation(row: MetRow, cpus: int | None) -> dict[str, float]:
    share = float(row.cpu) / 100 * 1e6 if row.cpu else None
    return present(
        host_cpu_us=share * cpus if share is not None and cpus else None,
        host_share_us=share if not cpus else None,
        host_cs=_number(row.switches),
        reads=_number(row.reads),
        host_read_kb=_number(row.read_kb),
        host_write_kb=_number(row.written_kb),
    )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def block_name(test: str, common: str, clients: int) -> str:
    """What a test is called in a table of hardware per operation."""
    return f"{_PREPARE}{common}" if test == LOAD else f"sb.met.{common}.dop{clients}"
