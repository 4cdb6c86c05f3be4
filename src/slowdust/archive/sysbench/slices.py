"""Slices of tests of runs, and of rows of tables where the runs' own files are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.classic import Classic, file_of, run_of
from slowdust.archive.runs import parse_run
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.clients import NamedClients, TableClients, TestRun, of_directories
from slowdust.archive.sysbench.directories import Directory
from slowdust.archive.sysbench.hardware import Met, Vmstat, make_met
from slowdust.archive.sysbench.names import LOAD_BLOCK, FileName, common_of, parse_file, test_of
from slowdust.archive.sysbench.output import (
    SCAN,
    Rate,
    ScanRule,
    Unit,
    clean_scan_rate,
    published_rate,
    relative_to,
    unit_of,
)
from slowdust.archive.sysbench.run_directory import ArchivedTest, Extraction, RunDirectory
from slowdust.archive.sysbench.scan_rules import ScanRules
from slowdust.archive.sysbench.summary_tables import Hardware, Levels, Rates
from slowdust.archive.sysbench.tables import MetRow
from slowdust.benchmarks.sysbench import LOAD, SYSBENCH
from slowdust.exchange import Mode, Problem
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import Fate
from slowdust.store.measured import Counters, Measured, Printed, Use
from slowdust.store.slice import Place, Slice
from slowdust.units import Microsecond, known, present
from slowdust.wording import counted

FROM_MET = "sb.o is missing or useless: the rate is that of sb.met"
FROM_RATE = "sb.o and sb.met are missing or useless: the rate is that of sb.r.qps"
PUBLISHED_CPU = (
    "cpu/o and cs/o are the published ones, some 5% too low: vmstat's samples are not there"
)
RATE_OF_ONE_THREAD = (
    "hardware per operation is left out: it is that of all threads, and the rate that of one"
)
COUNTERS_OF_ALL_THREADS = (
    "counters per operation are left out: they are those of all threads, and the rate that of one"
)
_ONE_PROCESS = frozenset({"postgres", "orioledb"})
"""DBMS with a process for each connection, of which perf watched one."""
_US_PER_MS = 1000
_US_PER_S = 1e6
_BYTES_PER_KB = 1024
_PERCENT = 100


@dataclass(frozen=True)
class Reading:
    """The choices by which the tests of an experiment are read."""

    mode: Mode
    scan: ScanRules
    cpus: int | None
    """CPUs of the host."""


def rate_of(test: ArchivedTest, scan: ScanRule) -> Rate | None:
    """Return the published rate, of what is left to make it of; None where nothing is."""
    if test.load is not None:
        return Rate(test.load.inserts, Unit.ROWS)
    if test.output is not None:
        computed = published_rate(test.file.test, test.output, scan)
        if computed is not None and computed.value > 0:
            return computed
    name = test.file.test
    if test.met is not None:
        rate = test.met.rate
        return Rate(rate, Unit.ROWS if test.is_load else unit_of(name, rate, scan))
    printed = test.rates.get("r.qps")
    if printed is None or float(printed.number) <= 0:
        return None
    return Rate(printed.number, unit_of(name, printed.number, scan))


def slice_of(
    run: RunDirectory,
    test: ArchivedTest,
    clients: int,
    contender: str,
    reading: Reading,
    *,
    clean: Vmstat | None,
) -> Slice | None:
    """Return the slice; None where no rate is known.

    `clean` are vmstat's means where these count; without them the published ones do.
    """
    published = rate_of(test, reading.scan.rule(run.name))
    if published is None:
        return None
    rate, unit = published.value, published.unit
    if reading.mode is Mode.COMPAT:
        rate = float(published.whole)
    elif test.file.test == SCAN and test.output and (scanned := clean_scan_rate(test.output)):
        rate, unit = scanned, Unit.THOUSAND_ROWS
    uses: dict[str, Use] = {}
    if test.peaks is not None:
        vsz, rss = test.peaks.vsz_kb * _BYTES_PER_KB, test.peaks.rss_kb * _BYTES_PER_KB
        uses["server"] = {"vsz_bytes": vsz, "rss_bytes": rss}
    output, load = test.output, test.load
    values = Printed(response=_response(test), texts=_classic(run, test, published).texts)
    record = Slice(
        place=Place(
            benchmark=SYSBENCH.name,
            test=LOAD if test.is_load else test.file.suffix,
            clients=clients,
            contender=contender,
        ),
        qps=rate,
        unit=unit.value,
        measured=Measured(
            seconds=float(load.seconds) if load else output.elapsed if output else None,
            operations=output.count if output else None,
            uses=uses,
        ),
        printed=values,
    )
    _add_storage_and_cpu(record, test, published, reading, clean)
    if test.counters:
        first = test.counters[min(test.counters)]
        values.counters = counters_of(first, rate, run.name)
    if not test.is_load and output is None:
        values.notes.append(FROM_MET if test.met else FROM_RATE)
    return record


def _classic(run: RunDirectory, test: ArchivedTest, published: Rate) -> Classic:
    """Collect the texts and sums from which the classic files are written, as published.

    Clean numbers would be in other units than those of runs whose own output is not there.
    """
    phase = f".{test.file.phase}" if test.file.phase else ""
    driver = f"{test.output.driver} " if test.output and test.output.driver else ""
    behind = f"{driver}{test.file.test}{phase} range={test.file.range}"
    if printed := test.rates.get("r.qps"):
        behind = printed.text
    classic = Classic(
        run=run.name,
        file=test.file.common,
        rate=published.text,
        whole_rate=f"{published.whole}\t{behind}",
        counters={str(number): dict(values) for number, values in test.counters.items()},
    )
    if (io := test.storage) is not None:
        classic.storage = [io.samples, io.reads, io.read_kb, io.writes, io.written_kb]
    if test.cpu is not None:
        vm = test.cpu.published
        classic.cpu = [vm.samples, vm.switches, vm.cpu]
    if test.met is not None and (test.storage is None or test.cpu is None):
        classic.met = list(test.met.cells)
    return classic


def _response(test: ArchivedTest) -> LatencyUs | None:
    if (output := test.output) is not None:
        printed = [output.average_ms, output.p95_ms, output.longest_ms]
    else:
        rates = [test.rates.get(kind) for kind in ("r.rtavg", "r.rt95", "r.rtmax")]
        printed = [rate.number if rate else None for rate in rates]
    mean, p95, longest = (None if ms is None else float(ms) * _US_PER_MS for ms in printed)
    return LatencyUs(mean=mean, p95=p95, max=longest) if known(printed) else None


def _add_storage_and_cpu(
    record: Slice, test: ArchivedTest, published: Rate, reading: Reading, clean: Vmstat | None
) -> None:
    values = record.printed
    assert values is not None
    printed = published_met(test, published)
    if reading.mode is Mode.COMPAT:
        values.per_operation = per_operation(printed, reading.cpus) if printed else {}
        return
    scaled = per_operation(printed, reading.cpus, published.value / record.qps) if printed else None
    use = values.per_operation = scaled or {}
    if test.storage is not None:
        operations = record.qps * test.storage.samples
        use["reads"] = test.storage.reads / operations
        use["writes"] = test.storage.writes / operations
        use["host_read_kb"] = test.storage.read_kb / operations
        use["host_write_kb"] = test.storage.written_kb / operations
    if clean is not None:
        use["host_cs"] = clean.switches_per_second / record.qps
        for cpu in ("host_cpu_us", "host_share_us"):
            use.pop(cpu, None)
        use |= _cpu_us(clean.cpu_percent / record.qps, reading.cpus)
    elif scaled is not None:
        values.notes.append(PUBLISHED_CPU)


def leave_out_hardware_of_all_threads(record: Slice) -> None:
    """Leave out hardware that all threads used, where the rate is that of one of them.

    Counters of the server's process stay if each thread had its own process.
    """
    if record.unit != Unit.THOUSAND_ROWS_OF_ONE_THREAD.value or record.place.clients == 1:
        return
    values = record.printed
    assert values is not None
    notes = [note for note in values.notes if note != PUBLISHED_CPU]
    if values.per_operation:
        values.per_operation = {}
        notes.append(RATE_OF_ONE_THREAD)
    if values.counters is not None and not values.counters.of_one_process:
        values.counters.per_operation = {}
        notes.append(COUNTERS_OF_ALL_THREADS)
    values.notes = notes


def published_met(test: ArchivedTest, published: Rate) -> Met | None:
    """Return the published numbers: made of the raw files, or read where these are not there."""
    if test.storage is not None and test.cpu is not None:
        return make_met(published.text, test.storage, test.cpu.published)
    return test.met


def per_operation(printed: Met | MetRow, cpus: int | None, factor: float = 1.0) -> dict[str, float]:
    """Return the published numbers per operation in this project's units.

    `factor`: the rate that they were divided by / the one that they are wanted for.
    """

    def value(column: str) -> float | None:
        return float(printed[column]) * factor if printed[column] else None

    percent = value("cpu/o")
    cpu = {} if percent is None else _cpu_us(percent, cpus)
    return cpu | present(
        host_cs=value("cs/o"),
        reads=value("r/o"),
        host_read_kb=value("rKB/o"),
        host_write_kb=value("wKB/o"),
    )


def _cpu_us(percent: float, cpus: int | None) -> dict[str, Microsecond]:
    """Convert percent of the host per operation/s to microseconds: of CPUs, or of all together."""
    share = percent / _PERCENT * _US_PER_S
    return {"host_share_us": share} if cpus is None else {"host_cpu_us": share * cpus}


def counters_of(values: Extraction, rate: float, run: str) -> Counters:
    name = parse_run(run)
    return Counters(
        per_operation={
            counter: value / counters.SECONDS / rate
            for counter, value in counters.events(values).items()
        },
        ratios=counters.ratios(values),
        of_one_process=name is not None and name.dbms in _ONE_PROCESS,
    )


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
        (run_of(record), LOAD if record.place.test == LOAD else file, record.place.clients)
        for record in records
        if (file := file_of(record)) is not None
    }
    blocks = list(_blocks(directory.tables.hardware))
    for block in blocks:
        if block.clients is not None:
            _take_block(block, block.clients, merged)
    levels = TableClients(in_runs | merged.rows.keys(), clients, of_directories(directory.around))
    for block in blocks:
        if block.clients is None and not block.is_load:
            _take_block(block, levels.of(block.path, block.runs, block.file.common), merged)
    compared = in_runs | merged.rows.keys()
    for rates in directory.tables.rates:
        others = 0
        for row in _rows_of_rates(rates, merged, levels):
            there = merged.rows.setdefault(row.key, row)
            others += there.rate not in (None, row.rate)
            there.rate = there.rate or row.rate
        merged.complain(rates, others, "rate", "that another table has otherwise")
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


def slice_of_row(row: Row, contender: str, scan: ScanRule, cpus: int | None) -> Slice | None:
    hardware = row.hardware
    rate = row.rate or (hardware["o/s"] if hardware else "")
    if not rate or float(rate) <= 0:
        return None
    if row.relative_to is not None:
        unit = relative_to(row.relative_to)
    elif row.test == LOAD:
        unit = Unit.ROWS.value
    else:
        unit = unit_of(row.common.partition(".")[0], rate, scan).value
    return Slice(
        place=Place(
            benchmark=SYSBENCH.name, test=row.test, clients=row.clients, contender=contender
        ),
        qps=float(rate),
        unit=unit,
        printed=Printed(
            per_operation=per_operation(hardware, cpus) if hardware else {},
            notes=[FROM_TABLE if row.relative_to is None else FROM_RELATIVE],
            texts=Classic(
                run=row.run,
                file=row.common,
                whole_rate=rate,
                table_row=list(hardware.cells) if hardware else None,
            ).texts,
        ),
    )
