"""Servers that run already, compared by their URLs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from slowdust.accounts import server_account
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.remote_server import RemoteServer
from slowdust.remote.url import parse_url
from tests.integration.conftest import GetBuildOf
from tests.integration.running_servers import Certificates, Running
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import (
    Workplace,
    stop_after_slices,
    wait_for_line,
    wait_until,
)

TINY = ("--tests", "point-query,update-index", "--rows", "1000", "--budget", "4s")
QUICK = ("--tests", "point-query", "--rows", "1000", "--budget", "2s")
STEPS = ("--benchmark", "insert", "--seconds", "1s", "--rates", "100")


@pytest.fixture
def certificates(open_dir: Path) -> Certificates:
    return Certificates.make(open_dir / "certificates")


@pytest.fixture
def workplace(open_dir: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """A folder for experiments, whose user has no password files."""
    monkeypatch.setenv("HOME", str(open_dir))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    return Workplace(open_dir)


@pytest.fixture
def postgres(
    builds: GetBuildOf,
    workplace: Workplace,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Running]:
    """A Postgres that wants a password, with TLS for whoever asks for it."""
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
        running = Running(instance.target())
        monkeypatch.setenv("PGPASSWORD", running.password)
        yield running


@pytest.fixture
def mysql(
    builds: GetBuildOf,
    workplace: Workplace,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Running]:
    """A MySQL that wants a password, with TLS for whoever asks for it."""
    settings = {
        "ssl_ca": certificates.path("ca.pem"),
        "ssl_cert": certificates.path("server.pem"),
        "ssl_key": certificates.path("server.key"),
    }
    access = Access.make(Listen.LOOPBACK, Auth.CACHING_SHA2)
    with new_instance(builds("mysql", "9.7.4"), settings, access=access) as instance:
        certificates.give_key_to(instance)
        instance.start()
        running = Running(instance.target())
        monkeypatch.setenv("MYSQL_PWD", running.password)
        yield running


def test_running_servers_and_a_build_take_turns(
    workplace: Workplace, postgres: Running, mysql: Running
) -> None:
    urls = (postgres.url(), mysql.url())
    workplace.run("compare", *urls, "postgres@17.6", *TINY, "--name", "three", "--count", "off")

    report = workplace.report("three")
    by_test = {(result["test"], result["contender"]) for result in report["results"]}
    assert by_test == {
        (test, contender)
        for test in ("point-query", "update-index")
        for contender in (postgres.url(), mysql.url(), "postgres@17.6")
    }
    for result in report["results"]:
        assert result["qps"] > 0
        assert result["incarnations"] == 1
        assert "server_cpu_us" not in result["per_op"] or result["contender"] == "postgres@17.6"
    facts = {info["name"]: info for info in report["contender_info"]}
    assert facts[postgres.url()]["running"]
    assert not facts["postgres@17.6"].get("running")
    assert all(info["round_trip_us"] > 0 for info in facts.values())
    assert facts[postgres.url()]["settings"]["synchronous_commit"] == "off"
    notes = " ".join(report["notes"])
    assert "one incarnation" in notes
    assert "A round trip (SELECT 1, one client, median) takes" in notes
    places = [json.loads(line)["place"] for line in workplace.slice_lines("three")]
    assert {place["contender"] for place in places[:3]} == {*urls, "postgres@17.6"}

    for password in (postgres.password, mysql.password):
        for file in (workplace.folder / "results").rglob("*"):
            assert not file.is_file() or password.encode() not in file.read_bytes()
    assert postgres.schemas() == []
    assert mysql.schemas() == []


@pytest.mark.skipif(shutil.which("psql") is None, reason="needs psql")
def test_build_beside_a_url_refuses_other_users_of_the_machine(
    workplace: Workplace, postgres: Running
) -> None:
    others = {*workplace.servers()}
    words = ("compare", postgres.url(), "postgres@17.6", *TINY, "--count", "off", "--name", "two")
    process = workplace.start(*words)
    wait_until(lambda: len(workplace.slice_lines("two")) >= 2, "each was measured")
    (port,) = {
        connection.laddr.port
        for server in {*workplace.servers()} - others
        for connection in psutil.Process(server).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    at = ["-h", "127.0.0.1", "-p", str(port), "-U", "slowdust", "-d", "postgres", "-w"]
    done = subprocess.run(
        ["psql", *at, "-c", "SELECT 1"],
        env={"PATH": os.defpath}, cwd="/", capture_output=True, text=True, check=False,
        **server_account().identity(),
    )  # fmt: skip
    assert "no password supplied" in done.stderr
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors


def test_database_with_tables_of_others_is_refused(
    workplace: Workplace, postgres: Running, mysql: Running
) -> None:
    for running in (postgres, mysql):
        running.ask("CREATE TABLE orders (id int)")
        errors = workplace.errors("compare", running.url(), *QUICK, expect=2)
        assert "has 1 table that Slowdust did not make" in errors
        assert "orders" in errors
        assert running.schemas() == []
        running.ask("DROP TABLE orders")


def test_tables_are_kept_on_request_and_made_anew_after_a_kill(
    workplace: Workplace, postgres: Running
) -> None:
    errors = workplace.errors("compare", postgres.url(), *QUICK, "--name", "kept", "--keep")
    (kept,) = postgres.schemas()
    assert f"keeps the schema {kept}" in errors
    assert postgres.ask(f"SELECT count(*) FROM {kept}.sbtest1") == ["1000"]

    arguments = ("--tests", "point-query", "--rows", "1000", "--budget", "6s", "--name", "killed")
    process = workplace.start("compare", postgres.url(), *arguments)
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    (left,) = set(postgres.schemas()) - {kept}
    workplace.run("run", str(workplace.folder / "results" / "killed"), "--resume")
    assert postgres.schemas() == [kept]
    assert left != kept
    report = workplace.report("killed")
    assert "one incarnation, whose tables were made 2 times" in " ".join(report["notes"])


def test_more_goes_on_with_running_servers(workplace: Workplace, postgres: Running) -> None:
    urls = (postgres.url(), postgres.url("?sslmode=disable"))
    workplace.run("compare", *urls, *QUICK, "--margin", "0.01%", "--name", "two")
    before = len(workplace.slice_lines("two"))
    said = workplace.errors("more", "two", "--tests", "point-query", "--budget", "2s")
    # Equal servers are called faster or slower once in a while, and then nothing is left to do.
    assert (len(workplace.slice_lines("two")) == before) == ("nothing to measure" in said)
    assert postgres.schemas() == []


def test_the_insert_benchmark_takes_turns_with_running_servers(
    workplace: Workplace, postgres: Running, mysql: Running
) -> None:
    urls = (postgres.url(), postgres.url("?sslmode=require"), mysql.url())
    rows = ("--rows", "4000,1000,200")
    workplace.run("compare", *urls, "postgres@17.6", *STEPS, *rows, "--name", "steps", "--keep")

    records = [json.loads(line) for line in workplace.slice_lines("steps")]
    names = [*urls, "postgres@17.6"]
    tests = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
    places = [(record["place"]["test"], record["place"]["contender"]) for record in records]
    assert sorted(places) == sorted((test, name) for test in tests for name in names)
    for record in records:
        detail, uses = record["step"], record["measured"].get("uses", {})
        is_build = record["place"]["contender"] == "postgres@17.6"
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
    assert [frozen[url] for url in urls] == [None] * 3
    assert frozen["postgres@17.6"]
    assert manifest["method"]["incarnations"] == 1
    assert not [text for text in manifest.get("warnings", []) if "should have" in text]

    report = workplace.report("steps")
    notes = " ".join(report["notes"])
    assert notes.count("cannot be made to stand still") == 1
    assert "A round trip (SELECT 1, one client, median) takes" in notes
    queries = [result for result in report["results"] if result["test"] == "qr100"]
    assert all(result["writers"]["sla_met"] for result in queries)
    assert all(run["roles"][0]["buckets"] for run in report["step_runs"])
    (kept,) = mysql.schemas()
    assert mysql.ask(f"SELECT count(*) FROM {kept}.purchases1") == ["4000"]
    assert len(postgres.schemas()) == 2


def test_steps_on_running_servers_are_made_anew_after_a_kill(
    workplace: Workplace, mysql: Running, postgres: Running
) -> None:
    urls = (postgres.url(), mysql.url())
    rows = ("--rows", "4000,60000,200", "--tests", "l.*")
    process = workplace.start("compare", *urls, *STEPS, *rows, "--name", "killed")
    wait_for_line(process, "l.i1 on ")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = workplace.slice_lines("killed")
    assert len(before) == 4
    assert len(postgres.schemas()) == len(mysql.schemas()) == 1

    workplace.run("run", str(workplace.folder / "results" / "killed"), "--resume")
    assert workplace.slice_lines("killed")[:4] == before
    again = [json.loads(line) for line in workplace.slice_lines("killed")[4:]]
    assert [record["place"]["test"] for record in again] == [
        test for test in ("l.i0", "l.x", "l.i1", "l.i2") for _ in urls
    ]
    for record in again:
        assert record["place"]["incarnation"] == 2
        assert record["step"]["rows_expected"] == record["step"]["rows_counted"] == 4000
    assert postgres.schemas() == mysql.schemas() == []


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


def test_mysql_is_verified_as_its_words_say(
    workplace: Workplace, mysql: Running, certificates: Certificates
) -> None:
    ca, other = certificates.path("ca.pem"), certificates.path("other.pem")
    strict = "?ssl-mode=VERIFY_IDENTITY&ssl-ca="
    workplace.run("compare", mysql.url(strict + ca), *QUICK)
    errors = workplace.errors("compare", mysql.url(strict + other), *QUICK, expect=1)
    assert "UnknownIssuer" in errors


def test_password_comes_from_a_file_and_its_lack_is_told(
    workplace: Workplace, postgres: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    errors = workplace.errors("compare", postgres.url(), *QUICK, expect=1)
    assert "asks for a password" in errors
    assert "PGPASSWORD" in errors
    file = workplace.folder / ".pgpass"
    file.write_text(f"127.0.0.1:*:*:{postgres.target.user}:{postgres.password}\n")
    file.chmod(0o600)
    workplace.run("compare", postgres.url(), *QUICK)


def test_a_password_that_is_refused_is_not_told(
    workplace: Workplace, postgres: Running, mysql: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.setenv(variable, "not-the-pencil")
    for running, complaint in ((postgres, "set PGPASSWORD"), (mysql, "set MYSQL_PWD")):
        for arguments in (
            ("compare", running.url(), *QUICK),
            ("workloads", "from", running.url(), "-o", "made.toml"),
        ):
            errors = workplace.errors(*arguments, expect=1)
            assert complaint in errors
            assert "pencil" not in errors
    url = postgres.url().replace("@", f":{postgres.password}@")
    errors = workplace.errors("compare", url, *QUICK, expect=2)
    assert f"'postgres://{postgres.target.user}:***': a password in a URL" in errors
    for password in (postgres.password, "pencil"):
        assert password not in errors
        for file in workplace.folder.rglob("*"):
            assert not file.is_file() or password.encode() not in file.read_bytes()


def test_servers_are_reached_by_their_unix_sockets(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    with (
        new_instance(builds("postgres", "17.6"), {}) as postgres,
        new_instance(builds("mysql", "9.7.4"), {}) as mysql,
    ):
        for instance, option in ((postgres, "host"), (mysql, "socket")):
            instance.start()
            target = instance.target()
            place = instance.socket_dir / ("mysql.sock" if instance is mysql else "")
            at = f"{target.dbms}://{target.user}@:{target.port}/{target.database}"
            workplace.run("compare", f"{at}?{option}={place}", *QUICK)
