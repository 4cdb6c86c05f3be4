"""Tables of joined counters: made of the runs' own, or all that is left of them.

A table has no names of runs. Which column is whose follows from the runs' own counters, else from
how many runs there are; else nothing is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.problems import Cell, Problem, differing
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.slices import counters_of
from slowdust.archive.sysbench.tables.summary_tables import Joined
from slowdust.formats.sysbench import perf_stat
from slowdust.formats.sysbench.names import parse_run
from slowdust.store.archived import Archived
from slowdust.store.slice import Slice
from slowdust.wording import counted

FROM_JOINED = "counters are those of a joined table: the run's own are not there"
RELATIVE = "counters are relative to the base's: only a table of relative ones is there"
Key = tuple[str, int]
"""`FileName.common` and iteration."""
Columns = Sequence[Mapping[str, str]]


@dataclass
class JoinedTables:
    """Counts and problems of the tables of an experiment."""

    used: int = 0
    checked: int = 0
    problems: list[Problem] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)


def use_joined(
    tables: Sequence[Joined],
    runs: Sequence[RunDirectory],
    order: Sequence[str],
    records: Sequence[Slice],
) -> JoinedTables:
    """Compare the tables with the runs' counters, or give the records those that they lack.

    `order` are the names of the experiment's runs, the base first.
    """
    outcome = JoinedTables()
    own = _own(runs)
    by_test: dict[str, list[Slice]] = {}
    for record in records:
        if record.archived is not None and record.archived.classic.file is not None:
            by_test.setdefault(record.archived.classic.file, []).append(record)
    absolute: dict[tuple[str, Key], Columns] = {}
    missing = _missing(tables)
    assumed = False
    for table in sorted(tables, key=lambda table: (table.relative, table.file.iteration or 0)):
        key = (table.file.common, table.file.iteration or 0)
        runs_own = [own[key][run] for run in order if run in own.get(key, {})]
        beside = absolute.get((table.tag, key), [])
        if not table.relative:
            absolute[table.tag, key] = beside = _sources(table.columns, runs_own)
        if runs_own or (table.relative and beside):
            outcome.checked += 1
            check = _relative if table.relative else _absolute
            outcome.problems += check(table, beside or runs_own)
            continue
        wrong = _give(table, missing, order, by_test.get(table.file.common, []))
        if wrong is None:
            outcome.used += 1
            assumed = True
        else:
            outcome.problems.append(Problem(table.path, wrong))
    if assumed:
        outcome.assumed.append("join*: columns without names, taken to be the runs in their order")
    return outcome


def _own(runs: Sequence[RunDirectory]) -> dict[Key, dict[str, Mapping[str, str]]]:
    """Return the counters of each run as printed, by test and iteration."""
    counters: dict[Key, dict[str, Mapping[str, str]]] = {}
    for run in runs:
        for test in run.tests.values():
            for iteration, values in test.counters.items():
                counters.setdefault((test.file.common, iteration), {})[run.name] = values
    return counters


def _sources(columns: Columns, own: Columns) -> Columns:
    """Return for each column the run's own counters that it is most like, or else itself."""
    left = list(own)
    sources: list[Mapping[str, str]] = []
    for column in columns:
        source = max(left, key=lambda other: len(column.items() & other.items()), default=column)
        left = [other for other in left if other is not source]
        sources.append(source)
    return sources


def _absolute(table: Joined, sources: Columns) -> Iterator[Problem]:
    yield from differing(table.path, _cells(table, sources), "sb.perf.hw")


def _relative(table: Joined, sources: Columns) -> Iterator[Problem]:
    """Compare with all sources in their order: with fewer columns it is not known of which."""
    base, *others = sources
    if len(others) == len(table.columns):
        expected = [perf_stat.relative(source, base) for source in others]
        yield from differing(table.path, _cells(table, expected), "join*.abs or sb.perf.hw")


def _cells(table: Joined, sources: Columns) -> list[Cell]:
    return [
        (f"{name}, column {number}", value, source.get(name, ""))
        for number, (column, source) in enumerate(zip(table.columns, sources, strict=True), start=1)
        for name, value in column.items()
    ]


def _missing(tables: Sequence[Joined]) -> set[str]:
    """Return the events that are 1 in all relative tables, which the machine does not have.

    They were published so where they are -1 in all of the tables.
    """
    columns = [column for table in tables if table.relative for column in table.columns]
    values = [pair for column in columns for pair in column.items()]
    others = {name for name, value in values if float(value) != 1}
    return {name for name, _ in values if name not in others and not perf_stat.is_ratio(name)}


def _give(
    table: Joined, missing: set[str], order: Sequence[str], records: Sequence[Slice]
) -> str | None:
    """Give the counters to the slices of the table's test; else return why not, in words."""
    columns = _with_base(table.columns, missing) if table.relative else table.columns
    if len(columns) != len(order):
        return f"which of {counted(len(order), 'run')} its columns are of is not known"
    by_run: dict[str, list[tuple[Slice, Archived]]] = {}
    for record in records:
        archived = record.archived
        if archived is not None and (archived.counters is None or _of_joined(record)):
            by_run.setdefault(archived.classic.run, []).append((record, archived))
    if not by_run:
        return "counters of 10 s, and no rate to divide them by"
    if any(len(several) > 1 for several in by_run.values()):
        return "of which number of clients it is, is not known"
    for run, values in zip(order, columns, strict=True):
        for record, archived in by_run.get(run, []):
            iteration = str(table.file.iteration or 0)
            if archived.counters is None:
                name = parse_run(run)
                archived.counters = counters_of(values, record.qps, name.dbms if name else None)
                archived.notes.append(RELATIVE if table.relative else FROM_JOINED)
                if table.relative:
                    archived.counters.relative_to = order[0]
            if not table.relative:
                archived.classic.counters[iteration] = dict(values)
    return None


def _of_joined(record: Slice) -> bool:
    return record.archived is not None and not {FROM_JOINED, RELATIVE}.isdisjoint(
        record.archived.notes
    )


def _with_base(columns: Sequence[Mapping[str, str]], missing: set[str]) -> Columns:
    """Add the column of the base, whose counters are 1."""
    kept = [{name: column[name] for name in column if name not in missing} for column in columns]
    return [{name: "1" for column in kept for name in column}, *kept]
