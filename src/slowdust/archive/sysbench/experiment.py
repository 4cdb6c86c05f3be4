"""Archives of sysbench: run directories and their summary tables, as experiments of the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from slowdust import __version__
from slowdust.analysis.model import Report
from slowdust.archive.classic import file_of, run_of
from slowdust.archive.files import Packed, recorded
from slowdust.archive.runs import by_version, facts_of, order_of_runs, titles_of, undecoded
from slowdust.archive.sysbench.checks import (
    FROM_JOINED,
    RELATIVE,
    JoinedTables,
    check_runs,
    check_tables,
    classic_tables,
    find_cut,
    published_numbers,
    use_joined,
)
from slowdust.archive.sysbench.classic import measured_files, published_files
from slowdust.archive.sysbench.clients import NOT_KNOWN, RunClients, notes_of_names
from slowdust.archive.sysbench.counters import NOT_SUPPORTED
from slowdust.archive.sysbench.directories import Directory, arrange, scan
from slowdust.archive.sysbench.names import LOAD_BLOCK, SCAN, block_name, parse_file, test_of
from slowdust.archive.sysbench.rates import (
    ScanRule,
    ScanRules,
    choose_scan_rules,
    clean_scan_rate,
    is_relative,
    part_units,
    published_rate,
)
from slowdust.archive.sysbench.run_directory import PREPARE, RunDirectory, read_runs, reads
from slowdust.archive.sysbench.run_files import Cpu
from slowdust.archive.sysbench.slices import (
    COUNTERS_OF_ALL_THREADS,
    FROM_MET,
    FROM_RATE,
    FROM_RELATIVE,
    FROM_TABLE,
    RATE_OF_ONE_THREAD,
    Reading,
    TableRows,
    drop_hardware_of_all_threads,
    slice_of,
    slice_of_row,
)
from slowdust.archive.sysbench.tables import Hardware, Joined, is_table, order_suffixes
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.sysbench import LOAD, SYSBENCH
from slowdust.exchange import (
    MARGIN,
    Candidate,
    ForeignKind,
    ImportedExperiment,
    Mode,
    Problem,
)
from slowdust.store.manifest import Imported, Manifest, Method
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import Slice
from slowdust.temporary import temporary_folder
from slowdust.text import beginning, readable
from slowdust.wording import counted

_MOST_LISTED = 4
_OF_GROUPS = (
    FROM_MET,
    FROM_RATE,
    FROM_TABLE,
    FROM_RELATIVE,
    FROM_JOINED,
    RELATIVE,
    RATE_OF_ONE_THREAD,
    COUNTERS_OF_ALL_THREADS,
)
"""Notes that several results may have."""


def make_experiment(
    name: str,
    *,
    directory: Directory,
    runs: Sequence[RunDirectory],
    mode: Mode,
    scan_rule: ScanRule | None,
    given_clients: int | None,
) -> ImportedExperiment | None:
    """Make an experiment from the files of a directory.

    None if they have no result; the problems of `directory` give the reason. `scan_rule` and
    `given_clients` are the user's options, if given.
    """
    titles = titles_of(_order(directory, runs))
    rank = list(titles.values())
    cpus = next((run.cpus for run in runs if run.cpus), None)
    rules = choose_scan_rules(directory.around, runs, scan_rule)
    reading = Reading(mode, rules, cpus)
    clients = RunClients(directory, runs, given_clients)
    of_runs = _of_runs(directory, runs, titles, reading, clients)
    records = [record for record, _ in of_runs]
    rows = TableRows(directory, records, given_clients)
    records += _of_tables(rows, records, titles, reading)
    parted = part_units(records, rank, rules)
    joined = use_joined(directory.tables.of_kind(Joined), runs, list(titles), records)
    if mode is Mode.CLEAN:
        for record in records:
            drop_hardware_of_all_threads(record)
    unknown = [Problem(directory.path / table, NOT_KNOWN) for table in sorted(rows.without_clients)]
    directory.problems.extend([*rows.problems, *unknown, *joined.problems])
    if not records:
        directory.problems.extend(_joined_alone(directory))
        directory.problems.extend(problem for run in runs for problem in run.problems)
        return None
    probed = [
        (record.place.test, cpu)
        for record, cpu in of_runs
        if cpu and record.printed and record.printed.per_operation
    ]
    contenders = {record.place.contender for record in records}
    facts = [facts_of(run, title) for run, title in titles.items() if title in contenders]
    outputs = [test.output for run in runs for test in run.tests.values() if test.output]
    probes = [probe for run in runs for probe in run.probes]
    host = {
        "host": sorted({probe.host for probe in probes if probe.host}),
        "kernel": sorted({probe.kernel for probe in probes if probe.kernel}),
        "CPUs": [str(cpus)] if cpus else [],
    }
    columns = "join*: columns without names, assumed to be the runs in order"
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
            *([columns] if joined.used else []),
            *_notes_of_files(runs),
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
        *_notes_of_scan(records, rules),
        *_notes_of_groups(records),
        *manifest.warnings,
    ]
    return ImportedExperiment(manifest, records, notes)


def _joined_alone(directory: Directory) -> list[Problem]:
    """Return the problems of tables of counters without results."""
    joined = directory.tables.of_kind(Joined)
    return [Problem(table.path, "there are neither runs nor rates for it") for table in joined]


def _order(directory: Directory, runs: Sequence[RunDirectory]) -> list[str]:
    """Return the runs by version, the base first; runs of one version as in the first table.

    If only relative rates are known, the base is the run that they are relative to.
    """
    tables = directory.tables
    columns = [table.runs for table in tables.of_runs]
    first = list(columns[0]) if columns else []
    named = {run.name for run in runs}.union(*columns)
    ordered = by_version([*first, *sorted(named - set(first), key=order_of_runs)])
    if tables.relative and not (runs or len(tables.relative) < len(tables.with_results)):
        return list(dict.fromkeys([tables.relative[0].runs[0], *ordered]))
    return ordered


def _of_runs(
    directory: Directory,
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    reading: Reading,
    clients: RunClients,
) -> list[tuple[Slice, Cpu | None]]:
    """Return slices, each with the sums of vmstat if its clean means are used, or could be.

    They are used for tests with samples in all of their runs, including runs in tables.
    """
    sampled = {(run.name, *key) for run in runs for key, test in run.tests.items() if test.cpu}
    there = {(run.name, *key) for run in runs for key in run.tests}
    for table in directory.tables.of_kind(Hardware):
        for name, rows in table.blocks.items():
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
                run.complain(f"*.{key[0]}", "no rate" if count else NOT_KNOWN)
    return records


def _of_tables(
    rows: TableRows, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    places = [record.place for record in records]
    there = {(place.contender, place.test, place.clients) for place in places}
    loaded = {place.contender for place in places if place.test == LOAD}
    missing = []
    for row in rows.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test, row.clients) in there:
            continue
        if row.test == LOAD and title in loaded:
            continue
        record = slice_of_row(row, title, reading.scan(row.run).rule, reading.cpus)
        if record is not None:
            missing.append(record)
    return missing


def _tests(directory: Directory, records: Sequence[Slice]) -> list[str]:
    """Return the tests in running order, or else in the order of the tables of rates."""
    files = {
        (file, record.place.test) for record in records if (file := file_of(record)) is not None
    }
    in_tables = [
        test
        for hardware in directory.tables.of_kind(Hardware)
        for name in hardware.blocks
        for file, test in files
        if name.startswith(LOAD_BLOCK + file if test == LOAD else block_name(file, None))
    ]
    ordered = order_suffixes({record.place.test for record in records})
    return list(dict.fromkeys([*in_tables, *ordered]))


def _imported(
    directory: Directory,
    runs: Sequence[RunDirectory],
    joined: JoinedTables,
    probed: Sequence[tuple[str, Cpu]],
    reading: Reading,
) -> Imported:
    tables = directory.tables
    published = published_numbers(runs, reading.scan)
    cut, cut_off = find_cut(tables, published)
    problems = [
        *directory.problems,
        *(problem for run in runs for problem in run.problems),
        *check_runs(runs, reading.scan),
        *check_tables(tables, published),
        *cut_off,
    ]
    checked = [tables.checked, *(run.checked for run in runs), Counter(join=joined.checked)]
    by_products = [tables.by_products, *(run.by_products for run in runs)]
    return Imported(
        kind=SYSBENCH.name,
        mode=str(reading.mode),
        source=readable(directory.name),
        path=readable(str(directory.path)),
        condition=directory.condition or None,
        whole=directory.whole,
        device=", ".join(sorted({run.device for run in runs if run.device})) or None,
        used=len(tables.with_results) + joined.used + sum(run.used for run in runs),
        checked=dict(sorted(sum(checked, Counter()).items())),
        by_products=dict(sorted(sum(by_products, Counter()).items())),
        skipped=recorded(problems, directory.path),
        tables=msgspec.to_builtins(classic_tables(tables, directory.path, cut)),
        differences=_differences(runs, probed, reading),
    )


def _differences(
    runs: Sequence[RunDirectory], probed: Sequence[tuple[str, Cpu]], reading: Reading
) -> list[str]:
    """Return sentences on the differences between clean and published numbers."""
    compat = reading.mode is Mode.COMPAT
    sentences = []
    typical = []
    for name in ("cpu_percent", "switches_per_second"):
        pairs = [(getattr(sums.clean, name), getattr(sums.published, name)) for _, sums in probed]
        if more := [clean / published - 1 for clean, published in pairs if published]:
            typical.append(f"{median(more):.1%} ({min(more):.1%} to {max(more):.1%})")
    if len(typical) == 2:
        claim = "clean numbers would be higher" if compat else "higher than published"
        tests = counted(len({test for test, _ in probed}), "test")
        sentences.append(
            f"{claim}: cpu/o {typical[0]} and cs/o {typical[1]} in {tests}, because the published "
            "means count vmstat's repeated headers as idle seconds"
        )
    ratios = []
    for run in runs:
        for test in run.tests.values():
            of_one = reading.scan(run.name).rule is ScanRule.ONE_THREAD
            if of_one and test.file.test == SCAN and test.output is not None:
                published = published_rate(SCAN, test.output, ScanRule.ONE_THREAD)
                clean = clean_scan_rate(test.output)
                if published is not None and clean and published.value > 0:
                    ratios.append(clean / published.value)
    if ratios:
        sentences.append(
            f"the rate of scan {'would be' if compat else 'is'} over all threads: "
            f"{median(ratios):.1f} times the published rate, which is for one thread"
        )
    missing = {
        name
        for run in runs
        for test in run.tests.values()
        for values in test.counters.values()
        for name, value in values.items()
        if value == NOT_SUPPORTED
    }
    if missing:
        sentences.append(
            "counters of -1, which the machine lacks and whose published ratio of 1.000 is "
            f"meaningless, are excluded: {', '.join(sorted(missing))}"
        )
    return sentences


def _notes_of_scan(records: Sequence[Slice], rules: ScanRules) -> list[str]:
    """Return the rules of published rates of scan, and the units used here."""
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    absolute = [record for record in scans if not is_relative(record.unit)]
    if not absolute:
        return []
    by_rule: dict[ScanRule, list[str]] = {}
    for run in dict.fromkeys(map(run_of, absolute)):
        by_rule.setdefault(rules(run).rule, []).append(run)
    clauses = []
    for rule, same in by_rule.items():
        of_runs = f" of {beginning(same, _MOST_LISTED)}" if len(by_rule) > 1 else ""
        why = max(map(rules, same), key=lambda choice: choice.sure).why
        clauses.append(f"published rates{of_runs} are for {rule}, {why}")
    units = sorted({record.unit for record in absolute})
    return [f"scan: {'; '.join(clauses)}; here in {' and '.join(units)}"]


def _notes_of_groups(records: Sequence[Slice]) -> list[str]:
    """Return each note that several results may have, with their number and their tests."""
    lines = []
    for note in _OF_GROUPS:
        noted = [record for record in records if record.printed and note in record.printed.notes]
        if noted:
            shown = beginning(sorted({record.place.test for record in noted}), _MOST_LISTED)
            lines.append(f"{note}: {counted(len(noted), 'result')}, {shown}")
    return lines


def _notes_of_files(runs: Sequence[RunDirectory]) -> list[str]:
    """Return remarks on files that are used, and the errors that sysbench ignored."""
    by_remark: dict[str, list[str]] = {}
    for run in runs:
        for remark, name in run.remarks:
            by_remark.setdefault(remark, []).append(f"{run.name}/{name}")
    notes = [
        f"{remark}: {beginning(by_remark[remark], _MOST_LISTED)}" for remark in sorted(by_remark)
    ]
    ignored = [
        (key[0], test.output.ignored)
        for run in runs
        for key, test in run.tests.items()
        if test.output is not None and test.output.ignored
    ]
    if ignored:
        tests = beginning(sorted({test_of(test) for test, _ in ignored}), _MOST_LISTED)
        errors = counted(sum(count for _, count in ignored), "error")
        notes.append(
            f"sysbench ignored {errors} (for instance deadlocks, after which it repeats the "
            f"transaction) in {counted(len(ignored), 'result')}: {tests}"
        )
    return notes


_OWN = re.compile(
    r"(?:sb|qps\.abs|qps\.rel|o\.met|o\.qps\.(?:abs|rel)|join\d+|conf\.diff)(?:\..*)?"
    r"|o\.sum\.\w+\.(?:abs|rel)|met\..+\.txt"
)
_SCAN_RULES = {rule.value.replace(" ", "-"): rule for rule in ScanRule}


class SysbenchKind:
    """Archives of sysbench."""

    name = SYSBENCH.name

    def owns(self, file: str) -> bool:
        return _OWN.fullmatch(file) is not None

    def reads(self, file: str) -> bool:
        name = parse_file(file)
        return is_table(file) if name is None else reads(name)

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> list[Candidate]:
        with temporary_folder() as place:
            directories = scan(roots, foreign, Packed(place))
            # All files are read at once, so that two processes share them.
            names = {path: names for home in directories for path, names in home.runs.items()}
            runs = {run.path: run for run in read_runs(names, options["device"])}
        candidates = []
        for part in arrange(directories, runs):
            make = partial(
                make_experiment,
                directory=part,
                runs=[runs[path] for path in part.runs],
                mode=mode,
                scan_rule=_SCAN_RULES.get(options["scan"]),
                given_clients=options["clients"],
            )
            if part.empty:
                part.tables.problems += _joined_alone(part)
            candidates.append(Candidate(None if part.empty else part.name, make, part.tables))
        return candidates

    def writes(self, slices: Sequence[Slice]) -> bool:
        return not any(measured_in_steps(record.place.benchmark) for record in slices)

    def files(self, manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
        if manifest.imported is None:
            return measured_files(report, slices)
        return published_files(manifest, slices)
