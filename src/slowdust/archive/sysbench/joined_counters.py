"""Tables of joined counters: made of the runs' own, or all that is left of them.

A table has no names of runs. Which column is whose follows from the runs' own counters, else from
how many runs there are; else nothing is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.archive.classic import file_of, run_of
from slowdust.archive.files import differing
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.slices import counters_of
from slowdust.archive.sysbench.summary_tables import Joined
from slowdust.exchange import Problem
from slowdust.store.measured import Printed
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
    own: dict[Key, dict[str, Mapping[str, str]]] = {}
    for run in runs:
        for test in run.tests.values():
            for iteration, values in test.counters.items():
                own.setdefault((test.file.common, iteration), {})[run.name] = values
    by_test: dict[str, list[Slice]] = {}
    for record in records:
        if (file := file_of(record)) is not None:
            by_test.setdefault(file, []).append(record)
    absolute: dict[tuple[str, Key], Columns] = {}
    missing = _missing(tables)
    for table in sorted(tables, key=lambda table: (table.relative, table.file.iteration or 0)):
        key = (table.file.common, table.file.iteration or 0)
        runs_own = [own[key][run] for run in order if run in own.get(key, {})]
        beside = absolute.get((table.tag, key), [])
        if not table.relative:
            absolute[table.tag, key] = beside = _sources(table.columns, runs_own)
        if runs_own or (table.relative and beside):
            outcome.checked += 1
            outcome.problems += _compared(table, beside or runs_own)
        elif wrong := _give(table, missing, order, by_test.get(table.file.common, [])):
            outcome.problems.append(Problem(table.path, wrong))
        else:
            outcome.used += 1
    if outcome.used:
        outcome.assumed.append("join*: columns without names, taken to be the runs in their order")
    return outcome


def _compared(table: Joined, sources: Columns) -> Iterator[Problem]:
    """Compare a relative table with all sources: with fewer columns it is not known of which."""
    source = "sb.perf.hw"
    if table.relative:
        base, *others = sources
        sources = [counters.relative(other, base) for other in others]
        source = "join*.abs or sb.perf.hw"
    if len(sources) == len(table.columns):
        pairs = enumerate(zip(table.columns, sources, strict=True), start=1)
        cells = [
            (f"{name}, column {number}", value, expected.get(name, ""))
            for number, (column, expected) in pairs
            for name, value in column.items()
        ]
        yield from differing(table.path, cells, source)


def _sources(columns: Columns, own: Columns) -> Columns:
    """Return for each column the run's own counters that it is most like, or else itself."""
    left = list(own)
    sources: list[Mapping[str, str]] = []
    for column in columns:
        source = max(left, key=lambda other: len(column.items() & other.items()), default=column)
        left = [other for other in left if other is not source]
        sources.append(source)
    return sources


def _missing(tables: Sequence[Joined]) -> set[str]:
    """Return the events that are 1 in all relative tables, which the machine does not have.

    They were published so where they are -1 in all of the tables.
    """
    columns = [column for table in tables if table.relative for column in table.columns]
    values = [pair for column in columns for pair in column.items()]
    others = {name for name, value in values if float(value) != 1}
    return {name for name, _ in values if name not in others and not counters.is_ratio(name)}


def _give(
    table: Joined, missing: set[str], order: Sequence[str], records: Sequence[Slice]
) -> str | None:
    """Give the counters to the slices of the table's test; else return why not, in words."""
    columns: Columns = table.columns
    if table.relative:
        kept = [{name: each[name] for name in each if name not in missing} for each in columns]
        columns = [{name: "1" for column in kept for name in column}, *kept]  # the base's are 1
    if len(columns) != len(order):
        return f"which of {counted(len(order), 'run')} its columns are of is not known"
    by_run: dict[str, list[tuple[Slice, Printed]]] = {}
    for record in records:
        printed = record.printed
        if printed and (printed.counters is None or {FROM_JOINED, RELATIVE} & {*printed.notes}):
            by_run.setdefault(run_of(record), []).append((record, printed))
    if not by_run:
        return "counters of 10 s, and no rate to divide them by"
    if any(len(several) > 1 for several in by_run.values()):
        return "of which number of clients it is, is not known"
    for run, values in zip(order, columns, strict=True):
        for record, printed in by_run.get(run, []):
            if printed.counters is None:
                printed.counters = counters_of(values, record.qps, run)
                printed.notes.append(RELATIVE if table.relative else FROM_JOINED)
                if table.relative:
                    printed.counters.relative_to = order[0]
            if not table.relative:
                iteration = str(table.file.iteration or 0)
                printed.texts.setdefault("counters", {})[iteration] = dict(values)
    return None
