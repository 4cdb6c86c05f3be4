"""Writes the file of a replayed workload."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import expressions as exp

from slowdust.dbms import find_sql
from slowdust.located_errors import Origin, at, in_data
from slowdust.workloads.file import MOST_ROWS, MOST_WEIGHT
from slowdust.workloads.replay.catalog import (
    BYTES,
    FRACTIONS,
    TEXTS,
    WHOLE,
    CatalogIndex,
    CatalogTable,
    Statistics,
    base_type,
    example_values,
    has_next,
    is_known,
)
from slowdust.workloads.replay.grouping import Grouped, Literal, Replayed
from slowdust.workloads.replay.inserts import Receiving, completed, receiving
from slowdust.workloads.sql import syntax_tree

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE")
_LEAST_WEIGHT = 0.001
_WIDEST = 96
"""Width of a line with rows of samples."""
_FEW_VALUES = 50
"""The most different values that count as complete if the server has no histogram."""
_USUAL_WIDTH = 16
_HIGHEST = 100


@dataclass(frozen=True)
class Replay:
    """The content of the file."""

    name: str
    sources: Sequence[str]
    grouped: Grouped
    statements: Sequence[Replayed]
    """The replayed statements, from `grouped`."""
    tables: Sequence[CatalogTable]
    tables_text: str = ""
    """The tables of another workload, instead of a server's."""
    origin: Origin = in_data
    """The file of `tables_text`."""


def file_text(replay: Replay) -> str:
    """Return the TOML text of the workload.

    Raises:
        AtKeysError: a workload cannot have a statement.
    """
    return "\n".join(_lines(replay)) + "\n"


def _lines(replay: Replay) -> Iterator[str]:
    sources = " ".join(", ".join(replay.sources).split())
    yield f"# Made by `slowdust workloads from {sources}`."
    yield "# Weights are executions. Each statement is its own transaction."
    yield f"name = {inline(replay.name)}"
    yield ""
    tables = [replay.tables_text] if replay.tables_text else []
    for table in replay.tables:
        tables += [*table_lines(table), ""]
    yield from tables
    into = receiving(tomllib.loads("\n".join(tables)).get("tables", {}))
    for number, statement in enumerate(replay.statements, start=1):
        yield from _statement(f"q{number}", statement, replay.grouped.dialect, into)
        yield ""
    yield from _tests(replay)


def _statement(
    name: str, statement: Replayed, dialect: str, tables: Mapping[str, Receiving]
) -> Iterator[str]:
    constants = statement.constants
    text, varying = statement.parts[0], []
    for place, part in enumerate(statement.parts[1:]):
        constant = constants[place]
        if constant is not None:
            text += _literal(constant, dialect) + part
        else:
            varying.append(place)
            # Two colons would be a cast: write a blank between them.
            text += f"{' ' if text.endswith(':') else ''}:p{place + 1}{part}"
    with at("statements", name, "sql"):
        whole = completed(text, dialect, tables)
    drawn = [place for place in varying if f"p{place + 1}" not in whole.replaced]
    yield f"# {statement.calls:,.0f} executions"
    yield f"[statements.{name}]"
    yield f"sql.{dialect} = {block(whole.text)}"
    for key, value in whole.parameters.items():
        yield f"parameters.{key} = {inline(value)}"
    for place in drawn:
        key = f"p{place + 1}"
        drawing = {"by": "sample", "from": f"{name}.{key}"}
        infers = find_sql(dialect).has_numbered_parameters
        if not infers and all(
            isinstance(row[place], int) or row[place] is None for row in statement.samples
        ):
            drawing["type"] = "bigint"
        yield f"parameters.{key} = {inline(drawing)}"
    if drawn:
        yield ""
        yield f"[samples.{name}]"
        yield f"columns = {inline([f'p{place + 1}' for place in drawn])}"
        yield "rows = ["
        yield from _rows([[row[place] for place in drawn] for row in statement.samples])
        yield "]"


def _rows(rows: Sequence[Sequence[Literal]]) -> Iterator[str]:
    line = " "
    for row in rows:
        cell = f" {inline(list(row))},"
        if len(line) + len(cell) > _WIDEST and line.strip():
            yield line
            line = " "
        line += cell
    yield line


def _literal(value: Literal, dialect: str) -> str:
    if not isinstance(value, str):
        return str(value)
    doubled = value.replace("'", "''")
    escapes = find_sql(dialect).has_backslash_escapes
    return f"'{doubled.replace(chr(92), chr(92) * 2) if escapes else doubled}'"


def _tests(replay: Replay) -> Iterator[str]:
    """Yield a test for each statement, reads first, and one with all of them by weight."""
    writes = [statement.verb in _WRITES for statement in replay.statements]
    for number in sorted(range(len(writes)), key=lambda place: writes[place]):
        statement = replay.statements[number]
        yield f"[tests.q{number + 1}]"
        if not writes[number]:
            yield f'group = "{_group(statement, replay.grouped.dialect)}"'
        yield f'statements = ["q{number + 1}"]'
        yield ""
    yield "[tests.all]"
    if not any(writes):
        groups = [_group(statement, replay.grouped.dialect) for statement in replay.statements]
        yield f'group = "{max(groups, key=groups.count)}"'
    most = max(statement.calls for statement in replay.statements)
    scale = min(1.0, MOST_WEIGHT / most)
    weights = {
        f"q{number}": max(_LEAST_WEIGHT, round(statement.calls * scale, 3))
        for number, statement in enumerate(replay.statements, start=1)
    }
    yield f"mix = {inline(weights)}"


def _group(statement: Replayed, dialect: str) -> str:
    parsed = syntax_tree("1".join(statement.parts), dialect)
    if parsed is None:
        return "range"
    if parsed.find(exp.AggFunc, exp.Group, exp.Order, exp.Distinct):
        return "aggregation"
    where = parsed.find(exp.Where)
    ranges = where is None or where.find(exp.Between, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like)
    return "range" if ranges else "point"


def unsuitable(table: CatalogTable) -> str | None:
    """Return why the rows of a table cannot be generated; None if they can."""
    for name, kind in table.columns.items():
        if not is_known(table.kind(name)):
            return f"its column {name} has the type {kind}, for which no values are known"
    if not table.has_whole_key:
        return "its primary key has prefixes of columns"
    if table.primary_key and table.serial is None:
        kinds = " and ".join(table.columns[name] for name in table.primary_key)
        return f"its primary key has the type {kinds}, which has no sequential values"
    return None


def table_lines(table: CatalogTable) -> list[str]:
    rows, start = table.rows, 1
    whole = table.ends is not None and table.ends[1] - table.ends[0] < MOST_ROWS
    if table.ends is not None:
        start = table.ends[0]
        rows = max(1, table.ends[1] - start + 1) if whole else rows
    lines = [f"[tables.{key(table.name)}]"]
    lines += [f"# without the column {inline(name)}: a quoted name" for name in table.excluded]
    why = "from the lowest to the highest key" if whole else "the server's estimate"
    lines.append(f"rows = {rows}  # {why}")
    if table.primary_key:
        lines.append(f"primary_key = {inline(table.primary_key)}")
    serials = _serials(table, start)
    for name in table.columns:
        written = table.kind(name)
        if name in serials:
            draw: Mapping[str, object] = {"by": "serial", "start": serials[name]}
        else:
            draw = _guess(written, table.statistics.get(name, Statistics()), rows)
        if name in table.nullable:
            draw = {**draw, "nullable": True}
        lines.append(f"columns.{name} = {inline({'type': written, **draw})}  # a guess")
    lines += [f"# without the index {name}: {why}" for name, why in table.unsupported.items()]
    lines += [
        f"# the index {index.name} is not unique here: its generated values may be equal"
        for index in table.indexes
        if index.unique and not _is_unique(index, serials)
    ]
    if table.indexes:
        lines.append(f"indexes = {inline([_written(index, serials) for index in table.indexes])}")
    return lines


def _serials(table: CatalogTable, start: int) -> dict[str, int]:
    """Return the columns with sequential values, and the first value of each.

    They are unique columns: of the primary key, and of unique indexes with one column.
    """
    serials = {} if table.serial is None else {table.serial: start}
    for index in table.indexes:
        alone = index.columns[0] if len(index.columns) == 1 else None
        if index.unique and alone is not None and has_next(table.kind(alone)):
            known = table.statistics.get(alone, Statistics())
            lowest = known.bounds[0] if known.bounds and table.kind(alone) in WHOLE else 1
            serials.setdefault(alone, int(lowest))
    return serials


def _is_unique(index: CatalogIndex, serials: Mapping[str, int]) -> bool:
    """Return whether it is unique on the server and in the workload."""
    return index.unique and any(column in serials for column in index.columns)


def _written(index: CatalogIndex, serials: Mapping[str, int]) -> dict[str, object]:
    unique = _is_unique(index, serials)
    if index.statement is None:
        return {"columns": index.columns} | ({"unique": True} if unique else {})
    statement = index.statement
    return {"sql": statement.replace("INDEX", "UNIQUE INDEX", 1) if unique else statement}


def _guess(kind: str, known: Statistics, rows: int) -> dict[str, object]:
    """Guess how to draw the values of a column."""
    values = list(known.common)
    if values and not known.bounds and len(values) <= _FEW_VALUES:
        if kind in WHOLE:
            return {"by": "choice", "values": [int(value) for value in values]} | _weights(known)
        if kind not in ("real", "timestamp"):
            return {"by": "choice", "values": values} | _weights(known)
    ends = (known.bounds[0], known.bounds[-1]) if known.bounds else None
    if kind in WHOLE:
        low, high = (int(ends[0]), int(ends[1])) if ends else (1, int(known.distinct) or rows)
        return {"by": "uniform", "low": low, "high": max(low, high)}
    if kind == "timestamp":
        return {"by": "uniform", "low": "2025-01-01", "high": "2025-12-31"}
    if base_type(kind) in FRACTIONS:
        return _fraction(kind)
    if base_type(kind) in (*TEXTS, *BYTES):
        return _text_draw(kind, known)
    if known.bounds:
        return {"by": "choice", "values": list(known.bounds)}
    return {"by": "choice", "values": example_values(kind) or [""]}


def _fraction(kind: str) -> dict[str, object]:
    """Return numbers that fit a type such as `numeric(5,2)`."""
    precision, comma, scale = kind.partition("(")[2].rstrip(")").partition(",")
    digits = int(scale) if comma else 0
    high = min(_HIGHEST, 10 ** (int(precision) - digits) - 1) if precision else _HIGHEST
    return {"by": "uniform", "low": 0, "high": max(0, high), "scale": max(0, min(digits, 9))}


def _weights(known: Statistics) -> dict[str, object]:
    weights = [max(frequency, 1e-6) for frequency in known.frequencies]
    return {"weights": weights} if len(weights) == len(known.common) else {}


def _text_draw(kind: str, known: Statistics) -> dict[str, object]:
    most = int(kind.rpartition("(")[2].rstrip(")")) if "(" in kind else 4 * _USUAL_WIDTH
    width = max(1, min(most, known.width or _USUAL_WIDTH))
    shortest, longest = max(1, width // 2), max(1, min(most, width * 3 // 2))
    if kind.startswith("char"):
        shortest = longest = most
    return {"by": "text", "length": [shortest, longest]}


def inline(value: object) -> str:
    """Return a value in one line; None, which only samples have, is `[]`."""
    if value is None:
        return "[]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # JSON's escapes are valid in TOML; TOML also needs one for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key} = {inline(part)}" for key, part in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(part) for part in value)}]"
    return repr(value)


def key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else inline(name)


def block(text: str) -> str:
    if "\n" not in text:
        return inline(text)
    lines = "\n".join(inline(line)[1:-1] for line in text.split("\n"))
    return f'"""\n{lines}"""'
