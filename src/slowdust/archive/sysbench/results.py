"""The results of an experiment: of its runs' own files, and of tables where these are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench import slices, table_slices
from slowdust.archive.sysbench.choices import Choices, Mode
from slowdust.archive.sysbench.found_tables import Hardware
from slowdust.archive.sysbench.joined_counters import JoinedTables, use_joined
from slowdust.archive.sysbench.reading import PREPARE, Cpu
from slowdust.archive.sysbench.run_clients import RunClients
from slowdust.archive.sysbench.run_directory import RunDirectory, TestKey
from slowdust.archive.sysbench.scan_choice import part_units
from slowdust.archive.sysbench.scanning import Place
from slowdust.archive.sysbench.slices import Reading
from slowdust.benchmarks.archived import LOAD
from slowdust.formats.sysbench import named_clients
from slowdust.formats.sysbench.named_clients import NamedClients
from slowdust.formats.sysbench.names import parse_file
from slowdust.store.slice import Slice


@dataclass
class Results:
    """What the files of an experiment give."""

    titles: dict[str, str]
    """Run -> contender, the base first."""
    slices: list[Slice]
    probed: list[tuple[str, Cpu]]
    """Test, and what vmstat saw of it: of each result whose CPU is clean, or would be."""
    joined: JoinedTables
    assumed: list[str]
    """Sentences."""
    named: set[NamedClients] = field(default_factory=set)
    """Numbers of clients that only names tell."""
    problems: list[Problem] = field(default_factory=list)
    """Of tables."""


def results_of(
    place: Place,
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    choices: Choices,
    reading: Reading,
) -> Results:
    """Everything that has a rate; `titles` are run -> contender, the base first."""
    clients = RunClients(place, runs, choices.clients)
    clean = _clean_tests(runs, place.tables.hardware)
    of_runs = _of_runs(runs, titles, reading, clients, clean)
    found = [record for record, _ in of_runs]
    rows = table_slices.read_tables(place, found, choices.clients)
    found += _of_tables(rows, found, titles, reading)
    parted = part_units(found, list(titles.values()), reading.scan)
    joined = use_joined(place.tables.joined, runs, list(titles), found)
    if choices.mode is Mode.CLEAN:
        for record in found:
            slices.leave_out_hardware_of_all_threads(record)
    unknown = [
        Problem(place.path / table, named_clients.NOT_KNOWN)
        for table in sorted(rows.without_clients)
    ]
    return Results(
        titles,
        found,
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
    """Those of which every run that has the test has vmstat's samples, if only a table has it."""
    sampled = {(run.name, *key) for run in runs for key, test in run.tests.items() if test.cpu}
    there = {(run.name, *key) for run in runs for key in run.tests}
    for table in tables:
        for name, rows in table.table.blocks.items():
            if (file := parse_file(name)) is not None:
                key = (LOAD if file.kind.startswith(PREPARE) else file.common, file.dop)
                there |= {(row.run, *key) for row in rows if row.cpu}
    unclean = {(test, dop) for _, test, dop in there - sampled}
    return {(test, dop) for _, test, dop in sampled} - unclean


def _of_runs(
    runs: Sequence[RunDirectory],
    titles: dict[str, str],
    reading: Reading,
    clients: RunClients,
    clean: Set[TestKey],
) -> list[tuple[Slice, Cpu | None]]:
    """Records, and what vmstat saw of those whose clean means count, or would count."""
    found = []
    for run in runs:
        for key, test in run.tests.items():
            count = clients.of(run, test)
            cpu = test.cpu if key in clean else None
            counting = cpu.clean if cpu and reading.mode is Mode.CLEAN else None
            record = count and slices.slice_of(
                run, test, count, titles[run.name], reading, clean=counting
            )
            if record:
                found.append((record, cpu))
            else:
                what = "no rate" if count else named_clients.NOT_KNOWN
                run.problems.append(Problem(run.path / f"*.{key[0]}", what))
    return found


def _of_tables(
    rows: table_slices.TableRows, records: Sequence[Slice], titles: dict[str, str], reading: Reading
) -> list[Slice]:
    there = {
        (record.place.contender, record.place.test, record.place.clients) for record in records
    }
    loaded = {record.place.contender for record in records if record.place.test == LOAD}
    found = []
    for row in rows.rows.values():
        title = titles.get(row.run)
        if title is None or (title, row.test, row.clients) in there:
            continue
        if row.test == LOAD and title in loaded:
            continue
        scan = reading.scan.rule(row.run)
        record = table_slices.slice_of(row, title, scan, reading.cpus)
        if record is not None:
            found.append(record)
    return found
