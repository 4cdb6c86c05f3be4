"""The steps of the Insert Benchmark, by the driver's binary against real servers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from slowdust.experiment.driver import protocol
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import Driver, Event
from tests.integration.purchases import (
    CLIENTS,
    LOADED,
    Purchases,
    Work,
    load,
    query,
    replace,
    running_server,
)
from tests.integration.servers import Server

SERVERS = (
    "postgres@17.6",
    "mysql@5.6.24/innodb",
    "mysql@9.7.4/innodb",
    "mariadb@10.11.18/rocksdb",
)
SOME_ROWS = [
    ["267", "83831", "3855", "168", "BFmcCxxxxxx", "2024-01-01 00:00:00"],
    ["745", "73056", "31", "367", "yCqwnmuqoxxxxxxxxx", "2024-01-01 00:00:00"],
]
"""The first and the thousandth of `purchases2`; the fourth column is four times the price."""


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, builds: GetBuildOf) -> Iterator[Server]:
    with running_server(request.param, builds) as running:
        yield running


@pytest.fixture
def purchases(server: Server, driver: Driver) -> Purchases:
    tables = Purchases(driver, server.target())
    tables.create()
    return tables


def is_postgres(purchases: Purchases) -> bool:
    return bool(purchases.target["dbms"] == "postgres")


def seconds_sum(role: Event, place: int) -> int:
    return sum(second[place] for second in role["per_second"])


@pytest.mark.parametrize(("statements", "tables"), [("prepared", 1), ("text", CLIENTS)])
def test_all_steps_follow_each_other(
    server: Server, driver: Driver, statements: str, tables: int
) -> None:
    purchases = Purchases(driver, server.target(), tables=tables, statements=statements)
    purchases.create()
    loaded = purchases.perform(load())
    assert sum(loaded["growth"]) == loaded["roles"]["insert"]["rows"] == CLIENTS * LOADED
    assert loaded["roles"]["insert"]["statements"] == CLIENTS * 31
    indexed = purchases.perform({"kind": "index"})["roles"]["index"]
    assert (indexed["rows"], indexed["statements"]) == (CLIENTS * LOADED, 3 * tables)
    roles = purchases.perform(replace(1_003))["roles"]
    assert roles["insert"]["rows"] == roles["delete"]["rows"] == CLIENTS * 1_003
    for what in ("range", "point"):
        performed = purchases.perform(query(what, 0.6, 1_000.0), long_transaction=0.25)
        assert performed["growth"] == [0] * tables
        roles = performed["roles"]
        assert set(roles) == {"insert", "delete", "query", "transaction"}
        for writer in ("insert", "delete"):
            schedule = roles[writer]["schedule"]
            assert roles[writer]["rows"] + schedule["backlog"] == schedule["due"]
            assert schedule["due"] == CLIENTS * 600
        assert roles["query"]["rows"] > 9 * roles["query"]["statements"]
        assert 2 <= roles["transaction"]["statements"] <= 3
        for role in roles.values():
            assert seconds_sum(role, 0) == sum(role["latency"]["counts"]) == role["statements"]
            assert seconds_sum(role, 1) == role["rows"]
        msgspec.convert(performed, protocol.Performed)


def test_rows_are_those_of_any_other_dbms(purchases: Purchases, driver: Driver) -> None:
    purchases.perform(load(1_000))
    columns = "cashregisterid, customerid, productid, price * 4, data, dateandtime"
    [rows] = driver.sql(
        purchases.target,
        f"SELECT {columns} FROM purchases2 WHERE transactionid IN (1, 1000) ORDER BY 1",
    )
    assert rows["rows"] == SOME_ROWS


def test_columns_have_the_values_of_the_method(purchases: Purchases) -> None:
    purchases.perform(load(20_000, 1_000))
    for column, least, most in (
        ("cashregisterid", 1_000, 1_000),
        ("customerid", 17_500, 18_700),
        ("productid", 8_400, 8_900),
        ("price", 500, 500),
        ("data", 19_990, 20_000),
    ):
        for count in purchases.numbers(f"SELECT COUNT(DISTINCT {column}) FROM {{}}"):
            assert least <= count <= most, column
    assert purchases.numbers("SELECT MIN(LENGTH(data)) FROM {}") == [10, 10]
    assert purchases.numbers("SELECT MAX(LENGTH(data)) FROM {}") == [20, 20]


def test_deletes_find_the_head_behind_gaps(purchases: Purchases, driver: Driver) -> None:
    purchases.perform(load(4_000))
    bump = (
        "SELECT setval('purchases{}_transactionid_seq', 1000000)"
        if is_postgres(purchases)
        else "ALTER TABLE purchases{} AUTO_INCREMENT = 1000001"
    )
    for table in (1, 2):
        driver.sql(
            purchases.target,
            f"DELETE FROM purchases{table} WHERE transactionid <= 500",
            f"DELETE FROM purchases{table} WHERE transactionid BETWEEN 1000 AND 1999",
            f"DELETE FROM purchases{table} WHERE transactionid > 3000 AND transactionid % 7 > 0",
            bump.format(table),
        )
    before = purchases.counts()
    # Through all gaps, and on behind the jump of the sequence.
    performed = purchases.perform(replace(4_000))
    assert (performed["growth"], purchases.counts()) == ([0, 0], before)
    assert performed["roles"]["delete"]["rows"] == 2 * 4_000
    assert all(head > 1_000_000 for head in purchases.numbers("SELECT MIN(transactionid) FROM {}"))


def test_the_deleter_follows_the_inserter_closely(purchases: Purchases) -> None:
    """Were it not so, a small table would be empty or grow by much in between."""
    purchases.perform(load(1_000))
    purchases.prepare(replace(20_000))
    counts = []
    over = threading.Event()

    def count() -> None:
        with Driver() as other:
            watched = Purchases(other, purchases.target)
            while not over.is_set():
                counts.extend(watched.counts())

    watcher = threading.Thread(target=count)
    watcher.start()
    performed = purchases.driver.expect("performed", "perform", session="step")
    over.set()
    watcher.join()
    assert performed["growth"] == [0, 0]
    # Counted one after the other, and up to four statements and the one under way ahead.
    assert len(counts) > 4
    assert min(counts) >= 1_000
    assert max(counts) <= 1_000 + 5 * 50


def test_a_target_of_1000_rows_is_met_but_for_a_statement_at_the_end(purchases: Purchases) -> None:
    purchases.perform(load())
    purchases.perform({"kind": "index"})
    seconds, rows_per_commit = 3, 50
    performed = purchases.perform(query("range", seconds, 1_000.0, rows_per_commit))
    for writer in ("insert", "delete"):
        role = performed["roles"][writer]
        schedule = role["schedule"]
        assert (schedule["rate"], schedule["due"]) == (CLIENTS * 1_000, CLIENTS * seconds * 1_000)
        assert 0 <= schedule["backlog"] <= CLIENTS * rows_per_commit
        assert role["rows"] == schedule["due"] - schedule["backlog"]
        assert schedule["max_lag_ns"] == max(second[3] for second in role["per_second"])
        inner = [second[1] for second in role["per_second"][1 : seconds - 1]]
        assert all(rows == pytest.approx(CLIENTS * 1_000, rel=0.5) for rows in inner), inner


def test_an_impossible_target_leaves_a_backlog_and_ends_in_time(purchases: Purchases) -> None:
    purchases.perform(load())
    purchases.perform({"kind": "index"})
    performed = purchases.perform(query("point", 1, 50_000_000.0))
    assert performed["growth"] == [0, 0]
    for writer in ("insert", "delete"):
        role = performed["roles"][writer]
        schedule = role["schedule"]
        assert schedule["due"] == CLIENTS * 50_000_000
        assert schedule["backlog"] == schedule["due"] - role["rows"] > 0.95 * schedule["due"]
        assert schedule["max_lag_ns"] > 0.5e9
        # To do what is due would take minutes.
        assert 1.0 <= role["seconds"] < 10
        # Counted from when a statement began, one begins after the other.
        busy = role["latency"]["mean_ns"] * role["statements"] / 1e9
        assert (
            busy <= CLIENTS * role["seconds"] < schedule["mean_lag_ns"] * role["statements"] / 1e9
        )


def test_connections_have_the_cpus_that_are_named(purchases: Purchases, driver: Driver) -> None:
    """Each server's process beside its client, except those of indexes, which have no CPU."""
    cpus = sorted(os.sched_getaffinity(0))

    def seats(work: Work) -> list[int | None]:
        prepared = purchases.prepare(work, cpus=cpus)
        named = [seat["process"] for seat in prepared["seats"]]
        assert len(set(named)) == len(named)
        assert all(Path(f"/proc/{process}").is_dir() for process in named)
        driver.close("step")
        return [seat["cpu"] for seat in prepared["seats"]]

    purchases.create()
    own, next_ = cpus[0], cpus[1 % len(cpus)]
    after_next = cpus[2 % len(cpus)]
    assert seats(load()) == [own, next_]
    assert seats({"kind": "index"}) == [None, None]
    assert seats(replace(50)) == [own, own, next_, next_]
    assert seats(query("point", 1.0, 100)) == [own, *[next_] * 3, *[after_next] * 2]
    assert purchases.prepare(load())["seats"] == []


def test_queries_without_writes_end_at_a_number_of_them(purchases: Purchases) -> None:
    purchases.perform(load())
    purchases.perform({"kind": "index"})
    prepared = purchases.prepare(query("range", 60.0, 0.0), cpus=sorted(os.sched_getaffinity(0)))
    assert [seat["role"] for seat in prepared["seats"]] == ["query"] * CLIENTS
    for queries in (3, 10):
        until = {"operations": queries}
        performed = purchases.driver.expect("performed", "perform", session="step", until=until)
        assert not performed["over"]
        assert {*performed["roles"]} == {"query"}
        assert performed["roles"]["query"]["statements"] == CLIENTS * queries
        assert performed["growth"] == [0, 0]
    purchases.driver.close("step")
    purchases.prepare(query("range", 60.0, 100.0))
    refused = purchases.driver.expect("error", "perform", session="step", until=until)
    assert "ends by time" in refused["message"]
    purchases.driver.close("step")


def test_partitions_have_their_rows(server: Server, driver: Driver) -> None:
    purchases = Purchases(driver, server.target())
    purchases.create(partitions={"count": 4, "rows_each": 1_000})
    purchases.perform(load(5_000))
    performed = purchases.perform(replace(1_500))
    assert performed["growth"] == [0, 0]
    purchases.perform({"kind": "index"})
    purchases.perform(query("range", 0.5, 1_000.0))
    part = "purchases2_p{}" if is_postgres(purchases) else "purchases2 PARTITION (p{})"
    results = driver.sql(
        purchases.target, *(f"SELECT COUNT(*) FROM {part.format(n)}" for n in range(4))
    )
    # Keys up to 2,000 are deleted: 1,500 by the step before the last, 500 by the last.
    assert [int(result["rows"][0][0]) for result in results] == [0, 0, 1_000, 4_000]
    purchases.create()


def test_plans_use_the_indexes(purchases: Purchases, driver: Driver) -> None:
    purchases.perform(load())
    purchases.perform({"kind": "index"})
    for what, indexes in (("range", ["_i1", "_i2", "_i3"]), ("point", [""])):
        purchases.prepare(query(what, 1, 100.0))
        plans = driver.expect("explained", "explain", session="step")["plans"]
        driver.close("step")
        queries = [plan for plan in plans if plan["statement"].startswith("SELECT")]
        for plan, index in zip(queries, indexes, strict=True):
            assert "purchases1" + index in plan["plan"]
        assert any(plan["statement"].startswith("DELETE") for plan in plans)
    assert purchases.counts() == [LOADED, LOADED]
