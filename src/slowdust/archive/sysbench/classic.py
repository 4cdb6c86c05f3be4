"""The classic files of sysbench's runs: as published for imported runs, alike for measured ones.

For measured experiments a rate is transactions/s as in Slowdust, and for scan thousands of rows/s
over all clients. Hardware per operation is for the whole host, as in the classic tables, over
exactly the measured windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from slowdust.analysis.model import Report, Result
from slowdust.archive.classic import Classic, ClassicTable, Row, classic_of, tables_of
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.names import (
    LOAD_BLOCK,
    block_name,
    clients_in_name,
    common_of,
    parse_file,
    parse_label,
)
from slowdust.archive.sysbench.rates import doubted, is_relative, relative_to
from slowdust.archive.sysbench.run_files import MET_COLUMNS, Iostat, Vmstat, make_met, write_met
from slowdust.archive.sysbench.tables import (
    HARDWARE_COLUMNS,
    Rates,
    hardware_row,
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
Files = dict[Path, str]
"""Path, relative to the archive's directory -> content."""


def published_files(manifest: Manifest, slices: Sequence[Slice]) -> Files:
    """Return the files of runs, and the tables that the archive has.

    If it has no table of some kind, one table of everything is written.
    """
    results = [(record, classic) for record in slices if (classic := classic_of(record))]
    files = _run_files(results)
    runs = [facts.run or facts.name for facts in manifest.contenders]
    tables = tables_of(manifest)
    kinds = {table.kind for table in tables}
    if "relative rates" in kinds:
        kinds.add("rates")
    missing = ("rates", "hardware", "counters")
    tables += [ClassicTable(kind=kind, tag="", runs=runs) for kind in missing if kind not in kinds]
    for table in tables:
        match table.kind:
            case "rates":
                absolute = _rates(table, table.runs, results, set())
                files |= _rate_files(absolute, table.tag, Path(table.folder))
            case "relative rates":
                files |= _relative_table(table, results)
            case "hardware":
                files |= _hardware_table(table, results)
            case "counters":
                files |= _joined_counters(table, runs, results)
    return files


def _run_files(results: Results) -> Files:
    files: Files = {}
    rates: dict[Path, list[str]] = {}
    for record, classic in sorted(results, key=lambda result: result[0].place.clients):
        run = Path(classic.run)
        if (numbers := _met(classic)) is not None and classic.file is not None:
            files[run / _block(record, classic.file)] = write_met(numbers)
        for iteration, values in classic.counters.items():
            name = f"sb.perf.hw.{classic.file}.{iteration}"
            files[run / f"{name}.raw"] = counters.raw(values)
            files[run / f"{name}.sorted"] = counters.sorted_(values)
        if classic.rate is not None and classic.whole_rate and record.place.test != LOAD:
            rate, _, text = classic.whole_rate.partition("\t")
            rates.setdefault(run / f"sb.r.qps.{classic.file}", [text]).insert(-1, rate)
    return files | {path: "\t".join(cells) + "\n" for path, cells in rates.items()}


def _block(record: Slice, file: str) -> str:
    is_load = record.place.test == LOAD
    return LOAD_BLOCK + file if is_load else block_name(file, record.place.clients)


def _met(classic: Classic) -> Row | None:
    if classic.storage is not None and classic.cpu is not None and classic.rate is not None:
        samples, reads, read_kb, writes, written_kb = classic.storage
        storage = Iostat(int(samples), reads, read_kb, writes, written_kb)
        samples, switches, percent = classic.cpu
        return make_met(classic.rate, storage, Vmstat(int(samples), switches, percent))
    return Row("", MET_COLUMNS, tuple(classic.met)) if classic.met is not None else None


def _labels(table: ClassicTable, results: Results) -> list[str]:
    names = (f"sb.met.{each.file}" for record, each in results if record.place.test != LOAD)
    files = [file for name in dict.fromkeys(names) if (file := parse_file(name)) is not None]
    return table.rows or [file.label for file in order_tests(files)]


def _rates(table: ClassicTable, runs: Sequence[str], results: Results, units: set[str]) -> Rates:
    """Return the rates of `runs`; the absolute rates if `units` is empty.

    Labels do not show whether the tables had a primary key; if a run has both, its name
    determines which one is meant.
    """
    named = clients_in_name(table.tag)
    levels = Counter(
        record.place.clients for record, classic in results if classic.run in table.runs
    )
    usual = usual_clients(levels) if levels else None
    of_test = Counter((classic.file, record.place.clients) for record, classic in results)

    def rank(result: tuple[Slice, Classic]) -> tuple[bool, bool, int, int]:
        """Return a sort key that puts results at the table's number of clients last."""
        record, classic = result
        count = record.place.clients
        return count == named, count == usual, of_test[classic.file, count], count

    rates = {
        (classic.file, classic.run): classic.whole_rate.partition("\t")[0]
        for record, classic in sorted(results, key=rank)
        if classic.whole_rate and record.place.test != LOAD
        if (record.unit in units if units else not is_relative(record.unit))
    }

    def cell(label: str, run: str) -> str:
        tests = (common_of(label, run), f"{parse_label(label)}.pk0")
        return next((rates[test, run] for test in tests if (test, run) in rates), "")

    rows = {label: tuple(cell(label, run) for run in runs) for label in _labels(table, results)}
    known = {label: cells for label, cells in rows.items() if any(cells)}
    return Rates(columns=tuple(runs), rows=known)


def _rate_files(absolute: Rates, tag: str, folder: Path) -> Files:
    if not absolute.rows:
        return {}
    relative = relative_rates(absolute)
    return _files_of("abs", absolute, tag, folder) | _files_of("rel", relative, tag, folder)


def _files_of(kind: str, table: Rates, tag: str, folder: Path) -> Files:
    stem = f"qps.{kind}.{tag}" if tag else f"qps.{kind}"
    return {folder / f"{stem}.tsv": write_tsv(table), folder / f"{stem}.csv": write_csv(table)}


def _relative_table(table: ClassicTable, results: Results) -> Files:
    """Write the two files of relative rates, and of absolute rates if these are known."""
    base, *runs = table.runs
    folder = Path(table.folder)
    absolute = _rates(table, table.runs, results, set())
    units = {relative_to(base), doubted(relative_to(base))}
    either = relative_rates(absolute).rows | _rates(table, runs, results, units).rows
    rows = {n: either[n] for n in _labels(table, results) if any(either.get(n, ()))}
    files = _rate_files(absolute, table.tag, folder)
    if rows:
        relative = Rates(columns=tuple(runs), rows=rows, base=base)
        files |= _files_of("rel", relative, table.tag, folder)
    return files


def _hardware_table(table: ClassicTable, results: Results) -> Files:
    rows: dict[str, dict[str, Row]] = {}
    for record, classic in results:
        row = None
        if classic.table_row:
            row = Row(classic.run, HARDWARE_COLUMNS, tuple(classic.table_row))
        if (numbers := _met(classic)) is not None:
            row = hardware_row(numbers, classic.run)
        if row is not None and classic.file is not None:
            rows.setdefault(_block(record, classic.file), {})[classic.run] = row
    text = ""
    for name in table.rows or rows:
        # The rows after the first may have another number of clients.
        other = table.others.get(name, name)
        files = [(other if place else name, run) for place, run in enumerate(table.runs)]
        block = [rows[file][run] for file, run in files if run in rows.get(file, {})]
        text += write_block(name, block, table.others.get(name)) + "\n" if block else ""
    name = f"o.met.{table.tag}" if table.tag else "o.met"
    return {Path(table.folder) / name: text} if text else {}


def _joined_counters(table: ClassicTable, runs: Sequence[str], results: Results) -> Files:
    by_test: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for _, classic in results:
        if classic.counters and classic.file is not None:
            by_test.setdefault(classic.file, {})[classic.run] = classic.counters
    folder, files = Path(table.folder), {}
    for test, by_run in by_test.items():
        columns = [by_run[run] for run in runs if run in by_run]
        if len(columns) < 2:
            continue
        for iteration in columns[0]:
            if all(iteration in column for column in columns):
                absolute, relative = counters.joined([column[iteration] for column in columns])
                name = f"{table.tag or 'all'}.sb.perf.hw.{test}.{iteration}.sorted"
                files[folder / f"join{iteration}.abs.{name}"] = absolute
                files[folder / f"join{iteration}.rel.{name}"] = relative
    return files


_CPU = ("cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s")
_ROWS = "rows/s"
_PERCENT_S_PER_US = 100 / 1e6


def measured_files(report: Report, slices: Sequence[Slice]) -> Files:
    files: Files = {}
    levels = sorted({result.clients for result in report.results})
    time = window = 0.0
    for record in slices:
        length = record.measured.probe_seconds or record.measured.seconds
        cpu_s = record.measured.used("host", *_CPU)
        if cpu_s is not None and length is not None:
            time += cpu_s
            window += length
    cpus = float(round(time / window)) or None if window else None
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
        files |= _rate_files(Rates(columns=tuple(columns.values()), rows=rates), tag, Path())
        files[Path(f"o.met.{tag}" if tag else "o.met")] = "".join(blocks)
    return files


def _rate(result: Result) -> float:
    return result.qps / 1000 if result.unit == _ROWS else result.qps


def _row(result: Result, column: str, slices: Sequence[Slice], cpus: float | None) -> Row:
    use = result.per_op
    percent = None
    if "host_cpu_us" in use and cpus is not None:
        percent = use["host_cpu_us"] * _PERCENT_S_PER_US / cpus
    # The operation of scan is a whole table: this is the number of operations in a thousand rows.
    operations = 1.0
    if result.unit == _ROWS:
        wanted = (result.test, result.clients, result.contender)
        places = [(each.place, each) for each in slices]
        mine = [each for at, each in places if (at.test, at.clients, at.contender) == wanted]
        rows = sum(record.qps * (record.measured.seconds or 0.0) for record in mine)
        done = sum(record.measured.operations or 0 for record in mine)
        operations = 1000 * done / rows if rows else 1.0

    def text(value: float | None, form: str) -> str:
        return "" if value is None else f"{value * operations:{form}}"

    metrics = ("host_cs", "reads", "host_read_kb", "host_write_kb")
    cells = (text(percent, ".6f"), *(text(use.get(metric), ".3f") for metric in metrics))
    return Row(column, HARDWARE_COLUMNS, (*cells, f"{_rate(result):.0f}"))
