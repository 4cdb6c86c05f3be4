"""One archived test as a slice of the store."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.archive.importing import Mode
from slowdust.archive.sysbench.reading import Extraction
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.scan_rules import ScanRules
from slowdust.benchmarks.archived import LOAD, SYSBENCH
from slowdust.formats.sysbench import met, perf_stat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import parse_run
from slowdust.formats.sysbench.rates import (
    SCAN,
    Rate,
    ScanRule,
    Unit,
    clean_scan_rate,
    published_rate,
    unit_of,
)
from slowdust.formats.sysbench.vmstat import Vmstat
from slowdust.store.archived import Archived, Classic, Counters
from slowdust.store.latency import LatencyUs
from slowdust.store.measured import Measured, Use
from slowdust.store.slice import Place, Slice
from slowdust.units import Microsecond, present

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
    rate, unit = _rate(test, published, reading.mode)
    archived = Archived(response=_response(test), classic=_classic(run, test, published))
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
            seconds=_seconds(test),
            operations=test.output.count if test.output else None,
            uses=_uses(test),
        ),
        archived=archived,
    )
    _add_storage_and_cpu(record, test, published, reading, clean)
    if test.counters:
        first = test.counters[min(test.counters)]
        name = parse_run(run.name)
        archived.counters = counters_of(first, rate, name.dbms if name else None)
    if not test.is_load and test.output is None:
        archived.notes.append(FROM_MET if test.met else FROM_RATE)
    return record


def _rate(test: ArchivedTest, published: Rate, mode: Mode) -> tuple[float, Unit]:
    if mode is Mode.COMPAT:
        return float(published.whole), published.unit
    if test.file.test == SCAN and test.output is not None:
        clean = clean_scan_rate(test.output)
        if clean:
            return clean, Unit.THOUSAND_ROWS
    return published.value, published.unit


def _seconds(test: ArchivedTest) -> float | None:
    if test.load is not None:
        return float(test.load.seconds)
    return test.output.elapsed if test.output else None


def _classic(run: RunDirectory, test: ArchivedTest, published: Rate) -> Classic:
    """Collect the texts and sums from which the classic files are written, as published.

    Clean numbers would be in other units than those of runs whose own output is not there.
    """
    classic = Classic(
        run=run.name,
        file=test.file.common,
        rate=published.text,
        whole_rate=f"{published.whole}\t{_behind_rate(test)}",
        counters={str(number): dict(values) for number, values in test.counters.items()},
    )
    if test.storage is not None:
        io = test.storage
        classic.storage = [io.samples, io.reads, io.read_kb, io.writes, io.written_kb]
    if test.cpu is not None:
        vm = test.cpu.published
        classic.cpu = [vm.samples, vm.switches, vm.cpu]
    if test.met is not None and (test.storage is None or test.cpu is None):
        classic.met = list(test.met.cells)
    return classic


def _behind_rate(test: ArchivedTest) -> str:
    """Return the text behind the number in sb.r.qps: 'pgsql hot-points range=100'."""
    if printed := test.rates.get("r.qps"):
        return printed.text
    phase = f".{test.file.phase}" if test.file.phase else ""
    driver = f"{test.output.driver} " if test.output and test.output.driver else ""
    return f"{driver}{test.file.test}{phase} range={test.file.range}"


def _response(test: ArchivedTest) -> LatencyUs | None:
    if test.output is not None:
        mean, p95, longest = test.output.average_ms, test.output.p95_ms, test.output.longest_ms
    else:
        mean, p95, longest = (
            test.rates[kind].number if kind in test.rates else None
            for kind in ("r.rtavg", "r.rt95", "r.rtmax")
        )
    if mean is None and p95 is None and longest is None:
        return None
    return LatencyUs(mean=_us(mean), p95=_us(p95), max=_us(longest))


def _us(milliseconds: str | None) -> Microsecond | None:
    return None if milliseconds is None else float(milliseconds) * _US_PER_MS


def _uses(test: ArchivedTest) -> dict[str, Use]:
    if test.peaks is None:
        return {}
    vsz_kb, rss_kb = test.peaks.vsz_kb, test.peaks.rss_kb
    return {"server": {"vsz_bytes": vsz_kb * _BYTES_PER_KB, "rss_bytes": rss_kb * _BYTES_PER_KB}}


def _add_storage_and_cpu(
    record: Slice, test: ArchivedTest, published: Rate, reading: Reading, clean: Vmstat | None
) -> None:
    archived = record.archived
    assert archived is not None
    printed = published_met(test, published)
    if reading.mode is Mode.COMPAT:
        archived.per_operation = per_operation(printed, reading.cpus) if printed else {}
        return
    scaled = per_operation(printed, reading.cpus, published.value / record.qps) if printed else None
    use = archived.per_operation = scaled or {}
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
        archived.notes.append(PUBLISHED_CPU)


def leave_out_hardware_of_all_threads(record: Slice) -> None:
    """Leave out hardware that all threads used, where the rate is that of one of them.

    Counters of the server's process stay if each thread had its own process.
    """
    if record.unit != Unit.THOUSAND_ROWS_OF_ONE_THREAD.value or record.place.clients == 1:
        return
    archived = record.archived
    assert archived is not None
    notes = [note for note in archived.notes if note != PUBLISHED_CPU]
    if archived.per_operation:
        archived.per_operation = {}
        notes.append(RATE_OF_ONE_THREAD)
    if archived.counters is not None and not archived.counters.of_one_process:
        archived.counters.per_operation = {}
        notes.append(COUNTERS_OF_ALL_THREADS)
    archived.notes = notes


def published_met(test: ArchivedTest, published: Rate) -> Met | None:
    """Return the published numbers: made of the raw files, or read where these are not there."""
    if test.storage is not None and test.cpu is not None:
        return met.make(published.text, test.storage, test.cpu.published)
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


def counters_of(values: Extraction, rate: float, dbms: str | None) -> Counters:
    """Return the counters of one iteration per operation."""
    return Counters(
        per_operation={
            name: value / perf_stat.SECONDS / rate
            for name, value in perf_stat.events(values).items()
        },
        ratios=perf_stat.ratios(values),
        of_one_process=dbms in _ONE_PROCESS,
    )
