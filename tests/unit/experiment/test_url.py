"""URLs of running servers."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    ("written", "message"),
    [
        ("postgres://ann:secret@db", "PGPASSWORD"),
        ("mysql://ann:secret@db", "MYSQL_PWD"),
        ("mongodb://ann:secret@db", "set MONGODB_PASSWORD or"),
        ("mongodb://ann:secret@a:1,b:2/x", "'mongodb://ann:***' names several hosts"),
        ("postgres://ann:secret@a,b/x", "names several hosts"),
        ("mongodb+srv://ann:secret@cluster/x", "all hosts of a cluster"),
        ("mongodb://ann@", "a host or a Unix socket (with %2F for each /)"),
        ("mongodb://ann@db?directConnection=false", "directConnection can only be true"),
        ("mongodb://ann@db?tls=yes", "tls cannot be 'yes'"),
        ("mongodb://ann@db/bench/c", "the database name 'bench/c' cannot contain '/'"),
        ("mongodb://ann@db/be%20nch", "the database name 'be nch' cannot contain ' '"),
        ("mongodb://ann@db?tlsAllowInvalidHostnames=1", "choose true or false"),
        ("mongodb://ann@db?replicaSet=x", "unknown option 'replicaSet'"),
        ("mongodb://ann@db?tls=false&tlsAllowInvalidHostnames=true", "no tls"),
        ("mongodb://ann@localhost?tlsAllowInvalidCertificates=true", "no tls"),
        ("mongodb://ann@%2Frun%2Fm.sock?tls=true", "a Unix socket cannot be encrypted"),
        ("postgre://ann@db", "did you mean postgres"),
        ("oracle://ann@db", "no server by a URL with 'oracle://'"),
        ("postgres://ann@", "a host or a Unix socket"),
        ("postgres://ann@db?host=/run", "a host or a Unix socket"),
        ("postgres://ann@db:port", "is not a URL"),
        ("postgres://ann@db:99999", "is not a URL"),
        ("postgres://ann@[::1", "is not a URL"),
        ("postgres://ann@db?sslmode=prefer", "makes encryption optional"),
        ("mysql://ann@db?ssl-mode=PREFERRED", "write REQUIRED"),
        ("postgres://ann@db?sslmode=verify", "sslmode cannot be 'verify'"),
        ("postgres://ann@db?ssl-mode=REQUIRED", "unknown option 'ssl-mode'"),
        ("postgres://ann@db?sslmode=verify-ca&sslrootcert=/none.pem", "there is no file /none.pem"),
        ("postgres://ann@?host=/run&sslmode=require", "a Unix socket cannot be encrypted"),
    ],
)
def test_wrong_urls_are_refused_in_one_line(written: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_url(written)
    text = str(refused.value)
    assert message in text
    assert "\n" not in text
    assert "secret" not in text


def test_files_without_a_word_for_encryption_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.touch()
    with pytest.raises(UsageError, match="no sslmode"):
        parse_url(f"postgres://ann@localhost?sslrootcert={file}")


def test_only_urls_are_urls() -> None:
    assert is_url("postgres://ann@db")
    assert not is_url("postgres@17.6")
    assert not is_url("./postgres:small")
