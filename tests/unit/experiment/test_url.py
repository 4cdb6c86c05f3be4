"""URLs of running servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.dbms.access import Verify
from slowdust.dbms.server_url import is_url, parse_url
from slowdust.errors import UsageError


@pytest.mark.parametrize(
    ("written", "text", "port", "database", "verify"),
    [
        ("postgres://ann@db.example", "postgres://ann@db.example", 5432, None, Verify.IDENTITY),
        ("postgresql://ann@db:5433/x", "postgres://ann@db:5433/x", 5433, "x", Verify.IDENTITY),
        ("postgres://ann@127.0.0.1/x", "postgres://ann@127.0.0.1/x", 5432, "x", None),
        ("postgres://ann@localhost:5432", "postgres://ann@localhost", 5432, None, None),
        (
            "postgres://ann@[::1]/x?sslmode=require",
            "postgres://ann@[::1]/x?sslmode=require",
            5432,
            "x",
            Verify.NOTHING,
        ),
        (
            "postgres://ann@db/x?sslmode=disable",
            "postgres://ann@db/x?sslmode=disable",
            5432,
            "x",
            None,
        ),
        (
            "postgres://ann@db/?sslmode=verify-full",
            "postgres://ann@db",
            5432,
            None,
            Verify.IDENTITY,
        ),
        (
            "mysql://ann@db/?ssl-mode=verify_ca",
            "mysql://ann@db?ssl-mode=VERIFY_CA",
            3306,
            None,
            Verify.AUTHORITY,
        ),
        ("mariadb://a%40b@db:3307", "mariadb://a%40b@db:3307", 3307, None, Verify.IDENTITY),
        ("mongodb://ann@db/x", "mongodb://ann@db/x", 27017, "x", Verify.IDENTITY),
        ("mongodb://ann@127.0.0.1:27018", "mongodb://ann@127.0.0.1:27018", 27018, None, None),
        ("mongodb://ann@db?tls=false", "mongodb://ann@db?tls=false", 27017, None, None),
        (
            "mongodb://ann@localhost?tls=true&tlsAllowInvalidCertificates=false",
            "mongodb://ann@localhost?tls=true",
            27017,
            None,
            Verify.IDENTITY,
        ),
        (
            "mongodb://ann@db?directConnection=true&tlsAllowInvalidHostnames=true",
            "mongodb://ann@db?tls=true&tlsAllowInvalidHostnames=true",
            27017,
            None,
            Verify.AUTHORITY,
        ),
        (
            "mongodb://ann@db?tlsAllowInvalidHostnames=true&tlsAllowInvalidCertificates=true",
            "mongodb://ann@db?tls=true&tlsAllowInvalidCertificates=true",
            27017,
            None,
            Verify.NOTHING,
        ),
    ],
)
def test_parts_of_a_url(
    written: str, text: str, port: int, database: str | None, verify: Verify | None
) -> None:
    url = parse_url(written)
    assert url.text == text
    assert url.port == port
    assert url.database == database
    assert (url.tls.verify if url.tls else None) is verify


def test_unix_sockets_are_named_by_the_option_of_each_world() -> None:
    postgres = parse_url("postgres://ann@/x?host=/run/postgresql")
    assert (postgres.host, postgres.socket, postgres.tls) == (None, "/run/postgresql", None)
    assert postgres.text == "postgres://ann@/run/postgresql/x"
    mysql = parse_url("mysql://ann@/?socket=/run/mysqld/mysqld.sock")
    assert mysql.socket == "/run/mysqld/mysqld.sock"
    mongodb = parse_url("mongodb://ann@%2Frun%2FMongo%2Fmongodb-27017.sock/x")
    assert (mongodb.host, mongodb.socket) == (None, "/run/Mongo/mongodb-27017.sock")
    assert (mongodb.database, mongodb.tls) == ("x", None)


@pytest.mark.parametrize(
    ("written", "source"),
    [
        ("mongodb://ann@db", "admin"),
        ("mongodb://ann@db/shop", "shop"),
        ("mongodb://ann@db/shop?authSource=people", "people"),
        ("postgres://ann@db/shop", None),
    ],
)
def test_user_is_one_of_the_database_that_mongodb_takes(written: str, source: str | None) -> None:
    assert parse_url(written).auth_source == source


def test_one_file_may_have_the_certificate_and_its_key(tmp_path: Path) -> None:
    file = tmp_path / "both.pem"
    file.touch()
    tls = parse_url(f"mongodb://ann@db?tlsCertificateKeyFile={file}").tls
    assert tls is not None
    assert (tls.authorities, tls.certificate, tls.key) == (None, str(file), str(file))


def test_files_of_certificates_are_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ca.pem").touch()
    url = parse_url("postgres://ann@db?sslmode=verify-ca&sslrootcert=ca.pem")
    assert url.tls is not None
    assert url.tls.authorities == str(tmp_path / "ca.pem")
    assert url.encryption == "TLS, the authority is verified"


@pytest.mark.parametrize(
    "written",
    [
        "postgres://ann:secret@db",
        "mysql://ann:secret@db",
        "mongodb://ann:secret@db",
        "mongodb://ann:secret@a:1,b:2/x",
        "postgres://ann:secret@a,b/x",
        "mongodb+srv://ann:secret@cluster/x",
        "mongodb://ann@",
        "mongodb://ann@db?directConnection=false",
        "mongodb://ann@db?tls=yes",
        "mongodb://ann@db/bench/c",
        "mongodb://ann@db/be%20nch",
        "mongodb://ann@db?tlsAllowInvalidHostnames=1",
        "mongodb://ann@db?replicaSet=x",
        "mongodb://ann@db?tls=false&tlsAllowInvalidHostnames=true",
        "mongodb://ann@localhost?tlsAllowInvalidCertificates=true",
        "mongodb://ann@%2Frun%2Fm.sock?tls=true",
        "postgre://ann@db",
        "oracle://ann@db",
        "postgres://ann@",
        "postgres://ann@db?host=/run",
        "postgres://ann@db:port",
        "postgres://ann@db:99999",
        "postgres://ann@[::1",
        "postgres://ann@db?sslmode=prefer",
        "mysql://ann@db?ssl-mode=PREFERRED",
        "postgres://ann@db?sslmode=verify",
        "postgres://ann@db?ssl-mode=REQUIRED",
        "postgres://ann@db?sslmode=verify-ca&sslrootcert=/none.pem",
        "postgres://ann@?host=/run&sslmode=require",
    ],
)
def test_wrong_urls_are_refused_in_one_line(written: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as refused:
        parse_url(written)
    text = str(refused.value)
    assert text == snapshot
    assert "\n" not in text
    assert "secret" not in text


def test_files_without_a_word_for_encryption_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.touch()
    with pytest.raises(UsageError, match="sslmode"):
        parse_url(f"postgres://ann@localhost?sslrootcert={file}")


def test_only_urls_are_urls() -> None:
    assert is_url("postgres://ann@db")
    assert not is_url("postgres@17.6")
    assert not is_url("./postgres:small")
