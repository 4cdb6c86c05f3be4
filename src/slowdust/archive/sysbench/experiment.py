"""An experiment of the store, made of one directory of archived runs of sysbench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust import __version__
from slowdust.archive.contenders import facts_of, titles_of, undecoded
from slowdust.archive.problems import recorded
from slowdust.archive.sysbench import notes as notes_of
from slowdust.archive.sysbench import table_slices
from slowdust.archive.sysbench.checks import check_runs, check_tables, published_numbers
from slowdust.archive.sysbench.choices import Choices
from slowdust.archive.sysbench.cut_tables import find_cut
from slowdust.archive.sysbench.differences import differences_of
from slowdust.archive.sysbench.joined_counters import JoinedTables
from slowdust.archive.sysbench.results import Results, results_of
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.scan_choice import choose_scan_rules
from slowdust.archive.sysbench.scanning import Place
from slowdust.archive.sysbench.slices import Reading
from slowdust.benchmarks.archived import SYSBENCH
from slowdust.formats.sysbench import named_clients, rate_tables
from slowdust.formats.sysbench.names import order_of_runs
from slowdust.formats.text import readable
from slowdust.store.manifest import ArchivedTable, Imported, Manifest, Method
from slowdust.store.slice import SCHEMA, Slice

MARGIN = 0.03


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
    titles = titles_of(_order(place, runs))
    cpus = next((run.cpus for run in runs if run.cpus), None)
    scan = choose_scan_rules(place.around, runs, choices.scan)
    reading = Reading(choices.mode, scan, cpus)
    found = results_of(place, runs, titles, choices, reading)
    place.problems.extend(found.problems)
    if not found.slices:
        return None
    manifest = _manifest(name, place, runs, found, reading)
    tests, rank = manifest.tests, list(titles.values())
    found.slices.sort(
        key=lambda record: (
            tests.index(record.place.test),
            record.place.clients,
            rank.index(record.place.contender),
        )
    )
    notes = [
        *undecoded(manifest.contenders),
        *named_clients.notes(found.named),
        *notes_of.of_scan(found.slices, scan),
        *notes_of.of_flags(found.slices),
        *manifest.warnings,
    ]
    return ArchivedExperiment(manifest, found.slices, notes)


def _manifest(
    name: str, place: Place, runs: Sequence[RunDirectory], found: Results, reading: Reading
) -> Manifest:
    measured = {record.place.contender for record in found.slices}
    contenders = [facts_of(run, title) for run, title in found.titles.items() if title in measured]
    days = sorted(probe.day for run in runs for probe in run.probes if probe.day)
    return Manifest(
        schema=SCHEMA,
        experiment=name,
        slowdust=__version__,
        started=days[0] if days else None,
        base=contenders[0].name,
        contenders=contenders,
        tests=_tests(place, found.slices),
        clients=sorted({record.place.clients for record in found.slices}),
        method=_method(runs),
        host=_host(runs, reading.cpus),
        warnings=[*place.assumed, *found.assumed],
        imported=_imported(place, runs, found, reading),
    )


def _imported(
    place: Place, runs: Sequence[RunDirectory], found: Results, reading: Reading
) -> Imported:
    problems = [*place.problems, *(problem for run in runs for problem in run.problems)]
    problems += check_runs(runs, reading.scan)
    published = published_numbers(runs, reading.scan)
    problems += check_tables(place.tables, *published)
    cut = list(find_cut(place.tables, *published))
    problems += [one.problem for one in cut]
    return Imported(
        kind=SYSBENCH.name,
        mode=str(reading.mode),
        source=readable(place.name),
        path=readable(str(place.path)),
        whole=place.whole,
        device=", ".join(sorted({run.device for run in runs if run.device})) or None,
        used=place.tables.used + found.joined.used + sum(run.used for run in runs),
        checked=_checked(place, found.joined, runs),
        by_products=_summed([place.tables.by_products, *(run.by_products for run in runs)]),
        skipped=recorded(problems, place.path),
        tables=_tables_of(place, {one.path: one.rows for one in cut if one.rows is not None}),
        differences=differences_of(found.probed, runs, reading),
    )


def _order(place: Place, runs: Sequence[RunDirectory]) -> list[str]:
    """Names of runs: as the first table has them, the base first; else by version."""
    columns = [table.runs for table in place.tables.of_runs]
    first = list(columns[0]) if columns else []
    named = {run.name for run in runs}.union(*columns)
    return [*first, *sorted(named - set(first), key=order_of_runs)]


def _tests(place: Place, records: Sequence[Slice]) -> list[str]:
    """In the order in which they ran, where a table tells it; else that of the tables of rates."""
    files = {
        (record.archived.classic.file, record.place.test)
        for record in records
        if record.archived is not None and record.archived.classic.file is not None
    }
    told = [
        test
        for hardware in place.tables.hardware
        for name in hardware.table.blocks
        for common, test in files
        if name.startswith(table_slices.block_name(test, common, 0).removesuffix(".dop0"))
    ]
    ordered = rate_tables.order_of_suffixes({record.place.test for record in records})
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


def _tables_of(place: Place, cut: Mapping[Path, Sequence[str]]) -> list[ArchivedTable]:
    """Those that are `cut` with the rows that they would have."""
    found = [
        ArchivedTable(
            kind="rates" if rates.table.base is None else "relative rates",
            tag=rates.tag,
            runs=list(rates.runs),
            rows=list(cut.get(rates.path, rates.table.rows)),
            folder=_folder(rates.path, place.path),
        )
        for rates in (*place.tables.rates, *place.tables.relative)
    ]
    found += [
        ArchivedTable(
            kind="hardware",
            tag=hardware.tag,
            runs=hardware.runs,
            rows=list(cut.get(hardware.path, hardware.table.blocks)),
            folder=_folder(hardware.path, place.path),
        )
        for hardware in place.tables.hardware
    ]
    tags = place.tables.counter_tags
    found += [ArchivedTable(kind="counters", tag=tag, runs=[]) for tag in tags]
    return found


def _folder(path: Path, home: Path) -> str:
    return "" if path.parent == home else str(path.parent.relative_to(home))
