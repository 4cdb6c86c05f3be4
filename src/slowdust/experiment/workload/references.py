"""The names of statements and indexes: missing columns, names given twice, and aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import expressions as exp

from slowdust.dbms import sql_of
from slowdust.experiment.spec.errors import AtKeysError, Keys
from slowdust.experiment.workload.file import IndexTable, TableTable
from slowdust.experiment.workload.sql import Parsed, syntax_tree
from slowdust.experiment.workload.types import for_dialect
from slowdust.wording import no_such

_GIVING = (exp.CTE, exp.Unnest, exp.Lateral, exp.Values, exp.Command)
"""What may have columns that are those of no table."""
_WORDS = {
    "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid", "rowid", "_rowid_",
    "default", "user", "session_user", "current_role", "current_catalog", "current_schema",
    "system_user", "utc_date", "utc_time", "utc_timestamp", "localtime", "localtimestamp",
    "date", "time", "datetime", "timestamp", "microsecond", "second", "minute", "hour", "day",
    "week", "month", "quarter", "year", "true", "false", "null", "on", "off",
    "binary", "char", "signed", "unsigned", "decimal", "json",
}  # fmt: skip
"""Columns that every table has, and words that sqlglot takes for columns."""


def check_columns(parsed: Mapping[str, Parsed], tables: Mapping[str, TableTable]) -> None:
    """Refuse a column that no table of a statement has, where all of its tables are known.

    `parsed` are the statement's texts by dialect. A word may be a column to one DBMS alone.

    Raises:
        ValueError: names the column.
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
    """Return what is wrong with a column of a statement; None where nothing is known to be."""
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
    """Return whether it is none of the workload's tables, whose indexes may give it columns."""
    known = None if table.db else tables.get(table.name.lower())
    if known is None:
        return True
    texts = [text for index in known.indexes for text in (index.sql or {}).values()]
    return any("alter" in text.lower() for text in texts)


def _has_others(tree: exp.Expression) -> bool:
    """Return whether it has columns that no table of the database has."""
    given = [part for part in tree.find_all(*_GIVING) if part is not tree.args.get("expression")]
    derived = any(part.find_ancestor(exp.From, exp.Join) for part in tree.find_all(exp.Subquery))
    renamed = any(alias.args.get("columns") for alias in tree.find_all(exp.TableAlias))
    return bool(given) or derived or renamed


def _columns(tree: exp.Expression, dialect: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of a statement, each with the table or alias before its point."""
    sql = sql_of(dialect)
    schema = tree.this if isinstance(tree, exp.Insert) else None
    if isinstance(schema, exp.Schema):
        target = schema.this.alias_or_name.lower()
        yield from ((target, column.name.lower()) for column in schema.expressions)
    tables = {id(part.args["field"]) for part in tree.find_all(exp.In) if part.args.get("field")}
    for column in tree.find_all(exp.Column):
        if sql.searches_in_tables and id(column) in tables:
            continue  # `a IN other`: the rows of a table, of one column
        is_text = sql.reads_names_as_texts and column.this.args.get("quoted")
        if isinstance(column.this, exp.Identifier) and not column.args.get("db") and not is_text:
            yield column.table.lower(), column.name.lower()


def aggregates(parsed: Parsed, dialect: str) -> bool:
    """Return whether a statement returns aggregates: a sum or a count of rows, with groups or not.

    False where sqlglot cannot tell.
    """
    tree = syntax_tree("1".join(parsed.parts), dialect)
    if not isinstance(tree, exp.Select):
        return False
    found = [each for column in tree.selects for each in column.find_all(exp.AggFunc)]
    return any(
        each.find_ancestor(exp.Select) is tree and not isinstance(each.parent, exp.Window)
        for each in found
    )


def check_names(tables: Mapping[str, TableTable], dialect: str) -> None:
    """Refuse an index that has the name of another one, or of a table where these share names.

    Raises:
        AtKeysError: at the index, or at the table whose name is taken.
    """
    sql = sql_of(dialect)
    shared = sql.shares_names_of_indexes
    taken = {name: f"the table {name}" for name in tables} if shared else {}
    for name, table in tables.items():
        key = (sql.primary_key_index or "").format(table=name)
        if table.primary_key and key in tables:
            raise AtKeysError(
                f"{dialect} gives this name to the primary key of {name}: choose another",
                ("tables", key),
            )
        if not shared:
            taken = {}
        for place, index in enumerate(table.indexes):
            own = index_name(name, place, index, dialect)
            if own in taken:
                keys: Keys = ("tables", name, "indexes", place)
                raise AtKeysError(
                    f"the name of the index is {own}, as that of {taken[own]}: rename one",
                    keys,
                )
            if own is not None:
                taken[own] = f"an index of {name}"


def index_name(table: str, place: int, index: IndexTable, dialect: str) -> str | None:
    """Return the name of a table's index; None where its statement has none that can be read."""
    if index.sql is None:
        return f"{table}_{place + 1}"
    text = for_dialect(index.sql, dialect)
    tree = None if text is None else syntax_tree(text, dialect)
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Index):
        return None
    return tree.this.name.lower() or None
