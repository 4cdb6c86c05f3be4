"""The driver's commands and slices, with its binary and a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import msgspec
import pytest

from slowdust.builds import Build
from slowdust.driver_program import find_driver
from slowdust.formats.plans import parse_plan
from slowdust.store.latency import Histogram
from slowdust.store.measured import ClientUse, PerSecond, Schedule
from tests.integration.driver_process import (
    ROWS,
    SCHEMA,
    SHAPE,
    TABLES,
    Driver,
    Event,
    Target,
)
from tests.integration.servers import POSTGRES, Server, SharedServers, new_instance
from tests.tiers.selection import ends_first, full
from tests.waiting import wait_until


@pytest.fixture
def server(shared_servers: SharedServers) -> Server:
    return shared_servers(POSTGRES)


@pytest.fixture
def fresh(server: Server, driver: Driver) -> Target:
    """A target with newly loaded tables, in a database of their own."""
    drop, create = "DROP DATABASE IF EXISTS fresh", "CREATE DATABASE fresh"
    driver.sql(server.target(), drop, create)
    target = server.target(database="fresh")
    driver.load(target)
    return target


@pytest.fixture(scope="module")
def loaded(shared_servers: SharedServers) -> Target:
    """A target with tables that the tests of this module only read."""
    target = shared_servers(POSTGRES).target()
    with Driver() as process:
        process.load(target)
    return target


@pytest.mark.parametrize("clients", [1, 5])
def test_every_row_is_deleted_once(fresh: Target, driver: Driver, clients: int) -> None:
    rows = 2_000
    driver.load(fresh, rows=rows)
    session = driver.open(fresh, "delete", clients, rows=rows)
    total = TABLES * rows
    ends = [len(range(client, total, clients)) for client in range(clients)]
    ran = driver.run(session, stop={"positions": ends})
    assert (ran["operations"], ran["rows"], ran["errors"]) == (total, total, {})
    more = driver.run(session, stop={"positions": [end + 20 for end in ends]})
    assert (more["operations"], more["rows"], more["errors"]) == (20 * clients, 0, {})


def test_a_row_missing_when_its_turn_comes_is_an_error(fresh: Target, driver: Driver) -> None:
    session = driver.open(fresh, "delete")
    driver.sql(fresh, "DELETE FROM sbtest1")
    ran = driver.run(session)
    assert ran["errors"] == {"wrong-row-count": ran["operations"] - ran["rows"]}
    assert 0 < ran["rows"] < ran["operations"]


@pytest.mark.parametrize(("clients", "threads"), [(3, 3), (8, 1)])
def test_clients_of_a_cpu_share_a_thread_if_they_are_many(
    loaded: Target, driver: Driver, clients: int, threads: int
) -> None:
    [cpu, *_] = os.sched_getaffinity(0)
    session = driver.open(loaded, "point-query", clients, cpus=[cpu] * clients)
    ran = driver.run(session)
    assert (ran["client"]["threads"], ran["errors"]) == (threads, {})


def test_positions_match_the_clients_wherever_they_run(loaded: Target, driver: Driver) -> None:
    clients = 16
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    cpus = [usable[client % len(usable)] for client in range(clients)]
    session = driver.open(loaded, "point-query", clients, cpus=cpus)
    ends = list(range(1, clients + 1))
    ran = driver.expect("ran", "run", session=session, stop={"positions": ends})
    assert (ran["positions"], ran["operations"]) == (ends, sum(ends))


@pytest.mark.parametrize("clients", ends_first([1, 8, 64]))
def test_measurements_fit_the_record_of_a_slice(
    loaded: Target, driver: Driver, clients: int
) -> None:
    ran = driver.run(driver.open(loaded, "point-query", clients), 0.3)
    latency = msgspec.convert(ran["latency"], Histogram)
    seconds = msgspec.convert(ran["per_second"], list[PerSecond])
    client = msgspec.convert(ran["client"], ClientUse)
    assert sum(latency.counts) == ran["operations"] == sum(second.operations for second in seconds)
    assert latency.values_ns == sorted(latency.values_ns)
    assert latency.max_ns == max(second.max_ns for second in seconds)
    assert 0 < client.cpu_user_s + client.cpu_system_s < ran["seconds"] * client.threads
    assert 0 < client.busiest_thread <= 1
    assert client.threads <= max(clients, os.cpu_count() or 1)
    assert ran["seconds"] >= 0.3
    # Each client's own rate ends at its own last completion, which is before the last of all.
    whole = ran["operations"] / ran["seconds"]
    assert whole * 0.999 <= ran["qps"]
    assert clients > 1 or ran["qps"] <= whole * 1.01
    assert ran["bytes_received"] > 119 * ran["operations"]
    assert abs(ran["started"] - time.time()) < 60


def test_loaded_tables_are_as_promised(fresh: Target, driver: Driver) -> None:
    loaded = driver.load(fresh)
    assert loaded["rows"] == TABLES * ROWS
    assert loaded["bytes"] > TABLES * ROWS * 180
    [columns, data, index] = driver.sql(
        fresh,
        "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns "
        "WHERE table_name = 'sbtest2' ORDER BY ordinal_position",
        "SELECT count(*), min(id), max(id), min(k) >= 1 AND max(k) <= count(*), "
        "min(length(c)), min(length(pad)) FROM sbtest2",
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'k_2'",
    )
    assert columns["rows"] == [
        ["id", "integer", None],
        ["k", "integer", None],
        ["c", "character", "120"],
        ["pad", "character", "60"],
    ]
    assert data["rows"] == [[str(ROWS), "1", str(ROWS), "t", "119", "59"]]
    assert index["rows"][0][0].endswith("(k)")


def checksum(driver: Driver, target: Target) -> list[Event]:
    query = "SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM sbtest{} t"
    return driver.sql(target, *(query.format(n + 1) for n in range(TABLES)))


def test_loads_and_writes_are_the_same_for_every_contender(fresh: Target, driver: Driver) -> None:
    loaded = checksum(driver, fresh)
    written = []
    for _ in range(2):
        driver.load(fresh)
        assert checksum(driver, fresh) == loaded
        session = driver.open(fresh, "write-only")
        for position in (30, 70):
            driver.run(session, stop={"positions": [position]})
        driver.close(session)
        written.append(checksum(driver, fresh))
    assert written[0] == written[1] != loaded


@pytest.mark.parametrize("clients", [3, 40])
def test_positions_end_a_slice(loaded: Target, driver: Driver, clients: int) -> None:
    session = driver.open(loaded, "point-query", clients)
    ends = [10 + client for client in range(clients)]
    ran = driver.run(session, stop={"positions": ends})
    assert ran["positions"] == ends
    assert ran["operations"] == sum(ends)
    more = [end + 5 for end in ends]
    assert driver.run(session, stop={"positions": more})["operations"] == 5 * clients
    idle = driver.run(session, stop={"positions": ends})
    assert (idle["operations"], idle["seconds"], idle["qps"]) == (0, 0, 0)


@pytest.mark.parametrize("clients", [1, 40])
def test_a_slice_ends_at_its_time_or_its_positions(
    loaded: Target, driver: Driver, clients: int
) -> None:
    session = driver.open(loaded, "point-query", clients)
    ends = [5] * clients
    early = driver.run(session, stop={"seconds": 600.0, "positions": ends})
    assert early["positions"] == ends
    never = [1 << 40] * clients
    timed = driver.run(session, stop={"seconds": 0.05, "positions": never})
    assert 0 < timed["operations"] < sum(never)
    endless = driver.expect("error", "run", session=session, stop={})
    assert endless["kind"] == "usage"


@pytest.mark.parametrize(
    ("clients", "arrivals"),
    [
        (2, "uniform"),
        (40, "poisson"),
        pytest.param(2, "poisson", marks=full),
        pytest.param(40, "uniform", marks=full),
    ],
)
def test_an_open_loop_keeps_its_rate(
    loaded: Target, driver: Driver, clients: int, arrivals: str
) -> None:
    session = driver.open(loaded, "point-query", clients)
    ran = driver.run(session, 1.0, rate={"per_second": 500.0, "arrivals": arrivals})
    schedule = msgspec.convert(ran["schedule"], Schedule)
    assert (schedule.rate, schedule.arrivals) == (500.0, arrivals)
    # The standard deviation of 500 Poisson arrivals is 22.
    assert ran["operations"] == pytest.approx(500, abs=1 if arrivals == "uniform" else 112)
    assert schedule.max_lag_ns >= schedule.mean_lag_ns > 0


def test_overload_drops_nothing_and_shows_as_latency(loaded: Target, driver: Driver) -> None:
    session = driver.open(loaded, "read-only-order")
    # Ten times as many operations are due as the server can do in this time.
    possible = driver.run(session, stop={"positions": [20]})["qps"]
    seconds = 20 / possible
    rate = {"per_second": 10 * possible, "arrivals": "uniform"}
    ran = driver.run(session, seconds, rate=rate)
    assert ran["operations"] == pytest.approx(200, abs=1)
    assert ran["seconds"] > seconds
    assert ran["schedule"]["late_operations"] > 0.5 * ran["operations"]
    assert ran["latency"]["max_ns"] > (ran["seconds"] - seconds) * 1e9 * 0.9


def test_missing_rows_are_errors(fresh: Target, driver: Driver) -> None:
    session = driver.open(fresh, "point-query")
    driver.sql(fresh, *(f"DELETE FROM sbtest{n + 1} WHERE id % 2 = 0" for n in range(TABLES)))
    ran = driver.run(session, stop={"positions": [200]})
    assert set(ran["errors"]) == {"wrong-row-count"}
    assert 0.3 < ran["errors"]["wrong-row-count"] / ran["statements"] < 0.7


def test_failing_operations_are_counted_and_end_in_time(fresh: Target, driver: Driver) -> None:
    session = driver.open(fresh, "point-query")
    driver.sql(fresh, *(f"ALTER TABLE sbtest{n + 1} RENAME c TO d" for n in range(TABLES)))
    ran = driver.run(session)
    assert ran["operations"] == 0
    assert ran["errors"]["42703"] == ran["positions"][0] > 0
    assert ran["latency"]["counts"] == []


def test_deadlocks_are_retried(fresh: Target, driver: Driver) -> None:
    ran = driver.collide(fresh)
    # Each client's last collision may come too late to be tried again in the same slice.
    assert abs(ran["errors"]["40P01"] - ran["retries"]) <= 4


def test_plans_are_explained_once_for_each_statement(loaded: Target, driver: Driver) -> None:
    session = driver.open(loaded, "read-write.10", 2)
    plans = driver.expect("explained", "explain", session=session)["plans"]
    assert len(plans) == 9
    assert plans[0]["statement"] == "SELECT c FROM sbtest1 WHERE id = $1"
    [document] = json.loads(plans[0]["plan"])
    assert document["Plan"]["Node Type"] == "Index Scan"
    session = driver.open(loaded, "insert")
    [plan] = driver.expect("explained", "explain", session=session)["plans"]
    root = parse_plan(plan["plan"], "postgres")
    assert (root.operator, root.relation) == ("Insert", "sbtest1")


@pytest.mark.parametrize(("user", "encryption"), [("hashed", "md5"), ("scrammed", "scram-sha-256")])
def test_passwords(server: Server, driver: Driver, user: str, encryption: str) -> None:
    driver.sql(
        server.target(),
        f"DROP ROLE IF EXISTS {user}",
        f"SET password_encryption = '{encryption}'",
        f"CREATE ROLE {user} LOGIN PASSWORD 'secret'",
    )
    who = ["SELECT current_user"]

    def ask(password: str | None) -> Event:
        target = server.target(user=user, password=password)
        return driver.do("sql", target=target, statements=who, parallel=1)

    assert ask("secret")["results"][0]["rows"] == [[user]]
    wrong = ask("wrong")
    assert (wrong["event"], wrong["kind"], wrong["sqlstate"]) == ("error", "connection", "28P01")
    missing = ask(None)
    assert (missing["kind"], missing["sqlstate"]) == ("connection", "28P01")


@pytest.mark.usefixtures("loaded")
def test_tcp(server: Server, driver: Driver) -> None:
    for clients in (1, 40):
        session = driver.open(server.tcp_target(), "point-query", clients)
        ran = driver.run(session)
        assert ran["errors"] == {}
        assert ran["operations"] > 0
        driver.close(session)


def test_sql_gives_results_in_order_over_several_connections(
    server: Server, driver: Driver
) -> None:
    target = server.target()
    driver.sql(target, "DROP SEQUENCE IF EXISTS begun", "CREATE SEQUENCE begun")
    # The first statement ends when another one has begun.
    wait = (
        "DO $$ BEGIN FOR i IN 1..60000 LOOP IF (SELECT is_called FROM begun) THEN RETURN; END IF; "
        "PERFORM pg_sleep(0.001); END LOOP; RAISE 'the others wait'; END $$"
    )
    others = [f"SELECT {n} AS n, NULL AS nothing, nextval('begun') > 0 AS begun" for n in (1, 2)]
    first, *results = driver.sql(target, wait, *others, parallel=2)
    assert first["rows"] == []
    assert [result["rows"] for result in results] == [[["1", None, "t"]], [["2", None, "t"]]]
    assert results[0]["columns"] == ["n", "nothing", "begun"]


def test_each_failure_names_its_kind(server: Server, driver: Driver) -> None:
    def failure(command: str, **fields: object) -> tuple[str, str | None]:
        event = driver.expect("error", command, **fields)
        return event["kind"], event["sqlstate"]

    sql = {"statements": ["SELECT * FROM nowhere"], "parallel": 1}
    shape = SHAPE | {"session": "s", "target": server.target(), "clients": 1}
    assert failure("sql", target=server.target(), **sql) == ("server", "42P01")
    assert failure("sql", target=server.target(database="no"), **sql) == ("connection", "3D000")
    assert failure("sql", target=server.target(socket="/nowhere"), **sql) == ("connection", None)
    assert failure("open", **shape | {"test": "no-such-test"}) == ("usage", None)
    assert failure("open", **shape | {"test": "read-only.10000", "rows": 9999}) == ("usage", None)
    assert failure("open", **shape | {"test": "scan", "unknown": 1}) == ("usage", None)
    assert failure("open", **shape | {"test": "scan", "cpus": [0, 0]}) == ("usage", None)
    assert failure("run", session="none", stop={"seconds": 1}) == ("usage", None)
    assert failure("close", session="none") == ("usage", None)
    assert failure("dance") == ("usage", None)


def test_a_killed_server_ends_the_slice(driver: Driver, postgres_build: Build) -> None:
    with new_instance(postgres_build, {"fsync": "off"}) as instance:
        for clients in (1, 40):
            instance.start()
            server = Server(instance)
            driver.load(server.target(), rows=1_000)
            session = driver.open(server.target(), "point-query", clients, rows=1_000)
            with server.killed_soon(by=signal.SIGQUIT):
                event = driver.do("run", session=session, stop={"seconds": 600})
            assert (event["event"], event["kind"]) == ("error", "connection")
            again = driver.do("run", session=session, stop={"seconds": 600})
            assert again["kind"] == "connection"
            driver.close(session)
            wait_until(lambda: not instance.alive())


@pytest.mark.parametrize("clients", [1, 40])
def test_the_driver_ends_with_its_stdin(loaded: Target, driver: Driver, clients: int) -> None:
    session = driver.open(loaded, "point-query", clients)
    driver.send("run", session=session, stop={"seconds": 600})
    time.sleep(0.2)
    assert driver.process.stdin is not None
    driver.process.stdin.close()
    assert driver.process.wait(timeout=60) == 0


def test_the_committed_schema_matches_the_binary() -> None:
    printed = subprocess.run(
        [find_driver(), "--schema"], check=True, capture_output=True, text=True
    )
    assert json.loads(printed.stdout) == json.loads(SCHEMA.read_text())
