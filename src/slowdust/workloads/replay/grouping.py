"""Groups executions into statements with parameters, weights and sampled values."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import Token, TokenType

from slowdust.dbms import find_sql
from slowdust.formats.statements import Execution, Seen
from slowdust.workloads.sql import check_single, find_verb

MOST_SAMPLES = 200
"""The most sampled executions of a statement, chosen at random."""
_SEED = 1
_LISTED = "..."
_LIST = re.compile(r"\( ITEM(?: , ITEM)* \)".replace("ITEM", r"(?:(?:- )?\?|null|\.\.\.)"))
"""A list of values of any length: `IN (?, ?)`, in the Performance Schema `IN (...)`."""
_VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "VALUES", "TABLE")
_ON_ROWS = re.compile(rf"\b({'|'.join(_VERBS[:-1])})\b", re.IGNORECASE)
"""A verb in a statement that cannot be parsed."""

Literal = str | int | float | None
_TYPED = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"}
_UNKNOWN = "\0"
"""The value of a parameter with an unknown value."""


@dataclass(frozen=True)
class _Form:
    """A statement without its values."""

    parts: tuple[str, ...]
    """The texts between values: one more than there are values."""
    spelling: str
    """The words in lower case, with `?` for each value."""
    key: str
    """The spelling, with lists of values of any length made equal."""
    verb: str


@dataclass
class Replayed:
    """A statement of the log."""

    parts: tuple[str, ...]
    verb: str
    key: str
    executions: int = 0
    """Executions in logs; `samples` are some of them."""
    calls: float = 0.0
    samples: list[tuple[Literal, ...]] = field(default_factory=list)

    @property
    def constants(self) -> list[Literal | None]:
        """The value of each parameter that never varies; None for parameters that vary."""
        if len(self.samples) < 2:
            return [None] * (len(self.parts) - 1)
        columns = list(zip(*self.samples, strict=True))
        return [column[0] if len(set(column)) == 1 else None for column in columns]

    @property
    def shown(self) -> str:
        """The statement with `?` for its values."""
        return "?".join(self.parts)


@dataclass
class Grouped:
    """The statements of one or more files."""

    dialect: str
    statements: list[Replayed]
    """The statements that can be replayed, the most frequent first."""
    without_values: list[tuple[str, float]]
    """Statements without a known execution, and their calls."""
    others: dict[str, int]
    """Kind of statement that does not access rows -> executions."""
    unread: list[tuple[str, float, str]]
    """Statements that access rows and cannot be parsed, their calls, and why."""


@dataclass
class _Excluded:
    """Excluded statements and their executions."""

    others: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    unread: dict[tuple[str, str], int] = field(default_factory=dict)


def grouped(seen: Sequence[Seen]) -> Grouped:
    """Group executions and statistics by statement.

    If there are statistics, they provide the numbers of calls, and logs only the values.
    """
    dialect = seen[0].dialect
    found: dict[str, Replayed] = {}
    excluded = _Excluded()
    rng = random.Random(_SEED)
    digests = [digest for each in seen for digest in each.digests]
    for execution in _executions(seen):
        _add(found, excluded, execution, dialect=dialect, rng=rng)
    if digests:
        excluded.unread.clear()  # the statistics count them
        calls: dict[str, float] = {}
        texts: dict[str, str] = {}
        for digest in digests:
            formed = _on_rows(digest.text, (), dialect, excluded, digest.calls)
            if formed is None:
                continue
            form = formed[0]
            calls[form.key] = calls.get(form.key, 0) + digest.calls
            texts.setdefault(form.key, digest.text)
            if len(form.parts) == 1 and _LISTED not in form.key:
                # It has no values, so that its text is an execution.
                found.setdefault(form.spelling, _replayed(form))
        _weigh(found.values(), calls)
        known = {each.key for each in found.values()}
        without = [(texts[key], count) for key, count in calls.items() if key not in known]
    else:
        for each in found.values():
            each.calls = each.executions
        without = [(text, float(count)) for text, count in excluded.unknown.items()]
    statements = [each for each in found.values() if each.calls]
    statements.sort(key=lambda each: -each.calls)
    unread = [(text, count, why) for (text, why), count in excluded.unread.items()]
    return Grouped(
        dialect,
        statements,
        sorted(without, key=lambda pair: -pair[1]),
        excluded.others,
        sorted(unread, key=lambda each: -each[1]),
    )


def _executions(seen: Sequence[Seen]) -> Iterable[Execution]:
    for each in seen:
        yield from each.executions
        for digest in each.digests:
            if digest.example is not None:
                yield Execution(digest.example)


def _weigh(found: Iterable[Replayed], calls: dict[str, float]) -> None:
    """Distribute the calls of each statement over its spellings, by their executions."""
    by_key: dict[str, list[Replayed]] = {}
    for each in found:
        by_key.setdefault(each.key, []).append(each)
    for key, spellings in by_key.items():
        together = sum(max(1, each.executions) for each in spellings)
        for each in spellings:
            each.calls = calls.get(key, 0.0) * max(1, each.executions) / together


def _add(
    found: dict[str, Replayed],
    excluded: _Excluded,
    execution: Execution,
    *,
    dialect: str,
    rng: random.Random,
) -> None:
    formed = _on_rows(execution.text, execution.parameters, dialect, excluded, 1)
    if formed is None:
        return
    form, values = formed
    if any(value is _UNKNOWN for value in values):
        shown = "?".join(form.parts)
        excluded.unknown[shown] = excluded.unknown.get(shown, 0) + 1
        return
    statement = found.setdefault(form.spelling, _replayed(form))
    statement.executions += 1
    if len(statement.samples) < MOST_SAMPLES:
        statement.samples.append(values)
    elif (place := rng.randrange(statement.executions)) < MOST_SAMPLES:
        statement.samples[place] = values


def _on_rows(
    text: str, parameters: Sequence[str | None], dialect: str, excluded: _Excluded, calls: int
) -> tuple[_Form, tuple[Literal, ...]] | None:
    """Return a statement without its values, and the values; None if it is excluded."""
    word = next(iter(text.split()), "").upper()
    try:
        formed = _formed(text, parameters, dialect)
    except ValueError as error:
        if word != "CREATE" and _ON_ROWS.search(text):
            why = " ".join(str(error).split())
            excluded.unread[text, why] = excluded.unread.get((text, why), 0) + calls
        else:
            excluded.others[word] = excluded.others.get(word, 0) + calls
        return None
    if formed[0].verb not in _VERBS:
        excluded.others[word] = excluded.others.get(word, 0) + calls
        return None
    return formed


def _formed(
    text: str, parameters: Sequence[str | None], dialect: str
) -> tuple[_Form, tuple[Literal, ...]]:
    """Return a statement without its values, and the values.

    Raises:
        ValueError: it is empty, several statements, or not SQL.
    """
    tokens = check_single(text, dialect)
    parts: list[str] = []
    values: list[Literal] = []
    words: list[str] = []
    begun, place = tokens[0].start, 0
    fixed = _fixed_places(tokens, dialect)
    closing = ""
    while place < len(tokens):
        lifted = None if place in fixed else _value(tokens, place, parameters, dialect)
        if lifted is not None:
            parts.append(closing + text[begun : tokens[place].start] + lifted.opening)
            values.append(lifted.value)
            closing = lifted.closing
            begun = tokens[place + lifted.tokens - 1].end + 1
            words.append("?")
        else:
            token = tokens[place]
            # A string that stays has its quotation marks: '?' is no value.
            is_string = token.token_type is TokenType.STRING
            words.append((text[token.start : token.end + 1] if is_string else token.text).lower())
        place += 1 if lifted is None else lifted.tokens
    parts.append(closing + text[begun : tokens[-1].end + 1])
    spelling = " ".join(words).replace(". . .", _LISTED)
    key = _LIST.sub(f"( {_LISTED} )", spelling)
    return _Form(tuple(parts), spelling, key, find_verb(tokens)), tuple(values)


def _fixed_places(tokens: Sequence[Token], dialect: str) -> set[int]:
    """Return the tokens of literals that cannot become parameters.

    They are numbers of columns in GROUP BY and ORDER BY, texts like in DATE '2026-01-01', lengths
    of types, names in quotation marks, and paths of MySQL's JSON.
    """
    paths = find_sql(dialect).has_literal_paths
    fixed = {place for first in range(2, len(tokens)) for place in _lengths(tokens, first)}
    for place, token in enumerate(tokens):
        if not place:
            continue
        before = tokens[place - 1]
        begins = before.token_type in (TokenType.GROUP_BY, TokenType.ORDER_BY)
        follows = before.token_type is TokenType.COMMA and _is_column(tokens, place - 1, fixed)
        is_column = token.token_type is TokenType.NUMBER and (begins or follows)
        is_prefixed = before.text.upper() in _TYPED or before.token_type is TokenType.ALIAS
        is_path = paths and before.token_type in (TokenType.ARROW, TokenType.DARROW)
        is_typed = token.token_type is TokenType.STRING and (is_prefixed or is_path)
        if is_column or is_typed:
            fixed.add(place)
    return fixed


def _lengths(tokens: Sequence[Token], opening: int) -> Sequence[int]:
    """Return the tokens of the numbers in `AS DECIMAL(10, 2)` or `::varchar(5)`."""
    cast = tokens[opening - 2].token_type in (TokenType.ALIAS, TokenType.DCOLON)
    if not cast or tokens[opening].token_type is not TokenType.L_PAREN:
        return ()
    end = opening + 1
    while end < len(tokens) and tokens[end].token_type in (TokenType.NUMBER, TokenType.COMMA):
        end += 1
    closed = end < len(tokens) and tokens[end].token_type is TokenType.R_PAREN
    return range(opening + 1, end) if closed else ()


def _is_column(tokens: Sequence[Token], comma: int, fixed: set[int]) -> bool:
    """Return whether a comma follows the number of a column, with or without a direction."""
    directions = (TokenType.ASC, TokenType.DESC)
    last = comma - 2 if tokens[comma - 1].token_type in directions else comma - 1
    return last in fixed and tokens[last].token_type is TokenType.NUMBER


def _replayed(form: _Form) -> Replayed:
    return Replayed(form.parts, form.verb, form.key)


@dataclass(frozen=True)
class _Lifted:
    """A value of a statement."""

    value: Literal
    tokens: int = 1
    opening: str = ""
    """The text before the parameter, and after it."""
    closing: str = ""


def _value(
    tokens: Sequence[Token], place: int, parameters: Sequence[str | None], dialect: str
) -> _Lifted | None:
    """Return the value that a token begins; None for other tokens."""
    token = tokens[place]
    kind = token.token_type
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if kind in (TokenType.STRING, TokenType.NATIONAL_STRING):
        return _Lifted(token.text)
    if kind is TokenType.INTRODUCER and following and following.token_type is TokenType.STRING:
        return _Lifted(following.text, 2)
    if kind is TokenType.NUMBER:
        return _Lifted(_number(token.text))
    if kind is TokenType.HEX_STRING:
        return _hexadecimal(token.text, dialect)
    if kind is TokenType.PLACEHOLDER and token.text == "?":
        return _Lifted(_UNKNOWN)
    if kind is TokenType.PARAMETER and token.text[1:].isdecimal():
        number = int(token.text[1:])
        known = 1 <= number <= len(parameters)
        return _Lifted(parameters[number - 1] if known else _UNKNOWN)
    return None


def _hexadecimal(digits: str, dialect: str) -> _Lifted | None:
    """Return the bytes of 0x4142, sent as hexadecimal digits; None for Postgres' bit strings."""
    if not find_sql(dialect).has_hexadecimal_bytes:
        return None
    return _Lifted(digits.zfill(len(digits) + len(digits) % 2), 1, "UNHEX(", ")")


def _number(text: str) -> Literal:
    try:
        number = int(text)
    except ValueError:
        return text if "." in text or math.isinf(float(text)) else float(text)
    return number if abs(number) < 2**63 else text
