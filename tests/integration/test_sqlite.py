"""SQLite: the driver's wire, and whole experiments without any server."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.slap import SLAP
from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import ROWS, TABLES, Driver, keeping_rows
from tests.integration.servers import Server, new_instance
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full, needs

OLD, NEW = "sqlite@3.17.0", "sqlite@3.50.2"


@pytest.fixture(scope="module", params=[OLD, NEW])
def server(request: pytest.FixtureRequest, builds: GetBuildOf) -> Iterator[Server]:
    """A process with the library of a version, and tables of the test shape."""
    build = builds(*request.param.split("@"))
    with new_instance(build, {}) as instance:
        instance.start()
        running = Server(instance)
        with Driver() as process:
            process.load(running.target())
        yield running


pytestmark = pytest.mark.builds(OLD, NEW)


@pytest.mark.parametrize("clients", [1, pytest.param(4, marks=full)])
def test_every_test_runs_without_errors(server: Server, driver: Driver, clients: int) -> None:
    for test in keeping_rows("sqlite", SLAP, MICRO):
        session = driver.open(server.target(), test, clients)
        ran = driver.run(session, 0.05)
        driver.close(session)
        # A transaction that has read cannot write once another one has written.
        assert set(ran["errors"]) <= ({"SQLITE_BUSY"} if clients > 1 else set()), test
        assert ran["operations"] > 0, test
        assert "client" not in ran, "its threads are also SQLite's"
        assert "bytes_sent" not in ran
    assert driver.count(server.target()) == TABLES * ROWS


def test_rows_do_not_depend_on_the_dbms(server: Server, driver: Driver) -> None:
    (first,) = driver.sql(server.target(), "SELECT id, k, c, pad FROM sbtest1 WHERE id = 1")
    ((identity, _, c, pad),) = first["rows"]
    assert (identity, len(c), len(pad)) == ("1", 119, 59)
    assert first["columns"] == ["id", "k", "c", "pad"]


def test_plans_name_their_indexes(server: Server, driver: Driver) -> None:
    session = driver.open(server.target(), "range-notcovered-si")
    (plan,) = driver.expect("explained", "explain", session=session)["plans"]
    assert plan["plan"] == "SEARCH sbtest1 USING INDEX k_1 (k>? AND k<?)"
    driver.close(session)


def test_errors_have_the_codes_of_sqlite(server: Server, driver: Driver) -> None:
    target = server.target()
    failed = driver.expect("error", "sql", target=target, statements=["SELEC"], parallel=1)
    assert (failed["kind"], failed["sqlstate"]) == ("server", "SQLITE_ERROR")
    assert 'near "SELEC": syntax error' in failed["message"]


def test_two_drivers_take_turns(server: Server, driver: Driver) -> None:
    session = driver.open(server.target(), "point-query")
    with Driver() as other:
        others = other.open(server.target(), "point-query")
        for _ in range(2):
            assert driver.run(session, 0.01)["operations"] > 0
            assert other.run(others, 0.01)["operations"] > 0
    assert driver.run(session, 0.01)["errors"] == {}
    driver.close(session)


def test_a_process_that_ends_fails_its_commands_alone(builds: GetBuildOf, driver: Driver) -> None:
    build = builds(*NEW.split("@"))
    with new_instance(build, {}) as instance:
        instance.start()
        target = Server(instance).target()
        driver.load(target)
        session = driver.open(target, "point-query")
        with Server(instance).killed_soon(signal.SIGKILL):
            failed = driver.do("run", session=session, stop={"seconds": 5})
        assert (failed["event"], failed["kind"]) == ("error", "connection")
        failed = driver.do("run", session=session, stop={"seconds": 0.1})
        assert (failed["event"], failed["kind"]) == ("error", "connection")
        driver.close(session)
        instance.stop()
        instance.start()
        assert driver.count(target) == TABLES * ROWS, "what was committed is there"


@pytest.mark.parametrize(
    "count", ["off", pytest.param("valgrind", marks=[full, needs("valgrind")])]
)
def test_two_versions_are_compared_counted_and_reported(workplace: Workplace, count: str) -> None:
    fields = {"count": count, "incarnations": 1}
    pair = workplace.write_experiment("pair", (OLD, NEW), "point-query", **fields)
    workplace.run("run", pair)
    report = workplace.report("pair")
    base, other = results = report["results"]
    assert [result["errors"] for result in results] == [0, 0]
    assert all(result["per_op"]["server_cpu_us"] > 0 for result in results)
    assert not any("client_cpu_us" in result["per_op"] for result in results)
    if count == "valgrind":
        assert base["work"]["instructions"] > 3000
        assert other["work"]["source"] == "valgrind"
    assert report["plan_differences"] == []
    infos = report["contender_info"]
    assert [info["version"] for info in infos] == ["3.17.0", "3.50.2"]
    assert all(info["data_bytes"] > 0 for info in infos)
    assert workplace.nothing_is_left()
    assert "client_cpu_us" in workplace.run("report", "pair", "--csv").splitlines()[0]


def test_flags_are_compared_and_named(workplace: Workplace) -> None:
    short = ("--tests", "point-query", "--rows", "1000", "--slice", "25ms", "--budget", "1s")
    once = (*short, "--incarnations", "1", "--count", "off")
    workplace.run("compare", NEW, "--flags", "o2,o3", *once, "--name", "flags")
    report = workplace.report("flags")
    assert [result["errors"] for result in report["results"]] == [0, 0]
    infos = report["contender_info"]
    assert [info["name"] for info in infos] == [f"{NEW}+o2", f"{NEW}+o3"]
    assert [re.findall(r"-O\d", info["source"]) for info in infos] == [["-O2"], ["-O3"]]
    assert infos[0]["sha256"] != infos[1]["sha256"]
    shown = workplace.run("builds", "show", f"{NEW}+o3")
    assert re.search(r"^flags +o3: -O3 -DSQLITE_", shown, re.MULTILINE)
    assert re.search(rf"^sha256 +{infos[1]['sha256']}$", shown, re.MULTILINE)
    assert re.search(r"^compiler +\S+", shown, re.MULTILINE)
    assert re.search(rf"^{NEW}\+o3 +compiled ", workplace.run("builds", "list"), re.MULTILINE)
    assert workplace.nothing_is_left()


def test_flags_that_are_refused(workplace: Workplace) -> None:
    (line,) = workplace.errors("compare", NEW, "--flags", "o2,lto", expect=2).splitlines()
    assert "choose o2, o2nofp, o3, debug" in line


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("journal_mode=wahl", "journal_mode = wahl ("),
        pytest.param("cache_sise=3", "cache_size", marks=full),
        pytest.param(
            "mmap_size=64MB",
            'unrecognized token: "64MB"',
            marks=full,
        ),
    ],
)
def test_settings_that_are_refused(workplace: Workplace, setting: str, message: str) -> None:
    errors = workplace.errors("compare", NEW, f"{NEW}:durable", "--set", setting, expect=2)
    assert message in errors.splitlines()[-1]
    assert workplace.nothing_is_left()
