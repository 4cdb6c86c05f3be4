"""Access to a server that listens on TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.builds.model import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.errors import UsageError
from slowdust.store.manifest import BuildFacts


def build_of(dbms: str, version: str) -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    return Build(dbms, version, Path("/b"), "directory", Path("/b/bin/server"), facts)


@pytest.mark.parametrize(
    ("dbms", "version", "auth"),
    [
        ("postgres", "10.23", Auth.SCRAM),
        ("postgres", "18.4", Auth.SCRAM),
        ("mysql", "5.5.9", Auth.NATIVE),
        ("mysql", "8.0.36", Auth.CACHING_SHA2),
        ("mysql", "9.7.4", Auth.CACHING_SHA2),
        ("mariadb", "10.1.8", Auth.NATIVE),
        ("ferretdb", "1.24.2", Auth.SCRAM),
        ("mongodb", "4.0.28", Auth.SCRAM),
    ],
)
def test_each_dbms_asks_for_a_password_on_the_loopback(dbms: str, version: str, auth: Auth) -> None:
    kind, build = family(dbms), build_of(dbms, version)
    first, second = (kind.access_by(Listen.LOOPBACK, build) for _ in range(2))
    assert (first.listen, first.auth) == (Listen.LOOPBACK, auth)
    assert first.password and first.password != second.password
    kind.check_access(build, first)
    assert kind.access_by(Listen.SOCKET, build) == Access()


@pytest.mark.parametrize(("dbms", "version"), [("ferretdb", "1.20.1"), ("mongodb", "3.6.23")])
def test_a_build_that_asks_for_none_stays_off_the_loopback(dbms: str, version: str) -> None:
    kind, build = family(dbms), build_of(dbms, version)
    assert {kind.access_by(listen, build) for listen in Listen} == {Access()}


@pytest.mark.parametrize(
    ("dbms", "version"), [("postgres", "10.23"), ("mysql", "9.7.4"), ("mariadb", "10.11.18")]
)
@pytest.mark.parametrize("listen", Listen)
def test_encrypted_access_asks_for_a_password(dbms: str, version: str, listen: Listen) -> None:
    kind, build = family(dbms), build_of(dbms, version)
    access = kind.with_encryption(kind.access_by(listen, build), build)
    assert access.encrypted and access.encrypted.password
    assert access.by_tcp and access.by_tcp.password == access.encrypted.password
    assert bool(access.password) is (listen is Listen.LOOPBACK)


def test_sqlite_stays_off_the_loopback() -> None:
    with pytest.raises(UsageError, match="sqlite"):
        family("sqlite").access_by(Listen.LOOPBACK, build_of("sqlite", "3.51.3"))
