"""Compare files and tables with their sources: they may have been edited, cut or damaged.

The numbers of the source are used, and a difference is a problem of the file. A table that was cut
lacks tests of its runs, or rows of a test; it is written completely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from slowdust.archive.classic import ClassicTable, Row, file_of, relative_cells, run_of
from slowdust.archive.files import Cell, differing
from slowdust.archive.sysbench.counters import RATIOS, Extraction, convert_counters, relative
from slowdust.archive.sysbench.names import (
    LOAD_BLOCK,
    block_name,
    clients_in_name,
    common_of,
    parse_file,
)
from slowdust.archive.sysbench.rates import Rate, ScanRules, rate_of
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.run_files import MET_COLUMNS, make_met
from slowdust.archive.sysbench.slices import published_met
from slowdust.archive.sysbench.tables import (
    ABSENT,
    HARDWARE_COLUMNS,
    Hardware,
    Joined,
    Levels,
    Rates,
    Table,
    Tables,
    hardware_row,
    order_suffixes,
    order_tests,
    relative_rate,
    relative_rates,
    usual_clients,
)
from slowdust.exchange import Problem
from slowdust.store.manifest import Fate
from slowdust.store.measured import Printed
from slowdust.store.slice import Slice
from slowdust.text import beginning
from slowdust.wording import counted


@dataclass
class Published:
    """Numbers of runs, the sources of tables."""

    rates: dict[tuple[str, str], dict[int | None, str]]
    """Run and `FileName.common` -> clients -> rate as in tables."""
    hardware: dict[tuple[str, str], Row]
    """Name of a block and run -> its row of hardware."""

    def of_table(self, table: Rates, label: str, run: str) -> Mapping[int | None, str]:
        """Return the rates at the clients in the table's name if the runs have these; else all."""
        rates = self.rates.get((run, common_of(label, run) or ""), {})
        named = clients_in_name(table.path.name)
        return {named: rates[named]} if named in rates and named else rates


def published_numbers(runs: Iterable[RunDirectory], scan: ScanRules) -> Published:
    numbers = Published({}, {})
    for run in runs:
        for test in run.tests.values():
            published = rate_of(test, scan(run.name).rule)
            if published is None:
                continue
            common = test.file.common
            if not test.is_load:
                numbers.rates.setdefault((run.name, common), {})[test.dop] = published.whole
            if (met := published_met(test, published)) is not None:
                block = LOAD_BLOCK + common if test.is_load else block_name(common, test.dop)
                numbers.hardware[block, run.name] = hardware_row(met, run.name)
    return numbers


def check_runs(runs: Iterable[RunDirectory], scan: ScanRules) -> Iterator[Problem]:
    for run in runs:
        for test in run.tests.values():
            published = rate_of(test, scan(run.name).rule)
            if published is not None:
                for kind, cells, source in _made_files(test, published):
                    yield from differing(run.path / test.names[kind], cells, source)
            for (iteration, form), values in test.extracted.items():
                expected = test.counters.get(iteration)
                if expected is not None and expected is not values:
                    path = run.path / test.names[f"perf.hw.{iteration}.{form}"]
                    names = {**expected, **values}
                    cells = [(name, values.get(name, ""), expected.get(name, "")) for name in names]
                    source = f"sb.perf.hw.{test.file.common}.{iteration}"
                    yield from differing(path, cells, source)


def _made_files(test: ArchivedTest, published: Rate) -> Iterator[tuple[str, list[Cell], str]]:
    output = test.output
    if test.met is not None:
        kind = "prepare.met" if test.is_load else "met"
        if test.storage is not None and test.cpu is not None:
            expected = make_met(published.text, test.storage, test.cpu.published)
            source = "sb.o, sb.io and sb.vm" if output or test.load else "sb.io and sb.vm"
            yield kind, list(zip(MET_COLUMNS, test.met.cells, expected.cells, strict=True)), source
        else:
            yield kind, [("o/s", test.met["o/s"], published.text)], "sb.o"
    sources: dict[str, str | None] = {}
    if output is not None:
        sources = {
            "r.qps": published.whole,
            "r.rtavg": output.average_ms,
            "r.rtmax": output.longest_ms,
            "r.rt95": output.p95_ms,
        }
    elif test.met is not None:
        sources = {"r.qps": published.whole}
    for kind, number in test.rates.items():
        if expected_number := sources.get(kind):
            what = "the rate" if kind == "r.qps" else "the time"
            yield kind, [(what, number, expected_number)], "sb.o" if output else "sb.met"


def check_tables(tables: Tables, published: Published) -> Iterator[Problem]:
    for derived, source in tables.derived:
        yield from differing(derived.path, _derived(derived, source), source.path.name)
    for table in tables.rates:
        cells = []
        for label, run, there in table.cells:
            absolute = published.of_table(table, label, run).values()
            if there and absolute and there not in absolute:
                cells.append((f"{label} of {run}", there, min(absolute)))
        yield from differing(table.path, cells, "the run's files")
    known = Published({}, {})
    for hardware in tables.of_kind(Hardware):
        yield from differing(hardware.path, _blocks(hardware, published), "the run's files")
        yield from differing(hardware.path, _relative_blocks(hardware), "its absolute rows")
        for _, name, row in hardware.rows:
            file = parse_file(name)
            if file is not None and file.kind == "met" and (rate := row["o/s"]):
                known.rates.setdefault((row.run, file.common), {})[file.dop] = rate
    known.rates |= published.rates
    for table in tables.relative:
        cells = []
        for label, run, there in table.cells:
            base = known.of_table(table, label, table.base or "")
            relative = {
                relative_rate(rate, base[clients])
                for clients, rate in known.of_table(table, label, run).items()
                if clients in base
            }
            if relative and there not in relative:
                cells.append((f"{label} of {run}", there, min(relative)))
        yield from differing(table.path, cells, "the runs' rates")
    for levels in tables.of_kind(Levels):
        yield from differing(levels.path, _levels(levels, known), "o.met or the runs' files")


def _levels(table: Levels, known: Published) -> Iterator[Cell]:
    """Compare a table without numbers of clients with the known rates."""
    for (common, run), there in table.rates.items():
        rates = known.rates.get((run, common), {})
        expected = [rates[clients] for clients in sorted(rates, key=lambda level: level or 0)]
        if len(expected) == len(there):
            for pair in zip(there, expected, strict=True):
                yield f"{common} of {run}", *pair


def _derived(table: Rates, source: Rates) -> list[Cell]:
    expected = source
    if table.base is not None and source.base is None:
        if set(table.runs) <= set(source.runs):  # .csv files have no names
            places = [source.columns.index(run) for run in table.runs]
            rows = {label: tuple(row[at] for at in places) for label, row in source.rows.items()}
            expected = Rates(columns=tuple(table.runs), rows=rows)
        expected = relative_rates(expected)
    if len(table.columns) != len(expected.columns):
        return [("columns", f"{len(table.columns)}", f"{len(expected.columns)}")]
    nothing = ("",) * len(table.columns)
    return [
        (f"{label} of {run}", there, of_source)
        for label in {**expected.rows, **table.rows}
        for run, there, of_source in zip(
            expected.columns,
            table.rows.get(label, nothing),
            expected.rows.get(label, nothing),
            strict=False,
        )
    ]


def _blocks(table: Hardware, published: Published) -> Iterator[Cell]:
    for _, name, row in table.rows:
        if (expected := published.hardware.get((name, row.run))) is not None:
            for column in HARDWARE_COLUMNS:
                if row[column]:
                    yield f"{name}, {column} of {row.run}", row[column], expected[column]


def _relative_blocks(table: Hardware) -> Iterator[Cell]:
    rows = {(name, row.run): row for name, block in table.blocks.items() for row in block}
    for (name, run), printed in table.relative.items():
        if (row := rows.get((name, run))) is not None:
            expected = relative_cells(row, table.blocks[name][0], ABSENT)
            for column, there in printed.items():
                if column in expected:
                    yield f"{name}, relative {column} of {run}", there, expected[column]


_MOST_LISTED = 2
_FEW = 0.1
"""Share of the tests that a table may lack on purpose: scripts skip some warm-ups."""
CutTables = dict[Path, Sequence[str] | None]
"""Cut table -> rows of the complete table; empty for all tests of its runs, None if it lacks no
test."""


def find_cut(tables: Tables, published: Published) -> tuple[CutTables, list[Problem]]:
    """Find the tables that have less than the runs' own files.

    If the runs are missing, only rows that other tests have can be missing. A table of rates may
    have some tests on purpose, unless it lacks the last ones.
    """
    cut: CutTables = {}
    problems = []
    for rates in (*tables.rates, *tables.relative):
        expected = _labels(rates, published)
        known = [label for label in expected if label in rates.rows]
        short = _short(set(known), set(expected)) if known == expected[: len(known)] else ""
        if short:
            cut[rates.path] = []
            problems.append(Problem(rates.path, f"truncated: {short}", Fate.PARTLY))
    for hardware in tables.of_kind(Hardware):
        there = hardware.blocks
        levels = {_level(name) for name in there}
        blocks = [{name for name, run in published.hardware if run == row} for row in hardware.runs]
        in_all = {name for name in _in_all(blocks) if _level(name) in levels}
        short = _short(set(there), in_all)
        if parts := [part for part in (short, _missing_rows(hardware, published)) if part]:
            missing = f"truncated: {'; '.join(parts)}"
            problems.append(Problem(hardware.path, missing, Fate.PARTLY))
            cut[hardware.path] = None
        if short:
            files = {name: parse_file(name) for name, _ in published.hardware}
            suffixes = {name: file.suffix for name, file in files.items() if file is not None}
            order = order_suffixes(suffixes.values())
            lacking = [n for n in suffixes if n not in there and _level(n) in levels]
            lacking.sort(key=lambda name: order.index(suffixes[name]))
            cut[hardware.path] = [*there, *lacking]
    return cut, problems


def _short(there: set[str], expected: set[str]) -> str:
    """Return '13 of 36 tests' if many are missing; a few may be missing on purpose."""
    missing = len(expected - there)
    if missing <= _FEW * len(expected):
        return ""
    return f"{len(expected) - missing} of {counted(len(expected), 'test')}"


def _labels(table: Rates, published: Published) -> list[str]:
    """Return the rows of a complete table: the tests that all of its runs have at its clients."""
    mine = {key: levels for key, levels in published.rates.items() if key[0] in table.runs}
    counts = Counter(count for levels in mine.values() for count in levels if count)
    named = clients_in_name(table.path.name)
    level = named if named in counts else usual_clients(counts) if counts else None
    tests = [
        {
            test
            for (run, test), levels in mine.items()
            if run == column and {level, None} & {*levels}
        }
        for column in table.runs
    ]
    files = (parse_file(f"sb.met.{test}") for test in _in_all(tests))
    return [file.label for file in order_tests(file for file in files if file is not None)]


def _level(block: str) -> tuple[str, int | None]:
    file = parse_file(block)
    return (file.kind, file.dop) if file else ("", None)


def _in_all(sets: Sequence[set[str]]) -> set[str]:
    return set.intersection(*sets) if sets else set()


def _missing_rows(table: Hardware, published: Published) -> str:
    """Return 'sb.met.scan.range100.pk1.dop8: 1 of 3 rows', if all runs should have such a row."""
    runs_there = {run for _, run in published.hardware}
    short = []
    for name, block in table.blocks.items():
        expected = [
            run
            for run in table.runs
            if run not in runs_there or (name, run) in published.hardware or name in table.others
        ]
        if len(block) < len(expected):
            short.append(f"{name}: {len(block)} of {counted(len(expected), 'row')}")
    last = list(table.blocks)[-1]
    relative = Counter(name for name, _ in table.relative)
    if relative and relative[last] < len(table.blocks[last]) - 1:
        whole = counted(len(table.blocks[last]) - 1, "relative row")
        short.append(f"{last}: {relative[last]} of {whole}")
    return beginning(short, _MOST_LISTED, "; ", "; and")


def classic_tables(tables: Tables, home: Path, cut: CutTables) -> list[ClassicTable]:
    def listed(
        kind: str, table: Table, rows: Iterable[str], **more: dict[str, str]
    ) -> ClassicTable:
        below = table.path.parent != home
        whole = cut.get(table.path)
        return ClassicTable(
            kind=kind,
            tag=table.tag,
            runs=list(table.runs),
            rows=list(rows if whole is None else whole),
            folder=str(table.path.parent.relative_to(home)) if below else "",
            **more,
        )

    tags = dict.fromkeys(table.tag for table in tables.of_kind(Joined))
    return [
        *(listed("rates", table, table.rows) for table in tables.rates),
        *(listed("relative rates", table, table.rows) for table in tables.relative),
        *(
            listed("hardware", table, table.blocks, others=table.others)
            for table in tables.of_kind(Hardware)
        ),
        *(ClassicTable(kind="counters", tag=tag, runs=[]) for tag in tags),
    ]


FROM_JOINED = "counters are from a joined table: the run's own are missing"
RELATIVE = "counters are relative to the base's: only a table of relative counters exists"
_Key = tuple[str, int]
"""`FileName.common` and iteration."""
_Columns = Sequence[Extraction]


class JoinedTables(NamedTuple):
    """Counts and problems of the tables of joined counters."""

    used: int
    checked: int
    problems: list[Problem]


def use_joined(
    tables: Sequence[Joined],
    runs: Sequence[RunDirectory],
    order: Sequence[str],
    records: Sequence[Slice],
) -> JoinedTables:
    """Compare the tables with the runs' counters, or add counters to records that lack them.

    A table has no names of runs. Its columns are identified from the runs' own counters, or else
    from the number of runs; otherwise the table is skipped. `order` has the names of the
    experiment's runs, the base first.
    """
    problems: list[Problem] = []
    used = checked = 0
    own: dict[_Key, dict[str, Extraction]] = {}
    for run in runs:
        for test in run.tests.values():
            for iteration, values in test.counters.items():
                own.setdefault((test.file.common, iteration), {})[run.name] = values
    absolute: dict[tuple[str, _Key], _Columns] = {}
    # Events that are 1 in all relative tables are missing on the machine: their absolute values
    # are -1 in all tables.
    in_relative = [column for table in tables if table.relative for column in table.columns]
    values_of = [pair for column in in_relative for pair in column.items()]
    others = {name for name, value in values_of if float(value) != 1} | {*RATIOS}
    missing = {name for name, _ in values_of} - others
    for table in sorted(tables, key=lambda table: (table.relative, table.file.iteration or 0)):
        key = (table.file.common, table.file.iteration or 0)
        runs_own = [own[key][run] for run in order if run in own.get(key, {})]
        sources = absolute.get((table.tag, key), [])
        if not table.relative:
            absolute[table.tag, key] = sources = _sources(table.columns, runs_own)
        if runs_own or (table.relative and sources):
            checked += 1
            problems += _compared(table, sources or runs_own)
            continue
        of_test = [record for record in records if file_of(record) == table.file.common]
        columns: _Columns = table.columns
        if table.relative:
            kept = [{name: each[name] for name in each if name not in missing} for each in columns]
            columns = [{name: "1" for column in kept for name in column}, *kept]  # the base's are 1
        if wrong := _give(table, columns, order, of_test):
            problems.append(Problem(table.path, wrong))
        else:
            used += 1
    return JoinedTables(used, checked, problems)


def _compared(table: Joined, sources: _Columns) -> Iterator[Problem]:
    """Compare a table with all sources; a table with fewer columns cannot be assigned."""
    source = "sb.perf.hw"
    if table.relative:
        base, *others = sources
        sources = [relative(other, base) for other in others]
        source = "join*.abs or sb.perf.hw"
    if len(sources) == len(table.columns):
        pairs = enumerate(zip(table.columns, sources, strict=True), start=1)
        cells = [
            (f"{name}, column {number}", value, expected.get(name, ""))
            for number, (column, expected) in pairs
            for name, value in column.items()
        ]
        yield from differing(table.path, cells, source)


def _sources(columns: _Columns, own: _Columns) -> _Columns:
    """Return for each column the run's own counters that are most like it, or else the column."""
    left = list(own)
    sources: list[Extraction] = []
    for column in columns:
        source = max(left, key=lambda other: len(column.items() & other.items()), default=column)
        left = [other for other in left if other is not source]
        sources.append(source)
    return sources


def _give(
    table: Joined, columns: _Columns, order: Sequence[str], records: Sequence[Slice]
) -> str | None:
    """Add the counters to the slices of the table's test, or return why not, in words."""
    if len(columns) != len(order):
        return f"its columns cannot be assigned to {counted(len(order), 'run')}"
    by_run: dict[str, list[tuple[Slice, Printed]]] = {}
    for record in records:
        printed = record.printed
        if printed and (printed.counters is None or {FROM_JOINED, RELATIVE} & {*printed.notes}):
            by_run.setdefault(run_of(record), []).append((record, printed))
    if not by_run:
        return "counters for 10 s without a rate to divide them by"
    if any(len(several) > 1 for several in by_run.values()):
        return "its number of clients is unknown"
    for run, values in zip(order, columns, strict=True):
        for record, printed in by_run.get(run, []):
            if printed.counters is None:
                printed.counters = convert_counters(values, record.qps, run)
                printed.notes.append(RELATIVE if table.relative else FROM_JOINED)
                if table.relative:
                    printed.counters.relative_to = order[0]
            if not table.relative:
                iteration = str(table.file.iteration or 0)
                printed.texts.setdefault("counters", {})[iteration] = dict(values)
    return None
