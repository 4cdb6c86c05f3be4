"""Slices from tests of runs, and from rows of tables if the runs' own files are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.classic import Classic, Row, file_of, run_of
from slowdust.archive.sysbench.clients import NamedClients, TableClients, TestRun
from slowdust.archive.sysbench.counters import convert_counters
from slowdust.archive.sysbench.directories import Directory
from slowdust.archive.sysbench.names import LOAD_BLOCK, SCAN, common_of, parse_file, test_of
from slowdust.archive.sysbench.rates import (
    Rate,
    ScanRule,
    ScanRules,
    Unit,
    clean_scan_rate,
    rate_of,
    relative_to,
    scan_unit,
)
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.run_files import Vmstat, make_met
from slowdust.archive.sysbench.tables import Hardware, Levels, Rates, Table
from slowdust.benchmarks.sysbench import LOAD, SYSBENCH
from slowdust.exchange import Mode, Problem
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import Fate
from slowdust.store.measured import Measured, Printed, Use
from slowdust.store.slice import Place, Slice
from slowdust.units import Microsecond, known, present
from slowdust.wording import counted

FROM_MET = "sb.o is missing or unusable: the rate is from sb.met"
FROM_RATE = "sb.o and sb.met are missing or unusable: the rate is from sb.r.qps"
FROM_RELATIVE = "only from a table of relative rates: absolute rates are unknown"
FROM_TABLE = "only from a table: the run's files are missing"
_PUBLISHED_CPU = "cpu/o and cs/o are as published, about 5% too low: vmstat's samples are missing"
RATE_OF_ONE_THREAD = (
    "hardware per operation is excluded: it is for all threads, and the rate for one"
)
COUNTERS_OF_ALL_THREADS = (
    "counters per operation are excluded: they are for all threads, and the rate for one"
)
_US_PER_MS = 1000
_US_PER_S = 1e6
_BYTES_PER_KB = 1024


@dataclass(frozen=True)
class Reading:
    """The choices for reading the tests of an experiment."""

    mode: Mode
    scan: ScanRules
    cpus: int | None
    """CPUs of the host."""


def slice_of(
    run: RunDirectory,
    test: ArchivedTest,
    clients: int,
    contender: str,
    reading: Reading,
    *,
    clean: Vmstat | None,
) -> Slice | None:
    """Return the slice; None if its rate is unknown.

    `clean` has vmstat's means if these are used instead of the published means.
    """
    published = rate_of(test, reading.scan(run.name).rule)
    if published is None:
        return None
    rate, unit = published.value, published.unit
    output, load = test.output, test.load
    if reading.mode is Mode.COMPAT:
        rate = float(published.whole)
    elif test.file.test == SCAN and output and (scanned := clean_scan_rate(output)):
        rate, unit = scanned, Unit.THOUSAND_ROWS
    uses: dict[str, Use] = {}
    if test.peaks is not None:
        vsz, rss = test.peaks.vsz_kb * _BYTES_PER_KB, test.peaks.rss_kb * _BYTES_PER_KB
        uses["server"] = {"vsz_bytes": vsz, "rss_bytes": rss}
    if output is not None:
        times = [output.average_ms, output.p95_ms, output.longest_ms]
    else:
        times = [test.rates.get(kind) for kind in ("r.rtavg", "r.rt95", "r.rtmax")]
    mean, p95, longest = (None if ms is None else float(ms) * _US_PER_MS for ms in times)
    per_operation, notes = _per_operation(test, published, rate, reading, clean)
    if not test.is_load and output is None:
        notes.append(FROM_MET if test.met else FROM_RATE)
    return Slice(
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
        printed=Printed(
            response=LatencyUs(mean=mean, p95=p95, max=longest) if known(times) else None,
            per_operation=per_operation,
            counters=(
                convert_counters(test.counters[min(test.counters)], rate, run.name)
                if test.counters
                else None
            ),
            notes=notes,
            texts=_classic(run, test, published).texts,
        ),
    )


def _classic(run: RunDirectory, test: ArchivedTest, published: Rate) -> Classic:
    """Collect the texts and sums for writing the classic files, as published.

    Clean numbers would have other units than runs whose own output is missing.
    """
    text = test.rate_text
    if text is None:
        phase = f".{test.file.phase}" if test.file.phase else ""
        driver = f"{test.output.driver} " if test.output and test.output.driver else ""
        text = f"{driver}{test.file.test}{phase} range={test.file.range}"
    io, vm = test.storage, test.cpu.published if test.cpu else None
    return Classic(
        run=run.name,
        file=test.file.common,
        rate=published.text,
        whole_rate=f"{published.whole}\t{text}",
        storage=[io.samples, io.reads, io.read_kb, io.writes, io.written_kb] if io else None,
        cpu=[vm.samples, vm.switches, vm.cpu] if vm else None,
        met=list(test.met.cells) if test.met and not (io and vm) else None,
        counters={str(number): dict(values) for number, values in test.counters.items()},
    )


def published_met(test: ArchivedTest, published: Rate) -> Row | None:
    """Return the published numbers, computed from the raw files, or read if these are missing."""
    if test.storage is not None and test.cpu is not None:
        return make_met(published.text, test.storage, test.cpu.published)
    return test.met


def _per_operation(
    test: ArchivedTest, published: Rate, rate: float, reading: Reading, clean: Vmstat | None
) -> tuple[dict[str, float], list[str]]:
    printed = published_met(test, published)
    if reading.mode is Mode.COMPAT:
        return printed_use(printed, reading.cpus) if printed else {}, []
    use = printed_use(printed, reading.cpus, published.value / rate) if printed else {}
    if test.storage is not None:
        operations = rate * test.storage.samples
        use["reads"] = test.storage.reads / operations
        use["writes"] = test.storage.writes / operations
        use["host_read_kb"] = test.storage.read_kb / operations
        use["host_write_kb"] = test.storage.written_kb / operations
    if clean is not None:
        use["host_cs"] = clean.switches_per_second / rate
        for cpu in ("host_cpu_us", "host_share_us"):
            use.pop(cpu, None)
        use |= _cpu_us(clean.cpu_percent / rate, reading.cpus)
    return use, [_PUBLISHED_CPU] if printed and clean is None else []


def printed_use(printed: Row, cpus: int | None, factor: float = 1.0) -> dict[str, float]:
    """Return the published numbers per operation in Slowdust's units.

    `factor` is the rate that they were divided by / the wanted rate.
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
    """Convert % of the host per operation/s to microseconds: of CPU time if `cpus` is known."""
    share = percent / 100 * _US_PER_S
    return {"host_share_us": share} if cpus is None else {"host_cpu_us": share * cpus}


def drop_hardware_of_all_threads(record: Slice) -> None:
    """Drop hardware that all threads used, if the rate is for one thread.

    Counters of the server's process stay if each thread had its own process.
    """
    if record.unit != Unit.THOUSAND_ROWS_OF_ONE_THREAD or record.place.clients == 1:
        return
    values = record.printed
    assert values is not None
    notes = [note for note in values.notes if note != _PUBLISHED_CPU]
    if values.per_operation:
        values.per_operation = {}
        notes.append(RATE_OF_ONE_THREAD)
    if values.counters is not None and not values.counters.of_one_process:
        values.counters.per_operation = {}
        notes.append(COUNTERS_OF_ALL_THREADS)
    values.notes = notes


@dataclass
class TableRow:
    """The numbers of one test of one run, from the tables of a directory."""

    run: str
    common: str
    """`FileName.common`."""
    test: str
    clients: int
    rate: str | None = None
    """The rate from the table of rates."""
    hardware: Row | None = None
    relative_to: str | None = None
    """The run that `rate` is relative to, if no absolute rate is known."""

    @property
    def key(self) -> TestRun:
        return self.run, LOAD if self.test == LOAD else self.common, self.clients


@dataclass(frozen=True)
class _Block:
    """Rows of one test in a table of hardware per operation."""

    path: Path
    common: str
    clients: int | None
    is_load: bool
    rows: list[Row]


class TableRows:
    """The rows of all tables of an experiment, merged.

    `records` are from the runs' own files; their clients also apply to tables of rates, which lack
    them. `clients` is the user's number.
    """

    def __init__(self, directory: Directory, records: Iterable[Slice], clients: int | None) -> None:
        self.rows: dict[TestRun, TableRow] = {}
        self.without_clients: set[str] = set()
        """Names of tables whose number of clients is unknown."""
        self.problems: list[Problem] = []
        tables = directory.tables
        in_runs = {
            (run_of(record), LOAD if record.place.test == LOAD else file, record.place.clients)
            for record in records
            if (file := file_of(record)) is not None
        }
        blocks = list(_blocks(tables.of_kind(Hardware)))
        for block in blocks:
            if block.clients is not None:
                self._take_block(block, block.clients)
        levels = TableClients(directory, in_runs | self.rows.keys(), clients)
        for block in blocks:
            if block.clients is None and not block.is_load:
                runs = [row.run for row in block.rows]
                self._take_block(block, levels.of(block.path, runs, block.common))
        compared = in_runs | self.rows.keys()
        for rates in tables.rates:
            others = 0
            for row in self._rows_of_rates(rates, levels):
                there = self.rows.setdefault(row.key, row)
                others += there.rate not in (None, row.rate)
                there.rate = there.rate or row.rate
            self._complain(rates, others, "rate", "that differs in another table")
        for of_levels in tables.of_kind(Levels):
            self._take_levels(of_levels, in_runs)
        absolute = compared | self.rows.keys()
        for rates in tables.relative:
            self._take_relative(rates, levels, compared, absolute)
        for block in blocks:
            if block.is_load:
                of_rows = [row.clients for row in self.rows.values() if row.test != LOAD]
                self._take_block(block, levels.of_load(block.path, of_rows))
        self.named: set[NamedClients] = levels.named
        """Numbers of clients that only names have."""

    def _complain(self, table: Table, count: int, what: str, why: str) -> None:
        if count:
            reason = f"not used: {counted(count, what)} {why}"
            self.problems.append(Problem(table.path, reason, Fate.PARTLY))

    def _take_block(self, block: _Block, clients: int | None) -> None:
        if clients is None:
            self.without_clients.add(block.path.name)
            return
        test = LOAD if block.is_load else test_of(block.common)
        for hardware in block.rows:
            row = TableRow(hardware.run, block.common, test, clients, hardware=hardware)
            self.rows.setdefault(row.key, row)

    def _take_levels(self, table: Levels, in_runs: Set[TestRun]) -> None:
        """Take the tests that ran, in any run, at the same number of numbers of clients."""
        levels: dict[str, set[int]] = {}
        for _, common, clients in in_runs | self.rows.keys():
            levels.setdefault(common, set()).add(clients)
        unknown = 0
        for (common, run), rates in table.rates.items():
            counts = sorted(levels.get(common, ()))
            if len(counts) != len(rates):
                unknown += 1
                continue
            for clients, rate in zip(counts, rates, strict=True):
                row = TableRow(run, common, test_of(common), clients, rate=rate)
                if row.key not in in_runs:
                    self.rows.setdefault(row.key, row)
        why = "whose number of clients is unknown"
        self._complain(table, unknown, "row", why)

    def _take_relative(
        self, rates: Rates, clients: TableClients, compared: Set[TestRun], absolute: Set[TestRun]
    ) -> None:
        """Take tests without any `absolute` rate; tests in `compared` are not lost."""
        by_test: dict[str, list[TableRow]] = {}
        for row in self._rows_of_rates(rates, clients):
            by_test.setdefault(row.common, []).append(row)
        others = 0
        for of_test in by_test.values():
            keys = {row.key for row in of_test}
            if keys.isdisjoint(absolute):
                first = [self.rows.setdefault(row.key, row) for row in of_test]
                others += first != of_test
            else:
                others += not keys <= compared
        self._complain(rates, others, "row", "with rates elsewhere for at least some runs")

    def _rows_of_rates(self, rates: Rates, clients: TableClients) -> Iterator[TableRow]:
        """Yield the rows of a table; the rates of its base, if any, are 1."""
        ones = [] if rates.base is None else ["1"]
        zeros = 0
        for label, values in rates.rows.items():
            for run, rate in zip(rates.runs, (*ones, *values), strict=True):
                common = common_of(label, run)
                if common is None or not rate:
                    continue
                if not float(rate):
                    zeros += 1
                    continue
                count = clients.of(rates.path, rates.runs, common)
                if count is None:
                    self.without_clients.add(rates.path.name)
                else:
                    test = test_of(common)
                    yield TableRow(run, common, test, count, rate=rate, relative_to=rates.base)
        self._complain(rates, zeros, "rate", "of 0, which has no ratio")


def _blocks(tables: Sequence[Hardware]) -> Iterator[_Block]:
    for table in tables:
        by_file: dict[tuple[str, str], list[Row]] = {}
        for block, name, row in table.rows:
            by_file.setdefault((block, name), []).append(row)
        for (_, name), rows in by_file.items():
            if (file := parse_file(name)) is not None:
                is_load = name.startswith(LOAD_BLOCK)
                clients = None if is_load else file.dop
                yield _Block(table.path, file.common, clients, is_load, rows)


def slice_of_row(row: TableRow, contender: str, scan: ScanRule, cpus: int | None) -> Slice | None:
    hardware = row.hardware
    rate = row.rate or (hardware["o/s"] if hardware else "")
    if not rate or float(rate) <= 0:
        return None
    if row.relative_to is not None:
        unit = relative_to(row.relative_to)
    elif row.test == LOAD:
        unit = Unit.ROWS.value
    else:
        unit = scan_unit(row.common.partition(".")[0], rate, scan).value
    return Slice(
        place=Place(
            benchmark=SYSBENCH.name, test=row.test, clients=row.clients, contender=contender
        ),
        qps=float(rate),
        unit=unit,
        printed=Printed(
            per_operation=printed_use(hardware, cpus) if hardware else {},
            notes=[FROM_TABLE if row.relative_to is None else FROM_RELATIVE],
            texts=Classic(
                run=row.run,
                file=row.common,
                whole_rate=rate,
                table_row=list(hardware.cells) if hardware else None,
            ).texts,
        ),
    )
