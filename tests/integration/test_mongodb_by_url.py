"""Comparisons of running servers that speak MongoDB's protocol, such as FerretDB."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from slowdust.builds import Build
from slowdust.dbms.access import Access, Auth, Listen, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.server_url import parse_url
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.remote_server import RemoteServer
from tests.integration.conftest import GetBuildOf
from tests.integration.running_servers import Certificates
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import LONG, Workplace, stop_after_slices
from tests.tiers.selection import full

VERSION = "1.24.2"
WITHOUT_PASSWORDS = "1.19.0"
PASSWORD = "MONGODB_PASSWORD"
QUICK = ("--tests", "point-query", "--rows", "300", "--budget", "1s", "--slice", "25ms")


@dataclass(frozen=True)
class Running:
    """A server that others started, as seen from outside, with a second port for TLS."""

    target: Target
    tls_port: int

    @property
    def password(self) -> str:
        assert self.target.password is not None
        return self.target.password.reveal()

    def url(self, options: str = "", database: str = "slowdust") -> str:
        return f"mongodb://{self.target.user}@127.0.0.1:{self.target.port}/{database}{options}"

    def tls_url(self, options: str, host: str = "127.0.0.1") -> str:
        return f"mongodb://{self.target.user}@{host}:{self.tls_port}/slowdust?tls=true&{options}"

    def ask(self, database: str, **command: object) -> dict[str, object]:
        text = json.dumps({**command, "$db": database})
        with Driver() as driver:
            (answer,) = driver.sql(self.target, [text])
        reply: dict[str, object] = json.loads(str(answer.rows[0][0]))
        return reply

    def schemas(self) -> list[str]:
        databases = self.ask("admin", listDatabases=1, nameOnly=True)["databases"]
        assert isinstance(databases, list)
        names = [str(each["name"]) for each in databases]
        return [name for name in names if name.startswith("slowdust_")]


@pytest.fixture(scope="module")
def server(builds: GetBuildOf, certificates: Certificates) -> Iterator[Running]:
    with serving(builds("ferretdb", VERSION), certificates) as running:
        yield running


@pytest.fixture
def workplace(open_dir: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """A folder for experiments, whose user has set no password."""
    monkeypatch.delenv(PASSWORD, raising=False)
    return Workplace(open_dir)


@contextmanager
def serving(build: Build, certificates: Certificates, **variables: str) -> Iterator[Running]:
    """A FerretDB that wants a password of the user of its database, with TLS at another port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        tls_port = int(listener.getsockname()[1])
    environment = Environment(
        variables={
            "FERRETDB_LISTEN_TLS": f"127.0.0.1:{tls_port}",
            "FERRETDB_LISTEN_TLS_CERT_FILE": certificates.path("server.pem"),
            "FERRETDB_LISTEN_TLS_KEY_FILE": certificates.path("server.key"),
            **variables,
        }
    )
    access = Access.make(Listen.LOOPBACK, Auth.SCRAM)
    with new_instance(build, {}, access=access, environment=environment) as instance:
        certificates.give_key_to(instance)
        instance.start()
        yield Running(instance.target(), tls_port)


@pytest.fixture
def ferretdb(
    server: Running, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """A FerretDB whose password is in the environment."""
    monkeypatch.setenv(PASSWORD, server.password)
    yield server
    for database in server.schemas():
        server.ask(database, dropDatabase=1)


def test_running_servers_and_a_build_take_turns(workplace: Workplace, ferretdb: Running) -> None:
    urls = (ferretdb.url(), ferretdb.url("?authSource=slowdust", "other"))
    build = f"ferretdb@{VERSION}"
    tests = ("point-query", "update-index")
    fields = {"rows": 300, "incarnations": 1}
    workplace.run("run", workplace.write_experiment("three", (*urls, build), *tests, **fields))

    report = workplace.report("three")
    assert {(result["test"], result["contender"]) for result in report["results"]} == {
        (test, contender)
        for test in tests
        for contender in (*(parse_url(url).text for url in urls), build)
    }
    assert all(result["qps"] > 0 and not result["errors"] for result in report["results"])
    facts = {info["name"]: info for info in report["contender_info"]}
    found = facts[ferretdb.url()]
    assert (found["dbms"], found["version"], found["running"]) == ("mongodb", "7.0.42", True)
    assert f"FerretDB {VERSION}, not encrypted" in found["source"]
    assert found.get("engine") is None
    assert all(info["round_trip_us"] > 0 for info in facts.values())
    notes = " ".join(report["notes"])
    assert "(ping, one client, median)" in notes
    assert "for the disk" not in workplace.run("report", "three")

    for file in (workplace.folder / "results").rglob("*"):
        assert not file.is_file() or ferretdb.password.encode() not in file.read_bytes()
    assert ferretdb.schemas() == []


def test_a_build_that_asks_for_no_password_has_its_socket_alone(
    workplace: Workplace, ferretdb: Running
) -> None:
    contenders = (ferretdb.url(), f"ferretdb@{WITHOUT_PASSWORDS}")
    fields = {"rows": 300, "incarnations": 1}
    workplace.run("run", workplace.write_experiment("old", contenders, "point-query", **fields))

    report = workplace.report("old")
    assert all(result["qps"] > 0 and not result["errors"] for result in report["results"])
    [warning] = [text for text in report["warnings"] if "private socket" in text]
    assert warning.startswith(f"ferretdb@{WITHOUT_PASSWORDS} ")
    assert "password" in warning


def test_database_with_collections_of_others_is_refused(
    workplace: Workplace, ferretdb: Running
) -> None:
    ferretdb.ask("slowdust", insert="orders", documents=[{"_id": 1}])
    errors = workplace.errors("compare", ferretdb.url(), *QUICK, expect=2)
    assert "1 collection" in errors
    assert "(slowdust.orders)" in errors
    assert ferretdb.schemas() == []
    found = ferretdb.ask("slowdust", find="orders")
    ferretdb.ask("slowdust", drop="orders")
    assert found["cursor"] == {"firstBatch": [{"_id": 1}], "id": 0, "ns": "slowdust.orders"}


def test_an_encrypted_server_is_measured_and_keeps_its_collections_on_request(
    workplace: Workplace, ferretdb: Running, certificates: Certificates
) -> None:
    url = ferretdb.tls_url(f"tlsCAFile={certificates.path('ca.pem')}")
    errors = workplace.errors("compare", url, *QUICK, "--name", "kept", "--keep")
    (info,) = workplace.report("kept")["contender_info"]
    assert "TLS" in info["source"]
    (kept,) = ferretdb.schemas()
    assert f"kept the schema {kept}" in errors
    assert ferretdb.ask(kept, count="sbtest1")["n"] == 300


@full
def test_collections_are_made_again_after_a_kill(workplace: Workplace, ferretdb: Running) -> None:
    fields = {"rows": 300, "budget": LONG}
    workplace.write_experiment("killed", (ferretdb.url(),), "point-query", **fields)
    process = workplace.start("run", "killed.toml")
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    assert len(ferretdb.schemas()) == 1
    workplace.leave_budget("killed", 1)
    workplace.run("run", "results/killed", "--resume")
    assert ferretdb.schemas() == []


@pytest.mark.parametrize(
    ("host", "options", "message"),
    [
        ("127.0.0.1", "tlsCAFile={ca}", None),
        ("127.0.0.1", "tlsCAFile={other}", "UnknownIssuer"),
        ("127.0.0.1", "", "invalid peer certificate"),
        ("localhost", "tlsCAFile={ca}", "not valid for name"),
        ("localhost", "tlsCAFile={ca}&tlsAllowInvalidHostnames=true", None),
        ("localhost", "tlsCAFile={other}&tlsAllowInvalidHostnames=true", "UnknownIssuer"),
        ("localhost", "tlsAllowInvalidCertificates=true", None),
    ],
)
def test_a_server_is_verified_as_the_words_say(
    ferretdb: Running, certificates: Certificates, host: str, options: str, message: str | None
) -> None:
    files = {name: certificates.path(f"{name}.pem") for name in ("ca", "other")}
    url = parse_url(ferretdb.tls_url(options.format(**files), host))
    refused = pytest.raises(SlowdustError, match=message or "") if message else nullcontext()
    with Driver() as driver, refused:
        server = RemoteServer.connect(url, None, driver)
        assert server.product == f"FerretDB {VERSION}"


def test_a_client_shows_its_certificate(
    workplace: Workplace,
    builds: GetBuildOf,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = certificates.folder / "both.pem"
    key = (certificates.folder / "server.key").read_text()
    both.write_text(key + (certificates.folder / "server.pem").read_text())
    ca = certificates.path("ca.pem")
    wanting = {"FERRETDB_LISTEN_TLS_CA_FILE": ca}
    with serving(builds("ferretdb", VERSION), certificates, **wanting) as running:
        monkeypatch.setenv(PASSWORD, running.password)
        url = running.tls_url(f"tlsCAFile={ca}")
        with Driver() as driver:
            with pytest.raises(SlowdustError, match="CertificateRequired"):
                RemoteServer.connect(parse_url(url), None, driver)
            shown = parse_url(f"{url}&tlsCertificateKeyFile={both}")
            assert RemoteServer.connect(shown, None, driver).product == f"FerretDB {VERSION}"


def test_lack_of_a_password_and_a_wrong_one_are_reported(
    workplace: Workplace, ferretdb: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD)
    errors = workplace.errors("compare", ferretdb.url(), *QUICK, expect=1)
    assert "requires authentication" in errors
    assert f"set {PASSWORD}; " in errors
    assert "in slowdust (authSource=)" in errors
    monkeypatch.setenv(PASSWORD, "wrong")
    assert "Authentication failed" in workplace.errors("compare", ferretdb.url(), *QUICK, expect=1)
    monkeypatch.setenv(PASSWORD, ferretdb.password)
    elsewhere = ferretdb.url(database="other")
    errors = workplace.errors("compare", elsewhere, *QUICK, expect=1)
    assert "in other (authSource=)" in errors


def test_a_server_that_trusts_is_reached_by_its_unix_socket(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    with new_instance(builds("ferretdb", VERSION), {}) as instance:
        instance.start()
        target = instance.target()
        path = instance.socket_dir / f"mongodb-{target.port}.sock"
        place = str(path).replace("/", "%2F")
        workplace.run("compare", f"mongodb://{target.user}@{place}/bench", *QUICK)
        running = Running(msgspec.structs.replace(target, dbms="mongodb"), 0)
        assert running.schemas() == []
