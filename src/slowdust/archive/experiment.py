"""An experiment of the store, made of one directory of archived runs of sysbench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust import __version__
from slowdust.archive import named_clients, rate_tables, slices, table_slices
from slowdust.archive.choices import Choices, Mode
from slowdust.archive.contenders import facts_of, titles_of, undecoded
from slowdust.archive.differences import differences_of
from slowdust.archive.named_clients import NamedClients
from slowdust.archive.names import order_of_runs
from slowdust.archive.rates import SCAN, ScanRule, rule_by_date, rule_that_reproduces
from slowdust.archive.run_directory import LOAD, ArchivedTest, Problem, RunDirectory, TestKey
from slowdust.archive.scanning import Place
from slowdust.archive.slices import Reading
from slowdust.archive.text import readable
from slowdust.store.manifest import (
    ArchivedTable,
    Imported,
    Manifest,
    Method,
    SkippedFile,
)
from slowdust.store.records import SCHEMA, Slice

KIND = "sysbench"
MARGIN = 0.03


@dataclass(frozen=True)
class ScanChoice:
    """The rule of scan's rate, and how it was found."""

    rule: ScanRule
    why: str


@dataclass
class ArchivedExperiment:
    """What is written into the store, and what a summary tells beside it."""

    manifest: Manifest
    slices: list[Slice]
    notes: list[str] = field(default_factory=list)
    """Sentences about tests whose files are not all there."""


def make_experiment(
    name: str, place: Place, runs: Sequence[RunDirectory], choices: Choices
) -> ArchivedExperiment | None:
    """Everything that the files of a directory say.

    None where they say nothing; the problems of `place` and `runs` tell why.
    """
    order = _order(place, runs)
    titles = titles_of(order)
    cpus = next((run.cpus for run in runs if run.cpus), None)
    choice = choose_scan_rule(place, runs, choices.scan)
    reading = Reading(choices.mode, choice.rule, cpus)
    clean = _clean_tests(runs) if choices.mode is Mode.CLEAN else set()
    named = None if choices.clients else _named_clients(place, runs)
    records = _of_runs(
        runs, titles, reading, clean, named.count if named is not None else choices.clients
    )
    tables = table_slices.read_tables(place, _levels_of(records), choices.clients)
    if named is not None:
        tables.named.add(named)
    place.problems += [
        Problem(place.path / table, named_clients.NOT_KNOWN)
        for table in sorted(tables.without_clients)
    ]
    contradictions = _contradictions(place, records, tables)
    records += _of_tables(tables, records, titles, reading)
    if not records:
        return None
    if choices.mode is Mode.CLEAN:
        for record in records:
            slices.leave_out_hardware_of_all_threads(record)
    problems = [*place.problems, *(problem for run in runs for problem in run.problems)]
    problems += contradictions
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
            used=place.used + sum(run.used for run in runs),
            by_products=_by_products(place, runs),
            skipped=[_skipped(problem, place.path) for problem in problems],
            tables=_tables_of(place),
            differences=differences_of(runs, choice.rule, choices.mode),
        ),
    )
    notes = [
        *undecoded(contenders),
        *named_clients.notes(tables.named),
        *_scan_note(records, choice),
        *_notes(records),
    ]
    return ArchivedExperiment(manifest, records, notes)


def choose_scan_rule(
    place: Place, runs: Sequence[RunDirectory], wanted: ScanRule | None
) -> ScanChoice:
    """By what the user says, by what reproduces the published rates, else by date."""
    if wanted is not None:
        return ScanChoice(wanted, "as asked for")
    scans = [
        (test.output, published)
        for run in runs
        for test in run.tests.values()
        if test.file.test == SCAN and test.output is not None and (published := _published(test))
    ]
    if rule := rule_that_reproduces(scans):
        return ScanChoice(rule, "which reproduces the published rates")
    days = sorted(probe.day for run in runs for probe in run.probes if probe.day)
    path = place.path.resolve()
    names = [path.name, *(parent.name for parent in path.parents)]
    if rule := rule_by_date(names, days[0] if days else None):
        return ScanChoice(rule, "by the date of the run")
    return ScanChoice(ScanRule.ALL_THREADS, "assumed: neither a published rate nor a date tells")


def _published(test: ArchivedTest) -> str | None:
    if test.met is not None:
        return test.met.rate
    printed = test.rates.get("r.qps")
    return printed.number if printed else None


def _order(place: Place, runs: Sequence[RunDirectory]) -> list[str]:
    """Names of runs: as the first table has them, the base first; else by version."""
    names = sorted({run.name for run in runs} | place.known_runs, key=order_of_runs)
    columns = next(
        (
            list(table)
            for table in (
                *(rates.table.runs for rates in place.rates),
                *(hardware.runs for hardware in place.hardware),
            )
        ),
        [],
    )
    return [*columns, *(name for name in names if name not in columns)]


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
    return named_clients.of_directory(place.path) if untold else None


def _levels_of(records: Iterable[Slice]) -> dict[str, set[int]]:
    """Test as the names of files have it -> its numbers of clients."""
    found: dict[str, set[int]] = {}
    for record in records:
        if record.test == LOAD:
            continue
        if record.archived is not None and record.archived.file is not None:
            found.setdefault(record.archived.file, set()).add(record.clients)
    return found


def _of_tables(
    tables: table_slices.Tables, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    there = {(record.contender, record.test) for record in records}
    found = []
    for row in tables.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test) in there:
            continue
        record = table_slices.slice_of(row, title, reading.scan, reading.cpus)
        if record is not None:
            found.append(record)
    most = Counter(record.clients for record in found if record.test != LOAD).most_common(1)
    for record in found:
        if record.test == LOAD and most:
            record.clients = most[0][0]
    return found


def _contradictions(
    place: Place, records: Sequence[Slice], tables: table_slices.Tables
) -> list[Problem]:
    """Tables that say something else than the files of the runs that they are of."""
    whole = {
        (record.archived.run, record.archived.file, record.clients): record.archived.whole_rate
        for record in records
        if record.archived is not None and record.test != LOAD
    }
    other = [
        row
        for key, row in tables.rows.items()
        if row.rate is not None
        and (made := whole.get(key)) is not None
        and made.partition("\t")[0] != row.rate
        and not row.common.startswith(SCAN)
    ]
    if not other:
        return []
    shown = ", ".join(f"{row.test} of {row.run}" for row in other[:3])
    rates = "1 rate is" if len(other) == 1 else f"{len(other)} rates are"
    return [
        Problem(
            place.rates[0].path,
            f"{rates} not what the runs' own files say, which count: {shown}",
            partly=True,
        )
    ]


def _tests(place: Place, records: Sequence[Slice]) -> list[str]:
    """In the order in which they ran, where a table tells it; else that of the tables of rates."""
    files = {
        (record.archived.file, record.test)
        for record in records
        if record.archived is not None and record.archived.file is not None
    }
    told = [
        test
        for hardware in place.hardware
        for name in hardware.blocks
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


def _by_products(place: Place, runs: Sequence[RunDirectory]) -> dict[str, int]:
    total = Counter(place.by_products)
    for run in runs:
        total.update(run.by_products)
    return dict(sorted(total.items()))


def _skipped(problem: Problem, home: Path) -> SkippedFile:
    inside = problem.path.is_relative_to(home)
    path = problem.path.relative_to(home) if inside else problem.path.name
    return SkippedFile(file=readable(str(path)), reason=problem.reason, partly=problem.partly)


def _tables_of(place: Place) -> list[ArchivedTable]:
    found = [
        ArchivedTable(
            kind="rates",
            tag=rates.tag,
            runs=list(rates.table.runs),
            rows=list(rates.table.rows),
            folder=_folder(rates.path, place.path),
        )
        for rates in place.rates
    ]
    found += [
        ArchivedTable(
            kind="hardware",
            tag=hardware.tag,
            runs=hardware.runs,
            rows=list(hardware.blocks),
            folder=_folder(hardware.path, place.path),
        )
        for hardware in place.hardware
    ]
    found += [ArchivedTable(kind="counters", tag=tag, runs=[]) for tag in place.counters]
    return found


def _folder(path: Path, home: Path) -> str:
    return "" if path.parent == home else str(path.parent.relative_to(home))


def _scan_note(records: Sequence[Slice], choice: ScanChoice) -> list[str]:
    units = sorted({record.unit for record in records if record.test.startswith(f"{SCAN}.")})
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
