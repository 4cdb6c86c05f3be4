"""An experiment of the store, made of one directory of archived runs of sysbench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust import __version__
from slowdust.archive import joined_counters, named_clients, rate_tables, slices, table_slices
from slowdust.archive.checks import check_runs, check_tables
from slowdust.archive.choices import Choices, Mode
from slowdust.archive.contenders import facts_of, titles_of, undecoded
from slowdust.archive.differences import differences_of
from slowdust.archive.joined_counters import JoinedTables, use_joined
from slowdust.archive.named_clients import NamedClients
from slowdust.archive.names import order_of_runs
from slowdust.archive.problems import Problem, recorded
from slowdust.archive.rates import SCAN, is_relative
from slowdust.archive.run_directory import LOAD, RunDirectory, TestKey
from slowdust.archive.scan_choice import ScanChoice, choose_scan_rule
from slowdust.archive.scanning import Place
from slowdust.archive.slices import Reading
from slowdust.archive.text import readable
from slowdust.store.manifest import (
    ArchivedTable,
    Imported,
    Manifest,
    Method,
)
from slowdust.store.records import SCHEMA, Slice

KIND = "sysbench"
MARGIN = 0.03


@dataclass
class ArchivedExperiment:
    """What is written into the store, and what a summary tells beside it."""

    manifest: Manifest
    slices: list[Slice]
    notes: list[str] = field(default_factory=list)
    """Sentences about tests whose files are not all there."""
    whole: bool = True
    """Whether all of its directory was given to the import, not only runs of it."""


def make_experiment(
    name: str, place: Place, runs: Sequence[RunDirectory], choices: Choices
) -> ArchivedExperiment | None:
    """Everything that the files of a directory say.

    None where they say nothing; the problems of `place` and `runs` tell why.
    """
    order = _order(place, runs)
    titles = titles_of(order)
    cpus = next((run.cpus for run in runs if run.cpus), None)
    choice = choose_scan_rule(place.around, runs, choices.scan)
    reading = Reading(choices.mode, choice.rule, cpus)
    clean = _clean_tests(runs) if choices.mode is Mode.CLEAN else set()
    named = None if choices.clients else _named_clients(place, runs)
    records = _of_runs(
        runs, titles, reading, clean, named.count if named is not None else choices.clients
    )
    rows = table_slices.read_tables(place, records, choices.clients)
    if named is not None:
        rows.named.add(named)
    place.problems.extend(rows.problems)
    place.problems.extend(
        Problem(place.path / table, named_clients.NOT_KNOWN)
        for table in sorted(rows.without_clients)
    )
    records += _of_tables(rows, records, titles, reading)
    joined = use_joined(place.tables.joined, runs, order, records)
    place.problems.extend(joined.problems)
    if not records:
        return None
    if choices.mode is Mode.CLEAN:
        for record in records:
            slices.leave_out_hardware_of_all_threads(record)
    problems = [*place.problems, *(problem for run in runs for problem in run.problems)]
    problems += check_runs(runs, choice.rule)
    problems += check_tables(place.tables, runs, choice.rule)
    measured = {record.contender for record in records}
    contenders = [facts_of(run, titles[run]) for run in order if titles[run] in measured]
    rank = {contender.name: place for place, contender in enumerate(contenders)}
    tests = _tests(place, records)
    records.sort(key=lambda one: (tests.index(one.test), one.clients, rank[one.contender]))
    days = sorted(probe.day for run in runs for probe in run.probes if probe.day)
    manifest = Manifest(
        schema=SCHEMA,
        experiment=name,
        slowdust=__version__,
        started=days[0] if days else None,
        base=contenders[0].name,
        contenders=contenders,
        tests=tests,
        clients=sorted({record.clients for record in records}),
        method=_method(runs),
        host=_host(runs, cpus),
        imported=Imported(
            kind=KIND,
            mode=str(choices.mode),
            source=readable(place.name),
            path=readable(str(place.path.resolve())),
            device=", ".join(sorted({run.device for run in runs if run.device})) or None,
            used=place.tables.used + joined.used + sum(run.used for run in runs),
            checked=_checked(place, joined, runs),
            by_products=_summed([place.tables.by_products, *(run.by_products for run in runs)]),
            skipped=recorded(problems, place.path),
            tables=_tables_of(place),
            differences=differences_of(runs, choice.rule, choices.mode),
        ),
    )
    assumed = [*place.assumed, *joined.assumed]
    manifest.warnings += assumed
    notes = [
        *undecoded(contenders),
        *named_clients.notes(rows.named),
        *_scan_note(records, choice),
        *_notes(records),
        *assumed,
    ]
    return ArchivedExperiment(manifest, records, notes, place.whole)


def _order(place: Place, runs: Sequence[RunDirectory]) -> list[str]:
    """Names of runs: as the first table has them, the base first; else by version."""
    columns = [table.runs for table in place.tables.of_runs]
    first = list(columns[0]) if columns else []
    named = {run.name for run in runs}.union(*columns)
    return [*first, *sorted(named - set(first), key=order_of_runs)]


def _clean_tests(runs: Sequence[RunDirectory]) -> set[TestKey]:
    """Those of which every run that has the test has vmstat's samples."""
    keys = {key for run in runs for key in run.tests}
    return {
        key
        for key in keys
        if all(test.cpu is not None for run in runs if (test := run.tests.get(key)))
    }


def _of_runs(
    runs: Iterable[RunDirectory],
    titles: dict[str, str],
    reading: Reading,
    clean: set[TestKey],
    clients: int | None,
) -> list[Slice]:
    found = []
    for run in runs:
        for key, test in run.tests.items():
            count = test.dop or run.dop or clients
            record = count and slices.slice_of(
                run, test, count, titles[run.name], reading, clean_cpu=key in clean
            )
            if record:
                found.append(record)
            else:
                what = "no rate" if count else named_clients.NOT_KNOWN
                run.problems.append(Problem(run.path / f"*.{key[0]}", what))
    return found


def _named_clients(place: Place, runs: Iterable[RunDirectory]) -> NamedClients | None:
    """What names of directories tell; None where the runs' files do."""
    untold = any(run.dop is None and run.tests for run in runs)
    return named_clients.of_directories(place.around) if untold else None


def _of_tables(
    rows: table_slices.TableRows, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    there = {(record.contender, record.test, record.clients) for record in records}
    loaded = {record.contender for record in records if record.test == LOAD}
    found = []
    for row in rows.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test, row.clients) in there:
            continue
        if row.test == LOAD and title in loaded:
            continue
        record = table_slices.slice_of(row, title, reading.scan, reading.cpus)
        if record is not None:
            found.append(record)
    most = Counter(record.clients for record in found if record.test != LOAD).most_common(1)
    for record in found:
        if record.test == LOAD and most:
            record.clients = most[0][0]
    return found


def _tests(place: Place, records: Sequence[Slice]) -> list[str]:
    """In the order in which they ran, where a table tells it; else that of the tables of rates."""
    files = {
        (record.archived.file, record.test)
        for record in records
        if record.archived is not None and record.archived.file is not None
    }
    told = [
        test
        for hardware in place.tables.hardware
        for name in hardware.table.blocks
        for common, test in files
        if name.startswith(table_slices.block_name(test, common, 0).removesuffix(".dop0"))
    ]
    ordered = rate_tables.order_of_suffixes({record.test for record in records})
    return list(dict.fromkeys([*told, *ordered]))


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


def _checked(place: Place, joined: JoinedTables, runs: Sequence[RunDirectory]) -> dict[str, int]:
    of_tables = place.tables.checked + Counter({"join": joined.checked} if joined.checked else {})
    return _summed([of_tables, *(run.checked for run in runs)])


def _summed(counts: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _tables_of(place: Place) -> list[ArchivedTable]:
    found = [
        ArchivedTable(
            kind="rates" if rates.table.base is None else "relative rates",
            tag=rates.tag,
            runs=list(rates.runs),
            rows=list(rates.table.rows),
            folder=_folder(rates.path, place.path),
        )
        for rates in (*place.tables.rates, *place.tables.relative)
    ]
    found += [
        ArchivedTable(
            kind="hardware",
            tag=hardware.tag,
            runs=hardware.runs,
            rows=list(hardware.table.blocks),
            folder=_folder(hardware.path, place.path),
        )
        for hardware in place.tables.hardware
    ]
    tags = place.tables.counter_tags
    found += [ArchivedTable(kind="counters", tag=tag, runs=[]) for tag in tags]
    return found


def _folder(path: Path, home: Path) -> str:
    return "" if path.parent == home else str(path.parent.relative_to(home))


def _scan_note(records: Sequence[Slice], choice: ScanChoice) -> list[str]:
    scans = [record.unit for record in records if record.test.startswith(f"{SCAN}.")]
    units = sorted({unit for unit in scans if not is_relative(unit)})
    if not units:
        return []
    return [
        f"scan: published rates are of {choice.rule.value}, {choice.why}; here in "
        f"{' and '.join(units)}"
    ]


def _notes(records: Sequence[Slice]) -> list[str]:
    """What is told of whole groups of tests, not line by line."""
    notes = []
    for flag in (
        slices.FROM_MET,
        slices.FROM_RATE,
        table_slices.FROM_TABLE,
        table_slices.FROM_RELATIVE,
        joined_counters.FROM_JOINED,
        joined_counters.RELATIVE,
        slices.RATE_OF_ONE_THREAD,
        slices.COUNTERS_OF_ALL_THREADS,
    ):
        tests = [record.test for record in records if flag in record.flags]
        if tests:
            names = sorted(set(tests))
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")
            results = f"{len(tests)} result{'' if len(tests) == 1 else 's'}"
            notes.append(f"{flag}: {results}, {shown}")
    return notes
