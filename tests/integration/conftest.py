"""Real builds and real servers, shared by the integration tests.

Builds come from the user's own cache, so that they are fetched once; instances live in a data
root of the tests' own.
"""

from __future__ import annotations

import functools
import re
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from slowdust.builds import Build, resolve
from slowdust.dbms.access import Target
from slowdust.errors import SlowdustError
from slowdust.instances.instance import Instance
from slowdust.instances.rundir import RunDirectory
from tests.integration.driver_process import Driver
from tests.integration.running_servers import Certificates
from tests.integration.servers import SharedServers, small_instance
from tests.integration.slowdust_command import Workplace

GetBuild = Callable[[str], Build]
GetBuildOf = Callable[[str, str], Build]
MakeInstance = Callable[..., Instance]
Query = Callable[[Target, str], list[list[str | None]]]


@pytest.fixture(scope="session")
def builds() -> GetBuildOf:
    """The build of a version of a DBMS, fetched if it is not in the cache."""

    def get(dbms: str, version: str) -> Build:
        try:
            return resolve(dbms, version, print)
        except SlowdustError as error:
            if str(error).startswith("cannot get"):
                pytest.skip(str(error))
            raise

    return get


@pytest.fixture(scope="session")
def postgres_builds(builds: GetBuildOf) -> GetBuild:
    """The build of a Postgres version, '15.8'."""
    return functools.partial(builds, "postgres")


@pytest.fixture(scope="session")
def postgres_build(postgres_builds: GetBuild) -> Build:
    """Postgres 17.6."""
    return postgres_builds("17.6")


@pytest.fixture(scope="session")
def shared_servers(builds: GetBuildOf) -> Iterator[SharedServers]:
    """Servers that stay until the last test of this process."""
    with RunDirectory.open("driver-tests") as run:
        yield SharedServers(run, builds)


@pytest.fixture
def workplace(request: pytest.FixtureRequest, open_dir: Path, builds: GetBuildOf) -> Workplace:
    """A folder for experiments; the builds of the marker `builds` are in the cache."""
    for marker in request.node.iter_markers("builds"):
        for contender in marker.args:
            dbms, version, *_ = re.split("[@/:]", contender)
            builds(dbms, version)
    return Workplace(open_dir)


@pytest.fixture
def data_root(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data root for instances; no other experiment's claims are seen."""
    root = open_dir / "data"
    monkeypatch.setenv("SLOWDUST_DATA", str(root))
    monkeypatch.setenv("SLOWDUST_CLAIMS", str(open_dir / "claims"))
    return root


@pytest.fixture
def run_directory(data_root: Path) -> Iterator[RunDirectory]:
    """A run directory; all that is in it is removed after the test."""
    with RunDirectory.open("test") as run:
        yield run


@pytest.fixture
def make_instance(run_directory: RunDirectory) -> MakeInstance:
    """Make a small instance of a build; it is not started."""
    return functools.partial(small_instance, run_directory)


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A process of the driver."""
    with Driver() as process:
        yield process


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    """Certificates for a server on 127.0.0.1."""
    with Certificates.made() as made:
        yield made


@pytest.fixture(scope="session")
def query() -> Query:
    """Run one statement on a Postgres server that trusts its client; returns rows of text."""
    return _query


def _query(target: Target, statement: str) -> list[list[str | None]]:
    with _connect(target) as connection, connection.makefile("rb") as replies:
        start = b"user\0%b\0database\0%b\0\0" % (target.user.encode(), target.database.encode())
        connection.sendall(struct.pack("!ii", len(start) + 8, 196608) + start)
        _read_until_ready(replies)
        text = statement.encode() + b"\0"
        connection.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
        return _read_until_ready(replies)


def _connect(target: Target) -> socket.socket:
    if target.socket is None:
        return socket.create_connection((target.host, target.port), 30)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(f"{target.socket}/.s.PGSQL.{target.port}")
    return connection


def _read_until_ready(replies: BinaryIO) -> list[list[str | None]]:
    rows = []
    while True:
        header = replies.read(5)
        if len(header) < 5:
            raise ConnectionError("the server closed the connection")
        kind, length = struct.unpack("!ci", header)
        body = replies.read(length - 4)
        if kind == b"E":
            raise RuntimeError(body.replace(b"\0", b" ").decode())
        if kind == b"D":
            rows.append(_row(body))
        if kind == b"Z":
            return rows


def _row(body: bytes) -> list[str | None]:
    (columns,) = struct.unpack_from("!h", body)
    values: list[str | None] = []
    at = 2
    for _ in range(columns):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        values.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return values
