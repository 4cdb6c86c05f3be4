"""Logs and statistics become statements with weights and samples, and then a file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.formats.statements import Execution, Seen, read_export, read_log
from slowdust.workloads.replay.catalog import CatalogIndex, CatalogTable, Statistics
from slowdust.workloads.replay.grouping import grouped
from slowdust.workloads.replay.replay import Made, replay
from slowdust.workloads.replay.writing import block, table_lines, unsuitable
from slowdust.workloads.workload import read_workload
from tests.unit.workloads.files import TABLES, no_server

SLOW_LOG = """\
/usr/sbin/mysqld, Version: 9.7.4. started with:
Time                 Id Command    Argument
# Time: 2026-01-01T00:00:00.000000Z
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1767225600;
SELECT title FROM books WHERE id = 5;
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767225600;
SELECT title
FROM books WHERE id = 7;
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767225600;
SELECT title FROM books WHERE id = 9;
# Time: 2026-01-01T00:00:01.000000Z
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 1
SET timestamp=1767225601;
UPDATE books SET title = 'it''s \\'odd\\'; why?' WHERE id = 5;
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0
SET timestamp=1767225601;
commit;
# User@Host: ann[ann] @ localhost []  Id:     8
# Query_time: 0.000200  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0
# administrator command: Quit;
"""
POSTGRES_LOG = """\
UTC [7] LOG:  duration: 0.5 ms  parse s1: SELECT title FROM books WHERE id = $1
2026-01-01 00:00:00.000 UTC [7] LOG:  duration: 0.5 ms  execute s1: SELECT title FROM books
\tWHERE id = $1 LIMIT 3
2026-01-01 00:00:00.000 UTC [7] DETAIL:  Parameters: $1 = '5'
2026-01-01 00:00:00.000 UTC [7] LOG:  duration: 0.5 ms  execute s1: SELECT title FROM books
\tWHERE id = $1 LIMIT 3
2026-01-01 00:00:00.000 UTC [7] DETAIL:  parameters: $1 = NULL
UTC [7] LOG:  duration: 0.5 ms  statement: UPDATE books SET title = 'a' WHERE id = 3
2026-01-01 00:00:00.000 UTC [7] LOG:  checkpoint starting: time
"""
CSV_LOG = (
    '2026-01-01 00:00:00.000 UTC,"ann","shop",7,"[local]",6.7,1,"SELECT",2026-01-01 00:00:00 UTC,'
    '3/1,0,LOG,00000,"duration: 0.5 ms  execute <unnamed>: SELECT title FROM books WHERE id = $1",'
    '"parameters: $1 = \'it\'\'s\'",,,,,,,,"","client backend",,0\n'
)


def test_the_slow_log_has_statements_without_those_of_its_own() -> None:
    seen = read_log(SLOW_LOG)
    assert seen is not None
    assert (seen.dialect, seen.what) == ("mysql", "slow log")
    assert [execution.text.split()[0] for execution in seen.executions] == [
        *("SELECT", "SELECT", "SELECT", "UPDATE", "commit"),
    ]


def test_lines_of_a_statement_that_begin_with_a_hash_are_part_of_it() -> None:
    seen = read_log(
        "# Time: 260101  0:00:00\n"
        "# User@Host: ann[ann] @ localhost []\n"
        "# Thread_id: 5  Schema: shop  QC_hit: No\n"
        "# Query_time: 0.000200  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n"
        "# Rows_affected: 0  Bytes_sent: 66\n"
        "SET last_insert_id=4,insert_id=5,timestamp=1767225600;\n"
        "# from the shop\n"
        "SELECT title\n"
        "# Time: of the day\n"
        "FROM books WHERE title = 'a;\nb';\n"
        "/usr/sbin/mysqld, Version: 9.7.4. started with:\n"
        "Time                 Id Command    Argument\n"
        "# User@Host: ann[ann] @ localhost []\n"
        "# Query_time: 0.000200  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n"
        "SET timestamp=1767225600;\n"
        "# administrator command: Ping;\n"
    )
    assert seen is not None
    assert [each.text for each in seen.executions] == [
        "# from the shop\nSELECT title\n# Time: of the day\nFROM books WHERE title = 'a;\nb'"
    ]


def test_the_log_of_postgres_has_executions_with_their_parameters() -> None:
    seen = read_log(POSTGRES_LOG)
    assert seen is not None
    select = "SELECT title FROM books\nWHERE id = $1 LIMIT 3"
    assert seen.executions == (
        Execution(select, ("5",)),
        Execution(select, (None,)),
        Execution("UPDATE books SET title = 'a' WHERE id = 3"),
    )
    seen = read_log(CSV_LOG)
    assert seen is not None
    assert seen.executions == (Execution("SELECT title FROM books WHERE id = $1", ("it's",)),)


def test_values_over_lines_are_those_that_were_logged() -> None:
    seen = read_log(
        "LOG:  duration: 0.5 ms  execute s1: UPDATE books SET title = $2\n"
        "\t-- DETAIL:  parameters: $1 = 'none', and LOG:  statement: none\n"
        "\tWHERE id = $1 AND title <> $3\n"
        "UTC [7] DETAIL:  Parameters: $1 = '5', $2 = 'one\n"
        "\tLOG:  two\u2028\n"
        "\t\tthree', $3 = 'x'\n"
        "UTC [7] NOTICE:  something else\n"
        "UTC [7] LOG:  statement: SELECT 1\n"
    )
    assert seen is not None
    first, second = seen.executions
    assert first.text.endswith("\nWHERE id = $1 AND title <> $3")
    assert first.parameters == ("5", "one\nLOG:  two\u2028\n\tthree", "x")
    assert second == Execution("SELECT 1")


@pytest.mark.parametrize("text", ["", "LOG\n", "a,b\n1,2\n", "# nothing\n", "{}"])
def test_other_texts_are_no_log_and_no_export(text: str) -> None:
    assert read_log(text) is None
    assert read_export(text) is None


def test_executions_are_grouped_by_their_text_without_values() -> None:
    seen = read_log(SLOW_LOG)
    assert seen is not None
    groups = grouped([seen])
    assert [(each.shown, each.calls) for each in groups.statements] == [
        ("SELECT title FROM books WHERE id = ?", 3),
        ("UPDATE books SET title = ? WHERE id = ?", 1),
    ]
    assert groups.statements[0].samples == [(5,), (7,), (9,)]
    assert groups.statements[1].samples == [("it's 'odd'; why?", 5)]
    assert groups.others == {"COMMIT": 1}


def test_statistics_have_the_weights_and_logs_the_values() -> None:
    log = read_log(POSTGRES_LOG)
    export = read_export(
        "userid,query,calls\n"
        '10,"SELECT title FROM books WHERE id = $1 LIMIT $2",900\n'
        '10,"SELECT count(*) FROM books",50\n'
        '10,"DELETE FROM books WHERE id = $1",40\n'
        "10,BEGIN,30\n"
        "10,SELECT pg_stat_statements_reset(),1\n"
    )
    assert log is not None
    assert export is not None
    groups = grouped([export, log])
    assert [(each.verb, each.calls) for each in groups.statements] == [
        ("SELECT", 900),
        ("SELECT", 50),
    ]
    assert groups.without_values == [("DELETE FROM books WHERE id = $1", 40)]
    assert groups.others == {"BEGIN": 30}


def test_digests_of_lists_match_at_any_length() -> None:
    export = read_export(
        "DIGEST_TEXT\tCOUNT_STAR\tQUERY_SAMPLE_TEXT\n"
        "SELECT ? FROM `books` WHERE `id` IN (...)\t80\tSELECT 1 FROM books WHERE id IN (1,2)\n"
        "SELECT ?\t5\tNULL\n"
    )
    assert export is not None
    groups = grouped([export])
    [found] = groups.statements
    assert (found.shown, found.calls) == ("SELECT ? FROM books WHERE id IN (?,?)", 80)
    assert found.samples == [(1, 1, 2)]
    assert groups.without_values == [("SELECT ?", 5)]


def test_escapes_of_an_export_with_tabs_are_read_from_left_to_right() -> None:
    export = read_export("query\tcalls\nSELECT '\\\\n\\n\\\\\\\\t\\x'\t5\n")
    assert export is not None
    assert export.digests[0].text == "SELECT '\\n\n\\\\t\\x'"


@pytest.mark.parametrize(
    "rows",
    [
        '"SELECT 1\n",5\n"SELECT 2",abc\n',
        "SELECT 1,\n",
        "SELECT 1\n",
    ],
)
def test_rows_of_an_export_without_executions_are_errors(
    tmp_path: Path, rows: str, snapshot: SnapshotAssertion
) -> None:
    export = tmp_path / "export.csv"
    export.write_text(f"query,calls\n{rows}")
    with pytest.raises(UsageError) as error:
        replay([str(export)], "seen", None, 20, no_server)
    assert str(error.value) == snapshot


def test_the_footer_of_an_export_is_no_row() -> None:
    export = read_export("query\tcalls\nSELECT 1\t5\n(1 row)\n\n")
    assert export is not None
    assert [each.calls for each in export.digests] == [5]


def _made(folder: Path, log: str, **options: int) -> Made:
    (folder / "the.log").write_text(log)
    (folder / "tables.toml").write_text(TABLES)
    tables = str(folder / "tables.toml")
    return replay([str(folder / "the.log")], "seen", tables, options.get("most", 20), no_server)


@pytest.mark.parametrize("log", [SLOW_LOG, POSTGRES_LOG, CSV_LOG])
def test_the_file_is_a_workload(tmp_path: Path, log: str) -> None:
    made = _made(tmp_path, log)
    path = tmp_path / "seen.toml"
    path.write_text(made.text)
    own = read_workload(path)
    assert list(own.file.tests)[-1] == "all"
    assert own.name == "seen"
    assert made.share == 1


def test_values_that_never_vary_stay_in_the_statement(tmp_path: Path) -> None:
    text = _made(tmp_path, POSTGRES_LOG).text
    assert "SELECT title FROM books\nWHERE id = :p1 LIMIT 3" in text
    assert 'rows = [\n  ["5"], [[]],\n]' in text


def test_rare_statements_are_skipped(tmp_path: Path) -> None:
    made = _made(tmp_path, SLOW_LOG, most=1)
    assert [each.calls for each in made.statements] == [3]
    assert made.share == 0.75


def test_without_values_nothing_can_be_replayed(tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_text('query,calls\n"SELECT title FROM books WHERE id = $1",9\n')
    with pytest.raises(UsageError, match="1 statement"):
        replay([str(export)], "seen", None, 20, no_server)
    export.write_text("something else")
    with pytest.raises(UsageError, match=r"export\.csv"):
        replay([str(export)], "seen", None, 20, no_server)


def test_a_table_of_a_server_is_guessed(tmp_path: Path) -> None:
    table = CatalogTable(
        "books",
        90,
        columns={
            **{"id": "integer", "title": "character varying(30)", "state": "text"},
            **{"price": "numeric(10,2)", "bought": "timestamp without time zone", "more": "jsonb"},
        },
        statistics={
            "title": Statistics(width=10, bounds=["a", "z"]),
            "state": Statistics(common=["new", "old"], frequencies=[0.75, 0.25]),
        },
        primary_key=["id"],
        indexes=[
            CatalogIndex("t", ["title"], unique=True),
            CatalogIndex("x", [], unique=True, statement="CREATE INDEX x ON books (lower(state))"),
            CatalogIndex(
                "y", ["state"], statement="CREATE INDEX y ON books (state) INCLUDE (price)"
            ),
            CatalogIndex(
                "z",
                ["title"],
                unique=True,
                statement="CREATE INDEX z ON books (title) INCLUDE (state)",
            ),
            CatalogIndex("s", ["state", "bought"], unique=True),
        ],
        ends=(3, 102),
    )
    text = "\n".join(table_lines(table)) + '\n[statements.x]\nsql = "SELECT 1"\n'
    path = tmp_path / "shop.toml"
    path.write_text(text + '[tests.x]\ngroup = "point"\nstatements = ["x"]\n')
    made = read_workload(path).file.tables["books"]
    assert made.rows == 100
    assert (made.columns["id"].by, made.columns["id"].start) == ("serial", 3)
    assert made.columns["title"].by == "serial"
    assert (made.columns["state"].values, made.columns["state"].weights) == (
        ["new", "old"],
        [0.75, 0.25],
    )
    assert str(made.columns["price"].type) == "numeric(10,2)"
    assert [(index.columns, index.unique) for index in made.indexes if index.columns] == [
        (["title"], True),
        (["state", "bought"], False),
    ]
    assert [index.sql["postgres"] for index in made.indexes if index.sql] == [
        "CREATE INDEX x ON books (lower(state))",
        "CREATE INDEX y ON books (state) INCLUDE (price)",
        "CREATE UNIQUE INDEX z ON books (title) INCLUDE (state)",
    ]
    assert "# the index s is not unique here" in text


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [
        *(("timestamp with time zone", "2025-01-15 12:00:00+00"), ("year", "2023")),
        *(("interval", "1 hour"), ("inet", "192.0.2.1"), ("integer[]", "{}"), ("bit(3)", "000")),
        *(("timestamp(3) with time zone", "2025-01-15 12:00:00+00"), ("time(3)", "08:00:00")),
    ],
)
def test_values_match_the_type(kind: str, drawn: str) -> None:
    lines = "\n".join(table_lines(CatalogTable("books", 9, {"id": "bigint", "x": kind})))
    column = tomllib.loads(lines)["tables"]["books"]["columns"]["x"]
    assert (column["type"], column["by"], column["values"][0]) == (kind, "choice", drawn)
    assert unsuitable(CatalogTable("books", 9, {"x": kind})) is None


@pytest.mark.parametrize(("kind", "high"), [("numeric(3,2)", 9), ("numeric(9,2)", 100)])
def test_numbers_have_room_in_their_type(kind: str, high: int) -> None:
    lines = "\n".join(table_lines(CatalogTable("books", 9, {"x": kind})))
    column = tomllib.loads(lines)["tables"]["books"]["columns"]["x"]
    assert (column["high"], column["scale"]) == (high, 2)


@pytest.mark.parametrize(("kind", "keys"), [("geometry", []), ("geometry[]", []), ("uuid", ["x"])])
def test_unsuitable_tables_name_the_column_and_its_type(
    kind: str, keys: list[str], snapshot: SnapshotAssertion
) -> None:
    assert unsuitable(CatalogTable("books", 9, {"x": kind}, primary_key=keys)) == snapshot


def test_texts_over_lines_keep_their_backslashes() -> None:
    assert block("a\nb\\n\"c'") == '"""\na\nb\\\\n\\"c\'"""'


def _texts(*texts: str) -> list[str]:
    seen = Seen("postgres", "a log", tuple(Execution(text) for text in texts))
    return [statement.shown for statement in grouped([seen]).statements]


def test_numbers_of_columns_and_typed_texts_stay_in_their_statements() -> None:
    ordered = "SELECT id, s FROM t WHERE id < 9 ORDER BY 2 DESC, 1 LIMIT 5"
    assert _texts(ordered) == ["SELECT id, s FROM t WHERE id < ? ORDER BY 2 DESC, 1 LIMIT ?"]
    grouped_by = "SELECT s, count(*) FROM t WHERE id IN (1, 2) GROUP BY 1"
    assert _texts(grouped_by) == ["SELECT s, count(*) FROM t WHERE id IN (?, ?) GROUP BY 1"]
    typed = "SELECT 1 FROM t WHERE d > now() - interval '1 day' AND e = DATE '2026-01-01'"
    assert _texts(typed) == [typed.replace("SELECT 1", "SELECT ?")]


def test_statements_whose_values_are_unknown_are_counted() -> None:
    known = Execution("SELECT s FROM t WHERE id = 1")
    unknown = Execution("SELECT s FROM t WHERE j ? 'k'")
    seen = Seen("postgres", "a log", (known, unknown, unknown))
    together = grouped([seen])
    assert [statement.calls for statement in together.statements] == [1]
    assert [count for _, count in together.without_values] == [2]
