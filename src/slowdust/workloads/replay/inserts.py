"""INSERTs of a replay: new keys, and values that the server had filled in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from sqlglot import Token, TokenType

from slowdust.wording import listing
from slowdust.workloads.sql import tokenize

_UNIQUE = re.compile(r"\s*CREATE\s+UNIQUE\b", re.I)
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_ON_CONFLICT = re.compile(
    r"\bON\s+CONFLICT\b\s*(?:\(([^()]*)\))?[^;]*?\bDO\s+UPDATE\b", re.I | re.S
)
_ON_DUPLICATE = re.compile(r"\bON\s+DUPLICATE\s+KEY\s+UPDATE\b", re.I)
_LITERALS = (TokenType.NUMBER, TokenType.STRING)
_LEADING = ("INSERT", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "(")
_REPLACE = re.compile(r"^REPLACE(?=\s)", re.IGNORECASE)
_QUOTED = (TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER)
_DEPTHS = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True)
class Receiving:
    """A table of the workload that receives rows."""

    name: str
    columns: Sequence[str]
    serial: frozenset[str]
    """Columns of keys with sequential values."""
    needed: frozenset[str]
    """Columns that are not nullable."""

    def value_of(self, column: str) -> dict[str, object]:
        """Return the parameter for a column that the server had filled in."""
        of = f"{self.name}.{column}"
        return {"by": "new", "of": of} if column in self.serial else {"of": of}


def receiving(tables: Mapping[str, Any]) -> dict[str, Receiving]:
    """Return name in lower case -> table of a workload's file."""
    return {name.lower(): _receiving(name, table) for name, table in tables.items()}


def _receiving(name: str, table: Mapping[str, Any]) -> Receiving:
    primary = table.get("primary_key", [])
    keys = {primary} if isinstance(primary, str) else set(primary)
    for index in table.get("indexes", ()):
        keys |= set(index["columns"]) if index.get("unique") else _unique_in(index.get("sql", ""))
    columns = table["columns"]
    serial = {column for column in keys if columns.get(column, {}).get("by") == "serial"}
    needed = {column for column, draw in columns.items() if not draw.get("nullable")}
    return Receiving(name, list(columns), frozenset(serial), frozenset(needed))


def _unique_in(sql: str | Mapping[str, str]) -> set[str]:
    """Return the names in the statement of a unique index, which include its columns."""
    texts = [sql] if isinstance(sql, str) else sql.values()
    return {name for text in texts if _UNIQUE.match(text) for name in _NAME.findall(text)}


@dataclass
class Completed:
    """A statement with the values that the server had filled in."""

    text: str
    parameters: dict[str, dict[str, object]] = field(default_factory=dict)
    """The parameters that are not sampled."""
    replaced: frozenset[str] = frozenset()
    """Parameters of the original statement that are no longer needed."""


def completed(text: str, dialect: str, tables: Mapping[str, Receiving]) -> Completed:
    """Return a statement for the workload; only INSERTs and REPLACEs are changed.

    A column of a key gets a new value, unless the statement updates the existing row. A missing
    column that is not nullable gets a value from its table's generator.

    Raises:
        ValueError: its rows come from a query without such columns.
    """
    insert = read_insert(text, dialect)
    table = None if insert is None else tables.get(insert.table)
    if insert is None or table is None:
        return Completed(text)
    if insert.columns is not None:
        named = list(insert.columns)
    else:
        named = list(table.columns)[: len(insert.rows[0].values) if insert.rows else None]
    absent = [name for name in table.columns if name in table.needed and name not in named]
    if insert.rows is None:
        if absent:
            raise ValueError(
                f"the server had filled in {listing(absent)}, which a workload cannot do for the "
                "rows of a query"
            )
        return Completed(text)
    edits, kept = _Edits(table), _kept_columns(insert, table)
    for row in insert.rows:
        for name, value in zip(named, row.values, strict=False):
            if _is_filled(name, value, table, kept):
                edits.replace(value, name)
        if absent:
            edits.add_values(insert, row, absent)
    if absent:
        edits.add_columns(insert, named, absent)
    return Completed(edits.applied(text), edits.parameters, frozenset(edits.replaced))


def _is_filled(name: str, value: Sequence[Token], table: Receiving, kept: Collection[str]) -> bool:
    """Return whether the value of a column is replaced."""
    words = upper_words(value)
    if words == ["DEFAULT"]:
        return name in table.needed
    if name not in table.serial:
        return False
    if words == ["NULL"] or words[:1] == ["NEXTVAL"]:
        return name in table.needed
    is_hole = len(value) == 2 and value[0].token_type is TokenType.COLON
    is_literal = len(value) == 1 and value[0].token_type in _LITERALS
    return (is_hole or is_literal) and name not in kept


def _kept_columns(insert: Insert, table: Receiving) -> Collection[str]:
    """Return the columns that identify the row to update or replace. They keep their values."""
    if insert.replaces or _ON_DUPLICATE.search(insert.rest):
        return table.columns
    upsert = _ON_CONFLICT.search(insert.rest)
    if upsert is None:
        return ()
    if upsert[1] is None:  # ON CONSTRAINT
        return table.columns
    return [name.strip(' "') for name in upsert[1].split(",")]


class _Edits:
    """Changes of a text, and their parameters."""

    def __init__(self, table: Receiving) -> None:
        self._table = table
        self.parameters: dict[str, dict[str, object]] = {}
        self.replaced: set[str] = set()
        self._changes: list[tuple[int, int, str]] = []

    def _parameter(self, column: str) -> str:
        name = f"s{len(self.parameters) + 1}"
        self.parameters[name] = self._table.value_of(column)
        return f":{name}"

    def replace(self, tokens: Sequence[Token], column: str) -> None:
        for colon, name in pairwise(tokens):
            if colon.token_type is TokenType.COLON:
                self.replaced.add(name.text)
        self._changes.append((tokens[0].start, tokens[-1].end + 1, self._parameter(column)))

    def add_values(self, insert: Insert, row: Row, columns: Sequence[str]) -> None:
        added = [self._parameter(name) for name in columns]
        if insert.is_set:
            added = [f"{name} = {value}" for name, value in zip(columns, added, strict=True)]
        self._add(row.end, added, continues=bool(row.values))

    def add_columns(self, insert: Insert, named: Sequence[str], added: Sequence[str]) -> None:
        """Add columns to the list of names."""
        if insert.defaults is not None:
            values = ", ".join(self._parameter(name) for name in added)
            self._changes.append((*insert.defaults, f"({', '.join(added)}) VALUES ({values})"))
        elif insert.columns is None:
            self._add(insert.list_end, [f" ({', '.join((*named, *added))})"], continues=False)
        elif not insert.is_set:
            self._add(insert.list_end, added, continues=bool(named))

    def _add(self, place: int, parts: Iterable[str], *, continues: bool) -> None:
        self._changes.append((place, place, (", " if continues else "") + ", ".join(parts)))

    def applied(self, text: str) -> str:
        for start, end, change in sorted(self._changes, reverse=True):
            text = text[:start] + change + text[end:]
        return text


@dataclass(frozen=True)
class Row:
    """The values of a row, and the offset for another value."""

    values: Sequence[Sequence[Token]]
    end: int
    """The offset in the text after the last value."""


@dataclass(frozen=True)
class Insert:
    """The parts of an INSERT or REPLACE."""

    table: str
    columns: Sequence[str] | None
    """The columns that it names; None if it names none."""
    list_end: int
    """The offset in the text for more columns."""
    replaces: bool
    rows: Sequence[Row] | None = None
    """The rows; None if they come from a query."""
    rest: str = ""
    """The text after the rows."""
    is_set: bool = False
    """Whether it is MySQL's INSERT INTO t SET a = 1."""
    defaults: tuple[int, int] | None = None
    """The ends of DEFAULT VALUES in the text; there are no rows then."""


def read_insert(text: str, dialect: str) -> Insert | None:
    """Return the first INSERT or REPLACE of a statement, if any."""
    # sqlglot reads everything after REPLACE as one token; the blank preserves offsets.
    replaces = _REPLACE.match(text) is not None
    tokens = tokenize(_REPLACE.sub("INSERT ", text, count=1), dialect)
    reader = _Reader(tokens)
    if not reader.finds_insert():
        return None
    head = Insert(reader.table(), None, reader.offset, replaces)
    if reader.word == "(" and reader.following not in _QUERIES:
        row = reader.row()
        names = [part[-1].text.lower() for part in row.values]
        head = replace(head, columns=names, list_end=row.end)
    if reader.word == "OVERRIDING":
        reader.place += 3
    if (reader.word, reader.following) == ("DEFAULT", "VALUES"):
        begun = tokens[reader.place].start
        reader.place += 2
        ends = (begun, reader.offset)
        return replace(head, columns=[], rows=[], rest=text[reader.offset :], defaults=ends)
    if reader.word == "SET":
        reader.place += 1
        names, row = reader.assignments()
        rest = text[row.end :]
        return replace(head, columns=names, list_end=row.end, rows=[row], rest=rest, is_set=True)
    if reader.word not in ("VALUES", "VALUE"):
        return head
    reader.place += 1
    rows = list(reader.rows())
    return replace(head, rows=rows, rest=text[reader.offset :]) if rows else None


class _Reader:
    """The tokens of a statement, and the next one to read."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._words = upper_words(tokens)
        self.place = 0

    @property
    def word(self) -> str:
        return self._at(self.place)

    @property
    def following(self) -> str:
        return self._at(self.place + 1)

    @property
    def offset(self) -> int:
        """The offset in the text after the last token that was read."""
        return self._tokens[self.place - 1].end + 1

    def _at(self, place: int) -> str:
        return self._words[place] if place < len(self._words) else ""

    def finds_insert(self) -> bool:
        """Move to the table of the first INSERT; return whether there is one."""
        places = (n for n, word in enumerate(self._words) if word == "INSERT")
        self.place = next((n for n in places if self._at(n + 1) != "("), len(self._words))
        while self.word in _LEADING:
            self.place += 1
        return self.place < len(self._tokens)

    def table(self) -> str:
        """Read a table with its schema and its alias; return its name."""
        while self.following == ".":
            self.place += 2
        name = self._tokens[min(self.place, len(self._tokens) - 1)].text.lower()
        self.place += 3 if self.following == "AS" else 1
        return name

    def rows(self) -> Iterator[Row]:
        """Read all rows."""
        while self.word == "(":
            yield self.row()
            if self.word == ",":
                self.place += 1

    def row(self) -> Row:
        begun, depth = self.place + 1, 1
        self.place += 1
        while depth and self.place < len(self._tokens):
            depth += _DEPTHS.get(self.word, 0)
            self.place += 1
        closing = self.place - 1
        return Row(_split(self._tokens[begun:closing]), self._tokens[closing].start)

    def assignments(self) -> tuple[list[str], Row]:
        """Read `a = 1, b = 2`; return the columns, and their values as a row."""
        begun, depth = self.place, 0
        while self.word and (depth or self.word not in ("ON", "AS")):
            depth += _DEPTHS.get(self.word, 0)
            self.place += 1
        parts = [
            part for part in _split(self._tokens[begun : self.place]) if "=" in upper_words(part)
        ]
        equals = [upper_words(part).index("=") for part in parts]
        names = [part[n - 1].text.lower() for n, part in zip(equals, parts, strict=True)]
        values = [part[n + 1 :] for n, part in zip(equals, parts, strict=True)]
        return names, Row(values, self.offset)


def upper_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words and signs in upper case; `"` replaces all that is in quotation marks."""
    return ['"' if token.token_type in _QUOTED else token.text.upper() for token in tokens]


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at commas outside of parentheses and brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token, word in zip(tokens, upper_words(tokens), strict=True):
        depth += _DEPTHS.get(word, 0)
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
