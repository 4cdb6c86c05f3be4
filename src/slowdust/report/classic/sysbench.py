"""The classic files of archived runs of sysbench.

They are the published ones, byte for byte, whichever numbers an import took for reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowdust.analysis.origin import run_of, tables_of
from slowdust.benchmarks.archived import LOAD
from slowdust.formats.sysbench import met, met_tables, perf_stat, rate_tables
from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import (
    FileName,
    block_name,
    clients_in_name,
    common_of,
    load_block_name,
    parse_file,
    parse_label,
)
from slowdust.formats.sysbench.rate_tables import RateTable
from slowdust.formats.sysbench.rates import doubted, is_relative, relative_to
from slowdust.formats.sysbench.vmstat import Vmstat
from slowdust.store.archived import Classic
from slowdust.store.manifest import ArchivedTable, Manifest
from slowdust.store.slice import Slice

Results = Sequence[tuple[Slice, Classic]]
"""Slices of an imported experiment, and their texts for the classic files."""


def archived_files(manifest: Manifest, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path and content of each file."""
    results = [
        (record, record.archived.classic) for record in slices if record.archived is not None
    ]
    files: dict[Path, str] = {}
    for record, classic in results:
        files |= _of_test(record, classic)
    return files | _rates(results) | _tables(manifest, results)


def _of_test(record: Slice, classic: Classic) -> dict[Path, str]:
    """Write sb.met, and the extractions of the counters."""
    files = {}
    run = Path(classic.run)
    if (numbers := _met(classic)) is not None and classic.file is not None:
        name = _block(record, classic.file)
        files[run / name] = met.write(numbers)
    for iteration, values in classic.counters.items():
        name = f"sb.perf.hw.{classic.file}.{iteration}"
        files[run / f"{name}.raw"] = perf_stat.raw(values)
        files[run / f"{name}.sorted"] = perf_stat.sorted_(values)
    return files


def _block(record: Slice, file: str) -> str:
    if record.place.test == LOAD:
        return load_block_name(file)
    return block_name(file, record.place.clients)


def _met(classic: Classic) -> Met | None:
    if classic.storage is not None and classic.cpu is not None and classic.rate is not None:
        samples, reads, read_kb, writes, written_kb = classic.storage
        storage = Iostat(int(samples), reads, read_kb, writes, written_kb)
        samples, switches, percent = classic.cpu
        return met.make(classic.rate, storage, Vmstat(int(samples), switches, percent))
    if classic.met is not None:
        return Met(tuple(classic.met))
    return None


def _met_row(classic: Classic) -> MetRow | None:
    if (numbers := _met(classic)) is not None:
        return MetRow.of(numbers, classic.run)
    return MetRow(classic.run, tuple(classic.table_row)) if classic.table_row else None


def _rates(results: Results) -> dict[Path, str]:
    """Write sb.r.qps; with several numbers of clients it has a rate for each."""
    lines: dict[Path, list[str]] = {}
    for record, classic in sorted(results, key=lambda result: result[0].place.clients):
        if classic.rate is not None and classic.whole_rate and record.place.test != LOAD:
            path = Path(classic.run) / f"sb.r.qps.{classic.file}"
            rate, _, text = classic.whole_rate.partition("\t")
            lines.setdefault(path, [text]).insert(-1, rate)
    return {path: "\t".join(cells) + "\n" for path, cells in lines.items()}


def _tables(manifest: Manifest, results: Results) -> dict[Path, str]:
    """Write the tables that the archive has; of a kind that it has none of, one of everything."""
    runs = [run_of(facts) for facts in manifest.contenders]
    tables = tables_of(manifest)
    kinds = {table.kind for table in tables}
    if "relative rates" in kinds:
        kinds.add("rates")
    missing = ("rates", "hardware", "counters")
    tables = [
        *tables,
        *(ArchivedTable(kind=kind, tag="", runs=runs) for kind in missing if kind not in kinds),
    ]
    files: dict[Path, str] = {}
    for table in tables:
        match table.kind:
            case "rates":
                files |= _rate_table(table, results)
            case "relative rates":
                files |= _relative_table(table, results)
            case "hardware":
                files |= _hardware_table(table, results)
            case "counters":
                files |= _joined_counters(table, runs, results)
    return files


def _rate_table(table: ArchivedTable, results: Results) -> dict[Path, str]:
    absolute = _absolute(table, results)
    return rate_files(absolute, table.tag, Path(table.folder)) if absolute.rows else {}


def _absolute(table: ArchivedTable, results: Results) -> RateTable:
    rates = {
        (classic.file, classic.run): classic.whole_rate.partition("\t")[0]
        for record, classic in _by_level(table, results)
        if classic.whole_rate and record.place.test != LOAD and not is_relative(record.unit)
    }
    return RateTable(tuple(table.runs), _rows(_labels(table, results), table.runs, rates))


def _labels(table: ArchivedTable, results: Results) -> list[str]:
    return table.rows or [file.label for file in rate_tables.order(_files(results))]


def _by_level(table: ArchivedTable, results: Results) -> list[tuple[Slice, Classic]]:
    """Return last the results at the number of clients that a table of rates is of."""
    named = clients_in_name(table.tag)
    levels = Counter(
        record.place.clients for record, classic in results if classic.run in table.runs
    )
    usual = rate_tables.usual_clients(levels) if levels else None
    of_test = Counter((classic.file, record.place.clients) for record, classic in results)

    def rank(result: tuple[Slice, Classic]) -> tuple[bool, bool, int, int]:
        record, classic = result
        count = record.place.clients
        return count == named, count == usual, of_test[classic.file, count], count

    return sorted(results, key=rank)


def _relative_table(table: ArchivedTable, results: Results) -> dict[Path, str]:
    """Write the two files of relative rates, and those of absolute ones where these are known."""
    base, *runs = table.runs
    unit = relative_to(base)
    rates = {
        (classic.file, classic.run): classic.whole_rate or ""
        for record, classic in _by_level(table, results)
        if record.unit in {unit, doubted(unit)}
    }
    absolute = _absolute(table, results)
    labels = _labels(table, results)
    either = rate_tables.relative(absolute).rows | _rows(labels, runs, rates)
    rows = {label: either[label] for label in labels if any(either.get(label, ()))}
    folder = Path(table.folder)
    files = rate_files(absolute, table.tag, folder) if absolute.rows else {}
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


def rate_files(absolute: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    """Return the four files of a table of rates."""
    relative = rate_tables.relative(absolute)
    return _files_of("abs", absolute, tag, folder) | _files_of("rel", relative, tag, folder)


def _files_of(kind: str, table: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    stem = f"qps.{kind}.{tag}" if tag else f"qps.{kind}"
    return {
        folder / f"{stem}.tsv": rate_tables.write_tsv(table),
        folder / f"{stem}.csv": rate_tables.write_csv(table),
    }


def _files(results: Results) -> list[FileName]:
    """Return the parsed names of the tests' files, each test once."""
    names = dict.fromkeys(f"sb.met.{a.file}" for record, a in results if record.place.test != LOAD)
    return [file for name in names if (file := parse_file(name)) is not None]


def _hardware_table(table: ArchivedTable, results: Results) -> dict[Path, str]:
    rows: dict[str, dict[str, MetRow]] = {}
    for record, classic in results:
        row = _met_row(classic)
        if row is not None and classic.file is not None:
            name = _block(record, classic.file)
            rows.setdefault(name, {})[classic.run] = row
    text = "".join(
        met_tables.block(name, of_block, table.others.get(name)) + "\n"
        for name in table.rows or rows
        if (of_block := _rows_of_block(table, name, rows))
    )
    name = f"o.met.{table.tag}" if table.tag else "o.met"
    return {Path(table.folder) / name: text} if text else {}


def _rows_of_block(
    table: ArchivedTable, name: str, rows: Mapping[str, Mapping[str, MetRow]]
) -> list[MetRow]:
    """Return the rows of a block; those behind the first may be of another number of clients."""
    first, *others = table.runs or [""]
    files = [(name, first), *((table.others.get(name, name), run) for run in others)]
    return [rows[file][run] for file, run in files if run in rows.get(file, {})]


def _joined_counters(
    table: ArchivedTable, runs: Sequence[str], results: Results
) -> dict[Path, str]:
    """Write the iterations that all runs have."""
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
                files[folder / f"join{iteration}.abs.{name}"] = perf_stat.joined(values)
                files[folder / f"join{iteration}.rel.{name}"] = perf_stat.joined_relative(values)
    return files
