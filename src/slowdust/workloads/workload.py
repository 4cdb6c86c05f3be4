"""A workload from its file, with all checks that need no server."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from slowdust.benchmarks.model import Group
from slowdust.dbms import find_sql
from slowdust.errors import UsageError
from slowdust.located_errors import (
    AtKeysError,
    Keys,
    Origin,
    at,
    explain,
    in_file,
    placed,
    read_toml,
)
from slowdust.wording import listing, no_such
from slowdust.workloads.checks import Columns, aggregates, check_columns, check_literal, check_names
from slowdust.workloads.file import (
    BOOLEANS,
    CONVERTED,
    DIALECTS,
    NAME,
    SEVERAL,
    EntryTable,
    ParameterTable,
    SqlType,
    StatementTable,
    TestTable,
    WorkloadFile,
    for_dialect,
)
from slowdust.workloads.sql import CONTROL, Hole, Parsed, check_single, parse_statement

_READ_GROUPS = listing([f'"{group}"' for group in ("point", "range", "aggregation")], "or")
_BEGINS = ("BEGIN",)
_ENDS = ("COMMIT", "ROLLBACK", "END", "ABORT")
_TO_SAVEPOINT = re.compile(r"\s*ROLLBACK\b(\s+(WORK|TRANSACTION))?\s+TO\b", re.IGNORECASE)


@dataclass(frozen=True)
class Transaction:
    """A transaction of a test, with its keys in the file."""

    name: str
    weight: float
    entries: tuple[EntryTable, ...]
    parameters: Mapping[str, ParameterTable]
    """Parameters with one value for all of its statements."""
    keys: Keys


class Workload:
    """The tables, statements and tests of a file."""

    def __init__(self, file: WorkloadFile, text: str, origin: Origin) -> None:
        self.file = file
        self._text = text
        self.origin = origin
        self.columns = Columns(file.tables)

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def kept_text(self) -> str:
        """The text for an experiment's copy, which has another file name."""
        has_name = "name" in tomllib.loads(self._text)
        return self._text if has_name else f'name = "{self.name}"\n{self._text}'

    @property
    def sha256(self) -> str:
        """The checksum of the file's content, without comments and layout."""
        return hashlib.sha256(self.file.model_dump_json().encode()).hexdigest()

    @cached_property
    def dialects(self) -> list[str]:
        """The DBMS whose SQL all parts have."""
        return [dialect for dialect in DIALECTS if self._lack_of(dialect) is None]

    def check_dialect(self, dbms: str, contender: str) -> None:
        """Check that all parts have SQL for a DBMS.

        Raises:
            UsageError: with the part that lacks it.
        """
        with placed(self.origin):
            if dbms not in DIALECTS:
                raise AtKeysError(
                    f"{contender} is {dbms}, but workloads need SQL of "
                    f"{listing(list(DIALECTS), 'or')}",
                    (),
                )
            if (lack := self._lack_of(dbms)) is not None:
                raise AtKeysError(f"{lack} ({contender})", lack.keys)

    def _lack_of(self, dialect: str) -> AtKeysError | None:
        """Return the first part that lacks a dialect; None if none does."""
        return self._missing(dialect) or self._reserved_name(dialect)

    def _reserved_name(self, dialect: str) -> AtKeysError | None:
        """Return the error of the first table or column with a reserved name; None if none has."""
        reserved = find_sql(dialect).reserved
        for name, table in self.file.tables.items():
            columns = [(column, ("tables", name, "columns", column)) for column in table.columns]
            names: list[tuple[str, Keys]] = [(name, ("tables", name)), *columns]
            for word, keys in names:
                if word in reserved:
                    return AtKeysError(f"'{word}' is a reserved word of {dialect}", keys)
        return None

    def _missing(self, dialect: str) -> AtKeysError | None:
        """Return the error of the first text that lacks a dialect or is invalid in it."""
        for name, table in self.file.tables.items():
            for column, draw in table.columns.items():
                if draw.type.lacks(dialect):
                    return _lack(dialect, ("tables", name, "columns", column, "type"))
            for place, index in enumerate(table.indexes):
                if index.sql is not None and for_dialect(index.sql, dialect) is None:
                    return _lack(dialect, ("tables", name, "indexes", place, "sql"))
        for name, statement in self.file.statements.items():
            text = for_dialect(statement.sql, dialect)
            keys = ("statements", name, "sql")
            if text is None:
                return _lack(dialect, keys)
            try:
                parse_statement(text, dialect)
            except ValueError as error:
                return AtKeysError(f"{dialect} cannot read it ({error})", keys)
        return None

    def parsed(self, statement: str, dialect: str) -> Parsed:
        if statement in CONTROL:
            return Parsed((statement,), (), statement)
        text = for_dialect(self.file.statements[statement].sql, dialect)
        assert text is not None
        return parse_statement(text, dialect)

    def transactions(self, test: str) -> list[Transaction]:
        table = self.file.tests[test]
        if table.mix is None:
            assert table.statements is not None
            entries = tuple(table.statements)
            return [Transaction(test, 1.0, entries, table.parameters, ("tests", test))]
        return [self._of_mix(name, weight) for name, weight in table.mix.items()]

    def _of_mix(self, name: str, weight: float) -> Transaction:
        if (table := self.file.transactions.get(name)) is not None:
            keys = ("transactions", name)
            return Transaction(name, weight, tuple(table.statements), table.parameters, keys)
        entry = EntryTable(statement=name)
        return Transaction(name, weight, (entry,), {}, ("statements", name))

    def parameter(self, transaction: Transaction, statement: str, name: str) -> ParameterTable:
        shared = transaction.parameters.get(name)
        return shared or self.file.statements[statement].parameters[name]

    def type_of(self, parameter: ParameterTable) -> SqlType:
        """Return the type of a parameter's values; by default integers."""
        if parameter.type is not None:
            return parameter.type
        if parameter.of is not None:
            return self.columns.column(parameter.of).type
        if parameter.by == "sample":
            return CONVERTED
        if parameter.by == "text":
            return SqlType("text")
        if parameter.by == "choice":
            assert parameter.values is not None
            whole = all(isinstance(value, int) for value in parameter.values)
            return SqlType("bigint" if whole else "text")
        return SqlType("int")

    def group(self, test: str) -> Group:
        """Return the group of a test: from its file, else writes or aggregation."""
        given = self.file.tests[test].group
        if given is not None:
            return Group(given)
        return Group.AGGREGATION if self.writing(test) is None else Group.WRITE

    def writing(self, test: str) -> str | None:
        """Return the name of the first statement of a test that writes; None if none does."""
        for transaction in self.transactions(test):
            for entry in transaction.entries:
                if any(parsed.writes for _, parsed in self._in_all_dialects(entry.statement)):
                    return entry.statement
        return None

    def _aggregates(self, test: str) -> bool:
        """Return whether all statements of a test return aggregates."""
        entries = [entry for each in self.transactions(test) for entry in each.entries]
        seen = [
            aggregates(parsed, dialect)
            for entry in entries
            if entry.statement not in CONTROL
            for dialect, parsed in self._in_all_dialects(entry.statement)
        ]
        return bool(seen) and all(seen)

    def _in_all_dialects(self, statement: str) -> Iterator[tuple[str, Parsed]]:
        for dialect in DIALECTS:
            if statement in CONTROL or for_dialect(self.file.statements[statement].sql, dialect):
                try:
                    yield dialect, self.parsed(statement, dialect)
                except ValueError:
                    continue

    def check(self) -> None:
        """Check that the workload can run on some DBMS.

        Raises:
            AtKeysError: with the invalid keys.
        """
        self.columns.check()
        self._check_plain_statements()
        for name, statement in self.file.statements.items():
            self._check_statement(name, statement)
        for name in self.file.transactions:
            self._check_transaction(self._of_mix(name, 1.0))
        for name, test in self.file.tests.items():
            self._check_test(name, test)
        if not self.dialects:
            written = [dialect for dialect in DIALECTS if self._missing(dialect) is None]
            lack = self._lack_of((*written, *DIALECTS)[0])
            assert lack is not None
            raise lack
        for dialect in self.dialects:
            check_names(self.file.tables, dialect)

    def _check_plain_statements(self) -> None:
        """Check that statements without parameters are single statements."""
        for key in ("before", "session"):
            for dialect, texts in getattr(self.file, key).items():
                for place, text in enumerate(texts):
                    with at(key, dialect, place):
                        check_single(text, dialect)
        for name, table in self.file.tables.items():
            for place, index in enumerate(table.indexes):
                for dialect, text in (index.sql or {}).items():
                    with at("tables", name, "indexes", place, "sql"):
                        check_single(text, dialect)

    def _check_statement(self, name: str, statement: StatementTable) -> None:
        keys: Keys = ("statements", name)
        if name in CONTROL:
            raise AtKeysError(f"{name} controls transactions: choose another name", keys)
        if len(set(statement.sql.values())) > 1 or len(statement.sql) < len(DIALECTS):
            for dialect, text in statement.sql.items():
                with at(*keys, "sql", dialect):
                    parse_statement(text, dialect)
        parsed = dict(self._in_all_dialects(name))
        if not parsed:
            with at(*keys, "sql"):
                parse_statement(statement.sql[DIALECTS[0]], DIALECTS[0])
        with at(*keys, "sql"):
            for each in parsed.values():
                _check_spans(each)
            check_columns(parsed, self.file.tables)
        named = {hole.name for each in parsed.values() for hole in each.holes}
        for parameter, draw in statement.parameters.items():
            if parameter not in named:
                raise AtKeysError(
                    f"the statement has no :{parameter}", (*keys, "parameters", parameter)
                )
            self._check_parameter(draw, (*keys, "parameters", parameter))
        if statement.result is not None:
            returns = any(each.returns_rows for each in parsed.values())
            if statement.result.rows is not None and not returns:
                raise AtKeysError(
                    "it returns no rows: write affected = N for the rows that it changes",
                    (*keys, "result", "rows"),
                )
            if statement.result.affected is not None and returns:
                raise AtKeysError("it returns rows: write rows = N", (*keys, "result", "affected"))

    def _check_parameter(self, draw: ParameterTable, keys: Keys) -> None:
        with at(*keys):
            if draw.from_ is not None:
                name, place = self.sample_place(draw.from_)
                for row in self.file.samples[name].rows:
                    check_literal(row[place], self.type_of(draw))
            column = None if draw.of is None else self.columns.column(draw.of)
            if draw.by == "new":
                assert column is not None
                if column.draw.by != "serial":
                    raise ValueError(f'{draw.of} is not by = "serial", so it has no next key')
            elif draw.by is not None:
                self.columns.check_values(draw, self.type_of(draw), 1)
            if draw.by in SEVERAL:
                there = self.columns.range_of(draw).count
                assert draw.count is not None
                if draw.count > there:
                    raise ValueError(f"count: there are only {there:,} values")

    def sample_place(self, written: str) -> tuple[str, int]:
        """Return the sample and the index of its column from `SAMPLE.COLUMN`.

        Raises:
            ValueError: there is no such column.
        """
        sample, point, column = written.rpartition(".")
        if not point:
            raise ValueError(f"'{written}' is not a column of a sample: write SAMPLE.COLUMN")
        if sample not in self.file.samples:
            raise ValueError(no_such("sample", sample, list(self.file.samples)))
        columns = self.file.samples[sample].columns
        if column not in columns:
            raise ValueError(no_such(f"column of the sample {sample}", column, columns))
        return sample, columns.index(column)

    def _check_test(self, name: str, test: TestTable) -> None:
        keys: Keys = ("tests", name)
        for part in test.mix or ():
            if part not in self.file.transactions and part not in self.file.statements:
                names = [*self.file.transactions, *self.file.statements]
                raise AtKeysError(
                    no_such("transaction or statement", part, names), (*keys, "mix", part)
                )
        for transaction in self.transactions(name):
            self._check_transaction(transaction)
        writes = self.writing(name)
        if writes is not None and test.group not in (None, Group.WRITE):
            raise AtKeysError(
                f'{writes} writes, so the group is "write": remove the key', (*keys, "group")
            )
        if writes is None and test.group is None and not self._aggregates(name):
            raise AtKeysError(
                f"its statements only read: choose the most similar group, {_READ_GROUPS}",
                (*keys, "group"),
            )

    def _check_transaction(self, transaction: Transaction) -> None:
        named: set[str] = set()
        for place, entry in enumerate(transaction.entries):
            if entry.statement in CONTROL:
                continue
            keys = (*transaction.keys, "statements", place)
            if entry.statement not in self.file.statements:
                names = [*self.file.statements, *CONTROL]
                raise AtKeysError(no_such("statement", entry.statement, names), keys)
            for _, parsed in self._in_all_dialects(entry.statement):
                for hole in parsed.holes:
                    self._check_hole(transaction, entry, hole)
                    named.add(hole.name or "")
        for dialect in self.dialects:
            check_blocks(self._steps(transaction, dialect))
        for name, draw in transaction.parameters.items():
            keys = (*transaction.keys, "parameters", name)
            if name not in named:
                raise AtKeysError(f"its statements do not use :{name}", keys)
            self._check_parameter(draw, keys)

    def _steps(self, transaction: Transaction, dialect: str) -> Iterator[tuple[Keys, Parsed]]:
        """Yield the statements in their order, each with its keys."""
        for place, entry in enumerate(transaction.entries):
            alone = transaction.keys == ("statements", entry.statement)
            keys = (*transaction.keys, *(("sql",) if alone else ("statements", place)))
            # If a statement can follow itself once, it can do so any number of times.
            yield from [(keys, self.parsed(entry.statement, dialect))] * min(entry.repeat, 2)

    def _check_hole(self, transaction: Transaction, entry: EntryTable, hole: Hole) -> None:
        if hole.name is None:
            return
        own = self.file.statements[entry.statement].parameters
        draw = transaction.parameters.get(hole.name) or own.get(hole.name)
        keys: Keys = ("statements", entry.statement)
        if draw is None:
            raise AtKeysError(
                f":{hole.name} has no values: add for example parameters.{hole.name} = "
                '{ of = "TABLE.COLUMN" }',
                (*keys, "sql"),
            )
        if (draw.by == "span") != (hole.end is not None):
            name = hole.name
            meant = f":{name}.first and :{name}.last" if draw.by == "span" else f":{name}"
            raise AtKeysError(f'{name} is by = "{draw.by}": write {meant}', (*keys, "sql"))
        if hole.name in transaction.parameters and draw.by in SEVERAL:
            raise AtKeysError(
                f'by = "{draw.by}" is for parameters of a statement, not of a transaction',
                (*transaction.keys, "parameters", hole.name),
            )
        if draw.by == "new" and entry.repeat > 1 and hole.name not in transaction.parameters:
            raise AtKeysError(
                f":{hole.name} has one new key per transaction, but {entry.statement} is repeated "
                f"{entry.repeat} times",
                (*transaction.keys, "statements"),
            )


def _check_spans(parsed: Parsed) -> None:
    """Check that `last` of each span follows its `first`."""
    holes = list(parsed.holes)
    for place, hole in enumerate(holes):
        if hole.end == "first":
            following = holes[place + 1] if place + 1 < len(holes) else None
            if following is None or (following.name, following.end) != (hole.name, "last"):
                raise ValueError(f":{hole.name}.last must follow :{hole.name}.first")
        elif hole.end == "last":
            before = holes[place - 1] if place else None
            if before is None or (before.name, before.end) != (hole.name, "first"):
                raise ValueError(f":{hole.name}.last must follow :{hole.name}.first")


def _lack(dialect: str, keys: Keys) -> AtKeysError:
    return AtKeysError(f"there is no text for {dialect}", keys)


def check_blocks(steps: Iterable[tuple[Keys, Parsed]]) -> None:
    """Check that BEGIN and COMMIT or ROLLBACK are balanced.

    Otherwise the connection's next operation would run in an open transaction, whose locks block
    all other clients.

    Raises:
        AtKeysError: with the keys of the unbalanced statement.
    """
    begun: Keys | None = None
    for keys, parsed in steps:
        if parsed.word in _BEGINS:
            if begun is not None:
                raise AtKeysError(
                    "BEGIN in an open transaction: add COMMIT or ROLLBACK before it", keys
                )
            begun = keys
        elif parsed.word in _ENDS and not _TO_SAVEPOINT.match(parsed.parts[0]):
            if begun is None:
                raise AtKeysError(f"{parsed.word} has no BEGIN before it", keys)
            begun = None
    if begun is not None:
        raise AtKeysError("BEGIN has no COMMIT or ROLLBACK after it", begun)


def read_workload(path: Path) -> Workload:
    """Read the workload in a TOML file; its default name is the file's.

    Raises:
        UsageError: no such file, not TOML, or invalid, with the line and the key.
    """
    data, text = read_toml(path)
    origin = in_file(path, text)
    if "name" not in data and not re.fullmatch(NAME, path.stem):
        raise UsageError(f"{path}: '{path.stem}' is not a valid name: write name = \"...\"")
    return _read({"name": path.stem, **data}, text, origin)


def check_tables(tables: object, origin: Origin) -> None:
    """Check the tables of a file, without its statements.

    Raises:
        UsageError: with the line and the key.
    """
    statements = {"any": {"sql": "SELECT 1"}}
    tests = {"any": {"group": "point", "statements": ["any"]}}
    data = {"name": "any", "tables": tables, "statements": statements, "tests": tests}
    _read(data, "", origin)


def _read(data: Mapping[str, object], text: str, origin: Origin) -> Workload:
    try:
        with placed(origin):
            return checked_workload(data, text, origin)
    except ValidationError as error:
        explain(error, WorkloadFile, data, origin)


def checked_workload(data: Mapping[str, object], text: str, origin: Origin) -> Workload:
    """Return the workload of a file's data and text.

    Raises:
        ValidationError: a part has another type or is out of range.
        AtKeysError: its parts are inconsistent.
    """
    _refuse_booleans(data, ())
    workload = Workload(WorkloadFile.model_validate(data), text, origin)
    workload.check()
    return workload


def _refuse_booleans(data: object, keys: Keys) -> None:
    """Refuse true and false for numbers and texts, because Python accepts them as 1 and 0."""
    if isinstance(data, bool) and keys[-1] not in BOOLEANS:
        raise AtKeysError(f"{str(data).lower()} is not a number or a text", keys)
    items = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else items:
        _refuse_booleans(value, (*keys, key))
