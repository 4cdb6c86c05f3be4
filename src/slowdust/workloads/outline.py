"""The outline of a workload, which `slowdust workloads check` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowdust.wording import counted, listing
from slowdust.workloads.benchmark import OwnBenchmark
from slowdust.workloads.checks import Columns
from slowdust.workloads.file import ColumnTable, EntryTable
from slowdust.workloads.workload import Workload

_OF_ROW = 28
"""Bytes of a row in addition to its values: Postgres' header and pointer, similar in InnoDB."""
_OF_ENTRY = 16
"""Bytes of an index entry in addition to its key."""
_FILLED = 0.9
"""The usual share of a page that a load fills."""
_MB = 1 << 20

Lines = Sequence[tuple[str, ...]]
"""A table of text; the first row is the header."""


def summary(workload: Workload) -> str:
    file = workload.file
    parts = [
        counted(len(file.tables), "table"),
        counted(len(file.statements), "statement"),
        counted(len(file.tests), "test"),
    ]
    return f"{workload.name}: {listing(parts)}, for {listing(workload.dialects)}"


def tables(workload: Workload) -> Lines:
    """Return the tables with their rows and approximate sizes, including indexes."""
    lines: list[tuple[str, ...]] = [("TABLE", "ROWS", "ABOUT", "INDEXES")]
    for name, table in workload.file.tables.items():
        key = table.primary_key
        indexes = [f"primary key ({', '.join(key)})"] if key else []
        for index in table.indexes:
            kind = "unique " if index.unique else ""
            indexes.append(f"{kind}({', '.join(index.columns)})" if index.columns else "by sql")
        lengths = {name: _length(workload.columns, draw) for name, draw in table.columns.items()}
        keys = [key] if key else []
        keys += [index.columns for index in table.indexes if index.columns]
        entries = sum(_OF_ENTRY + sum(lengths[column] for column in each) for each in keys)
        row = _OF_ROW + sum(lengths.values())
        size = table.rows * (row + entries) / _FILLED / _MB
        lines.append((name, f"{table.rows:,}", f"{size:,.1f} MB", ", ".join(indexes)))
    return lines


def tests(benchmark: OwnBenchmark) -> Lines:
    """Return the tests with their transactions: share and statements."""
    workload = benchmark.workload
    lines: list[tuple[str, ...]] = [("TEST", "GROUP", "SHARE", "STATEMENTS")]
    for test in benchmark.tests:
        transactions = workload.transactions(test.name)
        whole = sum(each.weight for each in transactions)
        head = (test.name, test.group.value)
        for transaction in transactions:
            share = f"{100 * transaction.weight / whole:.3g}%"
            entries = transaction.entries
            statements = ", ".join(_entry(workload, entry) for entry in entries)
            if len(entries) > 1 or entries[0].statement != transaction.name:
                statements = f"{transaction.name}: {statements}"
            lines.append((*head, share, statements))
            head = ("", "")
    return lines


def _entry(workload: Workload, entry: EntryTable) -> str:
    text = entry.statement if entry.repeat == 1 else f"{entry.repeat} x {entry.statement}"
    statement = workload.file.statements.get(entry.statement)
    if statement is None or statement.result is None:
        return text
    if statement.result.rows is not None:
        return f"{text} (returns {counted(statement.result.rows, 'row')})"
    assert statement.result.affected is not None
    return f"{text} (changes {counted(statement.result.affected, 'row')})"


def _length(columns: Columns, draw: ColumnTable) -> float:
    """Return the approximate mean bytes of a column's value."""
    if draw.type.bytes is not None:
        return draw.type.bytes
    if draw.length is not None:
        return sum(draw.length) / 2 + 1
    if draw.values is not None:
        weights = draw.weights or [1.0] * len(draw.values)
        together = sum(
            weight * len(str(value)) for weight, value in zip(weights, draw.values, strict=True)
        )
        return together / sum(weights) + 1
    return len(str(columns.range_of(draw).high)) + 1


def outline(benchmark: OwnBenchmark) -> Iterator[str]:
    yield summary(benchmark.workload)
    for table in (tables(benchmark.workload), tests(benchmark)):
        yield ""
        yield from aligned(table)


def aligned(table: Lines) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()
