"""Every error of a workload is one line with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from slowdust.benchmarks.model import Group
from slowdust.errors import UsageError
from slowdust.experiment.workload.benchmark import read_benchmark
from slowdust.experiment.workload.file import GroupName
from slowdust.experiment.workload.sql import parse_statement
from tests.unit.experiment.workload.files import FIND, SMALL, TABLES, TEST, workload


def _column(text: str) -> str:
    return SMALL.replace(
        'columns.shelf = { type = "bigint", by = "zipf", low = 1, high = 9 }', text
    )


def _with(statement: str) -> str:
    return TABLES + "[statements.find]\n" + statement + "\n" + TEST


def _within(*statements: str) -> str:
    lines = "".join(f'    "{name}",\n' for name in statements)
    return TABLES + FIND + f'[tests.find]\ngroup = "point"\nstatements = [\n{lines}]\n'


_BEGIN = '[statements.begin]\nsql = "START TRANSACTION"\n'

WRONG = [
    # the whole
    (SMALL.replace("books", "order"), 1, "tables.order: 'order' is a reserved word of postgres"),
    (
        _with('sql.mysql = "SELECT 1"').replace("columns.shelf", "columns.keys"),
        6,
        "tables.books.columns.keys: 'keys' is a reserved word of mysql",
    ),
    (SMALL.replace("title", "select"), 5, "columns.select: 'select' is a reserved word"),
    ("", None, "tables: the key is missing"),
    (SMALL.replace("[tests.find]", "[test.find]"), None, "tests: the key is missing"),
    ('name = "a b"\n' + SMALL, 1, "name: 'a b' cannot be a name"),
    ('name = "micro"\n' + SMALL, 1, "name: 'micro' is a benchmark of Slowdust"),
    (SMALL + "[tables.x]\n", 16, "tables.x.rows: the key is missing"),
    # columns
    (_column('columns.shelf = { type = "bigint" }'), 6, "columns.shelf: `by` is missing"),
    (_column("columns.shelf = 5"), 6, "columns.shelf: 5 is not a table"),
    (
        _column('columns.shelf = { type = "int", by = "chance" }'),
        6,
        "by: there is no value 'chance'",
    ),
    (
        _column('columns.shelf = { type = "int", by = "new", of = "books.id" }'),
        6,
        "is for parameters",
    ),
    (_column('columns.shelf = { type = "int", by = "uniform", low = 1 }'), 6, "needs low and high"),
    (_column('columns.shelf = { type = "int", by = "cycle" }'), 6, "needs the key count"),
    (
        _column('columns.shelf = { type = "int", by = "serial", count = 5 }'),
        6,
        'count does not go with by = "serial", whose keys are start, step',
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", low = 1, high = 3_000_000_000 }'),
        6,
        "1 to 3000000000 is beyond int",
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", low = 9, high = 1 }'),
        6,
        "is more than",
    ),
    (_column('columns.shelf = { type = "int", by = "text", length = 5 }'), 6, "no values of int"),
    (
        _column('columns.shelf = { type = "char(4)", by = "text", length = 5 }'),
        6,
        "length: 5 characters are too many for char(4)",
    ),
    (
        _column('columns.shelf = { type = "int", by = "choice", values = ["x"] }'),
        6,
        "values: 'x' is no whole number",
    ),
    (
        _column('columns.shelf = { type = "int", by = "choice", values = [1], weights = [1, 2] }'),
        6,
        "there are 2 weights for 1 values",
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", of = "shelves.id" }'),
        6,
        "columns.shelf: there is no table 'shelves': there are books",
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", of = "books.no" }'),
        6,
        "there is no column of books 'no'",
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", of = "books.shelf" }'),
        6,
        "'books.shelf' is drawn of itself",
    ),
    (
        _column('columns.shelf = { type = "varchar", by = "text", length = 5 }'),
        6,
        "write varchar(20)",
    ),
    (
        _column('columns.shelf = { type = "a;b", by = "text", length = 5 }'),
        6,
        "'a;b' is not the name",
    ),
    (
        _column('columns.shelf = { type = { oracle = "x" }, by = "text", length = 5 }'),
        6,
        "'oracle' is no dialect",
    ),
    (_column('columns.Shelf = { type = "int", by = "serial" }'), 6, "'Shelf' cannot be a name"),
    (
        SMALL.replace('primary_key = "id"', 'primary_key = "no"'),
        3,
        "primary_key: there is no column",
    ),
    (SMALL.replace('primary_key = "id"', 'primary_key = "shelf"'), 3, "drawn by chance"),
    (
        _column(
            'columns.shelf = { type = "int", by = "cycle", count = 9 }\n'
            'indexes = [{ columns = ["shelf"], unique = true }]'
        ),
        7,
        "row 10 of 100 has the same shelf as row 1: count and each",
    ),
    (
        _column('columns.shelf = { type = "int", by = "serial", step = 0 }'),
        6,
        "columns.shelf: step: 0 gives all rows the same",
    ),
    (
        _column('columns.shelf = { type = "int", by = "choice", values = [1], weights = [] }'),
        6,
        "there are 0 weights for 1 values",
    ),
    (
        _column('columns.shelf = { type = "char(2)", by = "serial" }'),
        6,
        "1 to 100 has numbers too long for char(2)",
    ),
    (
        SMALL.replace('by = "serial" }', 'by = "serial", nullable = true }'),
        3,
        "primary_key: books.id is nullable",
    ),
    (_column("indexes = [{ unique = true }]"), 6, 'write columns = ["COLUMN", ...], or sql'),
    (SMALL.replace("rows = 100", "rows = 0"), 2, "rows: 0 is out of range"),
    (SMALL.replace("length = [3, 20]", "lenght = [3, 20]"), 5, "did you mean length?"),
    # statements
    (_with('sql = ""'), 10, "statements.find.sql: the statement is empty"),
    (_with('sql = "SELECT 1; SELECT 2"'), 10, "these are several statements"),
    (_with('sql = "SELECT \'x"'), 10, "this is not SQL of postgres"),
    (_with('sql = "SELECT ?"'), 10, "a value is written :NAME, not ?"),
    (_with("sql.postgres = \"SELECT a -> 'b' ? 1\""), 10, "a value is written :NAME, not ?"),
    (_with('sql.oracle = "SELECT 1"'), 10, "'oracle' is no dialect"),
    (_with('sql = "SELECT :id"'), 10, ":id has no values: write parameters.id"),
    (
        _with('sql = "SELECT 1"\nparameters.id = { of = "books.id" }'),
        11,
        "the statement has no :id",
    ),
    (_with('sql = "SELECT :id"\nparameters.id = {}'), 11, "write where its values come from"),
    (
        _with('sql = "SELECT :id"\nparameters.id = { by = "new", of = "books.shelf" }'),
        11,
        'books.shelf is not by = "serial"',
    ),
    (
        _with('sql = "SELECT :id"\nparameters.id = { by = "span", of = "books.id", count = 9 }'),
        10,
        "write :id.first and :id.last",
    ),
    (
        _with(
            'sql = "SELECT :id.last, :id.first"\n'
            'parameters.id = { by = "span", of = "books.id", count = 9 }'
        ),
        10,
        ":id.first has to stand before :id.last",
    ),
    (
        _with(
            'sql = "SELECT :id"\nparameters.id = { by = "distinct", of = "books.id", count = 101 }'
        ),
        11,
        "count: there are only 100 of them",
    ),
    (
        _with('sql = "SELECT :id"\nparameters.id = { by = "sample", from = "seen.id" }'),
        11,
        "there is no sample 'seen'",
    ),
    (_with('sql = "SELECT 1"\nresult = { affected = 1 }'), 11, "it returns rows: write rows = N"),
    (_with('sql = "DELETE FROM books"\nresult = { rows = 1 }'), 11, "it returns no rows"),
    (_with('sql = "SELECT 1"\nresult = {}'), 11, "write rows = N (that it returns), or affected"),
    (_with('sql = "SELECT nope FROM books"'), 10, "find.sql: there is no column of books 'nope'"),
    (_with('sql = "SELECT b.nope FROM books b"'), 10, "there is no column of books 'nope'"),
    (_with('sql = "INSERT INTO books (nope) VALUES (1)"'), 10, "there is no column of books"),
    (_with('sql = "UPDATE books SET titel = 1"'), 10, "'titel': did you mean title?"),
    (_with("sql = 5"), 10, "5 is no text in quotes, nor a table with a text for each DBMS"),
    (_with('sql = "SELECT \\u0000"'), 10, "it has the character NUL"),
    (_with('sql = "SELECT (ARRAY[1,2])[:id]"'), 10, ":id has no values"),
    # names
    (_column('indexes = [{ sql = "" }]'), 6, "indexes.sql: the statement is empty"),
    (
        _column(
            'indexes = [{ sql = { mariadb = "", mysql = "CREATE INDEX a ON books (id)" } }]',
        ),
        6,
        "indexes.sql: the statement is empty",
    ),
    (
        _column('indexes = [{ sql = "CREATE INDEX books_2 ON books (id)" }, { columns = ["id"] }]'),
        6,
        "the name of the index is books_2, as that of an index of books",
    ),
    (
        _column('indexes = [{ columns = ["title"] }]')
        + TABLES.replace("tables.books", "tables.books_1"),
        6,
        "the name of the index is books_1, as that of the table books_1",
    ),
    (
        SMALL + TABLES.replace("tables.books", "tables.books_pkey"),
        16,
        "tables.books_pkey: Postgres gives this name to the primary key of books",
    ),
    (SMALL.replace("books", "Books"), 1, "tables.Books: 'Books' cannot be a name: write small"),
    (SMALL.replace("tables.books", "tables." + 50 * "b"), 1, "is too long: write at most 48"),
    ('name = "a.b"\n' + SMALL, 1, "'a.b' cannot be a name: write letters, digits, '_' and '-'"),
    # true is no number, and what Python says of a value is not told
    (
        SMALL.replace("rows = 100", "rows = true"),
        2,
        "books.rows: true is neither a number nor text",
    ),
    (TABLES + FIND + "[tests.x]\nmix = { find = true }\n", 14, "mix.find: true is neither"),
    (SMALL.replace('by = "serial"', 'by = "serial", nullable = 1'), 4, "1 is not true or false"),
    (
        _column('columns.shelf = { type = "int", by = "uniform", low = 12:00:00, high = 5 }'),
        6,
        "shelf.low: 12:00:00 is neither a number nor a date",
    ),
    (
        _column('columns.shelf = { type = "int", by = "uniform", low = "2025-1-1", high = 5 }'),
        6,
        "shelf.low: '2025-1-1' is neither a date nor a time",
    ),
    (
        _column(
            'columns.shelf = { type = "timestamp", by = "uniform", low = 1, high = 2040-01-01 }'
        ),
        6,
        "1970-01-01 to 2040-01-01 is beyond timestamp, which has 1970-01-01 to 2038-01-19",
    ),
    (
        _column(
            'columns.shelf = { type = "real", by = "uniform", low = 0, high = 1e300, scale = 9 }'
        ),
        6,
        "0 to 1e+300 is beyond all types",
    ),
    (
        _column('columns.shelf = { type = "real", by = "choice", values = [nan] }'),
        6,
        "values: nan is not a value: write text, numbers or dates",
    ),
    ("before = 5\n" + SMALL, 1, "before: 5 is no list of statements"),
    ('before = ["SELECT 1; SELECT 2"]\n' + SMALL, 1, "before.postgres: these are several"),
    # transactions and tests
    (_within("BEGIN", "find"), 16, "tests.find.statements: BEGIN has no COMMIT and no ROLLBACK"),
    (_within("find", "COMMIT"), 17, "tests.find.statements: COMMIT has no BEGIN before it"),
    (_within("BEGIN", "find", "BEGIN", "COMMIT"), 18, "BEGIN stands within another BEGIN"),
    (_within("BEGIN", "COMMIT", "ROLLBACK"), 18, "ROLLBACK has no BEGIN before it"),
    (_BEGIN + _within("begin", "find"), 18, "BEGIN has no COMMIT and no ROLLBACK behind it"),
    (
        _BEGIN + TABLES + FIND + "[tests.find]\nmix = { find = 1, begin = 1 }\n",
        2,
        "statements.begin.sql: BEGIN has no COMMIT and no ROLLBACK behind it",
    ),
    (
        SMALL + '[transactions.x]\nstatements = ["BEGIN", "find"]\n',
        17,
        "transactions.x.statements: BEGIN has no COMMIT",
    ),
    (TABLES + FIND + "[tests.x]\n", 13, "tests.x: write statements = "),
    (TABLES + FIND + '[tests.x]\nstatements = ["fnd"]\n', 14, "did you mean find?"),
    (TABLES + FIND + "[tests.x]\nmix = { fnd = 1 }\n", 14, "did you mean find?"),
    (TABLES + FIND + "[tests.x]\nmix = { find = 0 }\n", 14, "0 is out of range: write more than 0"),
    (
        TABLES + FIND + '[tests.x]\nstatements = ["find"]\n',
        13,
        "group: its statements write nothing",
    ),
    (SMALL.replace('group = "point"', 'group = "scan"'), 14, "group: there is no value 'scan'"),
    (
        _with('sql = "DELETE FROM books"'),
        12,
        'tests.find.group: find writes, so the group is "write"',
    ),
    (SMALL + 'parameters.x = { of = "books.id" }\n', 16, "none of its statements has :x"),
    (
        TABLES
        + '[statements.add]\nsql = "INSERT INTO books (id) VALUES (:id)"\n'
        + 'parameters.id = { by = "new", of = "books.id" }\n'
        + '[tests.add]\nstatements = [{ statement = "add", repeat = 2 }]\n',
        13,
        "a new key for :id is one for each transaction, and add is repeated 2 times",
    ),
    (
        SMALL + '[samples.seen]\ncolumns = ["a", "b"]\nrows = [[1, 2], [3]]\n',
        16,
        "samples.seen: row 2 has 1 values for 2 columns",
    ),
    *(
        (
            _with(
                'sql = "SELECT :a"\n'
                f'parameters.a = {{ by = "sample", from = "seen.a", type = "{kind}" }}\n'
                f'[samples.seen]\ncolumns = ["a"]\nrows = [[{value}]]'
            ),
            11,
            message,
        )
        for kind, value, message in (
            ("timestamp", '"abc"', "'abc' is neither a date nor a time"),
            ("int", "99999999999", "99999999999 is more than int holds"),
            ("int", '"abc"', "'abc' is no whole number"),
        )
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_a_wrong_workload_is_told_with_its_place(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    path = tmp_path / "library.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_benchmark(path)
    told = str(caught.value)
    place = f"{path}:{line}: " if line is not None else f"{path}: "
    assert [each for each in told.splitlines() if each.startswith(place) and message in each], told


def test_savepoints_end_no_transaction(tmp_path: Path) -> None:
    text = '[statements.back]\nsql = "ROLLBACK TO SAVEPOINT a"\n'
    workload(tmp_path, text + _within("BEGIN", "back", "find", "ROLLBACK", "BEGIN", "COMMIT"))


def test_what_is_right_passes(tmp_path: Path) -> None:
    assert workload(tmp_path, SMALL).dialects == ["postgres", "mysql", "mariadb", "sqlite"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT title AS nope FROM books ORDER BY nope",
        "SELECT x.nope FROM (SELECT id AS nope FROM books) x",
        "WITH x AS (SELECT 1 AS nope) SELECT nope FROM books, x",
        "SELECT nope FROM books, generate_series(1, 2) nope",
        "SELECT nope FROM others JOIN books ON others.id = books.id",
        "SELECT ctid, books FROM books FOR UPDATE",
        "SELECT (ARRAY[1, 2])[1:id] FROM books",
        "INSERT INTO books (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET title = excluded.title",
    ],
)
def test_columns_that_may_be_there_pass(tmp_path: Path, sql: str) -> None:
    group = TEST if sql.startswith(("SELECT", "WITH")) else TEST.replace('group = "point"', "")
    workload(tmp_path, TABLES + f'[statements.find]\nsql = "{sql}"\n' + group)


def test_a_colon_behind_an_operand_in_brackets_is_that_of_a_slice() -> None:
    def holes(text: str) -> list[str | None]:
        return [hole.name for hole in parse_statement(text, "postgres").holes]

    assert holes("SELECT a[1:id], a[b:id], (a)[f(:x):id], a[a[1]:id] FROM t") == ["x"]
    assert holes("SELECT a[:x], a[1: :x], a[:x:id], a[f(1, :x)] FROM t") == ["x"] * 4
    assert holes("SELECT a[1 + :x] FROM t WHERE b = :x") == ["x"] * 2


def test_a_mark_at_the_beginning_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert workload(tmp_path, "\ufeff" + SMALL).name == "library"


def test_names_of_indexes_are_those_of_their_table_on_mysql(tmp_path: Path) -> None:
    text = TABLES + 'indexes = [{ columns = ["title"] }]\n'
    text += TABLES.replace("tables.books", "tables.books_1")
    own = workload(tmp_path, text + '[statements.find]\nsql.mysql = "SELECT 1"\n' + TEST)
    assert own.dialects == ["mysql", "mariadb"]


def test_a_file_whose_name_is_none_says_so(tmp_path: Path) -> None:
    path = tmp_path / "my shop.toml"
    path.write_text(SMALL)
    with pytest.raises(UsageError, match="'my shop' is no name of a workload: write name = "):
        read_benchmark(path)


def test_groups_of_a_test_are_those_of_reads_and_writes() -> None:
    names = {group.value for group in (Group.POINT, Group.RANGE, Group.AGGREGATION, Group.WRITE)}
    assert set(get_args(get_args(GroupName)[0])) == names


def test_a_dialect_in_which_a_name_is_reserved_is_named(tmp_path: Path) -> None:
    own = workload(tmp_path, SMALL.replace("title", "rank"))
    assert own.dialects == ["postgres", "mariadb", "sqlite"]
    with pytest.raises(UsageError, match=r"columns\.rank: 'rank' is a reserved word of mysql"):
        own.check_dialect("mysql", "mysql@9.7.4")


def test_a_dialect_that_a_statement_lacks_is_named(tmp_path: Path) -> None:
    own = workload(tmp_path, _with('sql.postgres = "SELECT 1"'))
    own.check_dialect("postgres", "postgres@17.6")
    with pytest.raises(UsageError) as caught:
        own.check_dialect("mariadb", "mariadb@11.8.9")
    told = str(caught.value)
    assert told == (
        f"{tmp_path / 'library.toml'}:10: statements.find.sql: there is none for mariadb, which "
        "mariadb@11.8.9 is"
    )
    with pytest.raises(UsageError, match="workloads are in SQL, of postgres, mysql, mariadb or"):
        own.check_dialect("mongodb", "mongodb@8.0")


def test_mariadb_takes_the_sql_of_mysql(tmp_path: Path) -> None:
    own = workload(tmp_path, _with('sql.mysql = "SELECT 1"'))
    assert own.dialects == ["mysql", "mariadb"]
