"""The driver's binary against real servers of MySQL and MariaDB, engine by engine."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.slap import SLAP
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.instance import Instance
from slowdust.dbms.rundir import RunDirectory
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import ROWS, SHAPE, TABLES, Driver, Event, Target

SERVERS = (
    "mysql@5.5.9/innodb",
    "mysql@5.6.24/innodb",
    "mysql@9.7.4/innodb",
    "mysql@9.7.4/memory",
    "mariadb@11.4.5/innodb",
    "mariadb@10.11.18/rocksdb",
)
COLLISIONS = {"40001", "HY000/1205", "HY000/1020"}
LEAVE_ALL_ROWS = [
    test
    for test in dict.fromkeys(test.driver_test for test in (*SLAP.tests, *MICRO.tests))
    if test not in {"delete", "insert"}
]


@dataclass(frozen=True)
class Server:
    """An instance with tables of the test shape."""

    name: str
    instance: Instance
    target: Target

    @property
    def engine(self) -> str:
        return self.name.partition("/")[2]


@contextlib.contextmanager
def running_server(name: str, builds: GetBuildOf, access: Access | None = None) -> Iterator[Server]:
    contender, _, engine = name.partition("/")
    build = builds(*contender.split("@"))
    kind = family(build.dbms)
    with RunDirectory.open("driver-tests") as run:
        settings = kind.settings("small", {"innodb_lock_wait_timeout": "1"}, 1, engine=engine)
        instance = Instance.create(run, "server", build, settings, engine=engine, access=access)
        instance.start()
        yield Server(name, instance, msgspec.to_builtins(instance.target()))


def load(driver: Driver, target: Target) -> Event:
    return driver.expect("loaded", "load", target=target, parallel=2, **SHAPE)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, builds: GetBuildOf) -> Iterator[Server]:
    with running_server(request.param, builds) as running:
        process = Driver()
        load(process, running.target)
        process.end()
        yield running


@pytest.fixture
def driver() -> Iterator[Driver]:
    process = Driver()
    yield process
    process.end()


def count(driver: Driver, target: Target) -> int:
    counts = driver.sql(target, *(f"SELECT COUNT(*) FROM sbtest{n + 1}" for n in range(TABLES)))
    return sum(int(result["rows"][0][0]) for result in counts)


@pytest.mark.parametrize("clients", [1, 4])
def test_every_test_runs_without_errors(server: Server, driver: Driver, clients: int) -> None:
    for test in LEAVE_ALL_ROWS:
        session = driver.open(server.target, test, clients)
        ran = driver.run(session, 0.05)
        driver.close(session)
        # Tables of MEMORY have no transactions: a row is away between its DELETE and its INSERT.
        others = {"wrong-row-count", "23000"} if server.engine == "memory" else set()
        assert set(ran["errors"]) <= (COLLISIONS | others if clients > 1 else set()), test
        assert ran["operations"] > 0, test
    if server.engine != "memory":
        assert count(driver, server.target) == TABLES * ROWS


def some_rows(driver: Driver, target: Target) -> list[list[str]]:
    """Without the blanks that some servers give at the end of a `char`."""
    [answer] = driver.sql(target, f"SELECT id, k, c, pad FROM sbtest2 WHERE id IN (1, {ROWS})")
    return sorted([field.rstrip() for field in row] for row in answer["rows"])


@pytest.fixture(scope="module")
def rows_of_postgres(postgres_build: Build) -> list[list[str]]:
    with RunDirectory.open("driver-tests") as run:
        settings = family("postgres").settings("small", {}, 1)
        instance = Instance.create(run, "server", postgres_build, settings)
        instance.start()
        target = msgspec.to_builtins(instance.target())
        process = Driver()
        load(process, target)
        rows = some_rows(process, target)
        process.end()
    return rows


def test_rows_are_those_of_any_other_dbms(
    server: Server, driver: Driver, rows_of_postgres: list[list[str]]
) -> None:
    load(driver, server.target)
    assert some_rows(driver, server.target) == rows_of_postgres
    assert len(rows_of_postgres) == 2


def test_tables_are_of_the_engine_with_ordered_indexes(server: Server, driver: Driver) -> None:
    engine, indexes = driver.sql(
        server.target,
        "SELECT LOWER(engine) FROM information_schema.tables WHERE table_name = 'sbtest1'",
        "SELECT DISTINCT index_type FROM information_schema.statistics "
        "WHERE table_name = 'sbtest1'",
    )
    assert engine["rows"] == [[server.engine]]
    assert indexes["rows"][0][0] in ("BTREE", "LSMTREE")


def test_deleted_and_inserted_rows_are_counted(server: Server, driver: Driver) -> None:
    load(driver, server.target)
    deleted = driver.run(driver.open(server.target, "delete", 2))
    inserted = driver.run(driver.open(server.target, "insert", 2))
    assert (deleted["errors"], inserted["errors"]) == ({}, {})
    assert count(driver, server.target) == TABLES * ROWS - deleted["rows"] + inserted["rows"]
    load(driver, server.target)


def test_an_update_that_changes_nothing_has_found_its_row(server: Server, driver: Driver) -> None:
    session = driver.open(server.target, "update-one")
    driver.run(session)
    # The same operations once more, with the same contents.
    driver.close(session)
    ran = driver.run(driver.open(server.target, "update-one"))
    assert ran["errors"] == {}


def test_plans_are_told_without_estimates(server: Server, driver: Driver) -> None:
    session = driver.open(server.target, "range-covered-pk")
    [plan] = driver.expect("explained", "explain", session=session)["plans"]
    assert plan["statement"] == "SELECT id FROM sbtest1 WHERE id BETWEEN ? AND ?"
    assert "PRIMARY" in plan["plan"]
    assert "range" in plan["plan"]
    assert not any(character.isdigit() for character in plan["plan"].replace("sbtest1", ""))


def test_server_threads_are_those_of_the_server(server: Server, driver: Driver) -> None:
    opened = driver.expect(
        "opened",
        "open",
        session="s",
        target=server.target,
        test="point-query",
        clients=2,
        cpus=[0, 0],
        **SHAPE,
    )
    threads = opened["server_processes"]
    assert len(set(threads)) == 2
    for thread in threads:
        assert Path(f"/proc/{server.instance.pid}/task/{thread}").is_dir()


def test_deadlocks_are_retried(builds: GetBuildOf, driver: Driver) -> None:
    with running_server("mysql@9.7.4/innodb", builds) as server:
        load(driver, server.target)
        driver.sql(server.target, "DELETE FROM sbtest1 WHERE id > 8")
        ran = driver.run(driver.open(server.target, "write-only", 4, tables=1, rows=8), 1.0)
        # Each client's last collision may come too late to be tried again in this slice.
        collisions = sum(ran["errors"].get(state, 0) for state in COLLISIONS)
        assert 0 <= collisions - ran["retries"] <= 4
        assert ran["retries"] > 0
        [counted] = driver.sql(server.target, "SELECT COUNT(*) FROM sbtest1")
        assert counted["rows"] == [["8"]]


@pytest.mark.parametrize(
    ("name", "auth"),
    [
        ("mysql@5.6.24/innodb", Auth.NATIVE),
        ("mariadb@11.4.5/innodb", Auth.NATIVE),
        ("mysql@9.7.4/innodb", Auth.CACHING_SHA2),
    ],
)
def test_passwords(builds: GetBuildOf, driver: Driver, name: str, auth: Auth) -> None:
    access = Access.make(Listen.LOOPBACK, auth)
    with running_server(name, builds, access) as server:
        by_socket = server.target | {
            "host": None,
            "socket": str(server.instance.socket_dir),
        }
        for target in (server.target, by_socket):
            # The first time in full, then as the server remembers it.
            for _ in range(2):
                [answer] = driver.sql(target, "SELECT CURRENT_USER()")
                assert answer["rows"][0][0].startswith("slowdust@")
            wrong = target | {"password": "wrong"}
            event = driver.expect("error", "sql", target=wrong, statements=["SELECT 1"], parallel=1)
            assert (event["kind"], event["sqlstate"]) == ("connection", "28000")


def test_a_killed_server_ends_the_slice(builds: GetBuildOf, driver: Driver) -> None:
    with running_server("mysql@9.7.4/innodb", builds) as server:
        load(driver, server.target)
        session = driver.open(server.target, "point-query", 4)
        killer = threading.Timer(0.3, os.kill, [server.instance.pid, signal.SIGKILL])
        killer.start()
        event = driver.do("run", session=session, stop={"seconds": 20})
        assert (event["event"], event["kind"]) == ("error", "connection")
        killer.join()
