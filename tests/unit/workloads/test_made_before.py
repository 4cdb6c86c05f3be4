"""Tables that the statements before a load create are maintained like the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.benchmarks.model import Group
from slowdust.dbms import family
from slowdust.experiment.driver.process import Data
from slowdust.workloads.benchmark import DescribedWorkload, find_created_tables
from slowdust.workloads.workload import read_workload

CASES = Path(__file__).parents[2] / "cases" / "limits"


@pytest.mark.parametrize(
    ("statements", "names"),
    [
        (["CREATE TABLE a AS SELECT 1"], ["a"]),
        (['create unlogged table if not exists public."B" (x int)'], ['public."B"']),
        (["CREATE TEMP TABLE a (x int)", "CREATE TABLE b (x int)"], ["b"]),
        (["CREATE TABLE a (x int)", "CREATE TABLE b (x int)", "DROP TABLE IF EXISTS a, c"], ["b"]),
        (["CREATE TABLE a (x int)", "ALTER TABLE a RENAME TO b"], ["b"]),
        (["CREATE TABLE a (x int)", "ALTER TABLE a RENAME COLUMN x TO y"], ["a"]),
        (["CREATE EXTENSION x", "CREATE INDEX i ON a (x)", "LOCK TABLE a"], []),
    ],
)
def test_the_tables_that_stay_are_known(statements: list[str], names: list[str]) -> None:
    assert find_created_tables(statements, "postgres") == names


def test_they_are_maintained_with_those_of_the_file() -> None:
    described = DescribedWorkload(read_workload(CASES / "vector-filter.toml"))
    data = Data(1, 1, 1, described=described)
    assert data.maintained("postgres") == ["brand", "items"]
    assert data.names == ["brand"], "the driver loads those of the file alone"


def test_a_table_of_the_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    text = (CASES / "in-table.toml").read_text()
    path.write_text(f'before = ["CREATE TABLE edge (a int)", "DROP TABLE edge"]\n{text}')
    assert DescribedWorkload(read_workload(path)).made_before(family("sqlite")) == []


def test_sqlite_has_tables_after_in() -> None:
    workload = read_workload(CASES / "in-table.toml")
    assert workload.dialects == ["sqlite"]
    (sql,) = workload.parsed("s", "sqlite").parts
    assert sql == "SELECT count(*) FROM edge WHERE a IN chosen"
    assert workload.group("s") is Group.AGGREGATION


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM edge",
        "SELECT count(*) OVER () FROM edge",
        "SELECT a FROM edge WHERE a = (SELECT max(id) FROM chosen)",
        "SELECT (SELECT max(id) FROM chosen), a FROM edge",
    ],
)
def test_a_group_is_asked_for_unless_all_that_is_read_are_aggregates(
    tmp_path: Path, sql: str
) -> None:
    path = tmp_path / "in-table.toml"
    text = (CASES / "in-table.toml").read_text()
    path.write_text(text.replace("SELECT count(*) FROM edge WHERE a IN chosen", sql))
    with pytest.raises(Exception, match=r"tests\.s\.group: "):
        read_workload(path)


def test_a_column_that_is_not_there_is_still_found(tmp_path: Path) -> None:
    path = tmp_path / "in-table.toml"
    text = (CASES / "in-table.toml").read_text()
    path.write_text(text.replace("a IN chosen", "wrong IN chosen"))
    with pytest.raises(Exception, match="no column of edge 'wrong'"):
        read_workload(path)
