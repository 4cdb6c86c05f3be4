"""Rows of published tables, where the runs' own files are not there, as records of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from slowdust.archive import named_clients
from slowdust.archive.met_tables import MetRow
from slowdust.archive.named_clients import NamedClients
from slowdust.archive.names import parse_file, parse_label
from slowdust.archive.rate_tables import RateTable
from slowdust.archive.rates import SCAN, ScanRule, Unit
from slowdust.archive.run_directory import LOAD
from slowdust.archive.scanning import Place
from slowdust.archive.slices import BENCHMARK
from slowdust.store.records import Archived, Slice, UsePerOperation

FROM_TABLE = "from a table alone: the run's files are not there"
_PREPARE = "sb.prepare.met."
_PK0 = ".pk0"

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


@dataclass
class Tables:
    """Everything that the tables of an experiment say."""

    rows: dict[Key, Row] = field(default_factory=dict)
    without_clients: set[str] = field(default_factory=set)
    """Names of tables whose number of clients is not known."""
    named: set[NamedClients] = field(default_factory=set)
    """Numbers of clients that only names tell."""


def read_tables(
    place: Place, levels_of: Mapping[str, Iterable[int]], clients: int | None
) -> Tables:
    """Merge the tables of an experiment.

    `levels_of` is test -> numbers of clients, as the runs' files say, for tables of rates, which
    do not; `clients` is what the user says.
    """
    tables = Tables()
    levels = {common: set(found) for common, found in levels_of.items()}
    for table in place.hardware:
        for name, rows in table.blocks.items():
            for row in _of_block(name, rows):
                tables.rows.setdefault((row.run, row.common, row.clients), row)
                levels.setdefault(row.common, set()).add(row.clients)
    of_place = named_clients.of_directory(place.path)
    for rates in place.rates:
        in_name = named_clients.of_table(rates.path)
        named = None if clients else in_name or of_place
        for run, suffix, rate in _cells(rates.table):
            common = f"{suffix}.{'pk0' if run.endswith(_PK0) else 'pk1'}"
            if common in levels:
                count = _level(levels[common], in_name)
            elif named is not None:
                count = named.count
                tables.named.add(named)
            elif clients or levels:
                count = clients or max(map(max, levels.values()))
            else:
                tables.without_clients.add(rates.path.name)
                continue
            row = tables.rows.setdefault((run, common, count), Row(run, common, suffix, count))
            row.rate = row.rate or rate
    return tables


def _cells(table: RateTable) -> Iterator[tuple[str, str, str]]:
    """Run, test and rate, where there is one."""
    for label, values in table.rows.items():
        suffix = parse_label(label)
        for run, rate in zip(table.runs, values, strict=True):
            if suffix is not None and rate:
                yield run, suffix, rate


def _level(levels: Collection[int], named: NamedClients | None) -> int:
    """Which of several numbers of clients a table is of: as it is called, else the most."""
    return named.count if named is not None and named.count in levels else max(levels)


def _of_block(name: str, rows: list[MetRow]) -> Iterator[Row]:
    file = parse_file(name)
    if file is None:
        return
    is_load = name.startswith(_PREPARE)
    for row in rows:
        yield Row(
            run=row.run,
            common=file.common,
            test=LOAD if is_load else file.suffix,
            clients=file.dop or 1,
            hardware=row,
        )


def slice_of(row: Row, contender: str, scan: ScanRule, cpus: int | None) -> Slice | None:
    """The record; None where no rate is known."""
    hardware = row.hardware
    rate = row.rate or (hardware.rate if hardware else "")
    if not rate or float(rate) <= 0:
        return None
    is_scan = row.common.partition(".")[0] == SCAN
    unit = Unit.ROWS if row.test == LOAD else scan.unit if is_scan else Unit.QUERIES
    return Slice(
        benchmark=BENCHMARK,
        test=row.test,
        clients=row.clients,
        contender=contender,
        incarnation=1,
        block=0,
        slot=0,
        qps=float(rate),
        unit=unit.value,
        per_op=_use(hardware, cpus) if hardware else None,
        flags=[FROM_TABLE],
        archived=Archived(
            run=row.run,
            file=row.common,
            whole_rate=rate,
            table_row=list(hardware.cells()) if hardware else None,
        ),
    )


def _use(row: MetRow, cpus: int | None) -> UsePerOperation:
    share = float(row.cpu) / 100 * 1e6 if row.cpu else None
    return UsePerOperation(
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
