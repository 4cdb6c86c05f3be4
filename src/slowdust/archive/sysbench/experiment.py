"""The notes of an import on groups of tests, and on the differences from published numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from slowdust import __version__
from slowdust.archive.classic import file_of, run_of
from slowdust.archive.files import recorded
from slowdust.archive.runs import by_version, facts_of, order_of_runs, titles_of, undecoded
from slowdust.archive.sysbench import counters, joined_counters
from slowdust.archive.sysbench.checks import (
    check_runs,
    check_tables,
    classic_tables,
    find_cut,
    published_numbers,
)
from slowdust.archive.sysbench.clients import NOT_KNOWN, RunClients, notes_of_names
from slowdust.archive.sysbench.directories import Directory
from slowdust.archive.sysbench.joined_counters import JoinedTables, use_joined
from slowdust.archive.sysbench.names import block_name, load_block_name, parse_file, test_of
from slowdust.archive.sysbench.output import (
    SCAN,
    ScanRule,
    clean_scan_rate,
    is_relative,
    published_rate,
)
from slowdust.archive.sysbench.run_directory import PREPARE, Cpu, RunDirectory
from slowdust.archive.sysbench.scan_rules import ScanRules, choose_scan_rules, part_units
from slowdust.archive.sysbench.slices import (
    COUNTERS_OF_ALL_THREADS,
    FROM_MET,
    FROM_RATE,
    FROM_RELATIVE,
    FROM_TABLE,
    RATE_OF_ONE_THREAD,
    Reading,
    TableRows,
    leave_out_hardware_of_all_threads,
    read_tables,
    slice_of,
    slice_of_row,
)
from slowdust.archive.sysbench.tables import order_suffixes
from slowdust.benchmarks.sysbench import LOAD, SYSBENCH
from slowdust.exchange import MARGIN, ImportedExperiment, Mode, Problem
from slowdust.formats.text import beginning, readable
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import counted

_MOST_LISTED = 4
_OF_GROUPS = (
    FROM_MET,
    FROM_RATE,
    FROM_TABLE,
    FROM_RELATIVE,
    joined_counters.FROM_JOINED,
    joined_counters.RELATIVE,
    RATE_OF_ONE_THREAD,
    COUNTERS_OF_ALL_THREADS,
)


def _notes_of_scan(records: Sequence[Slice], rules: ScanRules) -> list[str]:
    """Return the rules by which rates of scan were published, and the units they have here."""
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    absolute = [record for record in scans if not is_relative(record.unit)]
    if not absolute:
        return []
    runs = map(run_of, absolute)
    by_rule: dict[ScanRule, list[str]] = {}
    for run in dict.fromkeys(runs):
        by_rule.setdefault(rules.rule(run), []).append(run)
    clauses = []
    for rule, same in by_rule.items():
        of_runs = f" of {beginning(same, _MOST_LISTED)}" if len(by_rule) > 1 else ""
        why = max((rules.of(run) for run in same), key=lambda choice: choice.sure).why
        clauses.append(f"published rates{of_runs} are of {rule.value}, {why}")
    units = sorted({record.unit for record in absolute})
    return [f"scan: {'; '.join(clauses)}; here in {' and '.join(units)}"]


def _notes_of_groups(records: Sequence[Slice]) -> list[str]:
    """Return each note that several results may have, with their number and their tests."""
    lines = []
    for note in _OF_GROUPS:
        tests = [
            record.place.test
            for record in records
            if record.printed and note in record.printed.notes
        ]
        if tests:
            shown = beginning(sorted(set(tests)), _MOST_LISTED)
            lines.append(f"{note}: {counted(len(tests), 'result')}, {shown}")
    return lines


def _notes_of_files(runs: Sequence[RunDirectory]) -> list[str]:
    """Return what is remarkable about files that are used, with their names."""
    by_remark: dict[str, list[str]] = {}
    for run in runs:
        for remark, name in run.remarks:
            by_remark.setdefault(remark, []).append(f"{run.name}/{name}")
    return [
        f"{remark}: {beginning(names, _MOST_LISTED)}" for remark, names in sorted(by_remark.items())
    ]


def _notes_of_ignored_errors(runs: Sequence[RunDirectory]) -> list[str]:
    """Return a sentence on the errors that sysbench ignored, if it did."""
    ignored = {
        (run.name, *key): test.output.ignored
        for run in runs
        for key, test in run.tests.items()
        if test.output is not None and test.output.ignored
    }
    if not ignored:
        return []
    tests = beginning(sorted({test_of(test) for _, test, _ in ignored}), _MOST_LISTED)
    errors = counted(sum(ignored.values()), "error")
    return [
        f"sysbench ignored {errors} (deadlocks, for instance, after which it repeats the "
        f"transaction) in {counted(len(ignored), 'result')}: {tests}"
    ]


def _vmstat(probed: Sequence[tuple[str, Cpu]], mode: Mode) -> list[str]:
    typical = []
    for name in ("cpu_percent", "switches_per_second"):
        pairs = [(getattr(sums.clean, name), getattr(sums.published, name)) for _, sums in probed]
        more = [clean / published - 1 for clean, published in pairs if published]
        if not more:
            return []
        typical.append(f"{median(more):.1%} ({min(more):.1%} to {max(more):.1%})")
    tests = counted(len({test for test, _ in probed}), "test")
    claim = "clean numbers would be higher" if mode is Mode.COMPAT else "higher than published"
    return [
        f"{claim}: cpu/o {typical[0]} and cs/o {typical[1]} in {tests}, because vmstat's repeated "
        "headers count as idle seconds in the published means"
    ]


def _scan(runs: Sequence[RunDirectory], rules: ScanRules, mode: Mode) -> list[str]:
    ratios = []
    of_one_thread = [run for run in runs if rules.rule(run.name) is ScanRule.ONE_THREAD]
    for run in of_one_thread:
        for test in run.tests.values():
            if test.file.test == SCAN and test.output is not None:
                published = published_rate(SCAN, test.output, ScanRule.ONE_THREAD)
                clean = clean_scan_rate(test.output)
                if published is not None and clean and published.value > 0:
                    ratios.append(clean / published.value)
    if not ratios:
        return []
    would_be = "would be" if mode is Mode.COMPAT else "is"
    return [
        f"the rate of scan {would_be} of all threads: {median(ratios):.1f} times the published "
        f"one, which is of one thread"
    ]


def _counters(runs: Sequence[RunDirectory]) -> list[str]:
    missing = sorted(
        {
            name
            for run in runs
            for test in run.tests.values()
            for values in test.counters.values()
            for name, value in values.items()
            if value == counters.NOT_SUPPORTED
        }
    )
    if not missing:
        return []
    return [
        f"counters of -1, which the machine does not have and whose published ratio of 1.000 says "
        f"nothing, are left out: {', '.join(missing)}"
    ]


def make_experiment(
    name: str,
    directory: Directory,
    runs: Sequence[RunDirectory],
    *,
    mode: Mode,
    scan_rule: ScanRule | None,
    given_clients: int | None,
) -> ImportedExperiment | None:
    """Make an experiment of the files of a directory.

    None where they have no result; the problems of `directory` and `runs` tell why. The user's rule
    of scan's rate, and clients of tables that do not tell, may be given.
    """
    titles = titles_of(_order(directory, runs))
    rank = list(titles.values())
    cpus = next((run.cpus for run in runs if run.cpus), None)
    scan = choose_scan_rules(directory.around, runs, scan_rule)
    reading = Reading(mode, scan, cpus)
    clients = RunClients(directory, runs, given_clients)
    of_runs = _of_runs(directory, runs, titles, reading, clients)
    records = [record for record, _ in of_runs]
    rows = read_tables(directory, records, given_clients)
    records += _of_tables(rows, records, titles, reading)
    parted = part_units(records, rank, scan)
    joined = use_joined(directory.tables.joined, runs, list(titles), records)
    if mode is Mode.CLEAN:
        for record in records:
            leave_out_hardware_of_all_threads(record)
    unknown = [Problem(directory.path / table, NOT_KNOWN) for table in sorted(rows.without_clients)]
    directory.problems.extend([*rows.problems, *unknown, *joined.problems])
    if not records:
        return None
    probed = [
        (record.place.test, cpu)
        for record, cpu in of_runs
        if cpu and record.printed and record.printed.per_operation
    ]
    contenders = [record.place.contender for record in records]
    facts = [facts_of(run, title) for run, title in titles.items() if title in contenders]
    outputs = [test.output for run in runs for test in run.tests.values() if test.output]
    probes = [probe for run in runs for probe in run.probes]
    host = {
        "host": sorted({probe.host for probe in probes if probe.host}),
        "kernel": sorted({probe.kernel for probe in probes if probe.kernel}),
        "CPUs": [str(cpus)] if cpus else [],
    }
    tests = _tests(directory, records)
    manifest = Manifest(
        schema=PRINTED_SCHEMA,
        experiment=name,
        slowdust=__version__,
        started=min((probe.day for probe in probes if probe.day), default=None),
        base=facts[0].name,
        contenders=facts,
        tests=tests,
        clients=sorted({record.place.clients for record in records}),
        method=Method(
            tables=outputs[0].tables if outputs else None,
            rows=outputs[0].table_size if outputs else None,
            margin=MARGIN,
            incarnations=1,
        ),
        host={label: ", ".join(values) for label, values in host.items() if values},
        warnings=[
            *directory.assumed,
            *parted,
            *clients.assumed,
            *joined.assumed,
            *_notes_of_files(runs),
            *_notes_of_ignored_errors(runs),
        ],
        imported=_imported(directory, runs, joined, probed, reading),
    )
    records.sort(
        key=lambda record: (
            tests.index(record.place.test),
            record.place.clients,
            rank.index(record.place.contender),
        )
    )
    notes = [
        *undecoded(facts),
        *notes_of_names(rows.named | clients.named),
        *_notes_of_scan(records, scan),
        *_notes_of_groups(records),
        *manifest.warnings,
    ]
    return ImportedExperiment(manifest, records, notes)


def _of_runs(
    directory: Directory,
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    reading: Reading,
    clients: RunClients,
) -> list[tuple[Slice, Cpu | None]]:
    """Return slices, and the sums of vmstat where its clean means count, or would count.

    They do for tests that have its samples in all of their runs, also those of tables.
    """
    sampled = {(run.name, *key) for run in runs for key, test in run.tests.items() if test.cpu}
    there = {(run.name, *key) for run in runs for key in run.tests}
    for table in directory.tables.hardware:
        for name, rows in table.table.blocks.items():
            if (file := parse_file(name)) is not None:
                key = (LOAD if file.kind.startswith(PREPARE) else file.common, file.dop)
                there |= {(row.run, *key) for row in rows if row["cpu/o"]}
    unclean = {(test, dop) for _, test, dop in there - sampled}
    records = []
    for run in runs:
        for key, test in run.tests.items():
            count = clients.of(run, test)
            cpu = None if key in unclean else test.cpu
            counting = cpu.clean if cpu and reading.mode is Mode.CLEAN else None
            record = count and slice_of(run, test, count, titles[run.name], reading, clean=counting)
            if record:
                records.append((record, cpu))
            else:
                what = "no rate" if count else NOT_KNOWN
                run.problems.append(Problem(run.path / f"*.{key[0]}", what))
    return records


def _of_tables(
    rows: TableRows, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    there = {
        (record.place.contender, record.place.test, record.place.clients) for record in records
    }
    loaded = {record.place.contender for record in records if record.place.test == LOAD}
    missing = []
    for row in rows.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test, row.clients) in there:
            continue
        if row.test != LOAD or title not in loaded:
            missing.append(slice_of_row(row, title, reading.scan.rule(row.run), reading.cpus))
    return known(missing)


def _imported(
    directory: Directory,
    runs: Sequence[RunDirectory],
    joined: JoinedTables,
    probed: Sequence[tuple[str, Cpu]],
    reading: Reading,
) -> Imported:
    tables = directory.tables
    problems = [*directory.problems, *(problem for run in runs for problem in run.problems)]
    problems += check_runs(runs, reading.scan)
    published = published_numbers(runs, reading.scan)
    problems += check_tables(tables, *published)
    cut = list(find_cut(tables, *published))
    problems += [table.problem for table in cut]
    checked = [tables.checked, Counter({"join": joined.checked} if joined.checked else {})]
    return Imported(
        kind=SYSBENCH.name,
        mode=str(reading.mode),
        source=readable(directory.name),
        path=readable(str(directory.path)),
        condition=directory.condition or None,
        whole=directory.whole,
        device=", ".join(sorted({run.device for run in runs if run.device})) or None,
        used=tables.used + joined.used + sum(run.used for run in runs),
        checked=_summed([*checked, *(run.checked for run in runs)]),
        by_products=_summed([tables.by_products, *(run.by_products for run in runs)]),
        skipped=recorded(problems, directory.path),
        tables=msgspec.to_builtins(classic_tables(tables, directory.path, cut)),
        differences=[
            *_vmstat(probed, reading.mode),
            *_scan(runs, reading.scan, reading.mode),
            *_counters(runs),
        ],
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
        (file, record.place.test) for record in records if (file := file_of(record)) is not None
    }
    in_tables = [
        test
        for hardware in directory.tables.hardware
        for name in hardware.table.blocks
        for file, test in files
        if name.startswith(load_block_name(file) if test == LOAD else block_name(file, None))
    ]
    ordered = order_suffixes({record.place.test for record in records})
    return list(dict.fromkeys([*in_tables, *ordered]))


def _summed(counts: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))
