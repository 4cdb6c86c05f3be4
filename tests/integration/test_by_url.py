"""Comparisons of running servers, given by URL."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from slowdust.dbms.access import Access, Auth, Listen, Target
from slowdust.dbms.server_url import parse_url
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.remote_server import RemoteServer
from slowdust.instances.instance import Instance
from tests.integration.conftest import GetBuildOf
from tests.integration.running_servers import Certificates, Running
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import LONG, Workplace, stop_after_slices
from tests.tiers.selection import full
from tests.waiting import wait_until

BUILD = "postgres@17.6"
QUICK = ("--tests", "point-query", "--rows", "1000", "--budget", "1s", "--slice", "25ms")


@pytest.fixture(scope="module")
def postgres_instance(builds: GetBuildOf, certificates: Certificates) -> Iterator[Instance]:
    """A Postgres that wants a password and supports TLS."""
    settings = {
        "ssl": "on",
        "ssl_cert_file": certificates.path("server.pem"),
        "ssl_key_file": certificates.path("server.key"),
        "synchronous_commit": "off",
    }
    access = Access.make(Listen.LOOPBACK, Auth.SCRAM)
    with new_instance(builds("postgres", "17.6"), settings, access=access) as instance:
        certificates.give_key_to(instance)
        instance.start()
        yield instance


@pytest.fixture(scope="module")
def mysql_instance(builds: GetBuildOf, certificates: Certificates) -> Iterator[Instance]:
    """A MySQL that wants a password and supports TLS."""
    settings = {
        "ssl_ca": certificates.path("ca.pem"),
        "ssl_cert": certificates.path("server.pem"),
        "ssl_key": certificates.path("server.key"),
    }
    access = Access.make(Listen.LOOPBACK, Auth.CACHING_SHA2)
    with new_instance(builds("mysql", "9.7.4"), settings, access=access) as instance:
        certificates.give_key_to(instance)
        instance.start()
        yield instance


@pytest.fixture
def workplace(open_dir: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """A folder for experiments, whose user has no password files."""
    monkeypatch.setenv("HOME", str(open_dir))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    return Workplace(open_dir)


@pytest.fixture
def postgres(
    postgres_instance: Instance, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """The Postgres, whose password is in the environment."""
    yield from running(postgres_instance, "PGPASSWORD", monkeypatch)


@pytest.fixture
def mysql(
    mysql_instance: Instance, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """The MySQL, whose password is in the environment."""
    yield from running(mysql_instance, "MYSQL_PWD", monkeypatch)


def running(
    instance: Instance, variable: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    server = Running(instance.target())
    monkeypatch.setenv(variable, server.password)
    yield server
    for schema in server.schemas():
        server.drop(schema)


def test_running_servers_and_a_build_take_turns(
    workplace: Workplace, postgres: Running, mysql: Running, certificates: Certificates
) -> None:
    verified = f"?ssl-mode=VERIFY_IDENTITY&ssl-ca={certificates.path('ca.pem')}"
    urls = (postgres.url(), mysql.url(verified))
    names = {parse_url(url).text for url in urls} | {BUILD}
    tests = ("point-query", "update-index")
    contenders = (*urls, BUILD)
    fields = {"budget": "2s", "incarnations": 1}
    process = workplace.start(
        "run", workplace.write_experiment("three", contenders, *tests, **fields)
    )
    wait_until(lambda: len(workplace.slice_lines("three")) >= 3, "each was measured")
    check_others_are_refused(workplace)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors

    report = workplace.report("three")
    assert {(result["test"], result["contender"]) for result in report["results"]} == {
        (test, contender) for test in tests for contender in names
    }
    for result in report["results"]:
        assert result["qps"] > 0
        assert result["incarnations"] == 1
        assert "server_cpu_us" not in result["per_op"] or result["contender"] == BUILD
        written = result["amounts"]["rows_written"] if result["test"] == "update-index" else 0
        assert result["amounts"]["rows_read"] >= 1 and written in (0, 1)
    facts = {info["name"]: info for info in report["contender_info"]}
    assert facts[postgres.url()]["running"]
    assert not facts[BUILD].get("running")
    assert all(info["round_trip_us"] > 0 for info in facts.values())
    assert facts[postgres.url()]["settings"]["synchronous_commit"] == "off"
    notes = " ".join(report["notes"])
    assert "one start" in notes
    assert "(SELECT 1, one client, median)" in notes
    places = [json.loads(line)["place"] for line in workplace.slice_lines("three")]
    assert {place["contender"] for place in places[:3]} == names

    for password in (postgres.password, mysql.password):
        for file in (workplace.folder / "results").rglob("*"):
            assert not file.is_file() or password.encode() not in file.read_bytes()
    assert postgres.schemas() == []
    assert mysql.schemas() == []


def check_others_are_refused(workplace: Workplace) -> None:
    """Other users of this machine cannot open the build, which listens because of the URL."""
    (port,) = {
        connection.laddr.port
        for server in workplace.servers()
        for connection in psutil.Process(server).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    stranger = Target(
        dbms="postgres", host="127.0.0.1", socket=None, port=port,
        user="slowdust", password=None, database="postgres",
    )  # fmt: skip
    with Driver() as driver, pytest.raises(SlowdustError, match="password"):
        driver.sql(stranger, ["SELECT 1"])


def test_database_with_tables_of_others_is_refused(
    workplace: Workplace, postgres: Running, mysql: Running
) -> None:
    for running in (postgres, mysql):
        running.ask("CREATE TABLE orders (id int)")
        errors = workplace.errors("compare", running.url(), *QUICK, expect=2)
        running.ask("DROP TABLE orders")
        assert "1 table" in errors
        assert "orders" in errors
        assert running.schemas() == []


@full
def test_tables_are_made_again_after_a_kill(workplace: Workplace, postgres: Running) -> None:
    postgres.ask("CREATE SCHEMA slowdust_of_another")
    workplace.write_experiment(
        "killed", (postgres.url(),), "point-query", budget=LONG, incarnations=1
    )
    process = workplace.start("run", "killed.toml")
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    assert len(postgres.schemas()) == 2
    workplace.leave_budget("killed", 1)
    workplace.run("run", "results/killed", "--resume")
    assert postgres.schemas() == ["slowdust_of_another"]
    notes = " ".join(workplace.report("killed")["notes"])
    assert "2 times" in notes


@full
def test_more_continues_with_running_servers(
    workplace: Workplace, postgres: Running, postgres_instance: Instance
) -> None:
    target = postgres.target
    by_socket = f"postgres://{target.user}@:{target.port}/{target.database}?host="
    urls = (postgres.url("?sslmode=disable"), f"{by_socket}{postgres_instance.socket_dir}")
    fields = {"margin": "0.01%", "incarnations": 1}
    workplace.run("run", workplace.write_experiment("two", urls, "point-query", **fields))
    before = len(workplace.slice_lines("two"))
    said = workplace.errors("more", "two", "--tests", "point-query", "--budget", "1s")
    # Equal servers are called faster or slower once in a while, and then nothing is left to do.
    assert (len(workplace.slice_lines("two")) == before) == ("nothing to measure" in said)
    assert postgres.schemas() == []


@full
def test_the_insert_benchmark_takes_turns_with_running_servers(
    workplace: Workplace, postgres: Running, mysql: Running, mysql_instance: Instance
) -> None:
    target = mysql.target
    socket = mysql_instance.socket_dir / "mysql.sock"
    by_socket = f"mysql://{target.user}@:{target.port}/{target.database}?socket={socket}"
    urls = (postgres.url(), postgres.url("?sslmode=require"), by_socket)
    steps = ("--benchmark", "insert", "--seconds", "500ms", "--rates", "100")
    rows = ("--rows", "4000,500,100")
    errors = workplace.errors("compare", *urls, BUILD, *steps, *rows, "--name", "steps", "--keep")

    records = [json.loads(line) for line in workplace.slice_lines("steps")]
    running = [parse_url(url).text for url in urls]
    names = [*running, BUILD]
    tests = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
    places = [(record["place"]["test"], record["place"]["contender"]) for record in records]
    assert sorted(places) == sorted((test, name) for test in tests for name in names)
    for record in records:
        detail, uses = record["step"], record["measured"].get("uses", {})
        is_build = record["place"]["contender"] == BUILD
        assert detail["rows_expected"] == detail["rows_counted"] == 4000
        assert len(detail["chunks"]) >= 3
        assert detail["table_bytes"] > 4000 * 30
        assert ("server" in uses) == is_build
        assert "history_length" not in detail
        assert ("dead_rows" in detail) == is_build
        assert "errors" not in record["measured"]
    # Each has its own tables alone, although two are in one database.
    loaded = [
        record["step"]["table_bytes"]
        for record in records
        if record["place"]["test"] == "l.i0" and "postgres" in record["place"]["contender"]
    ]
    assert len(loaded) == 3
    assert max(loaded) < 1.2 * min(loaded)
    manifest = workplace.manifest("steps")
    frozen = {facts["name"]: facts.get("frozen_by") for facts in manifest["contenders"]}
    assert [frozen[name] for name in running] == [None] * 3
    assert frozen[BUILD]
    assert manifest["method"]["incarnations"] == 1
    assert not [text for text in manifest.get("warnings", []) if "should have" in text]

    for plan in manifest["plans"]:
        is_executed = plan.get("executed") is not None
        assert is_executed != plan["statement"].startswith("INSERT"), plan["statement"]

    report = workplace.report("steps")
    notes = " ".join(report["notes"])
    assert sum("another contender" in note for note in report["notes"]) == 1
    assert "(SELECT 1, one client, median)" in notes
    queries = [result for result in report["results"] if result["test"] == "qr100"]
    assert all(result["writers"]["sla_met"] for result in queries)
    assert all(run["roles"][0]["buckets"] for run in report["step_runs"])
    (kept,) = mysql.schemas()
    assert f"kept the schema {kept}" in errors
    assert mysql.ask(f"SELECT count(*) FROM {kept}.purchases1") == ["4000"]
    assert len(postgres.schemas()) == 2


@pytest.mark.parametrize(
    ("host", "options", "message"),
    [
        ("127.0.0.1", "sslmode=verify-full&sslrootcert={ca}", None),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert={other}", "UnknownIssuer"),
        ("127.0.0.1", "sslmode=verify-full", "invalid peer certificate"),
        ("localhost", "sslmode=verify-full&sslrootcert={ca}", "not valid for name"),
        ("localhost", "sslmode=verify-ca&sslrootcert={ca}", None),
        ("localhost", "sslmode=verify-ca&sslrootcert={other}", "UnknownIssuer"),
        ("localhost", "sslmode=require", None),
    ],
)
def test_postgres_is_verified_as_its_words_say(
    postgres: Running, certificates: Certificates, host: str, options: str, message: str | None
) -> None:
    files = {name: certificates.path(f"{name}.pem") for name in ("ca", "other")}
    url = parse_url(postgres.url("?" + options.format(**files), host))
    refused = pytest.raises(SlowdustError, match=message or "") if message else nullcontext()
    with Driver() as driver, refused:
        server = RemoteServer.connect(url, None, driver)
        assert server.facts.version == "17.6"


def test_mysql_is_verified_as_its_words_say(mysql: Running, certificates: Certificates) -> None:
    strict = f"?ssl-mode=VERIFY_IDENTITY&ssl-ca={certificates.path('other.pem')}"
    with Driver() as driver, pytest.raises(SlowdustError, match="UnknownIssuer"):
        RemoteServer.connect(parse_url(mysql.url(strict)), None, driver)


def test_password_comes_from_a_file_and_its_lack_is_reported(
    workplace: Workplace, postgres: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    errors = workplace.errors("compare", postgres.url(), *QUICK, expect=1)
    assert "password" in errors
    assert "PGPASSWORD" in errors
    file = workplace.folder / ".pgpass"
    file.write_text(f"127.0.0.1:*:*:{postgres.target.user}:{postgres.password}\n")
    file.chmod(0o600)
    workplace.run("compare", postgres.url(), *QUICK)


def test_a_refused_password_is_not_printed(
    workplace: Workplace, postgres: Running, mysql: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.setenv(variable, "not-the-pencil")
    for arguments, complaint in (
        (("compare", postgres.url(), *QUICK), "set PGPASSWORD"),
        (("workloads", "from", mysql.url(), "-o", "made.toml"), "set MYSQL_PWD"),
    ):
        errors = workplace.errors(*arguments, expect=1)
        assert complaint in errors
        assert "pencil" not in errors
    url = postgres.url().replace("@", f":{postgres.password}@")
    errors = workplace.errors("compare", url, *QUICK, expect=2)
    assert f"'postgres://{postgres.target.user}:***'" in errors
    for password in (postgres.password, "pencil"):
        assert password not in errors
        for file in workplace.folder.rglob("*"):
            assert not file.is_file() or password.encode() not in file.read_bytes()
