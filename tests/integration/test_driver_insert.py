"""Steps of the Insert Benchmark: their operations, their ends and their errors."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import Driver, Target
from tests.integration.purchases import (
    CLIENTS,
    Purchases,
    Work,
    load,
    query,
    replace,
    running_server,
)
from tests.integration.servers import (
    MYSQL_BETWEEN,
    NEW_MYSQL,
    POSTGRES,
    ROCKSDB,
    Server,
    SharedServers,
)
from tests.tiers.selection import full

AT_ONCE = 60.0
"""Seconds on a busy machine; a step that is stopped would have run for ten minutes."""
SERVERS = (
    POSTGRES,
    *(pytest.param(name, marks=full) for name in (*MYSQL_BETWEEN, NEW_MYSQL, ROCKSDB)),
)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> Server:
    return shared_servers(request.param)


@pytest.fixture
def purchases(server: Server, driver: Driver) -> Purchases:
    tables = Purchases(driver, server.target())
    tables.create()
    return tables


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
    seconds, rows_per_commit = 2, 50
    performed = purchases.perform(query("range", seconds, 1_000.0, rows_per_commit))
    for writer in ("insert", "delete"):
        role = performed["roles"][writer]
        schedule = role["schedule"]
        assert (schedule["rate"], schedule["due"]) == (CLIENTS * 1_000, CLIENTS * seconds * 1_000)
        assert 0 <= schedule["backlog"] <= CLIENTS * rows_per_commit
        assert role["rows"] == schedule["due"] - schedule["backlog"]
        assert schedule["max_lag_ns"] == max(second[3] for second in role["per_second"])
        # In each second those that are due then, but for what this machine was late by.
        late = CLIENTS * (1_000 * schedule["max_lag_ns"] / 1e9 + rows_per_commit)
        each_second = [second[1] for second in role["per_second"][:seconds]]
        assert all(abs(rows - CLIENTS * 1_000) <= late for rows in each_second), each_second


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
        assert role["seconds"] >= 1.0
        # Counted from when a statement began, one begins after the other.
        busy = role["latency"]["mean_ns"] * role["statements"] / 1e9
        assert (
            busy <= CLIENTS * role["seconds"] < schedule["mean_lag_ns"] * role["statements"] / 1e9
        )


def test_connections_have_the_cpus_that_are_named(purchases: Purchases, driver: Driver) -> None:
    """Each client with its server process; index builds have no CPU time."""
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


@pytest.fixture
def postgres(shared_servers: SharedServers, driver: Driver) -> Purchases:
    """Tables with the rows of a load."""
    return loaded(shared_servers(POSTGRES), driver)


def loaded(server: Server, driver: Driver) -> Purchases:
    purchases = Purchases(driver, server.target())
    purchases.create()
    purchases.perform(load())
    return purchases


def until_it_answers(target: Target, statement: str) -> list[list[str | None]]:
    """Ask again and again, over other connections, until there are rows."""
    with Driver() as other:
        while not (rows := other.sql(target, statement)[0]["rows"]):
            pass
    answered: list[list[str | None]] = rows
    return answered


def test_the_long_transaction_holds_a_snapshot(postgres: Purchases, driver: Driver) -> None:
    postgres.prepare(query("point", 2, 1_000.0), long_transaction=600)
    held_for_long = (
        "SELECT backend_xmin IS NOT NULL FROM pg_stat_activity "
        "WHERE state = 'idle in transaction' AND xact_start < now() - interval '0.2 s'"
    )
    with ThreadPoolExecutor() as threads:
        watcher = threads.submit(until_it_answers, postgres.target, held_for_long)
        performed = driver.expect("performed", "perform", session="step")
        assert watcher.result() == [["t"]]
    held = performed["roles"]["transaction"]
    assert (held["connections"], held["statements"]) == (1, 1)
    assert 1e9 <= held["latency"]["max_ns"] < 2 * performed["seconds"] * 1e9, "not ten minutes"
    driver.close("step")


def test_a_killed_server_ends_the_step_at_once(builds: GetBuildOf, driver: Driver) -> None:
    with running_server(POSTGRES, builds) as doomed:
        loaded(doomed, driver).prepare(query("range", 600, 100.0), long_transaction=500)
        with doomed.killed_soon(signal.SIGKILL):
            begin = time.monotonic()
            event = driver.expect("error", "perform", session="step")
            assert time.monotonic() - begin < AT_ONCE
    assert event["kind"] == "connection"
    driver.close("step")


@pytest.mark.parametrize("victim", ["INSERT", "DELETE", "COMMIT|SELECT transactionid"])
def test_one_lost_connection_ends_the_step_at_once(
    postgres: Purchases, driver: Driver, victim: str
) -> None:
    """The step ends also while the others sleep until something is due, or in a statement."""
    postgres.prepare(query("range", 600, 1.0), long_transaction=500)
    terminate = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE pid <> pg_backend_pid() AND query ~ '^({victim})'"
    )
    with ThreadPoolExecutor() as threads:
        begin = time.monotonic()
        killer = threads.submit(until_it_answers, postgres.target, terminate)
        event = driver.expect("error", "perform", session="step")
        assert time.monotonic() - begin < AT_ONCE
        assert killer.result()
    assert event["kind"] == "connection"
    again = driver.do("perform", session="step")
    assert (again["event"], again["kind"]) == ("error", "usage")
    driver.close("step")


def test_progress_is_reported_about_every_second(postgres: Purchases, driver: Driver) -> None:
    postgres.prepare(query("point", 1.5, 100.0))
    performed = driver.expect("performed", "perform", session="step")
    told = [(event["done"], event["total"]) for event in driver.progress]
    assert 1 <= len(told) <= performed["seconds"] + 1
    assert all(total == 1_500 for _, total in told)
    assert told == sorted(told)
    driver.close("step")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clients": 0}, "a step needs a client"),
        ({"tables": 3}, "one table per client or one for all"),
        ({"inserted": [1]}, "for each table"),
        ({"work": load(rows_per_commit=0)}, "must be 1 to 4681"),
        ({"work": load(rows_per_commit=4_682)}, "must be 1 to 4681"),
        ({"work": load(rows=0)}, "at least one row"),
        ({"work": query("range", 0, 1.0)}, "must be positive"),
        ({"work": query("range", 1, -1.0)}, "must not be negative"),
        ({"long_transaction": -1}, "held must be positive"),
    ],
)
def test_steps_that_cannot_be_are_refused(
    driver: Driver, fields: dict[str, object], message: str
) -> None:
    command: dict[str, object] = {
        "session": "s", "clients": 2, "tables": 2, "seed": 1, "inserted": [0, 0],
        "statements": "prepared", "work": load(),
        "target": {"dbms": "postgres", "socket": "/nowhere", "port": 1, "user": "u",
                   "database": "d"},
    }  # fmt: skip
    event = driver.do("prepare", **(command | fields))
    assert (event["event"], event["kind"]) == ("error", "usage")
    assert message in event["message"]
