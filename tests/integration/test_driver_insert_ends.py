"""How steps of the Insert Benchmark end, what goes on beside them, and which are refused."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import Driver
from tests.integration.purchases import Purchases, load, query, running_server
from tests.integration.servers import Server

AT_ONCE = 10.0
"""Seconds, on a busy machine; what is ended would have gone on for a minute."""


@pytest.fixture(scope="module")
def postgres(builds: GetBuildOf) -> Iterator[Server]:
    with running_server("postgres@17.6", builds) as running:
        yield running


@pytest.fixture(scope="module")
def mysql(builds: GetBuildOf) -> Iterator[Server]:
    with running_server("mysql@5.6.24/innodb", builds) as running:
        yield running


def loaded(server: Server, driver: Driver) -> Purchases:
    """Tables with the rows of a load."""
    purchases = Purchases(driver, server.target())
    purchases.create()
    purchases.perform(load())
    return purchases


def test_the_long_transaction_holds_a_snapshot(postgres: Server, driver: Driver) -> None:
    purchases = loaded(postgres, driver)
    purchases.prepare(query("point", 2, 1_000.0), long_transaction=60)
    seen: list[list[str | None]] = []

    def look() -> None:
        with Driver() as other:
            [answer] = other.sql(
                purchases.target,
                "SELECT xact_start < now() - interval '0.5 s', backend_xmin IS NOT NULL "
                "FROM pg_stat_activity WHERE state = 'idle in transaction'",
            )
        seen.extend(answer["rows"])

    watcher = threading.Timer(1.2, look)
    watcher.start()
    performed = driver.expect("performed", "perform", session="step")
    watcher.join()
    assert seen == [["t", "t"]]
    held = performed["roles"]["transaction"]
    assert (held["connections"], held["statements"]) == (1, 1)
    # Until the end of the step, not for the minute that it might.
    assert 1.5e9 <= held["latency"]["max_ns"] < 20e9
    driver.close("step")


def test_no_index_waits_for_a_long_transaction(mysql: Server, driver: Driver) -> None:
    """MySQL creates none while a transaction is open that has read the table."""
    purchases = loaded(mysql, driver)
    performed = purchases.perform({"kind": "index"}, long_transaction=20)
    assert set(performed["roles"]) == {"index"}
    assert performed["seconds"] < 20


def test_a_killed_server_ends_the_step_at_once(builds: GetBuildOf, driver: Driver) -> None:
    with running_server("postgres@17.6", builds) as doomed:
        loaded(doomed, driver).prepare(query("range", 60, 100.0), long_transaction=50)
        with doomed.killed_soon(signal.SIGKILL):
            begin = time.monotonic()
            event = driver.expect("error", "perform", session="step")
            assert time.monotonic() - begin < AT_ONCE
    assert event["kind"] == "connection"
    driver.close("step")


@pytest.mark.parametrize("victim", ["INSERT", "DELETE", "COMMIT|SELECT transactionid"])
def test_one_lost_connection_ends_the_step_at_once(
    postgres: Server, driver: Driver, victim: str
) -> None:
    """The step ends also while the others sleep until something is due, or in a statement."""
    purchases = loaded(postgres, driver)
    purchases.prepare(query("range", 60, 1.0), long_transaction=50)
    killed = []

    def kill() -> None:
        with Driver() as other:
            [answer] = other.sql(
                purchases.target,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE pid <> pg_backend_pid() AND query ~ '^({victim})'",
            )
        killed.append((len(answer["rows"]), time.monotonic()))

    killer = threading.Timer(0.5, kill)
    killer.start()
    event = driver.expect("error", "perform", session="step")
    ended = time.monotonic()
    killer.join()
    [(victims, at)] = killed
    assert victims >= 1
    assert ended - at < AT_ONCE
    assert event["kind"] == "connection"
    again = driver.do("perform", session="step")
    assert (again["event"], again["kind"]) == ("error", "usage")
    driver.close("step")


@pytest.mark.parametrize("dbms", ["postgres", "mysql"])
def test_a_refused_statement_ends_the_step(
    dbms: str, request: pytest.FixtureRequest, driver: Driver
) -> None:
    purchases = loaded(request.getfixturevalue(dbms), driver)
    purchases.prepare(query("point", 60, 100.0))
    driver.sql(purchases.target, "ALTER TABLE purchases1 DROP COLUMN data")
    begin = time.monotonic()
    event = driver.expect("error", "perform", session="step")
    assert time.monotonic() - begin < AT_ONCE
    assert event["kind"] == "server"
    driver.close("step")


def test_progress_is_told_about_every_second(postgres: Server, driver: Driver) -> None:
    loaded(postgres, driver).prepare(query("point", 2.5, 100.0))
    driver.expect("performed", "perform", session="step")
    told = [(event["done"], event["total"]) for event in driver.progress]
    assert 1 <= len(told) <= 3
    assert all(total == 2_500 for _, total in told)
    assert told == sorted(told)
    driver.close("step")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clients": 0}, "a step needs a client"),
        ({"tables": 3}, "a table for each or one for all"),
        ({"inserted": [1]}, "for each table"),
        ({"work": load(rows_per_commit=0)}, "1 to 4681 rows"),
        ({"work": load(rows_per_commit=4_682)}, "1 to 4681 rows"),
        ({"work": load(rows=0)}, "a row at least"),
        ({"work": query("range", 0, 1.0)}, "positive number of seconds"),
        ({"work": query("range", 1, -1.0)}, "number per second"),
        ({"long_transaction": -1}, "held a positive number"),
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
