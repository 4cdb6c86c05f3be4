"""The driver's tests on a server of each DBMS, version and engine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.slap import SLAP
from slowdust.experiment.driver import protocol
from slowdust.probes.server.process import ServerProbe
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import (
    ROWS,
    SHAPE,
    TABLES,
    Driver,
    Event,
    Target,
    keeping_rows,
)
from tests.integration.purchases import CLIENTS, LOADED, Purchases, load, query, replace
from tests.integration.servers import (
    MYSQL_BETWEEN,
    NEW_MYSQL,
    OLD_MYSQL,
    POSTGRES,
    ROCKSDB,
    Server,
    SharedServers,
    new_instance,
)
from tests.tiers.selection import full

WITH_TRANSACTIONS = (
    OLD_MYSQL,
    *(pytest.param(name, marks=full) for name in MYSQL_BETWEEN),
    NEW_MYSQL,
    ROCKSDB,
    pytest.param("mariadb@11.4.5/innodb", marks=full),
)
MEMORY = "mysql@9.7.4/memory"
MYSQL = (*WITH_TRANSACTIONS, pytest.param(MEMORY, marks=full))
SOME_PURCHASES = [
    ["267", "83831", "3855", "168", "BFmcCxxxxxx", "2024-01-01 00:00:00"],
    ["745", "73056", "31", "367", "yCqwnmuqoxxxxxxxxx", "2024-01-01 00:00:00"],
]
"""The first and the thousandth of `purchases2`; the fourth column is four times the price."""
COLLISIONS = {"40P01", "40001", "HY000/1205", "HY000/1020"}


@pytest.fixture(scope="module", params=(*MYSQL, POSTGRES))
def server(request: pytest.FixtureRequest, shared_servers: SharedServers) -> Server:
    """A server with tables of the test shape."""
    running = shared_servers(request.param)
    with Driver() as process:
        process.load(running.target())
    return running


on_mysql = pytest.mark.parametrize("server", MYSQL, indirect=True)
# MySQL 5.5 has neither plans of writes nor names of partitions in statements.
since_5_6 = pytest.mark.parametrize("server", (*WITH_TRANSACTIONS[1:], POSTGRES), indirect=True)
with_transactions = pytest.mark.parametrize("server", (*WITH_TRANSACTIONS, POSTGRES), indirect=True)


@pytest.mark.parametrize("clients", [pytest.param(1, marks=full), 2])
def test_every_test_runs_without_errors(server: Server, driver: Driver, clients: int) -> None:
    # Tables of MEMORY have no transactions: a row is away between its DELETE and its INSERT.
    others = {"wrong-row-count", "23000"} if server.engine == "memory" else set()
    target = server.target()
    driver.load(target, benchmark="partitioned")
    for test in keeping_rows(target["dbms"], SLAP, MICRO, engine=server.engine):
        session = driver.open(server.target(), test, clients)
        ran = driver.run(session, stop={"positions": [5] * clients})
        driver.close(session)
        assert set(ran["errors"]) <= (COLLISIONS | others if clients > 1 else set()), test
        assert ran["positions"] == [5] * clients
        assert ran["statements"] >= ran["operations"] > 0, test
    if server.engine != "memory":
        assert driver.count(server.target()) == TABLES * ROWS


@pytest.mark.parametrize("server", [POSTGRES], indirect=True)
def test_sessions_that_have_ended_leave_their_cpu_time_with_the_server(
    server: Server, driver: Driver
) -> None:
    probe = ServerProbe(server.instance.pid)
    session = driver.open(server.target(), "connect")
    before = probe.read()
    ran = driver.run(session, 1.0)
    use = probe.use(before, probe.read())
    driver.close(session)
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    [left] = driver.sql(server.target(), sessions)
    assert left["rows"] == [["1"]]
    # A new process of Postgres takes a millisecond or two.
    assert use["cpu_s"] > ran["operations"] * 300e-6
    assert ran["errors"] == {}
    assert ran["latency"]["mean_ns"] * ran["operations"] < ran["seconds"] * 1e9


def some_rows(driver: Driver, target: Target) -> list[list[str]]:
    """Without the blanks that some servers give at the end of a `char`."""
    driver.load(target)
    [answer] = driver.sql(target, f"SELECT id, k, c, pad FROM sbtest2 WHERE id IN (1, {ROWS})")
    return sorted([field.rstrip() for field in row] for row in answer["rows"])


@on_mysql
def test_rows_match_any_other_dbms(
    server: Server, driver: Driver, shared_servers: SharedServers
) -> None:
    rows = some_rows(driver, server.target())
    assert rows == some_rows(driver, shared_servers(POSTGRES).target())
    assert len(rows) == 2


def test_deleted_and_inserted_rows_are_counted(server: Server, driver: Driver) -> None:
    for clients in (1, 2):
        deleted = driver.run(driver.open(server.target(), "delete", clients))
        driver.close("delete")
        inserted = driver.run(driver.open(server.target(), "insert", clients))
        driver.close("insert")
        assert (deleted["errors"], inserted["errors"]) == ({}, {})
        assert driver.count(server.target()) == TABLES * ROWS - deleted["rows"] + inserted["rows"]
        driver.load(server.target())


def test_an_update_that_changes_nothing_has_found_its_row(server: Server, driver: Driver) -> None:
    for _ in range(2):  # the same operations once more, with the same contents
        session = driver.open(server.target(), "update-one")
        assert driver.run(session, stop={"positions": [20]})["errors"] == {}
        driver.close(session)


@pytest.mark.parametrize("server", (*WITH_TRANSACTIONS, MEMORY), indirect=True)
def test_tables_are_of_the_engine_with_ordered_indexes(server: Server, driver: Driver) -> None:
    engines, indexes = driver.sql(
        server.target(),
        "SELECT LOWER(engine) FROM information_schema.tables WHERE table_name = 'sbtest1'",
        "SELECT DISTINCT index_type FROM information_schema.statistics "
        "WHERE table_name = 'sbtest1'",
    )
    assert engines["rows"] == [[server.engine]]
    assert indexes["rows"][0][0] in ("BTREE", "LSMTREE")


@on_mysql
def test_plans_are_reported_without_estimates(server: Server, driver: Driver) -> None:
    session = driver.open(server.target(), "range-covered-pk")
    [plan] = driver.expect("explained", "explain", session=session)["plans"]
    assert plan["statement"] == "SELECT id FROM sbtest1 WHERE id BETWEEN ? AND ?"
    assert "PRIMARY" in plan["plan"]
    assert "range" in plan["plan"]
    assert not any(character.isdigit() for character in plan["plan"].replace("sbtest1", ""))


@on_mysql
def test_server_threads_match_the_server(server: Server, driver: Driver) -> None:
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


@on_mysql
def test_a_password_is_asked_for_on_the_loopback_alone(server: Server, driver: Driver) -> None:
    listening = [
        connection.laddr.ip
        for connection in psutil.Process(server.instance.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]
    for target in (server.tcp_target(), server.target()):
        driver.sql(target, "FLUSH PRIVILEGES")
        # The first time in full, then as the server remembers it.
        for _ in range(2):
            [answer] = driver.sql(target, "SELECT CURRENT_USER()")
            assert answer["rows"][0][0].startswith("slowdust@")
        wrong = refusal(driver, target | {"password": "wrong"})
        assert (wrong["kind"], wrong["sqlstate"]) == ("connection", "28000")
        for other in ({"password": None}, {"user": "root", "password": None}, {"user": ""}):
            # MySQL asks whom it does not know for the proof of any method, so as not to tell.
            message = refusal(driver, target | other)["message"]
            assert "Access denied" in message or "is not supported" in message


def refusal(driver: Driver, target: Target) -> Event:
    return driver.expect("error", "sql", target=target, statements=["SELECT 1"], parallel=1)


def test_deadlocks_are_retried(shared_servers: SharedServers, driver: Driver) -> None:
    ran = driver.collide(shared_servers(NEW_MYSQL).target())
    collisions = sum(ran["errors"].get(state, 0) for state in COLLISIONS)
    # Each client's last collision may come too late to be tried again in the same slice.
    assert abs(collisions - ran["retries"]) <= 4


@pytest.fixture
def doomed(builds: GetBuildOf) -> Iterator[Server]:
    contender, _, engine = OLD_MYSQL.partition("/")
    with new_instance(builds(*contender.split("@")), {}, engine=engine) as instance:
        instance.start()
        yield Server(instance)


def test_a_killed_server_ends_the_slice(doomed: Server, driver: Driver) -> None:
    driver.load(doomed.target(), rows=1_000)
    session = driver.open(doomed.target(), "point-query", 4, rows=1_000)
    with doomed.killed_soon(by=signal.SIGKILL):
        event = driver.do("run", session=session, stop={"seconds": 600})
    assert (event["event"], event["kind"]) == ("error", "connection")


@pytest.fixture
def purchases(server: Server, driver: Driver) -> Purchases:
    """Empty tables of the Insert Benchmark."""
    tables = Purchases(driver, server.target())
    tables.create()
    return tables


def is_postgres(purchases: Purchases) -> bool:
    return bool(purchases.target["dbms"] == "postgres")


def seconds_sum(role: Event, place: int) -> int:
    return sum(second[place] for second in role["per_second"])


@with_transactions
@pytest.mark.parametrize(("statements", "tables"), [("prepared", 1), ("text", CLIENTS)])
def test_all_steps_of_the_insert_benchmark_follow_each_other(
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
        performed = purchases.perform(query(what, 0.4, 1_000.0), long_transaction=0.15)
        assert performed["growth"] == [0] * tables
        roles = performed["roles"]
        assert set(roles) == {"insert", "delete", "query", "transaction"}
        for writer in ("insert", "delete"):
            schedule = roles[writer]["schedule"]
            assert roles[writer]["rows"] + schedule["backlog"] == schedule["due"]
            assert schedule["due"] == CLIENTS * 400
        assert roles["query"]["rows"] > 9 * roles["query"]["statements"]
        assert 1 <= roles["transaction"]["statements"] <= performed["seconds"] / 0.15 + 1
        for role in roles.values():
            assert seconds_sum(role, 0) == sum(role["latency"]["counts"]) == role["statements"]
            assert seconds_sum(role, 1) == role["rows"]
        msgspec.convert(performed, protocol.Performed)


@with_transactions
def test_purchases_match_any_other_dbms(purchases: Purchases, driver: Driver) -> None:
    purchases.perform(load(1_000))
    columns = "cashregisterid, customerid, productid, price * 4, data, dateandtime"
    [rows] = driver.sql(
        purchases.target,
        f"SELECT {columns} FROM purchases2 WHERE transactionid IN (1, 1000) ORDER BY 1",
    )
    assert rows["rows"] == SOME_PURCHASES


@with_transactions
def test_deletes_find_the_head_after_gaps(purchases: Purchases, driver: Driver) -> None:
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
    # Through all gaps, and past the jump of the sequence.
    performed = purchases.perform(replace(4_000))
    assert (performed["growth"], purchases.counts()) == ([0, 0], before)
    assert performed["roles"]["delete"]["rows"] == 2 * 4_000
    assert all(head > 1_000_000 for head in purchases.numbers("SELECT MIN(transactionid) FROM {}"))


@since_5_6
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
    # Keys up to 1,500 are deleted by the step before the last, 500 or fewer by the last.
    by_the_last = purchases.numbers("SELECT MIN(transactionid) FROM {}")[1] - 1_501
    assert 0 < by_the_last <= 500
    expected = [0, 500 - by_the_last, 1_000, 3_500 + by_the_last]
    assert [int(result["rows"][0][0]) for result in results] == expected
    purchases.create()


@since_5_6
def test_plans_of_steps_use_the_indexes(purchases: Purchases, driver: Driver) -> None:
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


@with_transactions
def test_no_index_waits_for_a_long_transaction(purchases: Purchases) -> None:
    """MySQL creates none while a transaction is open that has read the table."""
    purchases.perform(load())
    performed = purchases.perform({"kind": "index"}, long_transaction=600)
    assert set(performed["roles"]) == {"index"}


@with_transactions
def test_a_refused_statement_ends_the_step(purchases: Purchases, driver: Driver) -> None:
    purchases.perform(load())
    purchases.prepare(query("point", 600, 100.0))
    driver.sql(purchases.target, "ALTER TABLE purchases1 DROP COLUMN data")
    event = driver.expect("error", "perform", session="step")
    assert event["kind"] == "server"
    driver.close("step")
