"""The commands to the driver, in each dialect."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.benchmarks.vector import VECTOR
from slowdust.benchmarks.vector.options import VectorTable
from slowdust.benchmarks.vector.tables import VectorData
from slowdust.dbms import family
from slowdust.errors import UsageError

ROWS = 400


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path))


def data_of(*tests: str, **keys: object) -> VectorData:
    table = VectorTable.model_validate({"dimensions": 4, "queries": 7, "k": 3, **keys})
    benchmark = VECTOR.configured(table)
    return benchmark.choosing(benchmark.matching(tests)).described(ROWS, 1, 1)


def test_only_tables_of_the_tests_are_made() -> None:
    assert data_of("hnsw.ef10", "hnsw.ef40").names == ["vectors_hnsw"]
    assert data_of("hnsw.ef10", "build-hnsw").names == ["vectors_hnsw", "vectors"]
    assert data_of("exact", "build*").rows == ROWS


@pytest.mark.parametrize(
    ("dbms", "metric", "statement"),
    [
        (
            "postgres",
            "l2",
            "CREATE INDEX vectors_hnsw_by_hnsw ON vectors_hnsw USING hnsw (v vector_l2_ops) "
            "WITH (m = 16, ef_construction = 64)",
        ),
        (
            "postgres",
            "ip",
            "CREATE INDEX vectors_hnsw_by_hnsw ON vectors_hnsw USING hnsw (v vector_ip_ops) "
            "WITH (m = 16, ef_construction = 64)",
        ),
        (
            "mariadb",
            "cosine",
            "CREATE VECTOR INDEX vectors_hnsw_by_hnsw ON vectors_hnsw (v) M=16 DISTANCE=cosine",
        ),
    ],
)
def test_an_index_is_made_once_the_rows_are_there(dbms: str, metric: str, statement: str) -> None:
    (table,) = data_of("hnsw.ef10", metric=metric).tables(family(dbms)).tables
    assert table.after == [statement]


def test_lists_are_the_square_root_of_the_rows_unless_given() -> None:
    for keys, lists in (({}, 20), ({"lists": 7}, 7)):
        (table,) = data_of("ivfflat.probes1", **keys).tables(family("postgres")).tables
        assert table.after[0].endswith(f"WITH (lists = {lists})")


def test_the_table_without_an_index_has_none() -> None:
    for dbms in ("postgres", "mariadb"):
        (table,) = data_of("exact").tables(family(dbms)).tables
        assert table.after == []


def test_a_search_is_a_session_with_an_effort() -> None:
    test = data_of("hnsw.ef40.filter10").test("hnsw.ef40.filter10", family("postgres"), 1)
    (call,) = test.transactions[0].calls
    assert call.sql == ("SELECT id FROM vectors_hnsw WHERE bucket < 10 ORDER BY v <-> ? LIMIT 3")
    assert test.session == ["SET hnsw.ef_search = 40", "SET enable_seqscan = off"]
    (value,) = msgspec.to_builtins(call.values)
    assert value["draw"]["by"] == "vectors"
    assert Path(value["draw"]["file"]).stat().st_size == 7 * 4 * 4


def test_a_bucket_is_a_percent_of_the_rows() -> None:
    (table,) = data_of("hnsw.ef40.filter10").tables(family("postgres")).tables
    (bucket,) = (column for column in table.columns if column.name == "bucket")
    assert msgspec.to_builtins(bucket.values) == {
        "by": "cycle",
        "start": 0,
        "each": 1,
        "count": 100,
    }


def test_exact_scans_change_no_setting() -> None:
    assert data_of("exact").test("exact", family("mariadb"), 1).session == []
    assert data_of("exact").questions("exact", family("mariadb")) is None


def test_building_is_making_and_dropping() -> None:
    (transaction,) = data_of("build-hnsw").test("build-hnsw", family("mariadb"), 1).transactions
    assert [call.sql.split()[0] for call in transaction.calls] == ["CREATE", "DROP"]
    assert {call.form for call in transaction.calls} == {"text"}


@pytest.mark.parametrize(("dbms", "literal"), [("postgres", "'["), ("mariadb", "x'")])
def test_questions_are_the_queries_as_literals(dbms: str, literal: str) -> None:
    data = data_of("hnsw.ef10")
    questions = data.questions("hnsw.ef10", family(dbms))
    assert questions is not None
    assert len(questions.statements) == 7
    assert all(literal in statement for statement in questions.statements)
    exact = data.dataset.exact(3, None)
    right = [[row + 1 for row in rows] for rows in exact.rows.tolist()]  # ids begin with 1
    assert questions.recall(right) == 1.0
    assert questions.recall([numbers[:1] for numbers in right]) == pytest.approx(1 / 3)


def test_another_dbms_is_refused() -> None:
    with pytest.raises(UsageError, match="sqlite"):
        data_of("exact").tables(family("sqlite"))
