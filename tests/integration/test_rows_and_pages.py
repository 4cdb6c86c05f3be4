"""The driver counts the exact work of statements on real servers and rolls it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
import pytest

from slowdust.benchmarks import described
from slowdust.benchmarks.described import Call, Transaction, Value
from tests.integration.driver_process import ROWS, Driver, Target
from tests.integration.servers import NEW_MYSQL, OLD_MYSQL, POSTGRES, SharedServers
from tests.tiers.selection import full

MARIADB = "mariadb@10.11.18/innodb"
SQLITE = "sqlite@3.50.2"
SERVERS = (
    POSTGRES,
    pytest.param("postgres@10.23", marks=full),
    pytest.param("postgres@18.4", marks=full),
    OLD_MYSQL,
    pytest.param(NEW_MYSQL, marks=full),
    pytest.param(MARIADB, marks=full),
    SQLITE,
)
OPERATIONS = 4
SPAN = 50
"""Rows of a range."""


@pytest.fixture(scope="module", params=SERVERS)
def target(request: pytest.FixtureRequest, shared_servers: SharedServers) -> Target:
    """A server with tables of the test shape."""
    running = shared_servers(request.param)
    with Driver() as process:
        process.load(running.target())
    return running.target()


def work_of(
    driver: Driver, target: Target, *calls: Call, session: list[str] | None = None
) -> list[Mapping[str, float]]:
    """The amounts per operation of the calls' statements, each a transaction of its own."""
    transactions = [Transaction(name="t", calls=list(calls), weight=1.0)]
    test = described.TestOnDbms(session=session or [], transactions=transactions)
    plain = msgspec.json.decode(msgspec.json.encode(test))
    name = driver.open(target, "t", 1, benchmark="described", described=plain, tables=1, rows=1)
    explained = driver.expect("explained", "explain", session=name, operations=OPERATIONS)
    driver.close(name)
    works = [plan["executed"] for plan in explained["plans"] if "executed" in plan]
    return [
        {amount: total / each["operations"] for amount, total in each["amounts"].items()}
        for each in works
    ]


def test_a_statement_that_reads_n_rows_counts_n(target: Target, driver: Driver) -> None:
    span = Value(type=described.INT, draw=described.Span(low=1, high=ROWS, count=SPAN))
    of_range = Call(sql="SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", values=[span])
    of_all = Call(sql="SELECT COUNT(*) FROM sbtest1 WHERE LENGTH(pad) < 0", form="text")

    part, whole = work_of(driver, target, of_range, of_all)

    assert (part["rows_returned"], whole["rows_returned"]) == (SPAN, 1)
    pages = [
        each["pages_hit"] + each["pages_read"] for each in (part, whole) if "pages_hit" in each
    ]
    assert pages == sorted(pages), "InnoDB tells them where nothing else requests any"
    if target["dbms"] == "sqlite":
        assert (part["full_scan_steps"], whole["full_scan_steps"]) == (0, ROWS - 1)
        assert part["vm_steps"] > SPAN
    else:
        # A handler reads once more to find the end; MySQL 5.5 has two searches more.
        assert SPAN <= part["rows_read"] <= SPAN + 3
        assert ROWS <= whole["rows_read"] <= ROWS + 4
        assert 1 <= part["index_searches"] <= 3


@pytest.mark.parametrize("form", ["prepared", "text"])
def test_a_write_is_counted_and_leaves_the_table_as_it_was(
    target: Target, driver: Driver, form: Literal["prepared", "text"]
) -> None:
    span = Value(type=described.INT, draw=described.Span(low=1, high=ROWS, count=SPAN))
    key = Value(type=described.INT, draw=described.Serial(start=ROWS + 1))
    contents = "SELECT COUNT(*), SUM(k), MAX(id) FROM sbtest1"
    before = driver.sql(target, contents)

    works = work_of(
        driver,
        target,
        Call(sql="BEGIN"),
        Call(sql="UPDATE sbtest1 SET k = k + 1 WHERE id BETWEEN ? AND ?", values=[span], form=form),
        Call(sql="DELETE FROM sbtest1 WHERE id BETWEEN ? AND ?", values=[span], form=form),
        Call(sql="COMMIT"),
        Call(sql="INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, 1, 'c', 'p')", values=[key]),
    )

    updated, deleted, inserted = (each["rows_written"] for each in works)
    assert (updated >= SPAN, 0 < deleted <= SPAN, inserted) == (True, True, 1)
    assert driver.sql(target, contents) == before
    if target["dbms"] in ("mysql", "mariadb"):
        assert works[0]["page_writes"] > works[2]["page_writes"] > 0


def test_a_spill_is_reported(target: Target, driver: Driver) -> None:
    little = {
        "postgres": "SET work_mem = '64kB'",
        "mysql": "SET sort_buffer_size = 32768",
        "mariadb": "SET sort_buffer_size = 32768",
        "sqlite": "PRAGMA cache_size = 10",
    }
    sort = Call(sql="SELECT a.id FROM sbtest1 a JOIN sbtest1 b ON b.id < 3 ORDER BY a.pad, b.c")

    [spilled] = work_of(driver, target, sort, session=[little[target["dbms"]]])
    [fits] = work_of(driver, target, Call(sql="SELECT pad FROM sbtest1 ORDER BY pad LIMIT 1"))

    if target["dbms"] == "sqlite":
        assert (spilled["sorts"], fits["sorts"]) == (1, 1)
        return
    assert (spilled["sorts_spilled"] >= 1, fits["sorts_spilled"]) == (True, 0)
    if target["dbms"] == "postgres":
        assert spilled["temp_pages_written"] > fits["temp_pages_written"] == 0


def test_statements_that_a_rollback_may_not_undo_are_not_executed(
    target: Target, driver: Driver
) -> None:
    create = Call(sql="CREATE TABLE left_behind (a INT)", form="text")
    read = Call(sql="SELECT 1 FROM sbtest1 WHERE id = 1")
    assert work_of(driver, target, read, create) == []


@pytest.mark.parametrize("target", [OLD_MYSQL], indirect=True)
def test_tables_without_transactions_are_not_written(target: Target, driver: Driver) -> None:
    driver.sql(target, "CREATE TABLE lasting (a INT) ENGINE = MyISAM")
    try:
        assert work_of(driver, target, Call(sql="INSERT INTO lasting VALUES (1)")) == []
        assert len(work_of(driver, target, Call(sql="SELECT a FROM lasting"))) == 1
        [counted] = driver.sql(target, "SELECT COUNT(*) FROM lasting")
        assert counted["rows"] == [["0"]]
    finally:
        driver.sql(target, "DROP TABLE lasting")


@pytest.mark.parametrize("target", [OLD_MYSQL], indirect=True)
@pytest.mark.parametrize(
    ("definition", "written"),
    [
        ("", "INSERT INTO elsewhere.lasting VALUES (1)"),
        ("CREATE VIEW view_elsewhere AS SELECT a FROM elsewhere.lasting", "view_elsewhere"),
        (
            "CREATE TRIGGER trigger_elsewhere AFTER UPDATE ON sbtest1 FOR EACH ROW "
            "INSERT INTO elsewhere.lasting VALUES (NEW.id)",
            "",
        ),
    ],
)
def test_tables_of_other_schemas_without_transactions_are_not_written(
    target: Target, driver: Driver, definition: str, written: str
) -> None:
    harmless = Call(sql="UPDATE sbtest1 SET k = k + 1 WHERE id = 1", form="text")
    insert = Call(sql=written if " " in written else f"INSERT INTO {written} VALUES (1)")
    calls = [harmless, insert] if written else [harmless]
    driver.sql(target, "CREATE DATABASE elsewhere")
    driver.sql(target, "CREATE TABLE elsewhere.lasting (a INT) ENGINE = MyISAM")
    try:
        assert len(work_of(driver, target, harmless)) == 1
        if definition:
            driver.sql(target, definition)
        assert work_of(driver, target, *calls) == []
        [counted] = driver.sql(target, "SELECT COUNT(*) FROM elsewhere.lasting")
        assert counted["rows"] == [["0"]]
    finally:
        driver.sql(target, "DROP TRIGGER IF EXISTS trigger_elsewhere")
        driver.sql(target, "DROP VIEW IF EXISTS view_elsewhere")
        driver.sql(target, "DROP DATABASE elsewhere")


def test_nothing_is_executed_unless_it_is_asked_for(target: Target, driver: Driver) -> None:
    session = driver.open(target, "read-write.10")
    plans = driver.expect("explained", "explain", session=session)["plans"]
    assert plans
    assert all("executed" not in plan for plan in plans)
    plans = driver.expect("explained", "explain", session=session, operations=1)["plans"]
    executions = {plan["executed"]["executions"] for plan in plans}
    assert (min(executions), max(executions)) == (1, 10)
    driver.close(session)
