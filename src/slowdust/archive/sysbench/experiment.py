"""An experiment of the store, made of one directory of archived runs of sysbench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from slowdust import __version__
from slowdust.archive.contenders import facts_of, titles_of, undecoded
from slowdust.archive.importing import MARGIN, ArchivedExperiment, Mode
from slowdust.archive.problems import Problem, recorded
from slowdust.archive.sysbench import slices
from slowdust.archive.sysbench.checks import check_runs, check_tables, published_numbers
from slowdust.archive.sysbench.clients import NOT_KNOWN, NamedClients, RunClients, notes_of_names
from slowdust.archive.sysbench.notes import (
    differences_of,
    notes_of_files,
    notes_of_groups,
    notes_of_ignored_errors,
    notes_of_scan,
)
from slowdust.archive.sysbench.reading import PREPARE, Cpu
from slowdust.archive.sysbench.run_directory import RunDirectory, TestKey
from slowdust.archive.sysbench.scan_rules import choose_scan_rules, part_units
from slowdust.archive.sysbench.scanning import Directory
from slowdust.archive.sysbench.slices import Reading
from slowdust.archive.sysbench.tables import table_slices
from slowdust.archive.sysbench.tables.classic_tables import classic_tables, find_cut
from slowdust.archive.sysbench.tables.joined_counters import JoinedTables, use_joined
from slowdust.archive.sysbench.tables.summary_tables import Hardware
from slowdust.benchmarks.archived import LOAD, SYSBENCH
from slowdust.formats.sysbench import rate_tables
from slowdust.formats.sysbench.names import (
    block_name,
    by_version,
    load_block_name,
    order_of_runs,
    parse_file,
)
from slowdust.formats.sysbench.rates import ScanRule
from slowdust.formats.text import readable
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.slice import SCHEMA, Slice


@dataclass(frozen=True)
class Choices:
    """The user's choices for the experiments of an import."""

    mode: Mode
    scan: ScanRule | None
    """Rule of scan's rate; None: by what reproduces the published rates, or by date."""
    clients: int | None
    """Clients of tables that do not tell."""


@dataclass
class Results:
    """The slices of an experiment, and where they are from."""

    titles: dict[str, str]
    """Run -> contender, the base first."""
    slices: list[Slice]
    probed: list[tuple[str, Cpu]]
    """Test and sums of vmstat, of each result whose CPU is clean, or would be."""
    joined: JoinedTables
    assumed: list[str]
    """Sentences on assumptions."""
    named: set[NamedClients] = field(default_factory=set)
    """Numbers of clients that only names tell."""
    problems: list[Problem] = field(default_factory=list)
    """Problems of tables."""


def make_experiment(
    name: str, directory: Directory, runs: Sequence[RunDirectory], choices: Choices
) -> ArchivedExperiment | None:
    """Make an experiment of the files of a directory.

    None where they have no result; the problems of `directory` and `runs` tell why.
    """
    titles = titles_of(_order(directory, runs))
    cpus = next((run.cpus for run in runs if run.cpus), None)
    scan = choose_scan_rules(directory.around, runs, choices.scan)
    reading = Reading(choices.mode, scan, cpus)
    results = _results(directory, runs, titles, choices, reading)
    directory.problems.extend(results.problems)
    if not results.slices:
        return None
    manifest = _manifest(name, directory, runs, results, reading)
    tests, rank = manifest.tests, list(titles.values())
    results.slices.sort(
        key=lambda record: (
            tests.index(record.place.test),
            record.place.clients,
            rank.index(record.place.contender),
        )
    )
    notes = [
        *undecoded(manifest.contenders),
        *notes_of_names(results.named),
        *notes_of_scan(results.slices, scan),
        *notes_of_groups(results.slices),
        *manifest.warnings,
    ]
    return ArchivedExperiment(manifest, results.slices, notes)


def _results(
    directory: Directory,
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    choices: Choices,
    reading: Reading,
) -> Results:
    """Return everything that has a rate; `titles` are run -> contender, the base first."""
    clients = RunClients(directory, runs, choices.clients)
    clean = _clean_tests(runs, directory.tables.hardware)
    of_runs = _of_runs(runs, titles, reading, clients, clean)
    records = [record for record, _ in of_runs]
    rows = table_slices.read_tables(directory, records, choices.clients)
    records += _of_tables(rows, records, titles, reading)
    parted = part_units(records, list(titles.values()), reading.scan)
    joined = use_joined(directory.tables.joined, runs, list(titles), records)
    if choices.mode is Mode.CLEAN:
        for record in records:
            slices.leave_out_hardware_of_all_threads(record)
    unknown = [Problem(directory.path / table, NOT_KNOWN) for table in sorted(rows.without_clients)]
    return Results(
        titles,
        records,
        [
            (record.place.test, cpu)
            for record, cpu in of_runs
            if cpu and record.archived and record.archived.per_operation
        ],
        joined,
        [*parted, *clients.assumed, *joined.assumed],
        rows.named | clients.named,
        [*rows.problems, *unknown, *joined.problems],
    )


def _clean_tests(runs: Sequence[RunDirectory], tables: Iterable[Hardware]) -> set[TestKey]:
    """Return the tests that have vmstat's samples in all of their runs, also those of tables."""
    sampled = {(run.name, *key) for run in runs for key, test in run.tests.items() if test.cpu}
    there = {(run.name, *key) for run in runs for key in run.tests}
    for table in tables:
        for name, rows in table.table.blocks.items():
            if (file := parse_file(name)) is not None:
                key = (LOAD if file.kind.startswith(PREPARE) else file.common, file.dop)
                there |= {(row.run, *key) for row in rows if row["cpu/o"]}
    unclean = {(test, dop) for _, test, dop in there - sampled}
    return {(test, dop) for _, test, dop in sampled} - unclean


def _of_runs(
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    reading: Reading,
    clients: RunClients,
    clean: Set[TestKey],
) -> list[tuple[Slice, Cpu | None]]:
    """Return slices, and the sums of vmstat where its clean means count, or would count."""
    records = []
    for run in runs:
        for key, test in run.tests.items():
            count = clients.of(run, test)
            cpu = test.cpu if key in clean else None
            counting = cpu.clean if cpu and reading.mode is Mode.CLEAN else None
            record = count and slices.slice_of(
                run, test, count, titles[run.name], reading, clean=counting
            )
            if record:
                records.append((record, cpu))
            else:
                what = "no rate" if count else NOT_KNOWN
                run.problems.append(Problem(run.path / f"*.{key[0]}", what))
    return records


def _of_tables(
    rows: table_slices.TableRows, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    """Return slices of the rows that no run's own files have."""
    there = {
        (record.place.contender, record.place.test, record.place.clients) for record in records
    }
    loaded = {record.place.contender for record in records if record.place.test == LOAD}
    missing = []
    for row in rows.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test, row.clients) in there:
            continue
        if row.test == LOAD and title in loaded:
            continue
        scan = reading.scan.rule(row.run)
        record = table_slices.slice_of(row, title, scan, reading.cpus)
        if record is not None:
            missing.append(record)
    return missing


def _manifest(
    name: str,
    directory: Directory,
    runs: Sequence[RunDirectory],
    results: Results,
    reading: Reading,
) -> Manifest:
    measured = {record.place.contender for record in results.slices}
    contenders = [
        facts_of(run, title) for run, title in results.titles.items() if title in measured
    ]
    days = sorted(probe.day for run in runs for probe in run.probes if probe.day)
    return Manifest(
        schema=SCHEMA,
        experiment=name,
        slowdust=__version__,
        started=days[0] if days else None,
        base=contenders[0].name,
        contenders=contenders,
        tests=_tests(directory, results.slices),
        clients=sorted({record.place.clients for record in results.slices}),
        method=_method(runs),
        host=_host(runs, reading.cpus),
        warnings=[
            *directory.assumed,
            *results.assumed,
            *notes_of_files(runs),
            *notes_of_ignored_errors(runs),
        ],
        imported=_imported(directory, runs, results, reading),
    )


def _imported(
    directory: Directory, runs: Sequence[RunDirectory], results: Results, reading: Reading
) -> Imported:
    tables = directory.tables
    problems = [*directory.problems, *(problem for run in runs for problem in run.problems)]
    problems += check_runs(runs, reading.scan)
    published = published_numbers(runs, reading.scan)
    problems += check_tables(tables, *published)
    cut = list(find_cut(tables, *published))
    problems += [table.problem for table in cut]
    return Imported(
        kind=SYSBENCH.name,
        mode=str(reading.mode),
        source=readable(directory.name),
        path=readable(str(directory.path)),
        condition=directory.condition or None,
        whole=directory.whole,
        device=", ".join(sorted({run.device for run in runs if run.device})) or None,
        used=tables.used + results.joined.used + sum(run.used for run in runs),
        checked=_checked(tables.checked, results.joined, runs),
        by_products=_summed([tables.by_products, *(run.by_products for run in runs)]),
        skipped=recorded(problems, directory.path),
        tables=classic_tables(tables, directory.path, cut),
        differences=differences_of(results.probed, runs, reading),
    )


def _order(directory: Directory, runs: Sequence[RunDirectory]) -> list[str]:
    """Return the runs by version, the base first; those of one version as the first table has them.

    Where only relative rates are known, the base is the run that they are relative to.
    """
    tables = directory.tables
    columns = [table.runs for table in tables.of_runs]
    first = list(columns[0]) if columns else []
    named = {run.name for run in runs}.union(*columns)
    ordered = by_version([*first, *sorted(named - set(first), key=order_of_runs)])
    if tables.relative and not (runs or tables.rates or tables.hardware):
        return list(dict.fromkeys([tables.relative[0].runs[0], *ordered]))
    return ordered


def _tests(directory: Directory, records: Sequence[Slice]) -> list[str]:
    """Return the tests in the order in which they ran, or else in that of the tables of rates."""
    files = {
        (record.archived.classic.file, record.place.test)
        for record in records
        if record.archived is not None and record.archived.classic.file is not None
    }
    in_tables = [
        test
        for hardware in directory.tables.hardware
        for name in hardware.table.blocks
        for file, test in files
        if name.startswith(load_block_name(file) if test == LOAD else block_name(file, None))
    ]
    ordered = rate_tables.order_of_suffixes({record.place.test for record in records})
    return list(dict.fromkeys([*in_tables, *ordered]))


def _method(runs: Sequence[RunDirectory]) -> Method:
    outputs = [test.output for run in runs for test in run.tests.values() if test.output]
    first = outputs[0] if outputs else None
    return Method(
        tables=first.tables if first else None,
        rows=first.table_size if first else None,
        margin=MARGIN,
        incarnations=1,
    )


def _host(runs: Sequence[RunDirectory], cpus: int | None) -> dict[str, str]:
    probes = [probe for run in runs for probe in run.probes]
    facts = {
        "host": sorted({probe.host for probe in probes if probe.host}),
        "kernel": sorted({probe.kernel for probe in probes if probe.kernel}),
        "CPUs": [str(cpus)] if cpus else [],
    }
    return {label: ", ".join(values) for label, values in facts.items() if values}


def _checked(
    tables: Counter[str], joined: JoinedTables, runs: Sequence[RunDirectory]
) -> dict[str, int]:
    of_tables = tables + Counter({"join": joined.checked} if joined.checked else {})
    return _summed([of_tables, *(run.checked for run in runs)])


def _summed(counts: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))
