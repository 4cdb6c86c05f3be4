"""The classic files of an experiment: written again for an archived one, made for a measured one.

Of an archived run they are what was published, byte for byte, if it was imported so; otherwise
the same files with clean numbers. Of a measured experiment there are the tables: qps.abs, qps.rel
and o.met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowdust.archive.sysbench.table_slices import block_name
from slowdust.benchmarks.archived import LOAD
from slowdust.errors import UsageError
from slowdust.formats.sysbench import met, met_tables, named_clients, perf_stat, rate_tables
from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import FileName, common_of, parse_file, parse_label
from slowdust.formats.sysbench.rate_tables import RateTable
from slowdust.formats.sysbench.rates import doubted, is_relative, relative_to
from slowdust.formats.sysbench.vmstat import Vmstat
from slowdust.formats.text import readable
from slowdust.store.archived import Classic
from slowdust.store.manifest import ArchivedTable, Manifest
from slowdust.store.slice import Slice

_CELLS_OF_STORAGE = 9


def write_archived(manifest: Manifest, slices: Sequence[Slice], directory: Path) -> list[Path]:
    """Write the files of an imported experiment; their paths, in the order of writing."""
    found = [(record, record.archived.classic) for record in slices if record.archived is not None]
    files: dict[Path, str] = {}
    for record, classic in found:
        files |= _of_test(record, classic)
    files |= _rates(found)
    files |= _tables(manifest, found)
    return write_files(directory, files)


def refuse_source(manifest: Manifest, directory: Path) -> None:
    """Keep classic files out of the directory that they were imported from.

    Raises:
        UsageError: it is `directory`, or `directory` is below it or below one of its runs.
    """
    imported = manifest.imported
    if imported is None or imported.path is None:
        return
    wanted, source = Path(readable(str(directory.resolve()))), Path(imported.path)
    if wanted == source:
        raise UsageError(f"{directory} was imported from: classic files go into another directory")
    runs = [source / one.archived for one in manifest.contenders if one.archived]
    inside = [
        path for path in ([source] if imported.whole else runs) if wanted.is_relative_to(path)
    ]
    if inside:
        raise UsageError(
            f"{directory} is in {inside[0]}, which was imported from: "
            "classic files go into another directory"
        )


def write_files(directory: Path, files: dict[Path, str]) -> list[Path]:
    """Write texts below `directory`; their paths.

    Raises:
        UsageError: a file is there with other content, and then none is written.
    """
    for path, text in files.items():
        _refuse_other(directory / path, text)
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text, newline="")
    return [directory / path for path in files]


def _refuse_other(path: Path, text: str) -> None:
    if not path.exists():
        above = next((one for one in path.parents if one.exists()), path)
        if above.is_file():
            raise UsageError(f"{above} is a file: choose another directory")
        return
    if not path.is_file() or path.read_bytes() != text.encode():
        raise UsageError(f"{path} is there with other content: choose another directory")


def _of_test(record: Slice, classic: Classic) -> dict[Path, str]:
    """sb.met, and the extractions of the counters."""
    files = {}
    run = Path(classic.run)
    if (numbers := _met(classic)) is not None and classic.file is not None:
        name = block_name(record.place.test, classic.file, record.place.clients)
        files[run / name] = met.write(numbers)
    for iteration, values in classic.counters.items():
        name = f"sb.perf.hw.{classic.file}.{iteration}"
        files[run / f"{name}.raw"] = perf_stat.raw(values)
        files[run / f"{name}.sorted"] = perf_stat.sorted_(values)
    return files


def _met(classic: Classic) -> Met | None:
    if classic.storage is not None and classic.cpu is not None and classic.rate is not None:
        samples, reads, read_kb, writes, written_kb = classic.storage
        storage = Iostat(int(samples), reads, read_kb, writes, written_kb)
        samples, switches, percent = classic.cpu
        return met.make(classic.rate, storage, Vmstat(int(samples), switches, percent))
    if classic.met is not None:
        cells = tuple(classic.met)
        return Met(cells[:_CELLS_OF_STORAGE], cells[_CELLS_OF_STORAGE:])
    return None


def _met_row(classic: Classic) -> MetRow | None:
    if (numbers := _met(classic)) is not None:
        return MetRow.of(numbers, classic.run)
    return met_tables.row(classic.table_row, classic.run) if classic.table_row else None


def _rates(found: Iterable[tuple[Slice, Classic]]) -> dict[Path, str]:
    """sb.r.qps; with several numbers of clients a rate for each, as there."""
    lines: dict[Path, list[str]] = {}
    for record, classic in sorted(found, key=lambda one: one[0].place.clients):
        if classic.rate is not None and classic.whole_rate and record.place.test != LOAD:
            path = Path(classic.run) / f"sb.r.qps.{classic.file}"
            rate, _, text = classic.whole_rate.partition("\t")
            lines.setdefault(path, [text]).insert(-1, rate)
    return {path: "\t".join(cells) + "\n" for path, cells in lines.items()}


def _tables(manifest: Manifest, found: Sequence[tuple[Slice, Classic]]) -> dict[Path, str]:
    """Those that the archive has; of a kind that it has none of, one of everything."""
    runs = [contender.archived or contender.name for contender in manifest.contenders]
    tables = manifest.imported.tables if manifest.imported else []
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
                files |= _rate_table(table, found)
            case "relative rates":
                files |= _relative_table(table, found)
            case "hardware":
                files |= _hardware_table(table, found)
            case "counters":
                files |= _joined_counters(table, runs, found)
    return files


def _rate_table(table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]) -> dict[Path, str]:
    absolute = _absolute(table, found)
    return rate_files(absolute, table.tag, Path(table.folder)) if absolute.rows else {}


def _absolute(table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]) -> RateTable:
    rates = {
        (classic.file, classic.run): classic.whole_rate.partition("\t")[0]
        for record, classic in _by_level(table, found)
        if classic.whole_rate and record.place.test != LOAD and not is_relative(record.unit)
    }
    return RateTable(tuple(table.runs), _rows(_labels(table, found), table.runs, rates))


def _labels(table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]) -> list[str]:
    return table.rows or [file.label for file in rate_tables.order(_files(found))]


def _by_level(
    table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]
) -> list[tuple[Slice, Classic]]:
    """Last those at the number of clients that a table of rates is of: see `table_slices`."""
    named = named_clients.in_name(table.tag)
    levels = Counter(one.place.clients for one, classic in found if classic.run in table.runs)
    usual = named_clients.most_common(levels) if levels else None
    of_test = Counter((classic.file, one.place.clients) for one, classic in found)

    def rank(one: tuple[Slice, Classic]) -> tuple[bool, bool, int, int]:
        record, classic = one
        count = record.place.clients
        return count == named, count == usual, of_test[classic.file, count], count

    return sorted(found, key=rank)


def _relative_table(
    table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]
) -> dict[Path, str]:
    """The two files of relative rates; those of absolute ones of what has these, too."""
    base, *runs = table.runs
    unit = relative_to(base)
    rates = {
        (classic.file, classic.run): classic.whole_rate or ""
        for record, classic in found
        if record.unit in {unit, doubted(unit)}
    }
    absolute = _absolute(table, found)
    labels = _labels(table, found)
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
    """Label -> rates of `runs`, of those labels that any of them has.

    `rates` are by `FileName.common` and run. Labels do not say whether the tables had a primary
    key: where a run has both, its name says which of them is meant.
    """

    def cell(label: str, run: str) -> str:
        tests = (common_of(label, run), f"{parse_label(label)}.pk0")
        return next((rates[test, run] for test in tests if (test, run) in rates), "")

    rows = {label: tuple(cell(label, run) for run in runs) for label in labels}
    return {label: cells for label, cells in rows.items() if any(cells)}


def rate_files(absolute: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    """The four files of a table of rates."""
    relative = rate_tables.relative(absolute)
    return _files_of("abs", absolute, tag, folder) | _files_of("rel", relative, tag, folder)


def _files_of(kind: str, table: RateTable, tag: str, folder: Path) -> dict[Path, str]:
    stem = f"qps.{kind}.{tag}" if tag else f"qps.{kind}"
    return {
        folder / f"{stem}.tsv": rate_tables.write_tsv(table),
        folder / f"{stem}.csv": rate_tables.write_csv(table),
    }


def _files(found: Iterable[tuple[Slice, Classic]]) -> list[FileName]:
    """What the names of the tests' files say, each test once."""
    names = dict.fromkeys(f"sb.met.{a.file}" for record, a in found if record.place.test != LOAD)
    return [file for name in names if (file := parse_file(name)) is not None]


def _hardware_table(
    table: ArchivedTable, found: Sequence[tuple[Slice, Classic]]
) -> dict[Path, str]:
    rows: dict[str, dict[str, MetRow]] = {}
    for record, classic in found:
        row = _met_row(classic)
        if row is not None and classic.file is not None:
            name = block_name(record.place.test, classic.file, record.place.clients)
            rows.setdefault(name, {})[classic.run] = row
    text = "".join(
        met_tables.block(name, [rows[name][run] for run in table.runs if run in rows[name]]) + "\n"
        for name in table.rows or rows
        if any(run in rows.get(name, {}) for run in table.runs)
    )
    name = f"o.met.{table.tag}" if table.tag else "o.met"
    return {Path(table.folder) / name: text} if text else {}


def _joined_counters(
    table: ArchivedTable, runs: Sequence[str], found: Sequence[tuple[Slice, Classic]]
) -> dict[Path, str]:
    """Of the iterations that all runs have."""
    by_test: dict[str, dict[str, Classic]] = {}
    for _, classic in found:
        if classic.counters and classic.file is not None:
            by_test.setdefault(classic.file, {})[classic.run] = classic
    tag = table.tag or "all"
    files: dict[Path, str] = {}
    for test, by_run in by_test.items():
        columns = [by_run[run] for run in runs if run in by_run]
        if len(columns) < 2:
            continue
        for iteration in columns[0].counters:
            if all(iteration in one.counters for one in columns):
                values = [one.counters[iteration] for one in columns]
                name = f"{tag}.sb.perf.hw.{test}.{iteration}.sorted"
                folder = Path(table.folder)
                files[folder / f"join{iteration}.abs.{name}"] = perf_stat.joined(values)
                files[folder / f"join{iteration}.rel.{name}"] = perf_stat.joined_relative(values)
    return files
