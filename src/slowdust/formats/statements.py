"""Statements that servers have seen: logs and exports of statistics.

Logs are the slow log of MySQL and MariaDB, and Postgres' log as text or as CSV; statistics are
pg_stat_statements, and the digests of the Performance Schema.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Execution:
    """An executed statement from a log."""

    text: str
    parameters: tuple[str | None, ...] = ()
    """The values of `$1`, `$2`, ..., None for NULL; empty if they are part of the text."""


@dataclass(frozen=True)
class Digest:
    """A statement without its values, and its number of executions, from statistics."""

    text: str
    calls: int
    example: str | None = None
    """One execution with its values."""


@dataclass(frozen=True)
class Seen:
    """The statements of a file."""

    dialect: str
    """The DBMS that wrote it: `postgres` or `mysql`, which includes MariaDB."""
    what: str
    """The kind of file, in words."""
    executions: tuple[Execution, ...] = ()
    digests: tuple[Digest, ...] = ()


_SLOW = re.compile(r"^# (Time: +\d|User@Host: .*\[.*\] @ |Query_time: [\d.]+)", re.MULTILINE)
"""Beginning of an entry of the slow log; following lines with # may belong to the entry."""
_STARTED = re.compile(r", Version: .* started with:$")
"""The first line that a server writes into its slow log when it starts."""
_ITS_OWN = re.compile(r"(use [^;]*|SET (?:\w+=\d+,)*timestamp=\d+);$", re.IGNORECASE)
_ADMINISTRATOR = "# administrator command: "
_MESSAGE = re.compile(
    r"(?:duration: [\d.]+ ms\s+)?(?:statement|execute [^:]*): (?P<statement>.*)", re.DOTALL
)
_ENTRY = re.compile(rf"LOG:  {_MESSAGE.pattern}")
_VALUES = re.compile(r"parameters: (?P<values>.*)", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')")
_KIND = re.compile(
    r"(?P<kind>LOG|ERROR|WARNING|DETAIL|STATEMENT|HINT|CONTEXT|FATAL|PANIC|NOTICE|INFO|DEBUG[1-5]"
    r"|QUERY|LOCATION):  "
)
_COLUMNS_OF_CSV = 14
_MESSAGE_COLUMN, _DETAIL_COLUMN, _SEVERITY_COLUMN = 13, 14, 11


def read_log(text: str) -> Seen | None:
    """Return the statements of a log; None if the format is unknown."""
    if _SLOW.search(text):
        return Seen("mysql", "slow log", executions=tuple(_slow_log(text)))
    rows = _csv_log(text)
    if rows is not None:
        return Seen("postgres", "log of Postgres (CSV)", executions=tuple(rows))
    if _ENTRY.search(text):
        return Seen("postgres", "log of Postgres", executions=tuple(_postgres_log(text)))
    return None


def _slow_log(text: str) -> Iterator[Execution]:
    lines: list[str] | None = None
    header = False
    for line in text.split("\n"):
        begins = _SLOW.match(line)
        if begins or _STARTED.search(line):
            yield from _executed(lines or [])
            lines, header = ([], True) if begins else (None, False)
        elif lines is not None and not (header and line.startswith("#")):
            header = False
            lines.append(line)
    yield from _executed(lines or [])


def _executed(lines: Sequence[str]) -> Iterator[Execution]:
    """Yield the statement of an entry, after the lines that the server adds."""
    own = itertools.dropwhile(_ITS_OWN.match, lines)
    statement = "\n".join(own).strip().removesuffix(";").strip()
    if statement and not statement.startswith(_ADMINISTRATOR):
        yield Execution(statement)


def _postgres_log(text: str) -> Iterator[Execution]:
    statement: str | None = None
    for message in _messages(text):
        kind = _KIND.search(message)
        if kind is None:
            continue
        if statement is not None:
            yield Execution(statement, _parameters(message[kind.end() :]))
        entry = _MESSAGE.match(message, kind.end()) if kind["kind"] == "LOG" else None
        statement = entry["statement"] if entry else None
    if statement is not None:
        yield Execution(statement)


def _messages(text: str) -> Iterator[str]:
    """Yield the messages of a log; their continuation lines begin with a tab."""
    lines: list[str] = []
    for line in text.rstrip("\n").split("\n"):
        if lines and not line.startswith("\t") and _KIND.search(line):
            yield "\n".join(lines)
            lines = []
        lines.append(line.removeprefix("\t"))
    yield "\n".join(lines)


def _csv_log(text: str) -> list[Execution] | None:
    found: list[Execution] = []
    is_log = False
    try:
        for row in csv.reader(text.splitlines(keepends=True)):
            if len(row) <= _COLUMNS_OF_CSV or not row[3].isdecimal():
                return found if is_log else None
            is_log = True
            message = _MESSAGE.match(row[_MESSAGE_COLUMN])
            if row[_SEVERITY_COLUMN] != "LOG" or message is None:
                continue
            parameters = _parameters(row[_DETAIL_COLUMN])
            found.append(Execution(message["statement"], parameters))
    except csv.Error:
        return None
    return found if is_log else None


def _parameters(detail: str) -> tuple[str | None, ...]:
    """Return the values of a detail; empty if it has none."""
    values = _VALUES.match(detail)
    if values is None:
        return ()
    return tuple(
        None if value == "NULL" else value[1:-1].replace("''", "'")
        for value in _PARAMETER.findall(values["values"])
    )


_ESCAPE = re.compile(r"\\([ntr0\\])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "", "\\": "\\"}
_END_OF_PSQL = re.compile(r"\(\d+ rows?\)$")
_OWN = ("pg_stat_statements", "events_statements_summary_by_digest", "slowdust_")
"""Words in statements that query statistics, and in Slowdust's own."""

_EXPORTS = (
    ("postgres", "export of pg_stat_statements", "query", "calls"),
    ("mysql", "export of statement digests", "digest_text", "count_star"),
)
"""Dialect and kind of a table, and its columns of statements and numbers of executions."""
_Row = tuple[int, Sequence[str | None]]
"""Line number of a row in its file, and its cells."""


class CellError(ValueError):
    """A wrong cell of an export, with the number of its row, its column, and the reason."""

    def __init__(self, row: int, column: str, why: str) -> None:
        super().__init__(f"{row}: {column}: {why}")


def read_export(text: str) -> Seen | None:
    """Return the statements of an export with a line of names; None if it is of another kind.

    Raises:
        CellError: a row has fewer cells than names, or its number of calls is not a number.
    """
    head = text.partition("\n")[0]
    tabs = "\t" in head
    dialect: type[csv.Dialect] = csv.excel_tab if tabs else csv.excel
    reader = csv.reader(io.StringIO(text, newline=""), dialect)
    rows, before = [], 0
    try:
        for row in reader:
            rows.append((before + 1, row))  # the number of the line where it begins
            before = reader.line_num
    except csv.Error:
        return None
    if not rows:
        return None
    names = [name.strip().lower() for name in rows[0][1]]

    def unescaped(cell: str) -> str:
        return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], cell)

    plain = (
        (line, [*map(unescaped, row)] if tabs else row)
        for line, row in rows[1:]
        if row and not (len(row) == 1 and _END_OF_PSQL.match(row[0]))
    )
    return seen_in(names, plain)


def seen_in(names: Sequence[str], rows: Iterator[_Row]) -> Seen | None:
    """Return the statements of a table with these columns; None if it lacks required columns.

    Raises:
        CellError: a row has fewer cells than names, or its number of calls is not a number.
    """
    place = {name: number for number, name in enumerate(names)}
    for dialect, what, *columns in _EXPORTS:
        if {*columns} <= place.keys():
            return Seen(dialect, what, digests=tuple(_digests(rows, place, *columns)))
    return None


def _digests(
    rows: Iterator[_Row], place: Mapping[str, int], text: str, calls: str
) -> Iterator[Digest]:
    example = place.get("query_sample_text")
    for line, row in rows:
        if len(row) < len(place):
            raise CellError(line, list(place)[len(row)], "the row does not have this cell")
        statement, count = row[place[text]], row[place[calls]]
        if not statement or any(own in statement.lower() for own in _OWN):
            continue
        if not count or not count.strip().isdecimal():
            raise CellError(line, calls, f"{count!r} is not a number of executions")
        seen = None if example is None else row[example]
        yield Digest(statement, int(count), None if seen in (None, "", "NULL") else seen)
