"""INSERTs of a replay get new keys and the values that the server had filled in."""

from __future__ import annotations

import tomllib

import pytest

from slowdust.workloads.replay.inserts import completed, receiving

TABLES = receiving(
    tomllib.loads(
        """\
[tables.books]
rows = 10
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.title = { type = "text", by = "text", length = 5 }
columns.note = { type = "text", by = "text", length = 5, nullable = true }
columns.isbn = { type = "int", by = "serial", nullable = true }
columns.code = { type = "int", by = "serial", nullable = true }
columns.rank = { type = "int", by = "serial", nullable = true }
indexes = [
    { columns = ["isbn"], unique = true },
    { sql.postgres = "CREATE UNIQUE INDEX x ON books (code) INCLUDE (title)" },
    { sql = "CREATE INDEX y ON books (rank)" },
]
[tables.lines]
rows = 10
columns.book = { type = "int", by = "cycle", count = 5 }
columns.line = { type = "int", by = "cycle", count = 2, each = 5 }
primary_key = ["book", "line"]
"""
    )["tables"]
)
NEW = {"by": "new", "of": "books.id"}
NEW_ISBN = {"by": "new", "of": "books.isbn"}
TITLE = {"of": "books.title"}


@pytest.mark.parametrize(
    ("text", "expected", "parameters"),
    [
        # keys that were seen become new ones
        (
            "INSERT INTO books (id, title, isbn) VALUES (:p1, :p2, :p3)",
            "INSERT INTO books (id, title, isbn) VALUES (:s1, :p2, :s2)",
            [NEW, NEW_ISBN],
        ),
        ("INSERT INTO books (id, title) VALUES (7, 'a')", "(id, title) VALUES (:s1, 'a')", [NEW]),
        (
            "INSERT INTO books (id, title, code, rank) VALUES (:p1, :p2, :p3, :p4)",
            "VALUES (:s1, :p2, :s2, :p4)",
            [NEW, {"by": "new", "of": "books.code"}],
        ),
        # without a list of columns
        ("INSERT INTO books VALUES (:p1, :p2, NULL, NULL)", "(:s1, :p2, NULL, NULL)", [NEW]),
        (
            "INSERT INTO books VALUES (:p1)",
            "INSERT INTO books (id, title) VALUES (:s1, :s2)",
            [NEW, TITLE],
        ),
        # what the server had filled in
        ("INSERT INTO books (title) VALUES (:p1)", "(title, id) VALUES (:p1, :s1)", [NEW]),
        (
            "insert into public.books as b (note) values (f('(', :p1)), ('x,') RETURNING id",
            "(note, id, title) values (f('(', :p1), :s1, :s2), ('x,', :s3, :s4) RETURNING id",
            [NEW, TITLE, NEW, TITLE],
        ),
        (
            'INSERT INTO "books" (id, title) VALUES (DEFAULT, DEFAULT)',
            '"books" (id, title) VALUES (:s1, :s2)',
            [NEW, TITLE],
        ),
        ("INSERT INTO books (id, title) VALUES (:p1, 'DEFAULT')", "(:s1, 'DEFAULT')", [NEW]),
        ("INSERT INTO books (id, title) VALUES (nextval(:p1), :p2)", "(:s1, :p2)", [NEW]),
        (
            "INSERT INTO books DEFAULT VALUES RETURNING id",
            "INSERT INTO books (id, title) VALUES (:s1, :s2) RETURNING id",
            [NEW, TITLE],
        ),
        # the row is updated that has the key
        (
            "INSERT INTO books (id, title) VALUES (:p1, :p2) ON CONFLICT (id) DO UPDATE SET note=1",
            "VALUES (:p1, :p2)",
            [],
        ),
        (
            "INSERT INTO books (id, title, isbn) VALUES (:p1, :p2, :p3) ON CONFLICT (isbn) "
            "DO UPDATE SET note = :p4",
            "VALUES (:s1, :p2, :p3)",
            [NEW],
        ),
        (
            "INSERT INTO books (title, isbn) VALUES (:p1, :p2) "
            "ON CONFLICT (isbn) DO UPDATE SET a=1",
            "(title, isbn, id) VALUES (:p1, :p2, :s1)",
            [NEW],
        ),
        (
            "INSERT INTO books (id, title) VALUES (:p1, :p2) ON CONFLICT (id) DO NOTHING",
            "VALUES (:s1, :p2)",
            [NEW],
        ),
        # no statement, table or key of these
        ("UPDATE books SET title = 'INSERT' WHERE id = :p1", "= 'INSERT' WHERE id = :p1", []),
        ("INSERT INTO others (id) VALUES (:p1)", "(id) VALUES (:p1)", []),
        ("INSERT INTO lines VALUES (:p1, :p2)", "VALUES (:p1, :p2)", []),
        ("INSERT INTO books (id, title) SELECT :p1, title FROM books", "SELECT :p1, title", []),
    ],
)
def test_inserts_of_postgres(text: str, expected: str, parameters: list[dict[str, object]]) -> None:
    made = completed(text, "postgres", TABLES)
    assert expected in made.text
    assert list(made.parameters.values()) == parameters
    assert list(made.parameters) == [f"s{n + 1}" for n in range(len(parameters))]
    assert all((f":{name}" in text) != (f":{name}" in made.text) for name in made.replaced)


@pytest.mark.parametrize(
    ("text", "expected", "parameters"),
    [
        (
            "INSERT INTO books (id, title) VALUES (:p1, :p2) ON DUPLICATE KEY UPDATE note = 1",
            "VALUES (:p1, :p2) ON",
            [],
        ),
        (
            "insert into `shop`.`books` (`title`) value (:p1) on duplicate key update note = 1",
            "(`title`, id) value (:p1, :s1) on",
            [NEW],
        ),
        ("REPLACE INTO books (id, title) VALUES (:p1, :p2)", "VALUES (:p1, :p2)", []),
        ("REPLACE INTO books (title) VALUES (:p1)", "(title, id) VALUES (:p1, :s1)", [NEW]),
        ("INSERT INTO books VALUES (NULL, :p1, NULL, NULL)", "(:s1, :p1, NULL, NULL)", [NEW]),
        ("INSERT IGNORE INTO books () VALUES ()", "(id, title) VALUES (:s1, :s2)", [NEW, TITLE]),
        (
            "INSERT INTO books SET title = concat(:p1, ','), note = :p2 "
            "ON DUPLICATE KEY UPDATE id = 1",
            "SET title = concat(:p1, ','), note = :p2, id = :s1 ON",
            [NEW],
        ),
        ("INSERT books SET id = :p1, title = 'a'", "SET id = :s1, title = 'a'", [NEW]),
    ],
)
def test_inserts_of_mysql(text: str, expected: str, parameters: list[dict[str, object]]) -> None:
    made = completed(text, "mysql", TABLES)
    assert expected in made.text
    assert list(made.parameters.values()) == parameters


def test_rows_of_a_query_cannot_get_keys() -> None:
    with pytest.raises(ValueError, match=r"\bid\b"):
        completed("INSERT INTO books (title) SELECT title FROM books", "postgres", TABLES)
