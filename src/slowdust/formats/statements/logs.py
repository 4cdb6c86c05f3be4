"""Logs of statements: the slow log of MySQL and MariaDB, and Postgres' log as text or as CSV."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence

from slowdust.formats.statements.records import Execution, Seen

_SLOW = re.compile(r"^# (Time: +\d|User@Host: .*\[.*\] @ |Query_time: [\d.]+)", re.MULTILINE)
"""What an entry of the slow log begins with; other lines with # behind it may be its own."""
_STARTED = re.compile(r", Version: .* started with:$")
"""The first line of what a server writes into its slow log when it starts."""
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
    """Return the statements of a log; None if the text is no log that is known."""
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
    """Yield the execution of an entry, behind the lines that the server has written by itself."""
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
    """Yield the messages of a log, whose further lines begin with a tab."""
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
    """Return the values of a detail; none where it is of another kind."""
    values = _VALUES.match(detail)
    if values is None:
        return ()
    return tuple(
        None if value == "NULL" else value[1:-1].replace("''", "'")
        for value in _PARAMETER.findall(values["values"])
    )
