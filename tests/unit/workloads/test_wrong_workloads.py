"""Every error of a workload is one line with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks.model import Group
from slowdust.errors import UsageError
from slowdust.workloads.benchmark import read_benchmark
from slowdust.workloads.file import GroupName
from slowdust.workloads.sql import parse_statement
from tests.unit.workloads.files import FIND, SMALL, TABLES, TEST, workload


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
    (SMALL.replace("books", "order"), 1),
    (_with('sql.mysql = "SELECT 1"').replace("columns.shelf", "columns.keys"), 6),
    (SMALL.replace("title", "select"), 5),
    ("", None),
    (SMALL.replace("[tests.find]", "[test.find]"), None),
    ('name = "a b"\n' + SMALL, 1),
    ('name = "micro"\n' + SMALL, 1),
    (SMALL + "[tables.x]\n", 16),
    # columns
    (_column('columns.shelf = { type = "bigint" }'), 6),
    (_column("columns.shelf = 5"), 6),
    (_column('columns.shelf = { type = "int", by = "chance" }'), 6),
    (_column('columns.shelf = { type = "int", by = "new", of = "books.id" }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", low = 1 }'), 6),
    (_column('columns.shelf = { type = "int", by = "cycle" }'), 6),
    (_column('columns.shelf = { type = "int", by = "serial", count = 5 }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", low = 1, high = 3_000_000_000 }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", low = 9, high = 1 }'), 6),
    (_column('columns.shelf = { type = "int", by = "text", length = 5 }'), 6),
    (_column('columns.shelf = { type = "char(4)", by = "text", length = 5 }'), 6),
    (_column('columns.shelf = { type = "int", by = "choice", values = ["x"] }'), 6),
    (_column('columns.shelf = { type = "int", by = "choice", values = [1], weights = [1, 2] }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", of = "shelves.id" }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", of = "books.no" }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", of = "books.shelf" }'), 6),
    (_column('columns.shelf = { type = "varchar", by = "text", length = 5 }'), 6),
    (_column('columns.shelf = { type = "a;b", by = "text", length = 5 }'), 6),
    (_column('columns.shelf = { type = { oracle = "x" }, by = "text", length = 5 }'), 6),
    (_column('columns.Shelf = { type = "int", by = "serial" }'), 6),
    (SMALL.replace('primary_key = "id"', 'primary_key = "no"'), 3),
    (SMALL.replace('primary_key = "id"', 'primary_key = "shelf"'), 3),
    (
        _column(
            'columns.shelf = { type = "int", by = "cycle", count = 9 }\n'
            'indexes = [{ columns = ["shelf"], unique = true }]'
        ),
        7,
    ),
    (_column('columns.shelf = { type = "int", by = "serial", step = 0 }'), 6),
    (_column('columns.shelf = { type = "int", by = "choice", values = [1], weights = [] }'), 6),
    (_column('columns.shelf = { type = "char(2)", by = "serial" }'), 6),
    (SMALL.replace('by = "serial" }', 'by = "serial", nullable = true }'), 3),
    (_column("indexes = [{ unique = true }]"), 6),
    (SMALL.replace("rows = 100", "rows = 0"), 2),
    (SMALL.replace("length = [3, 20]", "lenght = [3, 20]"), 5),
    # statements
    (_with('sql = ""'), 10),
    (_with('sql = "SELECT 1; SELECT 2"'), 10),
    (_with('sql = "SELECT \'x"'), 10),
    (_with('sql = "SELECT ?"'), 10),
    (_with("sql.postgres = \"SELECT a -> 'b' ? 1\""), 10),
    (_with('sql.oracle = "SELECT 1"'), 10),
    (_with('sql = "SELECT :id"'), 10),
    (_with('sql = "SELECT 1"\nparameters.id = { of = "books.id" }'), 11),
    (_with('sql = "SELECT :id"\nparameters.id = {}'), 11),
    (_with('sql = "SELECT :id"\nparameters.id = { by = "new", of = "books.shelf" }'), 11),
    (_with('sql = "SELECT :id"\nparameters.id = { by = "span", of = "books.id", count = 9 }'), 10),
    (
        _with(
            'sql = "SELECT :id.last, :id.first"\n'
            'parameters.id = { by = "span", of = "books.id", count = 9 }'
        ),
        10,
    ),
    (
        _with(
            'sql = "SELECT :id"\nparameters.id = { by = "distinct", of = "books.id", count = 101 }'
        ),
        11,
    ),
    (_with('sql = "SELECT :id"\nparameters.id = { by = "sample", from = "seen.id" }'), 11),
    (_with('sql = "SELECT 1"\nresult = { affected = 1 }'), 11),
    (_with('sql = "DELETE FROM books"\nresult = { rows = 1 }'), 11),
    (_with('sql = "SELECT 1"\nresult = {}'), 11),
    (_with('sql = "SELECT nope FROM books"'), 10),
    (_with('sql = "SELECT b.nope FROM books b"'), 10),
    (_with('sql = "INSERT INTO books (nope) VALUES (1)"'), 10),
    (_with('sql = "UPDATE books SET titel = 1"'), 10),
    (_with("sql = 5"), 10),
    (_with('sql = "SELECT \\u0000"'), 10),
    (_with('sql = "SELECT (ARRAY[1,2])[:id]"'), 10),
    # names
    (_column('indexes = [{ sql = "" }]'), 6),
    (
        _column(
            'indexes = [{ sql = { mariadb = "", mysql = "CREATE INDEX a ON books (id)" } }]',
        ),
        6,
    ),
    (
        _column('indexes = [{ sql = "CREATE INDEX books_2 ON books (id)" }, { columns = ["id"] }]'),
        6,
    ),
    (
        _column('indexes = [{ columns = ["title"] }]')
        + TABLES.replace("tables.books", "tables.books_1"),
        6,
    ),
    (SMALL + TABLES.replace("tables.books", "tables.books_pkey"), 16),
    (SMALL.replace("books", "Books"), 1),
    (SMALL.replace("tables.books", "tables." + 50 * "b"), 1),
    ('name = "a.b"\n' + SMALL, 1),
    # true is no number, and messages have no words of Python
    (SMALL.replace("rows = 100", "rows = true"), 2),
    (TABLES + FIND + "[tests.x]\nmix = { find = true }\n", 14),
    (SMALL.replace('by = "serial"', 'by = "serial", nullable = 1'), 4),
    (_column('columns.shelf = { type = "int", by = "uniform", low = 12:00:00, high = 5 }'), 6),
    (_column('columns.shelf = { type = "int", by = "uniform", low = "2025-1-1", high = 5 }'), 6),
    (
        _column(
            'columns.shelf = { type = "timestamp", by = "uniform", low = 1, high = 2040-01-01 }'
        ),
        6,
    ),
    (
        _column(
            'columns.shelf = { type = "real", by = "uniform", low = 0, high = 1e300, scale = 9 }'
        ),
        6,
    ),
    (_column('columns.shelf = { type = "real", by = "choice", values = [nan] }'), 6),
    ("before = 5\n" + SMALL, 1),
    ('before = ["SELECT 1; SELECT 2"]\n' + SMALL, 1),
    # transactions and tests
    (_within("BEGIN", "find"), 16),
    (_within("find", "COMMIT"), 17),
    (_within("BEGIN", "find", "BEGIN", "COMMIT"), 18),
    (_within("BEGIN", "COMMIT", "ROLLBACK"), 18),
    (_BEGIN + _within("begin", "find"), 18),
    (_BEGIN + TABLES + FIND + "[tests.find]\nmix = { find = 1, begin = 1 }\n", 2),
    (SMALL + '[transactions.x]\nstatements = ["BEGIN", "find"]\n', 17),
    (TABLES + FIND + "[tests.x]\n", 13),
    (TABLES + FIND + '[tests.x]\nstatements = ["fnd"]\n', 14),
    (TABLES + FIND + "[tests.x]\nmix = { fnd = 1 }\n", 14),
    (TABLES + FIND + "[tests.x]\nmix = { find = 0 }\n", 14),
    (TABLES + FIND + '[tests.x]\nstatements = ["find"]\n', 13),
    (SMALL.replace('group = "point"', 'group = "scan"'), 14),
    (_with('sql = "DELETE FROM books"'), 12),
    (SMALL + 'parameters.x = { of = "books.id" }\n', 16),
    (
        TABLES
        + '[statements.add]\nsql = "INSERT INTO books (id) VALUES (:id)"\n'
        + 'parameters.id = { by = "new", of = "books.id" }\n'
        + '[tests.add]\nstatements = [{ statement = "add", repeat = 2 }]\n',
        13,
    ),
    (SMALL + '[samples.seen]\ncolumns = ["a", "b"]\nrows = [[1, 2], [3]]\n', 16),
    *(
        (
            _with(
                'sql = "SELECT :a"\n'
                f'parameters.a = {{ by = "sample", from = "seen.a", type = "{kind}" }}\n'
                f'[samples.seen]\ncolumns = ["a"]\nrows = [[{value}]]'
            ),
            11,
        )
        for kind, value in (("timestamp", '"abc"'), ("int", "99999999999"), ("int", '"abc"'))
    ),
]


def complaints(path: Path, text: str, line: int | None) -> str:
    """Return the lines of the error about a workload; one begins with the place."""
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_benchmark(path)
    told = str(caught.value)
    place = f"{path}:{line}: " if line is not None else f"{path}: "
    assert any(each.startswith(place) for each in told.splitlines()), told
    return told.replace(str(path), path.name)


def test_a_wrong_workload_is_reported_with_its_place(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    told = [complaints(tmp_path / "library.toml", text, line) for text, line in WRONG]
    assert "\n".join(told) == snapshot


def test_savepoints_end_no_transaction(tmp_path: Path) -> None:
    text = '[statements.back]\nsql = "ROLLBACK TO SAVEPOINT a"\n'
    workload(tmp_path, text + _within("BEGIN", "back", "find", "ROLLBACK", "BEGIN", "COMMIT"))


def test_valid_values_pass(tmp_path: Path) -> None:
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


def test_a_colon_after_an_operand_in_brackets_matches_a_slice() -> None:
    def holes(text: str) -> list[str | None]:
        return [hole.name for hole in parse_statement(text, "postgres").holes]

    assert holes("SELECT a[1:id], a[b:id], (a)[f(:x):id], a[a[1]:id] FROM t") == ["x"]
    assert holes("SELECT a[:x], a[1: :x], a[:x:id], a[f(1, :x)] FROM t") == ["x"] * 4
    assert holes("SELECT a[1 + :x] FROM t WHERE b = :x") == ["x"] * 2


def test_a_mark_at_the_beginning_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert workload(tmp_path, "\ufeff" + SMALL).name == "library"


def test_names_of_indexes_match_their_table_on_mysql(tmp_path: Path) -> None:
    text = TABLES + 'indexes = [{ columns = ["title"] }]\n'
    text += TABLES.replace("tables.books", "tables.books_1")
    own = workload(tmp_path, text + '[statements.find]\nsql.mysql = "SELECT 1"\n' + TEST)
    assert own.dialects == ["mysql", "mariadb"]


def test_a_file_whose_name_is_none_says_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "my shop.toml"
    path.write_text(SMALL)
    with pytest.raises(UsageError) as error:
        read_benchmark(path)
    assert str(error.value).replace(f"{tmp_path}/", "") == snapshot


def test_groups_of_a_test_match_reads_and_writes() -> None:
    names = {group.value for group in (Group.POINT, Group.RANGE, Group.AGGREGATION, Group.WRITE)}
    assert set(get_args(get_args(GroupName)[0])) == names


def test_a_dialect_in_which_a_name_is_reserved_is_named(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    own = workload(tmp_path, SMALL.replace("title", "rank"))
    assert own.dialects == ["postgres", "mariadb", "sqlite"]
    with pytest.raises(UsageError) as error:
        own.check_dialect("mysql", "mysql@9.7.4")
    assert str(error.value).replace(f"{tmp_path}/", "") == snapshot


def test_a_dialect_that_a_statement_lacks_is_named(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    own = workload(tmp_path, _with('sql.postgres = "SELECT 1"'))
    own.check_dialect("postgres", "postgres@17.6")
    with pytest.raises(UsageError) as caught:
        own.check_dialect("mariadb", "mariadb@11.8.9")
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / 'library.toml'}:10: statements.find.sql: ")
    assert "mariadb@11.8.9" in told
    with pytest.raises(UsageError) as error:
        own.check_dialect("mongodb", "mongodb@8.0")
    assert str(error.value).replace(f"{tmp_path}/", "") == snapshot


def test_mariadb_takes_the_sql_of_mysql(tmp_path: Path) -> None:
    own = workload(tmp_path, _with('sql.mysql = "SELECT 1"'))
    assert own.dialects == ["mysql", "mariadb"]
