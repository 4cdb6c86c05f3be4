"""Checks of a workload's tables, keys, columns and names that need no server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from sqlglot import expressions as exp

from slowdust.dbms import find_sql
from slowdust.located_errors import AtKeysError, Keys, at
from slowdust.wording import listing, no_such
from slowdust.workloads.file import (
    ColumnTable,
    DrawTable,
    IndexTable,
    SqlType,
    TableTable,
    for_dialect,
    format_date,
    parse_date,
)
from slowdust.workloads.sql import Parsed, syntax_tree

_RANDOM = ("uniform", "zipf", "text", "choice")
_WHOLE_REALS = 2**24
"""Integers up to here are exact in single precision."""


@dataclass(frozen=True)
class Range:
    """Integers that values are made of; both ends are included."""

    low: int
    high: int

    @property
    def count(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class Column:
    """A column with its table's name and number of rows."""

    table: str
    name: str
    rows: int
    draw: ColumnTable

    @property
    def type(self) -> SqlType:
        return self.draw.type


class Columns:
    """All columns of a workload's tables."""

    def __init__(self, tables: Mapping[str, TableTable]) -> None:
        self._tables = tables

    def column(self, name: str) -> Column:
        """Return the column named `TABLE.COLUMN`.

        Raises:
            ValueError: there is no such column.
        """
        table, point, column = name.partition(".")
        if not point:
            raise ValueError(f"'{name}' is not a column: write TABLE.COLUMN")
        if table not in self._tables:
            raise ValueError(no_such("table", table, list(self._tables)))
        columns = self._tables[table].columns
        if column not in columns:
            raise ValueError(no_such(f"column of {table}", column, list(columns)))
        return Column(table, column, self._tables[table].rows, columns[column])

    def range_of(self, draw: DrawTable, rows: int = 1, *, seen: tuple[str, ...] = ()) -> Range:
        """Return the range of a draw's numbers; `rows` is the number of rows of its table.

        Raises:
            ValueError: it draws no numbers, or refers to itself.
        """
        if draw.by == "serial":
            start, step = (
                1 if draw.start is None else draw.start,
                1 if draw.step is None else draw.step,
            )
            ends = (start, start + step * (rows - 1))
            return Range(min(ends), max(ends))
        if draw.by == "cycle":
            assert draw.count is not None
            start = 1 if draw.start is None else draw.start
            return Range(start, start + draw.count - 1)
        if draw.of is not None:
            if draw.of in seen:
                raise ValueError(f"'{draw.of}' refers to itself")
            column = self.column(draw.of)
            try:
                return self.range_of(column.draw, column.rows, seen=(*seen, draw.of))
            except ValueError as error:
                raise ValueError(f'of = "{draw.of}": {error}') from None
        if draw.low is not None and draw.high is not None:
            scale = 10 ** (draw.scale or 0)
            try:
                low, high = (round(end * scale) for end in (draw.low, draw.high))
            except OverflowError:
                raise ValueError(f"{draw.low:g} to {draw.high:g} exceeds all types") from None
            if not scale > 1 and (low, high) != (draw.low, draw.high):
                raise ValueError("write integers for low and high, or add scale")
            return Range(low, high)
        raise ValueError(f'by = "{draw.by}" has no range of numbers')

    def scale_of(self, draw: DrawTable) -> int:
        """Return the decimal places of a draw's values, the unit of `range_of`."""
        return draw.scale or (0 if draw.of is None else self.scale_of(self.column(draw.of).draw))

    def check(self) -> None:
        """Check that the tables can be created and filled.

        Raises:
            AtKeysError: with the invalid keys.
        """
        for name, table in self._tables.items():
            for column, draw in table.columns.items():
                with at("tables", name, "columns", column):
                    self.check_values(draw, draw.type, table.rows, own=f"{name}.{column}")
            if table.primary_key:
                keys: Keys = ("tables", name, "primary_key")
                _check_names(name, table, keys, table.primary_key)
                for column in table.primary_key:
                    if table.columns[column].nullable:
                        raise AtKeysError(
                            f"{name}.{column} is nullable, but columns of a key cannot be", keys
                        )
                check_key(name, table, keys, table.primary_key)
            for place, index in enumerate(table.indexes):
                keys = ("tables", name, "indexes", place)
                if index.columns is None:
                    continue
                _check_names(name, table, keys, index.columns)
                if index.unique:
                    check_key(name, table, keys, index.columns)

    def check_values(self, draw: DrawTable, kind: SqlType, rows: int, *, own: str = "") -> None:
        """Check that a draw produces values of a type.

        Raises:
            ValueError: it does not.
        """
        if draw.by == "text":
            assert draw.length is not None
            if kind.is_number:
                raise ValueError(f'by = "text" cannot be used for {kind}')
            if kind.length is not None and draw.length[1] > kind.length:
                raise ValueError(f"length: {draw.length[1]} characters are too many for {kind}")
        elif draw.by == "choice":
            assert draw.values is not None
            for value in draw.values:
                check_literal(value, kind)
        elif draw.by != "sample":
            if draw.scale and kind.kind not in ("real", "sql"):
                raise ValueError(f"scale: {kind} has no decimal places")
            numbers = self.range_of(draw, rows, seen=(own,) if own else ())
            low, high = kind.limits
            if numbers.low < low or numbers.high > high:
                shown = format_date if kind.kind == "timestamp" else str
                raise ValueError(
                    f"{shown(numbers.low)} to {shown(numbers.high)} exceeds {kind}, which has "
                    f"{shown(low)} to {shown(high)}"
                )
            widest = max(len(str(end)) for end in (numbers.low, numbers.high))
            if kind.length is not None and widest > kind.length:
                raise ValueError(f"{numbers.low} to {numbers.high} has numbers too long for {kind}")


def _check_names(name: str, table: TableTable, keys: Keys, columns: list[str]) -> None:
    for column in columns:
        if column not in table.columns:
            raise AtKeysError(no_such(f"column of {name}", column, list(table.columns)), keys)
    if len(set(columns)) < len(columns):
        raise AtKeysError("the same column is given twice", keys)


def check_literal(value: object, kind: SqlType) -> None:
    """Check that a value fits a type; NULL fits all types.

    Raises:
        ValueError: it does not fit.
    """
    if value is None:
        return
    bits = {"int": 32, "bigint": 64}.get(kind.kind)
    if bits and isinstance(value, int) and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"values: {value} is out of range for {kind}")
    if kind.kind == "timestamp" and isinstance(value, str):
        parse_date(value)
    elif kind.kind in ("int", "bigint", "timestamp") and not isinstance(value, int):
        raise ValueError(f"values: '{value}' is not an integer, which {kind} needs")
    if kind.kind == "real" and not isinstance(value, int | float):
        raise ValueError(f"values: '{value}' is not a number, which {kind} needs")
    if kind.length is not None and len(str(value)) > kind.length:
        raise ValueError(f"values: '{value}' is too long for {kind}")


@dataclass(frozen=True)
class _Cycle:
    """A column whose value in row `r`, from 0, has the index `r // each % count`."""

    each: int
    count: int

    @property
    def length(self) -> int:
        return self.each * self.count


def check_key(name: str, table: TableTable, keys: Keys, columns: Sequence[str]) -> None:
    """Check that the values of columns are provably unique.

    Raises:
        AtKeysError: with the column, or the rows with equal values.
    """
    draws = {column: table.columns[column] for column in columns}
    if any(draw.by == "serial" and _exact(draw, table.rows) for draw in draws.values()):
        return
    for column, draw in draws.items():
        if draw.by in _RANDOM:
            raise AtKeysError(
                f"{name}.{column} is random, so that two rows may have the same value: add a "
                'column by = "serial" to the key',
                keys,
            )
        if not _exact(draw, table.rows):
            raise AtKeysError(
                f"{name}.{column} is real, which rounds numbers above {_WHOLE_REALS:,}, so that "
                "two rows may have the same value: write int or bigint",
                keys,
            )
    _check_cycles(table.rows, draws, keys)


def _exact(draw: ColumnTable, rows: int) -> bool:
    """Return whether the type represents all numbers of the rows exactly."""
    start = 1 if draw.start is None else draw.start
    steps = rows - 1 if draw.by == "serial" else (draw.count or 1) - 1
    furthest = start + (draw.step or 1) * steps
    return draw.type.kind != "real" or max(abs(start), abs(furthest)) <= _WHOLE_REALS


def _check_cycles(rows: int, draws: Mapping[str, ColumnTable], keys: Keys) -> None:
    """Check that each row has a different combination of the cycles' values."""
    cycles = [_Cycle(draw.each or 1, draw.count or 1) for draw in draws.values()]
    period, left = _combined(cycles)
    if rows <= period or any(rows <= each.length and each.each <= period for each in cycles):
        return
    names = listing(list(draws))
    if left:
        raise AtKeysError(
            f"it cannot be proven that the {rows:,} rows have different {names}: make `each` of "
            "one column the product of `each` and `count` of another",
            keys,
        )
    raise AtKeysError(
        f"row {period + 1:,} of {rows:,} has the same {names} as row 1: change count and each so "
        "that all rows differ",
        keys,
    )


def _combined(cycles: Sequence[_Cycle]) -> tuple[int, list[_Cycle]]:
    """Return the common period of the cycles in rows, and the cycles that it does not include.

    Rows are equal in the included cycles if and only if their distance is a multiple of `period`.
    If `each` of another cycle divides `period`, they are also equal in that cycle if and only if
    their distance is a multiple of its length.
    """
    period, left = 1, sorted(cycles, key=lambda cycle: cycle.each)
    while fitting := next((cycle for cycle in left if period % cycle.each == 0), None):
        left.remove(fitting)
        period = lcm(period, fitting.length)
    return period, left


_GIVING = (exp.CTE, exp.Unnest, exp.Lateral, exp.Values, exp.Command)
"""Expressions that may have columns of no table."""
_WORDS = {
    "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid", "rowid", "_rowid_",
    "default", "user", "session_user", "current_role", "current_catalog", "current_schema",
    "system_user", "utc_date", "utc_time", "utc_timestamp", "localtime", "localtimestamp",
    "date", "time", "datetime", "timestamp", "microsecond", "second", "minute", "hour", "day",
    "week", "month", "quarter", "year", "true", "false", "null", "on", "off",
    "binary", "char", "signed", "unsigned", "decimal", "json",
}  # fmt: skip
"""System columns, and words that sqlglot parses as columns."""


def check_columns(parsed: Mapping[str, Parsed], tables: Mapping[str, TableTable]) -> None:
    """Check that a statement's columns exist, if all of its tables are known.

    `parsed` is the statement by dialect. It is valid if it is valid in one dialect, because a word
    may be a column only for some DBMS.

    Raises:
        ValueError: with the unknown column.
    """
    first: str | None = None
    for dialect, each in parsed.items():
        wrong = _wrong_column(each, dialect, tables)
        if wrong is None:
            return
        first = first or wrong
    if first is not None:
        raise ValueError(first)


def _wrong_column(parsed: Parsed, dialect: str, tables: Mapping[str, TableTable]) -> str | None:
    """Return the error about an unknown column of a statement; None if none is known."""
    tree = syntax_tree("1".join(parsed.parts), dialect)
    if not isinstance(tree, exp.Select | exp.Insert | exp.Update | exp.Delete):
        return None
    found = list(tree.find_all(exp.Table))
    if not found or any(_is_other(table, tables) for table in found) or _has_others(tree):
        return None
    used = {table.alias_or_name.lower(): table for table in found}
    columns = {name: list(tables[table.name.lower()].columns) for name, table in used.items()}
    others = {alias.alias.lower() for alias in tree.find_all(exp.Alias)} | set(used) | _WORDS
    for qualifier, column in _columns(tree, dialect):
        if qualifier and qualifier not in columns:
            continue
        there = columns[qualifier] if qualifier else [name for t in columns.values() for name in t]
        if column not in there and (qualifier or column not in others):
            among = [used[qualifier]] if qualifier else found
            where = " or ".join(dict.fromkeys(table.name.lower() for table in among))
            return no_such(f"column of {where}", column, list(dict.fromkeys(there)))
    return None


def _is_other(table: exp.Table, tables: Mapping[str, TableTable]) -> bool:
    """Return whether the columns of a table are unknown: not in the workload, or altered."""
    known = None if table.db else tables.get(table.name.lower())
    if known is None:
        return True
    texts = [text for index in known.indexes for text in (index.sql or {}).values()]
    return any("alter" in text.lower() for text in texts)


def _has_others(tree: exp.Expression) -> bool:
    """Return whether a statement has columns of subqueries, functions or aliases."""
    given = [part for part in tree.find_all(*_GIVING) if part is not tree.args.get("expression")]
    derived = any(part.find_ancestor(exp.From, exp.Join) for part in tree.find_all(exp.Subquery))
    renamed = any(alias.args.get("columns") for alias in tree.find_all(exp.TableAlias))
    return bool(given) or derived or renamed


def _columns(tree: exp.Expression, dialect: str) -> Iterator[tuple[str, str]]:
    """Yield (qualifier, column) of a statement; the qualifier may be empty."""
    sql = find_sql(dialect)
    schema = tree.this if isinstance(tree, exp.Insert) else None
    if isinstance(schema, exp.Schema):
        target = schema.this.alias_or_name.lower()
        yield from ((target, column.name.lower()) for column in schema.expressions)
    tables = {id(part.args["field"]) for part in tree.find_all(exp.In) if part.args.get("field")}
    for column in tree.find_all(exp.Column):
        if sql.searches_in_tables and id(column) in tables:
            continue  # `a IN other`: a table with one column
        is_text = sql.reads_names_as_texts and column.this.args.get("quoted")
        if isinstance(column.this, exp.Identifier) and not column.args.get("db") and not is_text:
            yield column.table.lower(), column.name.lower()


def aggregates(parsed: Parsed, dialect: str) -> bool:
    """Return whether a statement returns aggregates, grouped or not; False if it is not parsed."""
    tree = syntax_tree("1".join(parsed.parts), dialect)
    if not isinstance(tree, exp.Select):
        return False
    found = [each for column in tree.selects for each in column.find_all(exp.AggFunc)]
    return any(
        each.find_ancestor(exp.Select) is tree and not isinstance(each.parent, exp.Window)
        for each in found
    )


def check_names(tables: Mapping[str, TableTable], dialect: str) -> None:
    """Check that names of indexes are unique, even across tables if the DBMS requires it.

    Raises:
        AtKeysError: with the keys of the index, or the table with the conflicting name.
    """
    sql = find_sql(dialect)
    shared = sql.shares_names_of_indexes
    taken = {name: f"the table {name}" for name in tables} if shared else {}
    for name, table in tables.items():
        key = (sql.primary_key_index or "").format(table=name)
        if table.primary_key and key in tables:
            raise AtKeysError(
                f"{dialect} uses this name for the primary key of {name}: choose another name",
                ("tables", key),
            )
        if not shared:
            taken = {}
        for place, index in enumerate(table.indexes):
            own = index_name(name, place, index, dialect)
            if own in taken:
                keys: Keys = ("tables", name, "indexes", place)
                raise AtKeysError(
                    f"the index has the same name as {taken[own]}, {own}: rename one",
                    keys,
                )
            if own is not None:
                taken[own] = f"an index of {name}"


def index_name(table: str, place: int, index: IndexTable, dialect: str) -> str | None:
    """Return the name of a table's index; None if its statement has none or cannot be parsed."""
    if index.sql is None:
        return f"{table}_{place + 1}"
    text = for_dialect(index.sql, dialect)
    tree = None if text is None else syntax_tree(text, dialect)
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Index):
        return None
    return tree.this.name.lower() or None
