"""Described tables and tests on real servers: all types and all ways to draw values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import pytest

from slowdust.benchmarks import described
from slowdust.benchmarks.described import Call, Column, Transaction, Type, Value
from tests.integration.driver_process import Driver, Target
from tests.integration.servers import POSTGRES, SharedServers

ROWS = 2500
SERVERS = [POSTGRES, "mariadb@10.11.18/innodb", "sqlite@3.50.2"]
INT = described.INT
KEY = described.Value(type=INT, draw=described.Uniform(low=1, high=ROWS))
MONEY = Type(kind="sql", name="NUMERIC(9, 2)")
DAY: dict[str, described.Type] = {
    "postgres": Type(kind="sql", name="DATE"),
    "mariadb": Type(kind="sql", name="DATE"),
    "sqlite": Type(kind="sql", name="TEXT"),
}
AWKWARD: list[described.Fixed] = ["it's", "back\\slash", "tab\tnew\nline", "plain?", None]


@pytest.fixture(scope="module", params=SERVERS)
def target(request: pytest.FixtureRequest, shared_servers: SharedServers) -> Target:
    """A server with the described table."""
    running = shared_servers(request.param).target()
    tables = described.Tables(before=["SELECT 1"], tables=[_table(running["dbms"])])
    with Driver() as driver:
        loaded = driver.expect(
            "loaded",
            "load",
            target=running,
            benchmark="described",
            parallel=1,
            tables=1,
            rows=1,
            seed=7,
            described=_plain(tables),
        )
    assert loaded["rows"] == ROWS
    return running


def _plain(described: object) -> object:
    """Return it as JSON, without the fields that have their defaults."""
    return msgspec.json.decode(msgspec.json.encode(described))


def _table(dbms: str) -> described.Table:
    columns: list[tuple[str, described.Type, described.Draw]] = [
        ("id", INT, described.Serial(start=1)),
        ("big", described.BIGINT, described.Serial(start=1 << 40)),
        ("half", described.REAL, described.Uniform(low=0, high=99, scale=1)),
        ("at", described.TIMESTAMP, described.Serial(start=0, step=86_400)),
        (
            "word",
            described.Type(kind="varchar", length=20),
            described.Letters(shortest=3, longest=20),
        ),
        (
            "code",
            described.Type(kind="char", length=4),
            described.Letters(shortest=4, longest=4, alphabet="digits"),
        ),
        ("note", described.TEXT, described.Choice(values=AWKWARD)),
        ("price", MONEY, described.Uniform(low=100, high=999, scale=2)),
        ("day", DAY[dbms], described.Choice(values=["2026-01-31", "2026-02-01"])),
        ("ten", INT, described.Cycle(start=0, each=1, count=10)),
        ("skew", INT, described.Zipf(low=1, high=50, exponent=0.9)),
    ]
    return described.Table(
        name="things",
        rows=ROWS,
        columns=[Column(name=name, type=kind, values=draw) for name, kind, draw in columns],
        primary_key=["id"],
        after=["CREATE INDEX things_ten ON things (ten){index_options}"],
    )


def _open(driver: Driver, target: Target, test: described.TestOnDbms, clients: int = 1) -> str:
    return driver.open(
        target, "t", clients, benchmark="described", described=_plain(test), tables=1, rows=1
    )


def _test(*calls: Call, session: Sequence[str] = ()) -> described.TestOnDbms:
    transaction = Transaction(name="x", calls=list(calls))
    return described.TestOnDbms(session=list(session), transactions=[transaction])


def test_rows_are_as_described(target: Target, driver: Driver) -> None:
    (answer,) = driver.sql(
        target,
        "SELECT COUNT(*), MIN(id), MAX(big), MAX(half), COUNT(note), COUNT(DISTINCT note), "
        "MIN(price), COUNT(DISTINCT day), MIN(LENGTH(word)), MAX(LENGTH(word)) FROM things",
    )
    count, least, big, half, notes, different, price, days, shortest, longest = answer["rows"][0]
    assert (int(count), int(least), int(big)) == (ROWS, 1, (1 << 40) + ROWS - 1)
    assert float(half) == pytest.approx(9.9)
    assert float(price) >= 1
    assert (int(different), int(days), int(shortest), int(longest)) == (4, 2, 3, 20)
    # 500 of 2,500 are NULL; the standard deviation is 20.
    assert abs(ROWS - int(notes) - 500) < 120
    (texts,) = driver.sql(target, "SELECT DISTINCT note FROM things WHERE note IS NOT NULL")
    assert {row[0] for row in texts["rows"]} == set(AWKWARD) - {None}


@pytest.mark.parametrize("form", ["prepared", "text"])
def test_every_value_finds_the_row_that_it_is_of(
    target: Target, driver: Driver, form: Literal["prepared", "text"]
) -> None:
    columns: list[tuple[str, described.Type, list[described.Fixed]]] = [
        ("big", described.BIGINT, [1 << 40]),
        ("at", described.TIMESTAMP, [86_400]),
        ("note", described.TEXT, ["it's", "back\\slash", "tab\tnew\nline"]),
        ("day", DAY[target["dbms"]], ["2026-01-31"]),
        ("ten", INT, [3]),
    ]
    for name, kind, values in columns:
        value = Value(type=kind, draw=described.Choice(values=values))
        sql = f"SELECT 1 FROM things WHERE {name} = ? ORDER BY id LIMIT 1"
        session = _open(driver, target, _test(Call(sql=sql, values=[value], rows=1, form=form)))
        ran = driver.run(session, 0.05)
        driver.close(session)
        assert (ran["errors"], ran["operations"] > 0) == ({}, True), name


def test_clients_write_without_conflicts(target: Target, driver: Driver) -> None:
    own = Value(type=INT, draw=described.Own(low=1, high=ROWS))
    money = Value(type=MONEY, draw=described.Uniform(low=100, high=999, scale=2))
    note = Value(type=described.TEXT, draw=described.Choice(values=AWKWARD))
    update = "UPDATE things SET price = ?, note = ? WHERE id = ?"
    inlist = Value(type=INT, draw=described.Distinct(low=1, high=ROWS, count=3))
    span = Value(type=INT, draw=described.Span(low=1, high=ROWS, count=100))
    test = _test(
        Call(sql="BEGIN"),
        Call(sql=update, values=[money, note, own], rows=1, repeat=2),
        Call(sql="SELECT id FROM things WHERE id IN (?, ?, ?)", values=[inlist], rows=3),
        Call(sql="SELECT id FROM things WHERE id BETWEEN ? AND ?", values=[span], rows=100),
        Call(sql="COMMIT"),
    )
    clients = 1 if target["dbms"] == "sqlite" else 3
    session = _open(driver, target, test, clients)
    ran = driver.run(session, 0.2)
    plans = driver.expect("explained", "explain", session=session)["plans"]
    driver.close(session)
    assert (ran["errors"], ran["statements"]) == ({}, 6 * ran["operations"])
    assert any("things" in plan["plan"] for plan in plans)


def test_a_wrong_number_of_rows_is_counted(target: Target, driver: Driver) -> None:
    session = _open(driver, target, _test(Call(sql="SELECT 1 FROM things WHERE id = 0", rows=1)))
    ran = driver.run(session, 0.05)
    driver.close(session)
    assert sum(ran["errors"].values()) == ran["operations"]


@pytest.mark.parametrize("target", [POSTGRES], indirect=True)
def test_session_statements_hold_for_the_connection(target: Target, driver: Driver) -> None:
    sql = "SELECT 1 WHERE current_setting('work_mem') = '3MB'"
    session = _open(driver, target, _test(Call(sql=sql, rows=1), session=["SET work_mem = '3MB'"]))
    ran = driver.run(session, 0.05)
    driver.close(session)
    assert ran["errors"] == {}


def test_statements_without_a_plan_are_not_explained(target: Target, driver: Driver) -> None:
    create = Call(sql="CREATE INDEX things_skew ON things (skew)", form="text")
    drop = "DROP INDEX things_skew" + (" ON things" if target["dbms"] == "mariadb" else "")
    session = _open(driver, target, _test(create, Call(sql=drop, form="text")))
    assert driver.expect("explained", "explain", session=session)["plans"] == []
    assert driver.run(session, 0.05)["errors"] == {}
    driver.close(session)


def test_tables_have_to_be_described(target: Target, driver: Driver) -> None:
    fields = {"benchmark": "described", "parallel": 1, "tables": 1, "rows": 1, "seed": 7}
    error = driver.expect("error", "load", target=target, **fields)
    assert error["kind"] == "usage"


@pytest.mark.parametrize("form", ["prepared", "text"])
def test_a_placeholder_that_is_none_to_the_server_does_not_end_the_driver(
    target: Target, driver: Driver, form: Literal["prepared", "text"]
) -> None:
    """A mark within a text has a value in the description, and no place on the server."""
    call = Call(sql="SELECT '?' FROM things WHERE id = 1", values=[KEY], form=form)
    described_test = _plain(_test(call))
    events = []
    shape = {"tables": 1, "rows": 1, "seed": 7, "clients": 1, "benchmark": "described"}
    opened = driver.do(
        "open", session="s", test="t", target=target, described=described_test, **shape
    )
    events.append(opened)
    if opened["event"] == "opened":
        events.append(driver.do("explain", session="s"))
        events.append(driver.do("run", session="s", stop={"positions": [1]}))
    assert all(event["event"] in {"opened", "explained", "ran", "error"} for event in events)
    if form == "prepared" and target["dbms"] == "postgres":  # others take no notice of the value
        assert any(event["event"] == "error" or event.get("errors") for event in events)
    assert driver.sql(target, "SELECT 1"), "the driver goes on"
