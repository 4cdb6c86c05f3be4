"""Exports of statistics: pg_stat_statements, and the digests of the Performance Schema."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from slowdust.formats.statements.records import Digest, Seen

_ESCAPE = re.compile(r"\\([ntr0\\])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "", "\\": "\\"}
_END_OF_PSQL = re.compile(r"\(\d+ rows?\)$")
_OWN = ("pg_stat_statements", "events_statements_summary_by_digest", "slowdust_")
"""Words of statements that ask for statistics, and of Slowdust's."""

_Row = tuple[int, Sequence[str | None]]
"""The number of a row, the line in a file, and its cells."""


class CellError(ValueError):
    """A cell of an export is wrong: the number of its row, its column, and why."""

    def __init__(self, row: int, column: str, why: str) -> None:
        super().__init__(f"{row}: {column}: {why}")


def read_export(text: str) -> Seen | None:
    """Return the statements of an export with a line of names; None if it is of another kind.

    Raises:
        CellError: a row has fewer cells than there are names, or calls that are no number.
    """
    head = text.partition("\n")[0]
    tabs = "\t" in head
    dialect: type[csv.Dialect] = csv.excel_tab if tabs else csv.excel
    try:
        rows = list(_numbered(text, dialect))
    except csv.Error:
        return None
    if not rows:
        return None
    names = [name.strip().lower() for name in rows[0][1]]
    plain = (
        (line, [_unescaped(cell) for cell in row] if tabs else row)
        for line, row in rows[1:]
        if row and not (len(row) == 1 and _END_OF_PSQL.match(row[0]))
    )
    return seen_in(names, plain)


def _numbered(text: str, dialect: type[csv.Dialect]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), dialect)
    before = 0
    for row in reader:
        yield before + 1, row
        before = reader.line_num


def seen_in(names: Sequence[str], rows: Iterator[_Row]) -> Seen | None:
    """Return the statements of a table with these columns; None if it lacks what is needed.

    Raises:
        CellError: a row has fewer cells than there are names, or calls that are no number.
    """
    place = {name: number for number, name in enumerate(names)}
    if {"query", "calls"} <= place.keys():
        return Seen(
            "postgres",
            "export of pg_stat_statements",
            digests=tuple(_digests(rows, place, "query", "calls", None)),
        )
    if {"digest_text", "count_star"} <= place.keys():
        return Seen(
            "mysql",
            "export of statement digests",
            digests=tuple(
                _digests(rows, place, "digest_text", "count_star", place.get("query_sample_text"))
            ),
        )
    return None


def _digests(
    rows: Iterator[_Row],
    place: Mapping[str, int],
    text: str,
    calls: str,
    example: int | None,
) -> Iterator[Digest]:
    for line, row in rows:
        if len(row) < len(place):
            raise CellError(line, list(place)[len(row)], "the row has no such cell")
        statement, count = row[place[text]], row[place[calls]]
        if not statement or any(own in statement.lower() for own in _OWN):
            continue
        if not count or not count.strip().isdecimal():
            raise CellError(line, calls, f"{count!r} is no number of executions")
        seen = None if example is None else row[example]
        yield Digest(statement, int(count), None if seen in (None, "", "NULL") else seen)


def _unescaped(cell: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], cell)
