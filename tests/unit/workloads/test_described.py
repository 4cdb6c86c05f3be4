"""The commands of a workload to the driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.benchmarks import described
from slowdust.dbms import family
from slowdust.workloads.benchmark import DescribedWorkload
from slowdust.workloads.sql import find_verb, parse_statement, tokenize
from tests.unit.workloads.files import FIND, SMALL, TABLES, workload


def _test(folder: Path, text: str, name: str, dbms: str = "postgres") -> described.TestOnDbms:
    return DescribedWorkload(workload(folder, text)).test(name, family(dbms), 1)


def _calls(folder: Path, text: str, dbms: str = "postgres") -> list[described.Call]:
    [transaction] = _test(folder, text, "t", dbms).transactions
    return transaction.calls


def _draws(call: described.Call) -> list[described.Draw]:
    return [value.draw for value in call.values]


def test_tables_have_the_types_and_draws_of_their_columns(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[statements.find]", 'indexes = [{ columns = ["shelf"] }]\n[statements.find]'
    )
    [table] = DescribedWorkload(workload(tmp_path, text)).tables(family("mysql")).tables
    assert (table.name, table.rows, table.primary_key) == ("books", 100, ["id"])
    assert table.after == ["CREATE INDEX books_1 ON books (shelf){index_options}"]
    assert [(column.name, column.type, column.values) for column in table.columns] == [
        ("id", described.INT, described.Serial(start=1)),
        (
            "title",
            described.Type(kind="varchar", length=20),
            described.Letters(shortest=3, longest=20),
        ),
        ("shelf", described.BIGINT, described.Zipf(low=1, high=9, exponent=0.8)),
        ("price", described.REAL, described.Uniform(low=50, high=975, scale=2)),
        ("bought", described.TIMESTAMP, described.Uniform(low=1735689600, high=1738281600)),
    ]


def test_a_statement_has_its_result_and_the_range_of_the_column(tmp_path: Path) -> None:
    test = _test(tmp_path, SMALL, "find")
    [transaction] = test.transactions
    uniform = described.Uniform(low=1, high=100)
    assert transaction.calls == [
        described.Call(
            sql="SELECT title FROM books WHERE id = ?",
            values=[described.Value(type=described.INT, draw=uniform)],
            rows=1,
        )
    ]


def test_a_column_without_numbers_is_drawn_as_it_was_filled(tmp_path: Path) -> None:
    text = TABLES + (
        '[statements.x]\nsql = "SELECT 1 FROM books WHERE title = :a OR shelf = :b OR price = :c"\n'
        'parameters = { a = { of = "books.title" }, b = { of = "books.shelf" }, '
        'c = { of = "books.price" } }\n[tests.t]\ngroup = "range"\nstatements = ["x"]\n'
    )
    [call] = _calls(tmp_path, text)
    assert _draws(call) == [
        described.Letters(shortest=3, longest=20),
        described.Zipf(low=1, high=9, exponent=0.8),
        described.Uniform(low=50, high=975, scale=2),
    ]


def test_spans_and_lists_become_as_many_placeholders(tmp_path: Path) -> None:
    text = TABLES + (
        "[statements.x]\n"
        'sql = "SELECT 1 FROM books WHERE id BETWEEN :a.first AND :a.last OR id IN (:b)"\n'
        'parameters.a = { by = "span", of = "books.id", count = 10 }\n'
        'parameters.b = { by = "distinct", of = "books.id", count = 3 }\n'
        '[tests.t]\ngroup = "range"\nstatements = ["x"]\n'
    )
    [call] = _calls(tmp_path, text)
    assert call.sql == "SELECT 1 FROM books WHERE id BETWEEN ? AND ? OR id IN (?, ?, ?)"
    assert _draws(call) == [
        described.Span(low=1, high=100, count=10),
        described.Distinct(low=1, high=100, count=3),
    ]


def test_a_parameter_of_the_transaction_is_drawn_once_and_of_a_statement_each_time(
    tmp_path: Path,
) -> None:
    text = TABLES + (
        '[statements.x]\nsql = "SELECT 1 FROM books WHERE id = :id AND shelf = :shelf"\n'
        'parameters.id = { of = "books.id" }\nparameters.shelf = { of = "books.shelf" }\n'
        '[tests.t]\ngroup = "point"\nstatements = ["BEGIN", "x", "x", "COMMIT"]\n'
        'parameters.shelf = { by = "uniform", type = "bigint", low = 1, high = 2 }\n'
    )
    begin, first, second, commit = _calls(tmp_path, text)
    assert (begin.sql, commit.sql) == ("BEGIN", "COMMIT")
    keys, shelves = described.Uniform(low=1, high=100), described.Uniform(low=1, high=2)
    assert _draws(first) == [keys, shelves]
    assert _draws(second) == [keys, described.Same(place=1)]


def test_a_parameter_that_is_used_twice_is_one_value_in_each_repetition(tmp_path: Path) -> None:
    text = TABLES + (
        '[statements.x]\nsql = "SELECT 1 FROM books WHERE id = :id OR shelf = :id"\n'
        'parameters.id = { of = "books.id" }\n'
        '[tests.t]\ngroup = "point"\nstatements = [{ statement = "x", repeat = 2 }]\n'
    )
    calls = _calls(tmp_path, text)
    assert [call.repeat for call in calls] == [1, 1]
    assert [_draws(call)[1] for call in calls] == [described.Same(place=0), described.Same(place=2)]


def test_new_keys_of_all_tests_are_different(tmp_path: Path) -> None:
    text = TABLES + (
        '[statements.x]\nsql = "INSERT INTO books (id) VALUES (:id)"\n'
        'parameters.id = { by = "new", of = "books.id" }\n'
        '[tests.t]\nstatements = ["x", "x"]\n[tests.u]\nmix = { x = 1 }\n'
    )
    first, second = _calls(tmp_path, text)
    [third] = _test(tmp_path, text, "u").transactions[0].calls
    draws = [_draws(call)[0] for call in (first, second, third)]
    assert draws == [described.Serial(start=start, step=3) for start in (101, 102, 103)]


def test_samples_keep_the_values_of_a_tuple_together(tmp_path: Path) -> None:
    text = TABLES + (
        '[samples.seen]\ncolumns = ["id", "day"]\nrows = [[1, 2025-01-01], [2, []]]\n'
        '[statements.x]\nsql = "SELECT 1 FROM books WHERE id = :id AND bought = :day"\n'
        'parameters.id = { type = "int", by = "sample", from = "seen.id" }\n'
        'parameters.day = { type = "timestamp", by = "sample", from = "seen.day" }\n'
        '[tests.t]\ngroup = "point"\nstatements = ["x"]\n'
    )
    test = _test(tmp_path, text, "t")
    assert test.samples == [[[1, 1735689600], [2, None]]]
    [call] = test.transactions[0].calls
    assert _draws(call) == [described.Sample(set=0, column=0), described.Sample(set=0, column=1)]


def test_a_text_with_a_question_mark_is_sent_as_a_value(tmp_path: Path) -> None:
    text = TABLES + (
        "[statements.x]\nsql = \"SELECT 1 FROM books WHERE title = 'why? :a' -- really?\"\n"
        '[tests.t]\ngroup = "point"\nstatements = ["x"]\n'
    )
    [call] = _calls(tmp_path, text, "mysql")
    assert call.sql.strip() == "SELECT 1 FROM books WHERE title = ?"
    assert _draws(call) == [described.Choice(values=["why? :a"])]


def test_statements_are_in_the_sql_of_the_dbms(tmp_path: Path) -> None:
    own = FIND.replace("sql =", 'sql.mysql = "SELECT 1"\nsql.postgres =')
    own = own.replace("result = { rows = 1 }\n", "").replace("SELECT 1", "SELECT :id")
    text = TABLES + own + '[tests.t]\ngroup = "point"\nstatements = ["find"]\n'
    assert _calls(tmp_path, text, "mariadb")[0].sql == "SELECT ?"
    assert _calls(tmp_path, text)[0].sql == "SELECT title FROM books WHERE id = ?"


def test_statements_before_a_test_match_the_dialect(tmp_path: Path) -> None:
    text = 'before.postgres = ["CREATE EXTENSION x"]\nsession.mysql = ["SET a = 1"]\n' + SMALL
    own = DescribedWorkload(workload(tmp_path, text))
    assert [own.tables(family(dbms)).before for dbms in ("postgres", "mysql")] == [
        ["CREATE EXTENSION x"],
        [],
    ]
    sessions = {dbms: own.test("find", family(dbms), 1).session for dbms in ("postgres", "mariadb")}
    assert sessions == {"postgres": [], "mariadb": ["SET a = 1"]}


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("WITH b AS (SELECT replace(title, 'a', 'b') FROM t) SELECT * FROM b", "SELECT"),
        ("WITH a AS (SELECT 1 FROM t FOR UPDATE) SELECT 1", "SELECT"),
        ("WITH a AS (DELETE FROM t RETURNING id) SELECT * FROM a", "DELETE"),
        ("WITH n AS (SELECT 1) UPDATE t SET a = 1", "UPDATE"),
        ("(SELECT 1) UNION ALL (SELECT 2)", "SELECT"),
        ("DROP TABLE t", "DROP"),
    ],
)
def test_the_verb_is_what_a_statement_does(text: str, verb: str) -> None:
    assert find_verb(tokenize(text, "postgres")) == verb


@pytest.mark.parametrize(
    ("text", "dialect", "word"),
    [
        ("REPLACE INTO books (id) VALUES (:id)", "mysql", "REPLACE"),
        ("REPLACE INTO books (id) VALUES (:id)", "mariadb", "REPLACE"),
        ("REPLACE INTO books (id) VALUES (:id)", "sqlite", "REPLACE"),
        ("CALL sell(:id)", "postgres", "CALL"),
        ("EXECUTE sale(:id)", "postgres", "EXECUTE"),
        ("EXPLAIN SELECT title FROM books WHERE id = :id", "postgres", "EXPLAIN"),
    ],
)
def test_parameters_are_found_after_every_verb(text: str, dialect: str, word: str) -> None:
    parsed = parse_statement(text, dialect)
    assert [hole.name for hole in parsed.holes] == ["id"]
    assert parsed.word == word
