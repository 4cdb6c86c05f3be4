"""FerretDB over SQLite and over Postgres: the driver's wire, and whole experiments.

Tables are small, since FerretDB reads whole collections for all but equality of keys.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.cli.main import cli
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.family import Sizes
from slowdust.dbms.stages import Statements
from slowdust.errors import UsageError
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from slowdust.instances.programs import InstanceError
from slowdust.secret import revealed
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import TABLES, Driver, Event, Target, keeping_rows
from tests.integration.owner_process import start_owner
from tests.integration.purchases import CLIENTS, Purchases, load, query, replace
from tests.integration.servers import Server, new_instance
from tests.integration.slowdust_command import Workplace, stop_after_slices
from tests.queries import answered
from tests.tiers.selection import full
from tests.waiting import wait_until

OLD, NEW = "ferretdb@1.18.0", "ferretdb@1.24.2"
OVER_POSTGRES = f"{NEW}/postgres"
ROWS = 1_000
SHAPE = {"tables": TABLES, "rows": ROWS, "seed": 7}
FERRETDB = family("ferretdb")
LARGE = "read-only.10000"
"""The test of more rows than the tables have."""
DOCUMENTS = 400
"""Documents of each collection of the Insert Benchmark."""
ROWS_OF_OPERATIONS = {
    "point-query": 1,
    "random-points.10": 10,
    "random-points.100": 100,
    "points-covered-pk": 100,
    "range-notcovered-pk": 100,
    "read-only.10": 10 + 3 * 10 + 1,
    "read-only-count": 1,
    "update-index": 1,
    "update-inlist": 100,
    "scan": ROWS,
}
"""Test -> the rows that each of its operations returns or changes."""
SMALL = ("--tests", "point-query", "--rows", "2000", "--slice", "25ms", "--budget", "2s")


@dataclass(frozen=True)
class Database(Server):
    """A database of a test's own on a server of several tests.

    Over SQLite, FerretDB sometimes refuses the index of a collection that was dropped and made
    again, because it "already exists".
    """

    name: str = "own"

    def target(self, **fields: object) -> Target:
        return super().target(database=self.name, **fields)


@contextlib.contextmanager
def running_server(name: str, builds: GetBuildOf, access: Access | None = None) -> Iterator[Server]:
    """The server of DBMS@VERSION/ENGINE."""
    contender, _, engine = name.partition("/")
    if engine:
        builds("postgres", "17.6")
    build = builds(*contender.split("@"))
    with new_instance(build, {}, engine=engine or None, access=access) as instance:
        instance.start()
        yield Server(instance)


@pytest.fixture(scope="module", params=[OLD, pytest.param(NEW, marks=full), OVER_POSTGRES])
def server(request: pytest.FixtureRequest, builds: GetBuildOf) -> Iterator[Server]:
    """A running server with tables of the test shape."""
    with running_server(request.param, builds) as running:
        with Driver() as process:
            load_documents(process, running)
        yield running


pytestmark = pytest.mark.builds(OLD, NEW, "postgres@17.6")


def load_documents(driver: Driver, server: Server, **fields: object) -> None:
    shape = SHAPE | fields
    driver.expect("loaded", "load", target=server.target(), parallel=2, **shape)


def answer(driver: Driver, server: Server, command: object) -> dict[str, Any]:
    """The reply to a command."""
    text = command if isinstance(command, str) else json.dumps(command)
    (result,) = driver.sql(server.target(), text)
    reply: dict[str, Any] = json.loads(result["rows"][0][0])
    return reply


def sizes(driver: Driver, server: Server) -> Sizes:
    def ask(statement: str) -> list[list[str | None]]:
        (result,) = driver.sql(server.target(), statement)
        rows: list[list[str | None]] = result["rows"]
        return rows

    return answered(FERRETDB.sizes(server.instance.site, []), ask)


def ran(driver: Driver, server: Server, test: str, clients: int = 1, **fields: object) -> Event:
    """A slice whose operations returned or changed the expected number of rows."""
    session = driver.open(server.target(), test, clients, **SHAPE | fields)
    event = driver.run(session, stop={"positions": [2] * clients})
    driver.close(session)
    assert event["operations"] > 0, test
    rows = ROWS_OF_OPERATIONS.get(test)
    assert rows is None or event["rows"] == rows * event["operations"], test
    return event


@pytest.mark.parametrize("clients", [pytest.param(1, marks=full), 2])
def test_every_test_runs_without_errors(server: Server, driver: Driver, clients: int) -> None:
    tests = [test for test in keeping_rows("ferretdb", MICRO) if test != LARGE]
    assert ROWS_OF_OPERATIONS.keys() <= {*tests}
    for test in tests:
        assert ran(driver, server, test, clients)["errors"] == {}, test
    assert driver.count(server.target()) == TABLES * ROWS


@full
@pytest.mark.parametrize("server", [OLD, NEW, OVER_POSTGRES], indirect=True)
def test_thousands_of_documents_are_one_reply(server: Server, driver: Driver) -> None:
    own = Database(server.instance, name="large")
    load_documents(driver, own, tables=1, rows=10_000)
    event = ran(driver, own, LARGE, tables=1, rows=10_000)
    assert event["errors"] == {}
    assert event["rows"] > 20_000 * event["operations"]


def test_deleted_and_inserted_documents_are_counted(server: Server, driver: Driver) -> None:
    own = Database(server.instance, name="changed")
    load_documents(driver, own)
    deleted = ran(driver, own, "delete", 2)
    inserted = ran(driver, own, "insert", 2)
    assert deleted["errors"] == {}
    assert deleted["rows"] > 0
    # Documents whose turn comes before they have been deleted are there already.
    assert inserted["errors"].keys() <= {"mongodb/11000"}
    assert driver.count(own.target()) == TABLES * ROWS - deleted["rows"] + inserted["rows"]


def test_an_empty_collection_has_no_documents(server: Server, driver: Driver) -> None:
    purchases = Purchases(driver, server.target())
    purchases.create()
    assert purchases.counts() == [0, 0]


def test_documents_are_the_rows_of_any_other_dbms(
    server: Server, driver: Driver, builds: GetBuildOf
) -> None:
    with new_instance(builds("sqlite", "3.50.2"), {}) as instance:
        instance.start()
        sqlite = Server(instance)
        load_documents(driver, sqlite)
        statement = "SELECT k, c, pad FROM sbtest2 WHERE id IN (1, 1000) ORDER BY id"
        (expected,) = driver.sql(sqlite.target(), statement)
    keys = [{"$oid": f"{number:024x}"} for number in (1, ROWS)]
    command = {"find": "sbtest2", "filter": {"_id": {"$in": keys}}, "sort": {"_id": 1}}
    own = Database(server.instance, name="loaded")
    load_documents(driver, own)
    found = answer(driver, own, command)["cursor"]["firstBatch"]
    assert [each.pop("_id") for each in found] == keys
    assert [[str(each[name]) for name in ("k", "c", "pad")] for each in found] == expected["rows"]


def test_plans_report_that_newer_versions_do_not_use_the_index(
    server: Server, driver: Driver
) -> None:
    session = driver.open(server.target(), "point-query", **SHAPE)
    plans = driver.expect("explained", "explain", session=session)["plans"]
    driver.close(session)
    if server.instance.site.engine == "postgres":
        assert plans == [], "its plans are not among those that are known"
        return
    (plan,) = plans
    first = "SEARCH" if server.instance.site.version == "1.18.0" else "SCAN"
    assert plan["plan"].startswith(f"{first} sbtest1_")


def test_maintenance_is_understood(server: Server, driver: Driver) -> None:
    for stage in FERRETDB.after_load(server.instance.site, ["sbtest1", "sbtest2"]):
        assert isinstance(stage, Statements)
        for text in stage.texts:
            assert answer(driver, server, text)["ok"] == 1.0
    told = sizes(driver, server)
    assert 0 < told.index_bytes < told.table_bytes < told.data_bytes


def test_steps_of_the_insert_benchmark(server: Server, driver: Driver) -> None:
    told = {}
    for names, field in (("long", "cashregisterid"), ("short", "cr")):
        purchases = Purchases(driver, server.target(names=names))
        purchases.create()
        before = sizes(driver, server).table_bytes
        purchases.perform(load(DOCUMENTS))
        told[names] = sizes(driver, server).table_bytes - before
        (document,) = answer(driver, server, {"find": "purchases1", "limit": 1})["cursor"][
            "firstBatch"
        ]
        assert len(document) == 7
        assert field in document
        purchases.perform({"kind": "index"})
        indexes = answer(driver, server, {"listIndexes": "purchases1"})["cursor"]["firstBatch"]
        assert len(indexes) == 4
        assert any(field in index["key"] for index in indexes)
        roles = purchases.perform(replace(100))["roles"]
        assert roles["insert"]["rows"] == roles["delete"]["rows"] == CLIENTS * 100
        for what in ("range", "point"):
            roles = purchases.perform(query(what, 0.5, 100.0))["roles"]
            assert roles["query"]["rows"] >= 9 * roles["query"]["statements"] > 0
        assert purchases.counts() == [DOCUMENTS] * CLIENTS
    assert 0 < told["short"] < told["long"]


@pytest.mark.parametrize(
    ("name", "listen"),
    [
        (NEW, Listen.LOOPBACK),
        (OVER_POSTGRES, Listen.SOCKET),
        pytest.param(NEW, Listen.SOCKET, marks=full),
        pytest.param(OVER_POSTGRES, Listen.LOOPBACK, marks=full),
    ],
)
def test_passwords(builds: GetBuildOf, driver: Driver, name: str, listen: Listen) -> None:
    with running_server(name, builds, Access.make(listen, Auth.SCRAM)) as server:
        lists = '{"listCollections": 1}'

        def refused(**other: object) -> tuple[str, str]:
            wrong = target | other
            event = driver.expect("error", "sql", target=wrong, statements=[lists], parallel=1)
            assert "\n" not in event["message"]
            return event["kind"], event["sqlstate"]

        for _ in range(2):
            target = msgspec.to_builtins(server.instance.target(), enc_hook=revealed)
            driver.sql(target, lists)
            assert refused(password="wrong") == ("connection", "mongodb/18")
            assert refused(user="nobody") == ("connection", "mongodb/18")
            assert refused(password=None) == ("server", "mongodb/13")
            server.instance.stop()
            server.instance.start()  # the user is there, and is not made twice


@pytest.mark.parametrize(
    "name", [pytest.param(OLD, marks=full), pytest.param(NEW, marks=full), OVER_POSTGRES]
)
def test_a_killed_server_ends_the_slice_and_can_be_started_again(
    builds: GetBuildOf, driver: Driver, name: str
) -> None:
    with running_server(name, builds) as server:
        instance = server.instance
        load_documents(driver, server)
        session = driver.open(server.target(), "point-query", **SHAPE)
        processes = psutil.Process(instance.pid)
        (killed,) = [
            process
            for process in [processes, *processes.children(recursive=True)]
            if process.name() == "ferretdb"
        ]
        timer = threading.Timer(0.3, killed.kill)
        timer.start()
        failed = driver.do("run", session=session, stop={"seconds": 600})
        timer.join()
        assert (failed["event"], failed["kind"]) == ("error", "connection")
        driver.close(session)
        wait_until(lambda: not instance.alive())
        with pytest.raises(InstanceError, match="signal 9"):
            instance.check_alive()
        instance.start()
        assert driver.count(server.target()) == TABLES * ROWS, "what was committed is there"
        children = psutil.Process(instance.pid).children()
        for postmaster in [child for child in children if child.name() == "postgres"]:
            postmaster.kill()
            wait_until(lambda: not instance.alive())
            instance.start()
            assert instance.alive()


def test_slowdusts_end_stops_the_postgres_under_the_server(
    data_root: Path, builds: GetBuildOf
) -> None:
    for contender in (NEW, "postgres@17.6"):
        builds(*contender.split("@"))
    owner, server, sockets, directory = start_owner("ferretdb", "1.24.2/postgres", "no-watchdog")
    marks = [ProcessMark.of(each.pid) for each in psutil.Process(server).children(recursive=True)]
    names = {process.name() for process in psutil.Process(server).children(recursive=True)}
    assert names >= {"postgres", "ferretdb"}
    owner.kill()
    owner.wait()
    clean_leftovers()
    assert ProcessMark.of(server) is None
    assert not any(mark is not None and mark.is_alive() for mark in marks)
    assert not directory.exists()
    assert not sockets.exists()


def test_a_regression_is_found_with_its_plans(workplace: Workplace) -> None:
    workplace.run("compare", OLD, NEW, *SMALL, "--name", "pair")
    report = workplace.report("pair")
    base, other = report["results"]
    assert [base["errors"], other["errors"]] == [0, 0]
    assert other["verdict"] == "slower"
    (difference,) = report["plan_differences"]
    assert difference["plans"][OLD].startswith("SEARCH")
    assert difference["plans"][NEW].startswith("SCAN")
    [words] = difference["differences"][NEW]
    assert any(words in line for line in report["answer"]["slower"])
    assert not any("work" in result for result in report["results"])
    assert any("FerretDB reports no facts" in note for note in report["notes"])
    assert all(info["data_bytes"] > 0 for info in report["contender_info"])
    assert re.search(r"\bGo\b", workplace.page("pair"))
    assert workplace.nothing_is_left()


@full
def test_a_killed_experiment_over_postgres_resumes_where_it_was(workplace: Workplace) -> None:
    contenders = (OVER_POSTGRES, f"{OVER_POSTGRES}:durable")
    command = ("compare", *contenders, "--set", "postgres=17.6", *SMALL, "--incarnations", "2")
    process = workplace.start(*command, "--name", "killed")
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    before = workplace.slice_lines("killed")
    workplace.run("run", "killed", "--resume")
    after = workplace.slice_lines("killed")
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert workplace.nothing_is_left()
    report = workplace.report("killed")
    assert [info["settings"]["postgres"] for info in report["contender_info"]] == ["17.6"] * 2
    assert [result["errors"] for result in report["results"]] == [0, 0]


@full
def test_the_insert_benchmark_with_short_names(workplace: Workplace) -> None:
    sizes = ("--rows", "400,200,100", "--seconds", "1s", "--rates", "50")
    names = ("--set", "names=long", "--set", "names=short")
    workplace.run(
        "compare", OVER_POSTGRES, *names, "--set", "postgres=17.6", "--benchmark", "insert",
        "--count", "off", *sizes, "--incarnations", "1", "--name", "insert",
    )  # fmt: skip
    records = [json.loads(line) for line in workplace.slice_lines("insert")]
    assert {record["place"]["test"] for record in records} >= {"l.i0", "l.x", "l.i1", "qp50"}
    for record in records:
        detail = record["step"]
        assert detail["rows_expected"] == detail["rows_counted"] == 400
        assert "errors" not in record["measured"]
    report = workplace.report("insert")
    assert {info["settings"]["postgres"] for info in report["contender_info"]} == {"17.6"}
    long, short = (info["data_bytes"] for info in report["contender_info"])
    assert short < long
    assert all(
        (run["size_ratio"] < 1) == run["contender"].endswith("short") for run in report["step_runs"]
    )
    assert workplace.nothing_is_left()


@pytest.mark.parametrize(
    ("contender", "options", "message"),
    [
        (NEW, ["--set", "cache_size=1)&x=(1"], "cache_size = 1)&x=(1 ("),
        (NEW, ["--set", "postgres=17.6"], "ferretdb@VERSION/postgres"),
        (OVER_POSTGRES, ["--set", "postgres=99.1"], "postgres@99.1 "),
        (OVER_POSTGRES, ["--set", "work_men=1MB"], "'work_men'"),
        (NEW, ["--count", "valgrind"], "Go"),
        (f"{NEW}/mysql", [], "'mysql': choose sqlite, postgres"),
        (f"{NEW}+glibc", [], "glibc: it is a static program"),
        (f"{NEW}+SLOWDUST_SYNC_DELAY=9", [], "SLOWDUST_SYNC_DELAY: it is a static"),
    ],
)
def test_wrong_uses_are_refused(
    data_root: Path, contender: str, options: list[str], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        cli.main(["compare", contender, "--tests", "point-query", *options], standalone_mode=False)
    (line,) = str(refused.value).splitlines()
    assert message in line
    assert not [path for path in data_root.glob("instances/*") if path.is_dir()]


def test_it_cannot_be_calibrated(workplace: Workplace) -> None:
    errors = workplace.errors("calibrate", NEW, "--tests", "point-query", expect=2)
    assert "static program" in errors
