"""The file of a replayed workload."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from slowdust.dbms import sql_of
from slowdust.experiment.spec.errors import Names, Origin, at
from slowdust.experiment.workload.file import MOST_WEIGHT
from slowdust.experiment.workload.replay.catalog import CatalogTable
from slowdust.experiment.workload.replay.grouping import Grouped, Literal, Replayed
from slowdust.experiment.workload.replay.guesses import table_lines
from slowdust.experiment.workload.replay.inserts import Receiving, completed, receiving
from slowdust.experiment.workload.replay.toml import block, inline
from slowdust.experiment.workload.sql import syntax_tree

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE")
_LEAST_WEIGHT = 0.001
_WIDEST = 96
"""Columns of a line with rows of samples."""


@dataclass(frozen=True)
class Replay:
    """What is written into the file."""

    name: str
    sources: Sequence[str]
    grouped: Grouped
    statements: Sequence[Replayed]
    """The statements that are replayed, of `grouped`."""
    tables: Sequence[CatalogTable]
    tables_text: str = ""
    """The tables of another workload, in place of a server's."""
    origin: Origin = field(default_factory=Names)
    """The file that has them."""


def file_text(replay: Replay) -> str:
    """Return the TOML text of the workload.

    Raises:
        AtKeysError: a statement cannot be in it.
    """
    return "\n".join(_lines(replay)) + "\n"


def _lines(replay: Replay) -> Iterator[str]:
    sources = " ".join(", ".join(replay.sources).split())
    yield f"# Made by `slowdust workloads from` of {sources}."
    yield "# Weights are executions; each is a transaction of its own, whatever it was part of."
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
            # Two colons are a cast: a slice of an array has a blank between them.
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
        infers = sql_of(dialect).has_numbered_parameters
        if not infers and _are_whole(row[place] for row in statement.samples):
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


def _are_whole(values: Iterable[Literal]) -> bool:
    """Return whether all are whole numbers."""
    return all(isinstance(value, int) or value is None for value in values)


def _literal(value: Literal, dialect: str) -> str:
    if not isinstance(value, str):
        return str(value)
    doubled = value.replace("'", "''")
    escapes = sql_of(dialect).has_backslash_escapes
    return f"'{doubled.replace(chr(92), chr(92) * 2) if escapes else doubled}'"


def _tests(replay: Replay) -> Iterator[str]:
    """Yield each statement as a test, those that read first, and all of them by their weights."""
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
