"""INSERTs in their parts: the columns that they name, and the values of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import Token, TokenType

from slowdust.experiment.workload.sql import tokens_of

_LEADING = ("INSERT", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "(")
_REPLACE = re.compile(r"^REPLACE(?=\s)", re.IGNORECASE)
_QUOTED = (TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER)
_DEPTHS = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True)
class Row:
    """The values of a row, and where another one can stand."""

    values: Sequence[Sequence[Token]]
    end: int
    """The place in the text behind the last value."""


@dataclass(frozen=True)
class Insert:
    """An INSERT or REPLACE in its parts."""

    table: str
    columns: Sequence[str] | None
    """The columns that it names; None if it names none."""
    list_end: int
    """The place in the text where more columns can be named."""
    replaces: bool
    rows: Sequence[Row] | None = None
    """The rows; None for those of a query."""
    rest: str = ""
    """The text behind the rows."""
    is_set: bool = False
    """Whether it is MySQL's INSERT INTO t SET a = 1."""
    defaults: tuple[int, int] | None = None
    """The ends of DEFAULT VALUES in the text, which has no rows then."""


def read_insert(text: str, dialect: str) -> Insert | None:
    """Return the first INSERT or REPLACE of a statement; None where there is none to be read."""
    # The tokens behind REPLACE are one to sqlglot; the blank keeps their places.
    replaces = _REPLACE.match(text) is not None
    tokens = tokens_of(_REPLACE.sub("INSERT ", text, count=1), dialect)
    reader = _Reader(tokens)
    if not reader.finds_insert():
        return None
    head = Insert(reader.table(), None, reader.behind, replaces)
    if reader.word == "(" and reader.following not in _QUERIES:
        row = reader.row()
        names = [part[-1].text.lower() for part in row.values]
        head = replace(head, columns=names, list_end=row.end)
    if reader.word == "OVERRIDING":
        reader.place += 3
    if (reader.word, reader.following) == ("DEFAULT", "VALUES"):
        begun = tokens[reader.place].start
        reader.place += 2
        ends = (begun, reader.behind)
        return replace(head, columns=[], rows=[], rest=text[reader.behind :], defaults=ends)
    if reader.word == "SET":
        reader.place += 1
        names, row = reader.assignments()
        rest = text[row.end :]
        return replace(head, columns=names, list_end=row.end, rows=[row], rest=rest, is_set=True)
    if reader.word not in ("VALUES", "VALUE"):
        return head
    reader.place += 1
    rows = list(reader.rows())
    return replace(head, rows=rows, rest=text[reader.behind :]) if rows else None


class _Reader:
    """The tokens of a statement, and the place up to which they are read."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._words = words_of(tokens)
        self.place = 0

    @property
    def word(self) -> str:
        """The word or sign at the place; empty behind the last."""
        return self._at(self.place)

    @property
    def following(self) -> str:
        """The word or sign behind that."""
        return self._at(self.place + 1)

    @property
    def behind(self) -> int:
        """The place in the text behind the last token that is read."""
        return self._tokens[self.place - 1].end + 1

    def _at(self, place: int) -> str:
        return self._words[place] if place < len(self._words) else ""

    def finds_insert(self) -> bool:
        """Go to the table of the first INSERT; return whether there is one."""
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
        """Read rows, as long as there are more of them."""
        while self.word == "(":
            yield self.row()
            if self.word == ",":
                self.place += 1

    def row(self) -> Row:
        """Read what is in parentheses."""
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
        parts = [part for part in _split(self._tokens[begun : self.place]) if "=" in words_of(part)]
        equals = [words_of(part).index("=") for part in parts]
        names = [part[n - 1].text.lower() for n, part in zip(equals, parts, strict=True)]
        values = [part[n + 1 :] for n, part in zip(equals, parts, strict=True)]
        return names, Row(values, self.behind)


def words_of(tokens: Sequence[Token]) -> list[str]:
    """Return the words and signs in capitals; what is in quotation marks is a quotation mark."""
    return ['"' if token.token_type in _QUOTED else token.text.upper() for token in tokens]


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return what stands between commas that are in no parentheses or brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token, word in zip(tokens, words_of(tokens), strict=True):
        depth += _DEPTHS.get(word, 0)
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
