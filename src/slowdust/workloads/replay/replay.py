"""Makes a workload's file from logs, exports of statistics, and running servers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w
from pydantic import ValidationError
from sqlglot import expressions as exp

from slowdust import benchmarks
from slowdust.dbms import family, find_sql
from slowdust.dbms.server_url import ServerUrl, is_url, parse_url
from slowdust.errors import UsageError
from slowdust.formats.statements import CellError, Seen, read_export, read_log, seen_in
from slowdust.located_errors import (
    AtKeysError,
    Keys,
    explain,
    in_data,
    in_file,
    placed,
    read_toml,
)
from slowdust.places import check_regular, named_path
from slowdust.wording import counted
from slowdust.workloads.file import WorkloadFile
from slowdust.workloads.replay.catalog import Ask, CatalogTable, read_catalog
from slowdust.workloads.replay.grouping import Grouped, Replayed, grouped
from slowdust.workloads.replay.writing import Replay, file_text, unsuitable
from slowdust.workloads.sql import syntax_tree
from slowdust.workloads.workload import check_tables, checked_workload

_NO_TABLE = "it uses no table of the schema that a workload can have"
_OF_THE_SERVER = re.compile(r"\b(pg_\w+|information_schema|performance_schema)\b", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_MOST_BYTES = 1 << 30
Refused = tuple[str, float, str]
"""A statement or a table, its executions, and why it is excluded."""


@dataclass(frozen=True)
class Made:
    """The file's text, and the excluded statements."""

    text: str
    statements: Sequence[Replayed]
    share: float
    """The share of `statements` in all executions that access rows."""
    grouped: Grouped
    refused: Sequence[Refused]
    """Statements and tables that a workload cannot have."""


def replay(sources: Sequence[str], name: str, tables: str | None, most: int, ask: Ask) -> Made:
    """Make a workload from servers' executions; `tables` is a URL or another workload's file.

    Raises:
        UsageError: a source cannot be read, or its kind is unknown.
        SlowdustError: a server does not answer.
    """
    seen = [_seen(source, ask) for source in sources]
    if len({each.dialect for each in seen}) > 1:
        raise UsageError("the sources are of different DBMS: make a workload for each")
    groups = grouped(seen)
    where = tables or next((source for source in sources if is_url(source)), None)
    found: list[CatalogTable] = []
    text, origin = "", in_file(Path(name), "")
    elsewhere: list[Refused] = []
    if where is not None and is_url(where):
        texts = [*(each.shown for each in groups.statements), *dict(groups.without_values)]
        words = {word for text in texts for word in _words(text)}
        found = read_catalog(ask, _url(where), words)
        about = about_tables(groups, {table.name.lower() for table in found})
        elsewhere = [
            (each.shown, each.calls, _NO_TABLE)
            for each in groups.statements
            if each not in about.statements and not _OF_THE_SERVER.search(each.shown)
        ]
        elsewhere += [
            each
            for each in groups.unread
            if each not in about.unread and not _OF_THE_SERVER.search(each[0])
        ]
        groups = about
    elif where is not None:
        path = named_path(where)
        data, own_text = read_toml(path)
        origin = in_file(path, own_text)
        if not isinstance(data.get("tables"), dict):
            raise UsageError(f"{path} has no tables")
        check_tables(data["tables"], origin)
        text = tomli_w.dumps({"tables": data["tables"]})
    if not groups.statements:
        raise UsageError(_nothing(groups, sources, [*groups.unread, *elsewhere]))
    if where is None:
        raise UsageError("tables are missing: add --tables with a server's URL or a workload file")
    whole = sum(each.calls for each in groups.statements)
    whole += sum(calls for _, calls in groups.without_values)
    whole += sum(calls for _, calls, _ in groups.unread)
    draft = Replay(workload_name(name), sources, groups, groups.statements, found, text, origin)
    written, refused = accepted(draft, most)
    if not written.statements:
        raise UsageError(_nothing(groups, sources, [*groups.unread, *refused]))
    if not (written.tables or text):
        raise UsageError(f"{where} has none of the tables that the statements use")
    unsupported = [
        (f"the index {name} of {table.name}", 0.0, why)
        for table in written.tables
        for name, why in table.unsupported.items()
    ]
    return Made(
        file_text(written),
        written.statements,
        sum(each.calls for each in written.statements) / whole,
        groups,
        # Tables and indexes, which have no calls, before the statements excluded with them.
        sorted(
            [*groups.unread, *refused, *unsupported, *elsewhere],
            key=lambda each: each[1] > 0,
        ),
    )


def workload_name(stem: str) -> str:
    name = _NOT_IN_NAMES.sub("-", stem).strip("-_")[:_LONGEST_NAME].rstrip("-_")
    return f"my-{name}" if name in benchmarks.NAMES else name or "replay"


def _seen(source: str, ask: Ask) -> Seen:
    if is_url(source):
        url = _url(source)
        statistics = find_sql(url.dbms).statement_statistics
        assert statistics is not None, "checked by _url"
        (answer,) = ask(url, [statistics])
        columns = [name.lower() for name in answer.columns]
        seen = seen_in(columns, enumerate(answer.rows, start=1))
        assert seen is not None
        return seen
    path = named_path(source)
    check_regular(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} is larger than 1 GB: use a part of it")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        found = read_export(text) or read_log(text)
    except CellError as error:
        raise UsageError(f"{path}:{error}") from None
    if found is None:
        raise UsageError(
            f"{path} is not a slow log, a log of Postgres with durations or statements, or an "
            "export of pg_stat_statements or events_statements_summary_by_digest"
        )
    return found


def _url(written: str) -> ServerUrl:
    url = parse_url(written)
    sql = family(url.dbms).sql
    if sql is None or sql.catalog is None or sql.statement_statistics is None:
        raise UsageError(f"{url.text}: statements of {url.dbms} cannot be replayed")
    return url


def about_tables(groups: Grouped, tables: set[str]) -> Grouped:
    """Return the statements that use one of the tables; exclude statements about the server."""
    without = [(text, n) for text, n in groups.without_values if tables & _words(text)]
    return replace(
        groups,
        statements=[each for each in groups.statements if tables & _words(each.shown)],
        without_values=without,
        unread=[each for each in groups.unread if tables & _words(each[0])],
    )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _nothing(groups: Grouped, sources: Sequence[str], refused: Sequence[Refused]) -> str:
    if groups.without_values:
        there = counted(len(groups.without_values), "statement")
        return (
            f"{', '.join(sources)}: {there} without values: add a log of the same server, which "
            "has values"
        )
    if refused:
        return "\n".join(f"{why}: {' '.join(text.split())}" for text, _, why in refused)
    return f"{', '.join(sources)}: no statement accesses rows"


def accepted(draft: Replay, most: int) -> tuple[Replay, list[Refused]]:
    """Return `draft` with at most `most` valid statements and tables, and the excluded ones.

    Raises:
        UsageError: the tables of the other workload are invalid.
    """
    statements, tables = list(draft.statements), list(draft.tables)
    refused: list[Refused] = []
    while True:
        now = replace(draft, statements=statements[:most], tables=tables)
        wrong = _wrong(now) if now.statements else None
        if wrong is None:
            return now, refused
        keys, why = wrong
        place = next((n for n, table in enumerate(tables) if (table.name,) == keys[1:2]), None)
        if keys[0] == "tables" and place is not None:
            part = "an index of" if keys[2:3] == ("indexes",) else "the table"
            refused.append((f"{part} {tables[place].name}", 0.0, why))
            if _exclude(tables, place, keys):
                using = [each for each in statements if _uses(each, keys[1], draft.grouped.dialect)]
                statements = [each for each in statements if each not in using]
                why = f"the table {keys[1]} is excluded"
                refused += [(each.shown, each.calls, why) for each in using]
        elif keys[0] in ("statements", "samples", "tests"):
            number = int(str(keys[-1] if "mix" in keys else keys[1]).removeprefix("q")) - 1
            statement = statements.pop(number)
            refused.append((statement.shown, statement.calls, why))
        else:
            with placed(draft.origin):
                raise AtKeysError(why, keys)


def _wrong(draft: Replay) -> tuple[Keys, str] | None:
    """Return the keys of an error in a workload, and why; None if it is valid."""
    for table in draft.tables:
        if (why := unsuitable(table)) is not None:
            return ("tables", table.name), why
    data: dict[str, object] = {}
    try:
        text = file_text(draft)
        data = tomllib.loads(text)
        checked_workload(data, text, in_file(Path(draft.name), text))
    except AtKeysError as error:
        return error.keys, str(error)
    except ValidationError as error:
        keys = error.errors()[0]["loc"]
        try:
            explain(error, WorkloadFile, data, in_data)
        except UsageError as explained:
            return keys, str(explained).splitlines()[0]
    return None


def _exclude(tables: list[CatalogTable], place: int, keys: Keys) -> bool:
    """Remove the invalid index, else the whole table; return whether it was the table."""
    if keys[2:3] == ("indexes",) and isinstance(keys[3], int):
        indexes = list(tables[place].indexes)
        del indexes[keys[3]]
        tables[place] = replace(tables[place], indexes=indexes)
        return False
    del tables[place]
    return True


def _uses(statement: Replayed, table: object, dialect: str) -> bool:
    name = str(table).lower()
    tree = syntax_tree("1".join(statement.parts), dialect)
    if tree is None:
        return name in statement.key.split()
    return any(used.name.lower() == name for used in tree.find_all(exp.Table))
