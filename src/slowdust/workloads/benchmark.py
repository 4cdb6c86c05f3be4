"""A workload as a benchmark of slices, and as data for the driver on one DBMS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, PlainSerializer
from sqlglot import Token

from slowdust import benchmarks
from slowdust.benchmarks import described
from slowdust.benchmarks.described import Described
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Group, Phase, Test
from slowdust.located_errors import AtKeysError, placed
from slowdust.places import named_path
from slowdust.sql import Dbms
from slowdust.store.folder import WORKLOAD_FILE
from slowdust.store.manifest import WorkloadFacts
from slowdust.workloads.checks import Columns, index_name
from slowdust.workloads.file import (
    CONVERTED,
    DrawTable,
    EntryTable,
    IndexTable,
    ParameterTable,
    SqlType,
    StatementTable,
    TableTable,
    for_dialect,
    parse_date,
)
from slowdust.workloads.sql import Hole, Parsed, check_single
from slowdust.workloads.workload import Transaction, Workload, read_workload

_EXPONENT = 0.8
"""The exponent of sysbench's zipfian keys."""
_PLAIN: Mapping[str, described.Type] = {
    "int": described.INT,
    "bigint": described.BIGINT,
    "real": described.REAL,
    "timestamp": described.TIMESTAMP,
    "text": described.TEXT,
}
_Use = tuple[str, str, int, str]
"""Test, transaction, index of the statement (-1 for all) and parameter of a new key."""
_OF_KIND = {"OR", "REPLACE", "UNLOGGED"}
_BEFORE_NAMES = {"IF", "NOT", "EXISTS", "ONLY"}


class DescribedWorkload(Described):
    """The tables and tests of a workload for the driver."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._tables = workload.file.tables
        self._new_keys = _new_keys(workload)

    @property
    def names(self) -> list[str]:
        return list(self._tables)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self._tables.values())

    def made_before(self, dbms: Dbms) -> list[str]:
        """Return the names of the tables that the statements of `before` create."""
        before = for_dialect(self._workload.file.before, dbms.name)
        made = find_created_tables(before or [], dbms.name)
        return [name for name in made if name not in self._tables]

    def tables(self, dbms: Dbms) -> described.Tables:
        dialect = dbms.name
        self._workload.check_dialect(dialect, dialect)
        columns = self._workload.columns
        return described.Tables(
            tables=[_table(name, table, columns, dialect) for name, table in self._tables.items()],
            before=for_dialect(self._workload.file.before, dialect) or [],
        )

    def test(self, name: str, dbms: Dbms, clients: int) -> described.TestOnDbms:
        dialect = dbms.name
        self._workload.check_dialect(dialect, dialect)
        samples = _Samples(self._workload)
        transactions = []
        for transaction in self._workload.transactions(name):
            calls = _Calls(self._workload, transaction, dialect, samples, self._new_keys)
            transactions.append(
                described.Transaction(
                    name=transaction.name,
                    weight=transaction.weight,
                    calls=list(calls.of_test(name)),
                )
            )
        return described.TestOnDbms(
            transactions=transactions,
            session=for_dialect(self._workload.file.session, dialect) or [],
            samples=samples.sets,
        )


@dataclass
class _Calls:
    """The calls of a transaction; its values are numbered across calls."""

    workload: Workload
    transaction: Transaction
    dbms: str
    samples: _Samples
    new_keys: Mapping[_Use, described.Serial]
    _place: int = 0
    """The number of values of the calls so far."""
    _shared: dict[str, int] = field(default_factory=dict)
    """Parameter of the transaction -> the index of its value."""

    def of_test(self, test: str) -> Iterator[described.Call]:
        for number, entry in enumerate(self.transaction.entries):
            parsed = self.workload.parsed(entry.statement, self.dbms)
            names = [hole.name for hole in parsed.holes if hole.end is None and hole.name]
            own = [name for name in names if name not in self.transaction.parameters]
            # A parameter used twice has one value per execution, so each execution is its own call.
            times = entry.repeat if len(set(own)) < len(own) else 1
            for _ in range(times):
                yield self._call(entry, parsed, (test, number), entry.repeat // times)

    def _call(
        self, entry: EntryTable, parsed: Parsed, at: tuple[str, int], repeat: int
    ) -> described.Call:
        own: dict[str, int] = {}
        values: list[described.Value] = []
        sql, place = parsed.parts[0], self._place
        for hole, part in zip(parsed.holes, parsed.parts[1:], strict=True):
            if hole.end != "last":  # its value comes with the first end's
                known = self._shared if hole.name in self.transaction.parameters else own
                value, count = self._value(entry, hole, at)
                if hole.name is not None and count == 1:
                    if hole.name in known:
                        same = described.Same(place=known[hole.name])
                        value = described.Value(type=value.type, draw=same)
                    else:
                        known[hole.name] = place
                values.append(value)
                place += count
            marks = 1 if hole.end is not None else count
            sql += ", ".join("?" * marks) + part
        self._place += (place - self._place) * repeat
        statement = self.workload.file.statements.get(entry.statement)
        return described.Call(
            sql=sql,
            values=values,
            rows=_expected(statement),
            form="prepared" if statement is None else statement.form,
            repeat=repeat,
        )

    def _value(
        self, entry: EntryTable, hole: Hole, at: tuple[str, int]
    ) -> tuple[described.Value, int]:
        """Return the source of the values of a hole, and their number."""
        if hole.name is None:
            fixed = described.Choice(values=[hole.value])
            return described.Value(type=_type(CONVERTED, self.dbms), draw=fixed), 1
        parameter = self.workload.parameter(self.transaction, entry.statement, hole.name)
        kind = self.workload.type_of(parameter)
        count = {"span": 2, "distinct": parameter.count or 1}.get(parameter.by or "", 1)
        if parameter.by == "sample":
            assert parameter.from_ is not None
            draw: described.Draw = self.samples.draw(parameter.from_, kind)
        elif parameter.by == "new":
            test, number = at
            shared = hole.name in self.transaction.parameters
            use = (test, self.transaction.name, -1 if shared else number, hole.name)
            draw = self.new_keys[use]
        else:
            draw = _draw(parameter, kind, self.workload.columns)
        return described.Value(type=_type(kind, self.dbms), draw=draw), count


def _new_keys(workload: Workload) -> dict[_Use, described.Serial]:
    """Return a sequence of new keys for each use; the sequences are disjoint."""
    uses: dict[str, list[_Use]] = {}
    for test in workload.file.tests:
        for transaction in workload.transactions(test):
            for name, draw in transaction.parameters.items():
                _note(uses, draw, (test, transaction.name, -1, name))
            for number, entry in enumerate(transaction.entries):
                statement = workload.file.statements.get(entry.statement)
                for name, draw in (statement.parameters if statement else {}).items():
                    if name not in transaction.parameters:
                        _note(uses, draw, (test, transaction.name, number, name))
    keys: dict[_Use, described.Serial] = {}
    for column, places in uses.items():
        serial = workload.columns.column(column)
        start = 1 if serial.draw.start is None else serial.draw.start
        step = serial.draw.step or 1
        end = start + step * serial.rows
        for place, use in enumerate(places):
            keys[use] = described.Serial(start=end + step * place, step=step * len(places))
    return keys


def _note(uses: dict[str, list[_Use]], draw: ParameterTable, use: _Use) -> None:
    if draw.by == "new":
        assert draw.of is not None
        uses.setdefault(draw.of, []).append(use)


@dataclass
class _Samples:
    """The sets of tuples that a test samples."""

    workload: Workload

    def __post_init__(self) -> None:
        self.sets: list[list[list[described.Fixed]]] = []
        self._numbers: dict[str, int] = {}

    def draw(self, written: str, kind: SqlType) -> described.Sample:
        """Return the draw of a sample's column; convert its values to a type."""
        name, column = self.workload.sample_place(written)
        if name not in self._numbers:
            self._numbers[name] = len(self.sets)
            self.sets.append([list(row) for row in self.workload.file.samples[name].rows])
        number = self._numbers[name]
        for row in self.sets[number]:
            row[column] = _fixed(row[column], kind)
        return described.Sample(set=number, column=column)


def _table(name: str, table: TableTable, columns: Columns, dbms: str) -> described.Table:
    return described.Table(
        name=name,
        rows=table.rows,
        columns=[
            described.Column(
                name=column,
                type=_type(draw.type, dbms),
                values=_draw(draw, draw.type, columns),
                nullable=draw.nullable,
            )
            for column, draw in table.columns.items()
        ],
        primary_key=table.primary_key,
        after=[_index(name, place, index, dbms) for place, index in enumerate(table.indexes)],
    )


def _index(table: str, place: int, index: IndexTable, dbms: str) -> str:
    if index.columns is None:
        assert index.sql is not None
        text = for_dialect(index.sql, dbms)
        assert text is not None
        return text
    kind = "UNIQUE INDEX" if index.unique else "INDEX"
    columns = ", ".join(index.columns)
    name = index_name(table, place, index, dbms)
    return f"CREATE {kind} {name} ON {table} ({columns}){{index_options}}"


def _draw(draw: DrawTable, kind: SqlType, columns: Columns) -> described.Draw:
    if draw.by is None:
        assert draw.of is not None
        column = columns.column(draw.of)
        if column.draw.by not in ("serial", "cycle"):
            return _draw(column.draw, kind, columns)
    if draw.by == "serial":
        start = 1 if draw.start is None else draw.start
        return described.Serial(start=start, step=1 if draw.step is None else draw.step)
    if draw.by == "text":
        assert draw.length is not None
        shortest, longest = draw.length
        return described.Letters(
            shortest=shortest, longest=longest, alphabet=draw.alphabet or "letters"
        )
    if draw.by == "choice":
        assert draw.values is not None
        return described.Choice(
            values=[_fixed(value, kind) for value in draw.values], weights=draw.weights
        )
    numbers = columns.range_of(draw)
    low, high = numbers.low, numbers.high
    if draw.by == "cycle":
        return described.Cycle(start=low, each=draw.each or 1, count=numbers.count)
    if draw.by == "zipf":
        return described.Zipf(low=low, high=high, exponent=draw.exponent or _EXPONENT)
    if draw.by == "span":
        return described.Span(low=low, high=high, count=draw.count or 1)
    if draw.by == "distinct":
        return described.Distinct(low=low, high=high, count=draw.count or 1)
    if draw.by == "own":
        return described.Own(low=low, high=high)
    return described.Uniform(low=low, high=high, scale=columns.scale_of(draw))


def _type(kind: SqlType, dbms: str) -> described.Type:
    if kind.kind == "char":
        assert kind.length is not None
        return described.Type(kind="char", length=kind.length)
    if kind.kind == "varchar":
        assert kind.length is not None
        return described.Type(kind="varchar", length=kind.length)
    if kind.names is not None:
        name = for_dialect(kind.names, dbms)
        assert name is not None
        return described.Type(kind="sql", name=name)
    return _PLAIN[kind.kind]


def _fixed(value: described.Fixed, kind: SqlType) -> described.Fixed:
    """Return a value of a choice or a sample in the driver's form for a type."""
    if kind.kind == "timestamp" and isinstance(value, str):
        return parse_date(value)
    if not kind.is_number and isinstance(value, int | float):
        return str(value)
    return value


def _expected(statement: StatementTable | None) -> int | None:
    if statement is None or statement.result is None:
        return None
    result = statement.result
    return result.affected if result.rows is None else result.rows


def find_created_tables(before: Sequence[str], dialect: str) -> list[str]:
    """Return the names, as written, of the tables that statements create and do not drop.

    Temporary, virtual and foreign tables are excluded: they cannot be maintained.
    """
    made: dict[str, None] = {}
    for text in before:
        tokens = check_single(text, dialect)
        words = [token.text.upper() for token in tokens]
        if "TABLE" not in words:
            continue
        at = words.index("TABLE")
        verb, between = words[0], set(words[1:at])
        place = at + 1 + len(list(takewhile(_BEFORE_NAMES.__contains__, words[at + 1 :])))
        if verb == "CREATE" and between <= _OF_KIND and place < len(tokens):
            made[_name_at(text, tokens, place)] = None
        elif verb == "DROP" and not between:
            for name in _names(text, tokens, place):
                made.pop(name, None)
        elif verb == "ALTER" and not between and "RENAME" in words:
            _rename(made, text, tokens, place)
    return list(made)


def _rename(made: dict[str, None], text: str, tokens: Sequence[Token], place: int) -> None:
    """Follow ALTER TABLE name RENAME TO other."""
    name = _name_at(text, tokens, place)
    rest = [token.text.upper() for token in tokens[_end(tokens, place) : -1]]
    if name in made and rest == ["RENAME", "TO"]:
        del made[name]
        made[_name_at(text, tokens, len(tokens) - 1)] = None


def _names(text: str, tokens: Sequence[Token], place: int) -> list[str]:
    names = []
    while place < len(tokens):
        names.append(_name_at(text, tokens, place))
        place = _end(tokens, place)
        if place == len(tokens) or tokens[place].text != ",":
            break
        place += 1
    return names


def _name_at(text: str, tokens: Sequence[Token], place: int) -> str:
    """Return the name that begins at a token: `items`, `"Items"`, `public.items`."""
    if place >= len(tokens):
        return ""
    return text[tokens[place].start : tokens[_end(tokens, place) - 1].end + 1]


def _end(tokens: Sequence[Token], place: int) -> int:
    while place + 2 < len(tokens) and tokens[place + 1].text == ".":
        place += 2
    return place + 1


_UNUSED = {
    "benchmark": "the workload is the benchmark",
    "rows": "its file has the rows of each table",
    "tables": "its file has its tables",
}


@dataclass(frozen=True, kw_only=True)
class OwnBenchmark(Benchmark):
    """The benchmark of a workload."""

    workload: Workload

    @property
    def option(self) -> str:
        return "--workload FILE"

    def described(self, rows: int, tables: int, seed: int) -> Described:
        """Return its tables and tests; the parameters do not matter."""
        return DescribedWorkload(self.workload)

    @property
    def facts(self) -> WorkloadFacts:
        """The workload's facts in the manifest of an experiment."""
        return WorkloadFacts(
            name=self.name,
            sha256=self.workload.sha256,
            groups={test.name: test.group.value for test in self.tests},
            rows={name: table.rows for name, table in self.workload.file.tables.items()},
        )


def make_benchmark(workload: Workload) -> OwnBenchmark:
    """Return a workload as a benchmark.

    Raises:
        UsageError: another benchmark has its name.
    """
    if workload.name in benchmarks.NAMES:
        with placed(workload.origin):
            raise AtKeysError(
                f"'{workload.name}' is a benchmark of Slowdust: choose another name", ("name",)
            )
    tests = tuple(_tests(workload))
    return OwnBenchmark(
        name=workload.name,
        tests=tests,
        suites={DEFAULT_SUITE: tuple(test.name for test in tests)},
        driver_benchmark="described",
        unused_keys=_UNUSED,
        workload=workload,
    )


def _tests(workload: Workload) -> list[Test]:
    """Return the tests in their order; reads after the first writing test are on aged data."""
    tests: list[Test] = []
    for name in workload.file.tests:
        group = workload.group(name)
        aged = any(test.writes for test in tests)
        phase = Phase.WRITE if group is Group.WRITE else Phase.AGED if aged else Phase.PRE
        tests.append(Test(workload.name, name, group, phase))
    return tests


def read_benchmark(path: Path) -> OwnBenchmark:
    """Read the workload in a TOML file.

    Raises:
        UsageError: the file cannot be read, or is invalid.
    """
    return make_benchmark(read_workload(path))


def _from_path(value: object) -> object:
    if isinstance(value, str):
        path = named_path(value)
        if not path.is_file():
            raise ValueError(f"there is no file {path}")
        return read_benchmark(path)
    if isinstance(value, OwnBenchmark):
        return value
    raise ValueError(f"{value} is not the path of a workload file in quotes")


WorkloadKey = Annotated[
    InstanceOf[OwnBenchmark],
    BeforeValidator(_from_path),
    PlainSerializer(lambda _: WORKLOAD_FILE),
]
"""The key `workload`: the path of a file; stored as the name of its copy in the folder."""
