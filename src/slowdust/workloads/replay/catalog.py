"""The tables of a running server, from its catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from slowdust.dbms import find_sql
from slowdust.dbms.server_url import ServerUrl
from slowdust.workloads.file import IDENTIFIER, read_type

WHOLE = ("int", "bigint")
FRACTIONS = ("numeric", "decimal", "double", "double precision", "real")
_PLAIN_TYPES = {
    **dict.fromkeys(("integer", "smallint", "int", "tinyint", "mediumint"), "int"),
    **{"bigint": "bigint", "real": "real", "float": "real"},
    **dict.fromkeys(("datetime", "timestamp", "timestamp without time zone"), "timestamp"),
    **dict.fromkeys(("text", "tinytext", "mediumtext", "longtext", "character varying"), "text"),
}
_LENGTH = re.compile(r"(character varying|varchar|character|char)\((\d+)\)")
_IN_PARENTHESES = re.compile(r"\([^)]*\)")
TEXTS = ("varchar", "char", "text", "tsvector")
BYTES = ("bytea", "binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob")
_DATES = ["2025-01-15", "2025-04-15", "2025-07-15", "2025-10-15"]
_OTHERS: Mapping[str, Sequence[str]] = {
    "date": _DATES,
    "timestamp with time zone": [f"{date} 12:00:00+00" for date in _DATES],
    **dict.fromkeys(("time", "time without time zone"), ("08:00:00", "16:00:00")),
    "time with time zone": ["08:00:00+00", "16:00:00+00"],
    "interval": ["1 hour", "1 day", "7 days", "30 days"],
    "year": ["2023", "2024", "2025"],
    "boolean": ["t", "f"],
    **dict.fromkeys(("json", "jsonb"), ("{}",)),
    "xml": ["<a/>"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
    **dict.fromkeys(("inet", "cidr", "inet4"), ("192.0.2.1", "192.0.2.2")),
    "inet6": ["2001:db8::1", "2001:db8::2"],
    "macaddr": ["00:00:5e:00:53:01", "00:00:5e:00:53:02"],
    "macaddr8": ["00:00:5e:ff:fe:00:53:01", "00:00:5e:ff:fe:00:53:02"],
    "money": ["1.00", "10.00", "100.00"],
    "bit varying": ["1"],
    "point": ["(1,2)", "(3,4)"],
    "box": ["(1,1),(0,0)"],
    "circle": ["<(0,0),1>"],
    "int4range": ["[1,10)"],
    "int8range": ["[1,10)"],
    "numrange": ["[1,10)"],
    "daterange": ["[2025-01-01,2025-02-01)"],
    "tsrange": ["[2025-01-01,2025-02-01)"],
    "tstzrange": ["[2025-01-01,2025-02-01)"],
}
"""Type -> example values, for columns without statistics."""
_FEWEST_ROWS = 1
_STATEMENT = "CREATE "
"""The prefix of index definitions that are statements."""
_PLAIN = re.compile(r"btree \(([^()]*)\)(.*)")
"""The columns of a Postgres index without expressions, and the rest of its definition."""


def workload_type(name: str) -> str:
    """Return the workload's type for a server's type."""
    plain = name.lower().removesuffix(" zerofill")
    if plain.startswith("int") and plain.endswith(" unsigned"):
        return "bigint"  # it includes all unsigned 32-bit integers
    plain = plain.removesuffix(" unsigned")
    if length := _LENGTH.fullmatch(plain):
        kind = "varchar" if length[1] in ("varchar", "character varying") else "char"
        plain = f"{kind}({length[2]})"
    if plain.startswith(("enum", "set(")):
        return "varchar(64)"
    found = _PLAIN_TYPES.get(plain) or _PLAIN_TYPES.get(base_type(plain)) or plain
    try:
        read_type(found)
    except ValueError:
        return "text"
    return found


def base_type(kind: str) -> str:
    return " ".join(_IN_PARENTHESES.sub("", kind).split())


def example_values(kind: str) -> Sequence[str] | None:
    """Return example values of a type, e.g. dates; None for numbers, texts and unknown types."""
    if kind.endswith("[]"):
        return ["{}"] if is_known(workload_type(kind.removesuffix("[]"))) else None
    word = base_type(kind)
    if word == "bit":
        return ["0" * int(kind.rpartition("(")[2].rstrip(")") if "(" in kind else 1)]
    return _OTHERS.get(word)


def is_known(kind: str) -> bool:
    return has_next(kind) or base_type(kind) == "tsvector" or example_values(kind) is not None


def has_next(kind: str) -> bool:
    """Return whether sequential values can be generated: numbers, or numbers as texts."""
    usual = (*WHOLE, *FRACTIONS, "timestamp", "varchar", "char", "text", *BYTES)
    return base_type(kind) in usual


@dataclass(frozen=True)
class Statistics:
    """The server's statistics of a column's values."""

    width: int | None = None
    common: Sequence[str] = ()
    frequencies: Sequence[float] = ()
    bounds: Sequence[str] = ()
    distinct: float = 0.0


@dataclass(frozen=True)
class CatalogIndex:
    """A secondary index of the server."""

    name: str
    columns: Sequence[str]
    """The columns that it is ordered by; empty if it has expressions."""
    unique: bool = False
    statement: str | None = None
    """The statement that creates it without UNIQUE, if it is more than a list of columns."""


@dataclass
class CatalogTable:
    """A table of the server."""

    name: str
    rows: int
    columns: dict[str, str] = field(default_factory=dict)
    """Name -> the server's name of its type."""
    nullable: set[str] = field(default_factory=set)
    statistics: dict[str, Statistics] = field(default_factory=dict)
    primary_key: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    """Columns whose names need quotation marks, which workloads do not support."""
    indexes: list[CatalogIndex] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)
    """Index that a workload cannot have -> why."""
    has_whole_key: bool = True
    """Whether the primary key consists of whole columns, not prefixes."""
    ends: tuple[int, int] | None = None
    """The lowest and the highest key, if the primary key is one integer."""

    def kind(self, column: str) -> str:
        return workload_type(self.columns[column])

    @property
    def serial(self) -> str | None:
        """The column of the primary key that can be generated as unique, if any."""
        columns = [name for name in self.primary_key if has_next(self.kind(name))]
        numbers = [name for name in columns if self.kind(name) in WHOLE]
        return next(iter(numbers or columns), None)


class Answer(Protocol):
    """The rows that a statement returned, as text."""

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def rows(self) -> Sequence[Sequence[str | None]]: ...


Ask = Callable[[ServerUrl, Sequence[str]], Sequence[Answer]]
"""Executes statements on a running server; raises SlowdustError if it does not answer."""


def read_catalog(ask: Ask, url: ServerUrl, wanted: set[str]) -> list[CatalogTable]:
    """Read the tables of a database that are among `wanted`, names in lower case."""
    sql = find_sql(url.dbms)
    assert sql.catalog is not None, "checked by the caller"
    columns, indexes, statistics = ask(url, sql.catalog)

    def own_name(column: str) -> str:
        return column.lower() if sql.ignores_case_of_columns else column

    tables: dict[str, CatalogTable] = {}
    for name, column, kind, rows, nullable in columns.rows:
        if name is None or column is None or name.lower() not in wanted:
            continue
        count = max(_FEWEST_ROWS, int(float(rows or 0)))
        table = tables.setdefault(name, CatalogTable(name, count))
        own = own_name(column)
        if not re.fullmatch(IDENTIFIER, own) or own in sql.reserved:
            table.excluded.append(own)
            continue
        table.columns[own] = str(kind)
        if nullable == "1":
            table.nullable.add(own)
    for name, is_primary, is_unique, names, index, definition in indexes.rows:
        if name in tables and index is not None:
            within = [own_name(key) for key in (names or "").split(",")]
            found = _index(tables[name], index, within, definition)
            if found is None:
                continue
            if is_primary == "1":
                tables[name].primary_key = list(found.columns)
                whole = found.statement is None or str(definition).startswith(_STATEMENT)
                tables[name].has_whole_key = whole
            else:
                tables[name].indexes.append(replace(found, unique=is_unique == "1"))
    for name, column, *known in statistics.rows:
        if name in tables and column is not None:
            tables[name].statistics[own_name(column)] = _statistics(known)
    for table in tables.values():
        table.ends = _ends(ask, url, table)
    return list(tables.values())


def _index(
    table: CatalogTable, name: str, columns: list[str], definition: str | None
) -> CatalogIndex | None:
    """Return an index; None if a workload cannot have it.

    `columns` are all its columns. `definition` is Postgres' statement, or MySQL's kind of index and
    list of columns, separated by a colon.
    """
    if definition is None:
        table.unsupported[name] = "it has expressions"
        return None
    if not all(column in table.columns for column in columns if column):
        table.unsupported[name] = "one of its columns is excluded"
        return None
    if not definition.startswith(_STATEMENT):
        kind, _, listed = definition.partition(":")
        word = "FULLTEXT INDEX" if kind == "FULLTEXT" else "INDEX"
        plain = word == "INDEX" and listed.lower() == ", ".join(columns)
        statement = f"CREATE {word} {name} ON {table.name} ({listed})"
        return CatalogIndex(name, columns, statement=None if plain else statement)
    using = definition.partition(" USING ")[2]
    match = _PLAIN.match(using)
    parts = match[1].split(", ") if match else []
    ordered = [part.split()[0] for part in parts]
    if match and not match[2] and parts == ordered:
        return CatalogIndex(name, ordered)
    statement = f"CREATE INDEX {name} ON {table.name} USING {using}"
    return CatalogIndex(name, ordered, statement=statement)


def _statistics(known: Sequence[str | None]) -> Statistics:
    width, common, frequencies, bounds, distinct = known
    return Statistics(
        width=None if width is None else int(width),
        common=json.loads(common) if common else (),
        frequencies=json.loads(frequencies) if frequencies else (),
        bounds=json.loads(bounds) if bounds else (),
        distinct=float(distinct or 0),
    )


def _ends(ask: Ask, url: ServerUrl, table: CatalogTable) -> tuple[int, int] | None:
    """Query the lowest and the highest key, which is fast by an index."""
    column = table.serial
    if len(table.primary_key) != 1 or column is None or table.kind(column) not in WHOLE:
        return None
    mark = find_sql(url.dbms).quotation_mark
    key, name = (f"{mark}{each.replace(mark, 2 * mark)}{mark}" for each in (column, table.name))
    statement = f"SELECT min({key}) AS slowdust_low, max({key}) AS slowdust_high FROM {name}"
    ((low, high),) = ask(url, [statement])[0].rows
    return None if low is None or high is None else (int(low), int(high))
