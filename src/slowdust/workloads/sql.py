"""Parses statements: their parameters, verbs and syntax trees."""

from __future__ import annotations

import itertools
import logging
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from sqlglot import Token, Tokenizer, TokenType, parse_one
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from slowdust.dbms import find_sql

_TEXTS = (TokenType.STRING, TokenType.NATIONAL_STRING)
_ENDS = ("first", "last")
_READS = ("SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "CALL")
_WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE")
_DEFINITIONS = ("CREATE", "ALTER", "DROP")
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK")
"""Statements that control transactions; they need no name."""
_OPERANDS = (
    *(TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING),
    TokenType.PARAMETER,
)
"""Tokens that may precede the colon of an array's slice, in addition to closing brackets."""
_NUMBERED = re.compile(
    r"""
    [eE]'(?:[^'\\]|\\.)*(?:'|\Z) | '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | --[^\n]*
    | /\*.*?(?:\*/|\Z) | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
    | \w[\w$]*
    | \$(?P<number>\d+)
    """,
    re.VERBOSE | re.DOTALL,
)
"""Postgres' parameters such as $1; strings, names and comments that may contain `$1` match first.

Unterminated ones extend to the end of the statement, so that no part is searched twice.
"""
MOST_CHARACTERS = 1_000_000
"""The most characters of a statement: reading longer ones takes seconds."""
_MOST_FOR_A_TREE = 50_000
"""The most characters of a statement that is parsed, which takes most of the time."""


@cache
def _tokenizer(grammar: str) -> Tokenizer:
    """Return a tokenizer without commands: sqlglot reads everything after one as one token."""
    usual = Dialect.get_or_raise(grammar).tokenizer_class
    plain: type[Tokenizer] = types.new_class(
        "Plain", (usual,), exec_body=lambda names: names.update(COMMANDS=set())
    )
    return plain(dialect=grammar)


logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns about unknown syntax


@dataclass(frozen=True)
class Hole:
    """A place of a statement for a value."""

    name: str | None
    """The parameter; None if the statement contains the value."""
    end: str | None = None
    """`first` or `last` of a span."""
    value: str | None = None
    """A text of the statement that is sent as a value because it contains a question mark."""


@dataclass(frozen=True)
class Parsed:
    """A statement as parts and the holes between them: one part more than holes."""

    parts: tuple[str, ...]
    holes: tuple[Hole, ...]
    word: str
    """The verb, in upper case."""
    returning: bool = False
    """Whether it has RETURNING."""

    @property
    def returns_rows(self) -> bool:
        """Whether its result is rows, not a number of rows."""
        return self.returning or self.word in _READS

    @property
    def writes(self) -> bool:
        """Whether it changes rows or definitions."""
        return self.word in (*_WRITES, *_DEFINITIONS)


def tokenize(text: str, dialect: str) -> list[Token]:
    """Return the tokens of a statement; a parameter of Postgres such as $1 is one token.

    Raises:
        ValueError: it is not SQL, for example for a missing quotation mark.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"it has {len(text):,} characters: a statement has at most {MOST_CHARACTERS:,}"
        )
    try:
        sql = find_sql(dialect)
        return list(_tokens(text, sql.grammar, numbered=sql.has_numbered_parameters))
    except SqlglotError as error:
        raise ValueError(f"this is not SQL of {dialect}: {error}") from None


@lru_cache(maxsize=4)  # dialects with the same grammar ask in sequence
def _tokens(text: str, grammar: str, *, numbered: bool) -> tuple[Token, ...]:
    # sqlglot reads `$1,$` as the begin of a dollar-quoted text, so replace `$1` by a number.
    plain = _NUMBERED.sub(_plain_number, text) if numbered and "$" in text else text
    tokens = tuple(_tokenizer(grammar).tokenize(plain))
    for token in tokens:
        if token.token_type is TokenType.NUMBER and text[token.start] == "$":
            token.token_type = TokenType.PARAMETER
            token.text = text[token.start : token.end + 1]
    return tokens


def _plain_number(found: re.Match[str]) -> str:
    return found[0] if found["number"] is None else f"0{found['number']}"


def syntax_tree(text: str, dialect: str) -> exp.Expression | None:
    """Return the tree of a statement, which callers must not modify.

    None if it is very long or sqlglot cannot parse it; a server may accept it nevertheless.
    """
    return None if len(text) > _MOST_FOR_A_TREE else _tree(text, find_sql(dialect).grammar)


@lru_cache(maxsize=4)
def _tree(text: str, grammar: str) -> exp.Expression | None:
    try:
        tree = parse_one(text, read=grammar)
    except (SqlglotError, RecursionError):
        return None
    return tree if isinstance(tree, exp.Expression) else None


def check_single(text: str, dialect: str) -> list[Token]:
    """Return the tokens of one statement, without the semicolon at its end.

    Raises:
        ValueError: it is empty or several, or not SQL.
    """
    if "\0" in text:
        raise ValueError("it contains the character NUL, which no server accepts")
    tokens = tokenize(text, dialect)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise ValueError("the statement is empty")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise ValueError("these are several statements: write each separately")
    return tokens


@lru_cache(maxsize=4096)  # tests, transactions and checks parse the same statements
def parse_statement(text: str, dialect: str) -> Parsed:
    """Find the parameters of a statement: `:NAME`, and `:NAME.first` and `:NAME.last` of spans.

    Raises:
        ValueError: it is empty, several statements, or has a question mark outside of a text.
    """
    tokens = check_single(text, dialect)
    parts: list[str] = []
    holes: list[Hole] = []
    begun = tokens[0].start
    place = after = 0
    slices = _colons_of_slices(tokens)
    while place < len(tokens):
        hole, used = (None, 1) if place in slices else _hole(tokens, place)
        if hole is not None:
            parts.append(_without_marks(text, tokens[after:place], begun, tokens[place].start))
            holes.append(hole)
            after = place + used
            begun = tokens[after - 1].end + 1
        place += used
    parts.append(_without_marks(text, tokens[after:], begun, tokens[-1].end + 1))
    returning = "RETURNING" in _words(tokens)
    return Parsed(tuple(parts), tuple(holes), find_verb(tokens), returning)


def _colons_of_slices(tokens: list[Token]) -> frozenset[int]:
    """Return the colons after an operand in brackets: `a[1:n]`, which only Postgres has."""
    found = set()
    brackets: list[str] = []
    for place, token in enumerate(tokens):
        if token.text in ("[", "("):
            brackets.append(token.text)
        elif token.text in ("]", ")") and brackets:
            brackets.pop()
        elif token.token_type is TokenType.COLON and brackets[-1:] == ["["]:
            before = tokens[place - 1]
            if before.token_type in _OPERANDS or before.text in ("]", ")"):
                found.add(place)
    return frozenset(found)


def _hole(tokens: list[Token], place: int) -> tuple[Hole | None, int]:
    """Return the hole that begins at a token, if any, and its number of tokens."""
    token = tokens[place]
    kind = token.token_type
    if kind is TokenType.PLACEHOLDER and token.text == "?":
        raise ValueError("write :NAME for a value, not ?")
    if kind in _TEXTS and "?" in token.text:
        return Hole(None, value=token.text), 1
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if kind is not TokenType.COLON or following is None or following.start != token.end + 1:
        return None, 1
    if not following.text.isidentifier():
        return None, 1
    for end in _ENDS:
        after = tokens[place + 2 : place + 4]
        adjacent = len(after) == 2 and after[0].start == following.end + 1
        if adjacent and after[0].text == "." and after[1].text.lower() == end:
            return Hole(following.text, end), 4
    return Hole(following.text), 2


def _without_marks(text: str, tokens: list[Token], begin: int, end: int) -> str:
    """Return a part of the text without comments that contain a question mark.

    Raises:
        ValueError: a question mark is elsewhere.
    """
    part = text[begin:end]
    if "?" not in part:
        return part
    kept: list[str] = []
    last = begin
    for token in tokens:
        gap = text[last : token.start]
        kept.append(" " if "?" in gap else gap)
        kept.append(text[token.start : token.end + 1])
        last = token.end + 1
    gap = text[last:end]
    kept.append(" " if "?" in gap else gap)
    cleaned = "".join(kept)
    if "?" in cleaned:
        raise ValueError("it has a question mark outside of a text, which cannot be sent")
    return cleaned


def find_verb(tokens: list[Token]) -> str:
    """Return the verb; for a WITH the first one that writes, else SELECT."""
    words = list(itertools.dropwhile(lambda word: word == "(", _words(tokens)))
    if words and words[0] == "WITH":
        # REPLACE(...) is a function, and FOR UPDATE locks.
        around = zip(["", *words[:-1]], words, [*words[1:], ""], strict=True)
        verbs = (
            word
            for before, word, after in around
            if word in _WRITES and after != "(" and before != "FOR"
        )
        return next(verbs, "SELECT")
    if words and words[0] == "START":
        return "BEGIN"
    return words[0] if words else ""


def _words(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.token_type not in (*_TEXTS, TokenType.IDENTIFIER, TokenType.NUMBER):
            yield token.text.upper()
