"""The driver's binary against real servers of MySQL and MariaDB, engine by engine."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.slap import SLAP
from slowdust.builds import Build
from slowdust.dbms.access import Access, Auth, Listen
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import (
    ROWS,
    SHAPE,
    TABLES,
    Driver,
    Target,
    keeping_rows,
)
from tests.integration.servers import Server, new_instance

SERVERS = (
    "mysql@5.5.9/innodb",
    "mysql@5.6.24/innodb",
    "mysql@9.7.4/innodb",
    "mysql@9.7.4/memory",
    "mariadb@11.4.5/innodb",
    "mariadb@10.11.18/rocksdb",
)
COLLISIONS = {"40001", "HY000/1205", "HY000/1020"}


@contextlib.contextmanager
def running_server(name: str, builds: GetBuildOf, access: Access | None = None) -> Iterator[Server]:
    """A server of DBMS@VERSION/ENGINE."""
    contender, _, engine = name.partition("/")
    build = builds(*contender.split("@"))
    overrides = {"innodb_lock_wait_timeout": "1"}
    with new_instance(build, overrides, engine=engine, access=access) as instance:
        instance.start()
        yield Server(instance)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, builds: GetBuildOf) -> Iterator[Server]:
    """A running server with tables of the test shape."""
    with running_server(request.param, builds) as running:
        with Driver() as process:
            process.load(running.target())
        yield running


@pytest.fixture
def engine(server: Server) -> str:
    assert server.instance.site.engine is not None
    return server.instance.site.engine


@pytest.mark.parametrize("clients", [1, 4])
def test_every_test_runs_without_errors(
    server: Server, engine: str, driver: Driver, clients: int
) -> None:
    for test in keeping_rows(SLAP, MICRO):
        session = driver.open(server.target(), test, clients)
        ran = driver.run(session, 0.05)
        driver.close(session)
        # Tables of MEMORY have no transactions: a row is away between its DELETE and its INSERT.
        others = {"wrong-row-count", "23000"} if engine == "memory" else set()
        assert set(ran["errors"]) <= (COLLISIONS | others if clients > 1 else set()), test
        assert ran["operations"] > 0, test
    if engine != "memory":
        assert driver.count(server.target()) == TABLES * ROWS


def some_rows(driver: Driver, target: Target) -> list[list[str]]:
    """Without the blanks that some servers give at the end of a `char`."""
    [answer] = driver.sql(target, f"SELECT id, k, c, pad FROM sbtest2 WHERE id IN (1, {ROWS})")
    return sorted([field.rstrip() for field in row] for row in answer["rows"])


@pytest.fixture(scope="module")
def rows_of_postgres(postgres_build: Build) -> list[list[str]]:
    with new_instance(postgres_build, {}) as instance, Driver() as process:
        instance.start()
        target = Server(instance).target()
        process.load(target)
        return some_rows(process, target)


def test_rows_are_those_of_any_other_dbms(
    server: Server, driver: Driver, rows_of_postgres: list[list[str]]
) -> None:
    driver.load(server.target())
    assert some_rows(driver, server.target()) == rows_of_postgres
    assert len(rows_of_postgres) == 2


def test_tables_are_of_the_engine_with_ordered_indexes(
    server: Server, engine: str, driver: Driver
) -> None:
    engines, indexes = driver.sql(
        server.target(),
        "SELECT LOWER(engine) FROM information_schema.tables WHERE table_name = 'sbtest1'",
        "SELECT DISTINCT index_type FROM information_schema.statistics "
        "WHERE table_name = 'sbtest1'",
    )
    assert engines["rows"] == [[engine]]
    assert indexes["rows"][0][0] in ("BTREE", "LSMTREE")


def test_deleted_and_inserted_rows_are_counted(server: Server, driver: Driver) -> None:
    driver.load(server.target())
    deleted = driver.run(driver.open(server.target(), "delete", 2))
    inserted = driver.run(driver.open(server.target(), "insert", 2))
    assert (deleted["errors"], inserted["errors"]) == ({}, {})
    assert driver.count(server.target()) == TABLES * ROWS - deleted["rows"] + inserted["rows"]
    driver.load(server.target())


def test_an_update_that_changes_nothing_has_found_its_row(server: Server, driver: Driver) -> None:
    session = driver.open(server.target(), "update-one")
    driver.run(session)
    # The same operations once more, with the same contents.
    driver.close(session)
    ran = driver.run(driver.open(server.target(), "update-one"))
    assert ran["errors"] == {}


def test_plans_are_told_without_estimates(server: Server, driver: Driver) -> None:
    session = driver.open(server.target(), "range-covered-pk")
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
        target=server.target(),
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
    with running_server("mysql@5.6.24/innodb", builds) as server:
        driver.load(server.target())
        ran = driver.write_few_rows(server.target())
        # Each client's last collision may come too late to be tried again in this slice.
        collisions = sum(ran["errors"].get(state, 0) for state in COLLISIONS)
        assert 0 <= collisions - ran["retries"] <= 4
        assert ran["retries"] > 0


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
        for target in (server.tcp_target(), server.target()):
            # The first time in full, then as the server remembers it.
            for _ in range(2):
                [answer] = driver.sql(target, "SELECT CURRENT_USER()")
                assert answer["rows"][0][0].startswith("slowdust@")
            wrong = target | {"password": "wrong"}
            event = driver.expect("error", "sql", target=wrong, statements=["SELECT 1"], parallel=1)
            assert (event["kind"], event["sqlstate"]) == ("connection", "28000")


def test_a_killed_server_ends_the_slice(builds: GetBuildOf, driver: Driver) -> None:
    with running_server("mysql@5.6.24/innodb", builds) as server:
        driver.load(server.target())
        session = driver.open(server.target(), "point-query", 4)
        with server.killed_soon(by=signal.SIGKILL):
            event = driver.do("run", session=session, stop={"seconds": 20})
        assert (event["event"], event["kind"]) == ("error", "connection")
