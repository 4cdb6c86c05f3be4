"""A workload made of logs is always valid, and names the statements that it lacks."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.formats.statements import Digest, Execution, Seen
from slowdust.workloads.replay.catalog import CatalogTable
from slowdust.workloads.replay.grouping import grouped
from slowdust.workloads.replay.replay import Made, accepted, replay, workload_name
from slowdust.workloads.replay.writing import Replay, file_text
from slowdust.workloads.workload import read_workload
from tests.unit.workloads.files import TABLES, no_server

GOOD = "SELECT title FROM books WHERE id = 7"
VALUES = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False).map(str),
    st.text(max_size=12).map(lambda text: "'{}'".format(text.replace("'", "''"))),
    st.sampled_from(["NULL", "true", "-5", "1e400", "0x4142", "x'41'", "E'a\\nb'", "':x'", "'?'"]),
)
FORMS = st.sampled_from(
    [
        *("SELECT title FROM books WHERE id = {}", "SELECT nope FROM books WHERE id = {}"),
        *("INSERT INTO books (id, title) VALUES ({}, {})", "UPDATE books SET title = {}"),
        *("DELETE FROM books WHERE id IN ({}, {})", "SELECT a[{}:{}] FROM books", "SELECT :x, {}"),
        *("SELECT * FROM books LIMIT {}", "SELECT id FROM books ORDER BY {}", "SELECT {} AS 'a b'"),
        *("SELECT CAST({} AS DECIMAL(10, 2)) FROM books", "SELECT {} ? {}", "SELECT {}; SELECT {}"),
        *("WITH x AS (SELECT {} AS n) SELECT n FROM x, books", "TABLE books", "SELECT /* {} */ 1"),
        *(
            "REPLACE INTO books VALUES ({})",
            "MERGE INTO books USING b ON {} WHEN MATCHED",
            "SELECT",
        ),
        *("SELECT `id` FROM books -- {}", 'SELECT "Title" FROM books WHERE a->>{} = {}', "{}"),
    ]
)


@st.composite
def statements(draw: st.DrawFn) -> str:
    form = draw(FORMS)
    return form.format(*(draw(VALUES) for _ in range(form.count("{}"))))


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(statements(), min_size=1, max_size=8),
    calls=st.integers(1, 10**15),
    most=st.integers(1, 5),
)
@example(
    texts=["SELECT 1 FROM books WHERE title->>0 = 0", "SELECT 1 FROM books WHERE title->>'?' = 0"],
    calls=1,
    most=1,
)
def test_any_log_makes_a_valid_file(
    tmp_path: Path, dialect: str, texts: list[str], calls: int, most: int
) -> None:
    digests = (Digest(GOOD, calls, GOOD), *(Digest(text, 3, text) for text in texts))
    executions = tuple(Execution(text) for text in texts)
    seen = [Seen(dialect, "statistics", executions, digests)]
    groups = grouped(seen)
    draft = Replay("seen", ["a\nb"], groups, groups.statements, [], TABLES)
    made, refused = accepted(draft, most)
    path = tmp_path / "seen.toml"
    path.write_text(file_text(made), encoding="utf-8")
    own = read_workload(path)
    assert 1 <= len(own.file.statements) <= most
    assert len(made.statements) + len(refused) <= len(groups.statements)
    assert all(why for _, _, why in refused)


def made_of(folder: Path, *statements: str, kind: str = "slow", tables: str = TABLES) -> Made:
    """Return what is made of a log with these statements."""
    lines = [f"# Query_time: 1\n{text};" for text in statements]
    if kind == "postgres":
        lines = [f"LOG:  statement: {text}" for text in statements]
    return made_from(folder, "\n".join(lines) + "\n", tables)


def made_from(folder: Path, log: str, tables: str = TABLES) -> Made:
    (folder / "the.log").write_text(log)
    (folder / "tables.toml").write_text(tables)
    return replay([str(folder / "the.log")], "seen", str(folder / "tables.toml"), 20, no_server)


def test_statements_that_no_workload_can_have_are_named(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    made = made_of(tmp_path, GOOD, "SELECT nope FROM books WHERE id = 1", kind="postgres")
    assert [each.shown for each in made.statements] == ["SELECT title FROM books WHERE id = ?"]
    [(text, calls, why)] = made.refused
    assert (text, calls) == ("SELECT nope FROM books WHERE id = ?", 1)
    assert "'nope'" in why
    with pytest.raises(UsageError) as error:
        made_of(tmp_path, "SELECT nope FROM books", kind="postgres")
    assert str(error.value) == snapshot


PARAMETERS = """\
LOG:  execute s1: INSERT INTO books (id,title,shelf) VALUES ($1,$2,$3)
DETAIL:  Parameters: $1 = '501', $2 = 'one', $3 = '3'
LOG:  execute s2: SELECT title FROM books WHERE id IN ($1,$2) AND title = $x$it's$x$
DETAIL:  Parameters: $1 = '1', $2 = '2'
LOG:  execute s3: UPDATE books SET title=$1||$2||E'\\'$1,$2' WHERE id<$3
DETAIL:  Parameters: $1 = 'a', $2 = 'b', $3 = '3'
"""


def test_parameters_without_blanks_between_them_are_no_texts_in_dollars(tmp_path: Path) -> None:
    made = made_from(tmp_path, PARAMETERS)
    assert {each.shown: each.samples for each in made.statements} == {
        "INSERT INTO books (id,title,shelf) VALUES (?,?,?)": [("501", "one", "3")],
        "SELECT title FROM books WHERE id IN (?,?) AND title = $x$it's$x$": [("1", "2")],
        "UPDATE books SET title=?||?||E'\\'$1,$2' WHERE id<?": [("a", "b", "3")],
    }
    assert (made.share, list(made.refused), made.grouped.others) == (1, [], {})


def test_statements_that_cannot_be_read_are_skipped_and_counted(tmp_path: Path) -> None:
    two = "BEGIN; UPDATE books SET title = 'a' WHERE id = 1"
    made = made_of(tmp_path, GOOD, "SELECT title FROM books WHERE id = 'a", two, kind="postgres")
    assert made.share == pytest.approx(1 / 3)
    assert [(text, calls) for text, calls, _ in made.refused] == [
        ("SELECT title FROM books WHERE id = 'a", 1),
        (two, 1),
    ]
    assert "not SQL of postgres" in made.refused[0][2]
    assert "several statements" in made.refused[1][2]
    with pytest.raises(UsageError, match="several statements"):
        made_of(tmp_path, two, kind="postgres")


def test_digests_that_cannot_be_read_are_counted_once() -> None:
    cut = "SELECT title FROM books WHERE title = 'a"
    digests = (Digest(GOOD, 6, GOOD), Digest(cut, 3, cut), Digest("SET a = 'b", 2))
    groups = grouped([Seen("mysql", "statistics", (Execution(cut),), digests)])
    assert [(text, calls) for text, calls, _ in groups.unread] == [(cut, 3)]
    assert groups.others == {"SET": 2}


def test_values_of_replace_are_found(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    made = made_of(tmp_path, "REPLACE INTO books (id, shelf) VALUES (7, 2)")
    [statement] = made.statements
    assert statement.shown == snapshot
    assert statement.samples == [(7, 2)]


def test_bytes_written_as_hexadecimal_digits_are_values(tmp_path: Path) -> None:
    texts = [f"SELECT id FROM books WHERE title = {text}" for text in ("0x4142", "x'43'", "X'444'")]
    made = made_of(tmp_path, *texts)
    statement = tomllib.loads(made.text)["statements"]["q1"]
    assert statement["sql"]["mysql"] == "SELECT id FROM books WHERE title = UNHEX(:p1)"
    assert made.statements[0].samples == [("4142",), ("43",), ("0444",)]


def test_keys_of_inserts_become_new_ones_and_those_of_upserts_stay(tmp_path: Path) -> None:
    made = made_of(
        tmp_path,
        "INSERT INTO books VALUES (7, 'x', 2, 1.5, now())",
        "INSERT INTO books (id, title) VALUES (7, 'x') ON CONFLICT (id) DO UPDATE SET title = 'y'",
        "INSERT INTO books (title) SELECT title FROM books WHERE id = 7",
        kind="postgres",
    )
    statements = tomllib.loads(made.text)["statements"]
    new, upsert = (statements[name] for name in ("q1", "q2"))
    assert new["sql"]["postgres"] == "INSERT INTO books VALUES (:s1, :p2, :p3, :p4, now())"
    assert new["parameters"]["s1"] == {"by": "new", "of": "books.id"}
    assert new["parameters"]["p2"] == {"by": "sample", "from": "q1.p2"}
    assert upsert["sql"]["postgres"] == (
        "INSERT INTO books (id, title, shelf, price, bought) VALUES (:p1, :p2, :s1, :s2, :s3) "
        "ON CONFLICT (id) DO UPDATE SET title = :p3"
    )
    assert upsert["parameters"]["p1"] == {"by": "sample", "from": "q2.p1"}
    assert upsert["parameters"]["s1"] == {"of": "books.shelf"}
    [(_, _, why)] = made.refused
    assert "id, shelf, price and bought" in why


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("rows = 100", "rows = 0", "2: tables.books.rows: "),
        ("columns.title = {", "columns.title = 5 #", "5: tables.books.columns.title: "),
        (
            'type = "varchar(20)"',
            'type = { mysql = "json" }',
            "5: tables.books.columns.title.type: ",
        ),
    ],
)
def test_wrong_tables_of_a_file_are_reported_with_their_line(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    with pytest.raises(UsageError) as caught:
        made_of(tmp_path, GOOD, kind="postgres", tables=TABLES.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'tables.toml'}:{place}")


def test_texts_that_are_no_values_stay(tmp_path: Path) -> None:
    made = made_of(
        tmp_path,
        "SELECT CAST(id AS DECIMAL(10, 2)) AS 'a b', title->'$.x' FROM books WHERE id = 4",
        "SELECT id FROM books WHERE title = _binary'abc'",
    )
    assert [each.shown for each in made.statements] == [
        "SELECT CAST(id AS DECIMAL(10, 2)) AS 'a b', title->'$.x' FROM books WHERE id = ?",
        "SELECT id FROM books WHERE title = ?",
    ]


def test_slices_of_arrays_are_no_casts(tmp_path: Path) -> None:
    text = made_of(tmp_path, "SELECT (ARRAY[1,2,3])[1:2] FROM books", kind="postgres").text
    assert "[:p4: :p5] FROM books" in text


def test_tables_and_columns_whose_names_want_quotation_marks_are_skipped() -> None:
    good = CatalogTable("books", 5, {"id": "integer", "title": "text"}, primary_key=["id"])
    odd = CatalogTable("My Books", 5, {"id": "integer"})
    groups = grouped([Seen("postgres", "a log", (Execution(GOOD),))])
    made, refused = accepted(Replay("seen", [], groups, groups.statements, [good, odd]), 20)
    assert [table.name for table in made.tables] == ["books"]
    [(text, _, why)] = refused
    assert text == "the table My Books"
    assert "'My Books'" in why


def test_a_table_with_a_reserved_name_is_skipped_with_its_statements(
    snapshot: SnapshotAssertion,
) -> None:
    good = CatalogTable("books", 5, {"id": "integer", "title": "text"}, primary_key=["id"])
    order = CatalogTable("order", 5, {"id": "integer"}, primary_key=["id"])
    texts = (GOOD, 'SELECT id FROM "order" WHERE id = 7')
    groups = grouped([Seen("postgres", "a log", tuple(map(Execution, texts)))])
    made, refused = accepted(Replay("seen", [], groups, groups.statements, [order, good]), 20)
    assert [table.name for table in made.tables] == ["books"]
    assert [each.shown for each in made.statements] == ["SELECT title FROM books WHERE id = ?"]
    assert refused == snapshot


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        *(("shop", "shop"), ("my shop.v2", "my-shop-v2"), ("micro", "my-micro"), ("-", "replay")),
        ("x" * 80, "x" * 60),
    ],
)
def test_the_name_is_one_of_a_workload(stem: str, name: str) -> None:
    assert workload_name(stem) == name
