"""Tables of joined counters: made of the runs' own, or all that is left of them.

A table has no names of runs. Which column is whose follows from the runs' own counters, else from
how many runs there are; else nothing is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.checks import differing
from slowdust.archive.sysbench.found_tables import Joined
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.slices import counters_of
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
    """What became of the tables of an experiment."""

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
    found = JoinedTables()
    own = _own(runs)
    by_test: dict[str, list[Slice]] = {}
    for record in records:
        if record.archived is not None and record.archived.classic.file is not None:
            by_test.setdefault(record.archived.classic.file, []).append(record)
    absolute: dict[tuple[str, Key], Columns] = {}
    missing = _missing(tables)
    assumed = False
    for table in sorted(tables, key=lambda one: (one.relative, one.file.iteration or 0)):
        key = (table.file.common, table.file.iteration or 0)
        runs_own = [own[key][run] for run in order if run in own.get(key, {})]
        beside = absolute.get((table.tag, key), [])
        if not table.relative:
            absolute[table.tag, key] = beside = _sources(table.columns, runs_own)
        if runs_own or (table.relative and beside):
            found.checked += 1
            check = _relative if table.relative else _absolute
            found.problems += check(table, beside or runs_own)
            continue
        wrong = _give(table, missing, order, by_test.get(table.file.common, []))
        if wrong is None:
            found.used += 1
            assumed = True
        else:
            found.problems.append(Problem(table.path, wrong))
    if assumed:
        found.assumed.append("join*: columns without names, taken to be the runs in their order")
    return found


def _own(runs: Sequence[RunDirectory]) -> dict[Key, dict[str, Mapping[str, str]]]:
    """Run -> counters as printed, by test and iteration."""
    found: dict[Key, dict[str, Mapping[str, str]]] = {}
    for run in runs:
        for test in run.tests.values():
            for iteration, values in test.counters.items():
                found.setdefault((test.file.common, iteration), {})[run.name] = values
    return found


def _sources(columns: Columns, own: Columns) -> Columns:
    """For each column the run's own counters that it is most like; itself where there are none."""
    left = list(own)
    found: list[Mapping[str, str]] = []
    for column in columns:
        source = max(left, key=lambda one: len(column.items() & one.items()), default=column)
        left = [one for one in left if one is not source]
        found.append(source)
    return found


def _absolute(table: Joined, sources: Columns) -> Iterator[Problem]:
    cells = [
        (f"{name}, column {number}", value, source.get(name, ""))
        for number, (column, source) in enumerate(zip(table.columns, sources, strict=True), start=1)
        for name, value in column.items()
    ]
    yield from differing(table.path, cells, "sb.perf.hw")


def _relative(table: Joined, sources: Columns) -> Iterator[Problem]:
    """Of all of the sources in their order: with fewer columns it is not known of which."""
    if len(sources) != len(table.columns) + 1:
        return
    base, *others = sources
    cells = []
    for number, (column, source) in enumerate(zip(table.columns, others, strict=True), start=1):
        made = perf_stat.relative(source, base)
        cells += [
            (f"{name}, column {number}", value, made.get(name, ""))
            for name, value in column.items()
        ]
    yield from differing(table.path, cells, "join*.abs or sb.perf.hw")


def _missing(tables: Sequence[Joined]) -> set[str]:
    """Events that are 1 in all relative tables: so was published what is -1 in all of them, which
    the machine does not have."""
    found: dict[str, bool] = {}
    for column in (column for table in tables if table.relative for column in table.columns):
        for name, value in column.items():
            found[name] = found.get(name, True) and float(value) == 1
    return {name for name, always in found.items() if always and not perf_stat.is_ratio(name)}


def _give(
    table: Joined, missing: set[str], order: Sequence[str], records: Sequence[Slice]
) -> str | None:
    """Give the counters to the records of its test; else why not, in words."""
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
                said = parse_run(run)
                archived.counters = counters_of(values, record.qps, said.dbms if said else None)
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
    """The base's are 1."""
    kept = [{name: one[name] for name in one if name not in missing} for one in columns]
    return [{name: "1" for one in kept for name in one}, *kept]
