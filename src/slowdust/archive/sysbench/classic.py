"""The classic files of sysbench's runs: of imported ones as published, of measured ones alike.

Of what was measured here, a rate is what Slowdust calls one: transactions/s, and for scan thousands
of rows/s of all clients. Hardware per operation is that of the whole host, as in the classic
tables, over exactly the measured windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowdust.analysis.model import Report, Result
from slowdust.archive.classic import Classic, ClassicTable, classic_of, tables_of
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.hardware import Iostat, Met, Vmstat, make_met, write_met
from slowdust.archive.sysbench.names import (
    block_name,
    clients_in_name,
    common_of,
    load_block_name,
    parse_file,
    parse_label,
)
from slowdust.archive.sysbench.output import doubted, is_relative, relative_to
from slowdust.archive.sysbench.tables import (
    MetRow,
    RateTable,
    order_tests,
    relative_rates,
    usual_clients,
    write_block,
    write_csv,
    write_tsv,
)
from slowdust.benchmarks.sysbench import LOAD
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice

Results = Sequence[tuple[Slice, Classic]]
"""Slices of an imported experiment, and their texts for the classic files."""


def published_files(manifest: Manifest, slices: Sequence[Slice]) -> dict[Path, str]:
    results = [(record, classic) for record in slices if (classic := classic_of(record))]
    files: dict[Path, str] = {}
    for record, classic in results:
        files |= _of_test(record, classic)
    return files | _rates(results) | _tables(manifest, results)


def _of_test(record: Slice, classic: Classic) -> dict[Path, str]:
    files = {}
    run = Path(classic.run)
    if (numbers := _met(classic)) is not None and classic.file is not None:
        files[run / _block(record, classic.file)] = write_met(numbers)
    for iteration, values in classic.counters.items():
        name = f"sb.perf.hw.{classic.file}.{iteration}"
        files[run / f"{name}.raw"] = counters.raw(values)
        files[run / f"{name}.sorted"] = counters.sorted_(values)
    return files


def _block(record: Slice, file: str) -> str:
    is_load = record.place.test == LOAD
    return load_block_name(file) if is_load else block_name(file, record.place.clients)


def _met(classic: Classic) -> Met | None:
    if classic.storage is not None and classic.cpu is not None and classic.rate is not None:
        samples, reads, read_kb, writes, written_kb = classic.storage
        storage = Iostat(int(samples), reads, read_kb, writes, written_kb)
        samples, switches, percent = classic.cpu
        return make_met(classic.rate, storage, Vmstat(int(samples), switches, percent))
    if classic.met is not None:
        return Met(tuple(classic.met))
    return None


def _rates(results: Results) -> dict[Path, str]:
    lines: dict[Path, list[str]] = {}
    for record, classic in sorted(results, key=lambda result: result[0].place.clients):
        if classic.rate is not None and classic.whole_rate and record.place.test != LOAD:
            path = Path(classic.run) / f"sb.r.qps.{classic.file}"
            rate, _, text = classic.whole_rate.partition("\t")
            lines.setdefault(path, [text]).insert(-1, rate)
    return {path: "\t".join(cells) + "\n" for path, cells in lines.items()}


def _tables(manifest: Manifest, results: Results) -> dict[Path, str]:
    """Write the tables that the archive has; of a kind that it has none of, one of everything."""
    runs = [facts.run or facts.name for facts in manifest.contenders]
    tables = tables_of(manifest)
    kinds = {table.kind for table in tables}
    if "relative rates" in kinds:
        kinds.add("rates")
    missing = ("rates", "hardware", "counters")
    tables += [ClassicTable(kind=kind, tag="", runs=runs) for kind in missing if kind not in kinds]
    files: dict[Path, str] = {}
    for table in tables:
        match table.kind:
            case "rates":
                absolute = _absolute(table, results)
                if absolute.rows:
                    files |= _rate_files(absolute, table.tag, Path(table.folder))
            case "relative rates":
                files |= _relative_table(table, results)
            case "hardware":
                files |= _hardware_table(table, results)
            case "counters":
                files |= _joined_counters(table, runs, results)
    return files


def _labels(table: ClassicTable, results: Results) -> list[str]:
    tests = [classic for record, classic in results if record.place.test != LOAD]
    names = dict.fromkeys(f"sb.met.{classic.file}" for classic in tests)
    files = [file for name in names if (file := parse_file(name)) is not None]
    return table.rows or [file.label for file in order_tests(files)]


def _absolute(table: ClassicTable, results: Results) -> RateTable:
    rates = {
        (classic.file, classic.run): classic.whole_rate.partition("\t")[0]
        for record, classic in _by_level(table, results)
        if classic.whole_rate and record.place.test != LOAD and not is_relative(record.unit)
    }
    return RateTable(tuple(table.runs), _rows(_labels(table, results), table.runs, rates))


def _by_level(table: ClassicTable, results: Results) -> list[tuple[Slice, Classic]]:
    """Return last the results at the number of clients that a table of rates is of."""
    named = clients_in_name(table.tag)
    levels = Counter(
        record.place.clients for record, classic in results if classic.run in table.runs
    )
    usual = usual_clients(levels) if levels else None
    of_test = Counter((classic.file, record.place.clients) for record, classic in results)

    def rank(result: tuple[Slice, Classic]) -> tuple[bool, bool, int, int]:
        record, classic = result
        count = record.place.clients
        return count == named, count == usual, of_test[classic.file, count], count

    return sorted(results, key=rank)


def _relative_table(table: ClassicTable, results: Results) -> dict[Path, str]:
    """Write the two files of relative rates, and those of absolute ones where these are known."""
    base, *runs = table.runs
    units = {relative_to(base), doubted(relative_to(base))}
    rates = {
        (classic.file, classic.run): classic.whole_rate or ""
        for record, classic in _by_level(table, results)
        if record.unit in units
    }
    absolute, labels = _absolute(table, results), _labels(table, results)
    either = relative_rates(absolute).rows | _rows(labels, runs, rates)
    rows = {label: either[label] for label in labels if any(either.get(label, ()))}
    folder = Path(table.folder)
    files = _rate_files(absolute, table.tag, folder) if absolute.rows else {}
    if rows:
        files |= _files_of("rel", RateTable(tuple(runs), rows, base), table.tag, folder)
    return files


def _rows(
    labels: Iterable[str], runs: Sequence[str], rates: Mapping[tuple[str | None, str], str]
) -> dict[str, tuple[str, ...]]:
    """Return the rates of `runs` by label, of those labels that any of them has.

    `rates` are by `FileName.common` and run. Labels do not say whether the tables had a primary
    key: where a run has both, its name says which of them is meant.
    """

    def cell(label: str, run: str) -> str:
        tests = (common_of(label, run), f"{parse_label(label)}.pk0")
        return next((rates[test, run] for test in tests if (test, run) in rates), "")

    rows = {label: tuple(cell(label, run) for run in runs) for label in labels}
    return {label: cells for label, cells in rows.items() if any(cells)}


def _rate_files(absolute: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    relative = relative_rates(absolute)
    return _files_of("abs", absolute, tag, folder) | _files_of("rel", relative, tag, folder)


def _files_of(kind: str, table: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    stem = f"qps.{kind}.{tag}" if tag else f"qps.{kind}"
    return {
        folder / f"{stem}.tsv": write_tsv(table),
        folder / f"{stem}.csv": write_csv(table),
    }


def _hardware_table(table: ClassicTable, results: Results) -> dict[Path, str]:
    rows: dict[str, dict[str, MetRow]] = {}
    for record, classic in results:
        row = MetRow(classic.run, tuple(classic.table_row)) if classic.table_row else None
        if (numbers := _met(classic)) is not None:
            row = MetRow.of(numbers, classic.run)
        if row is not None and classic.file is not None:
            rows.setdefault(_block(record, classic.file), {})[classic.run] = row
    text = "".join(
        write_block(name, of_block, table.others.get(name)) + "\n"
        for name in table.rows or rows
        if (of_block := _rows_of_block(table, name, rows))
    )
    name = f"o.met.{table.tag}" if table.tag else "o.met"
    return {Path(table.folder) / name: text} if text else {}


def _rows_of_block(
    table: ClassicTable, name: str, rows: Mapping[str, Mapping[str, MetRow]]
) -> list[MetRow]:
    """Return the rows of a block; those behind the first may be of another number of clients."""
    first, *others = table.runs or [""]
    files = [(name, first), *((table.others.get(name, name), run) for run in others)]
    return [rows[file][run] for file, run in files if run in rows.get(file, {})]


def _joined_counters(table: ClassicTable, runs: Sequence[str], results: Results) -> dict[Path, str]:
    by_test: dict[str, dict[str, Classic]] = {}
    for _, classic in results:
        if classic.counters and classic.file is not None:
            by_test.setdefault(classic.file, {})[classic.run] = classic
    tag = table.tag or "all"
    files: dict[Path, str] = {}
    for test, by_run in by_test.items():
        columns = [by_run[run] for run in runs if run in by_run]
        if len(columns) < 2:
            continue
        for iteration in columns[0].counters:
            if all(iteration in column.counters for column in columns):
                values = [column.counters[iteration] for column in columns]
                name = f"{tag}.sb.perf.hw.{test}.{iteration}.sorted"
                folder = Path(table.folder)
                files[folder / f"join{iteration}.abs.{name}"] = counters.joined(values)
                files[folder / f"join{iteration}.rel.{name}"] = counters.joined_relative(values)
    return files


_CPU = ("cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s")
_ROWS = "rows/s"
_PERCENT_S_PER_US = 100 / 1e6


def measured_files(report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path and content of qps.abs, qps.rel and o.met for each number of clients."""
    files: dict[Path, str] = {}
    levels = sorted({result.clients for result in report.results})
    cpus = _cpus(slices)
    columns = {name: name.replace(" ", "_") for name in report.contenders}
    for clients in levels:
        tag = f"c{clients}" if len(levels) > 1 else ""
        rates: dict[str, tuple[str, ...]] = {}
        blocks = []
        by_test: dict[str, dict[str, Result]] = {}
        for result in report.results:
            if result.clients == clients:
                by_test.setdefault(result.test, {})[result.contender] = result
        for test, results in by_test.items():
            printed = {name: f"{_rate(result):.0f}" for name, result in results.items()}
            rates[test] = tuple(printed.get(name, "") for name in report.contenders)
            if report.base in results:
                measured = [results[name] for name in report.contenders if name in results]
                rows = [_row(each, columns[each.contender], slices, cpus) for each in measured]
                blocks.append(write_block(block_name(test, clients), rows) + "\n")
        files |= _rate_files(RateTable(tuple(columns.values()), rates), tag, Path())
        files[Path(f"o.met.{tag}" if tag else "o.met")] = "".join(blocks)
    return files


def _rate(result: Result) -> float:
    return result.qps / 1000 if result.unit == _ROWS else result.qps


def _row(result: Result, column: str, slices: Sequence[Slice], cpus: float | None) -> MetRow:
    use = result.per_op
    percent = None
    if "host_cpu_us" in use and cpus is not None:
        percent = use["host_cpu_us"] * _PERCENT_S_PER_US / cpus
    # The operation of scan is a whole table: these are the operations in a thousand rows.
    operations = 1.0
    if result.unit == _ROWS:
        mine = [
            record
            for record in slices
            if (record.place.test, record.place.clients, record.place.contender)
            == (result.test, result.clients, result.contender)
        ]
        rows = sum(record.qps * (record.measured.seconds or 0.0) for record in mine)
        done = sum(record.measured.operations or 0 for record in mine)
        operations = 1000 * done / rows if rows else 1.0

    def text(value: float | None, form: str) -> str:
        return "" if value is None else f"{value * operations:{form}}"

    metrics = ("host_cs", "reads", "host_read_kb", "host_write_kb")
    cells = (text(percent, ".6f"), *(text(use.get(metric), ".3f") for metric in metrics))
    return MetRow(column, (*cells, f"{_rate(result):.0f}"))


def _cpus(slices: Sequence[Slice]) -> float | None:
    """Return the CPUs of the host, from their time in the windows, busy and idle."""
    time = window = 0.0
    for record in slices:
        length = record.measured.probe_seconds or record.measured.seconds
        cpu_s = record.measured.used("host", *_CPU)
        if cpu_s is not None and length is not None:
            time += cpu_s
            window += length
    return float(round(time / window)) or None if window else None
