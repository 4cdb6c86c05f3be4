"""Passwords of running servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.dbms.server_url import parse_url
from slowdust.errors import UsageError
from slowdust.experiment.passwords import find_password


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGPASSWORD", "PGPASSFILE", "MYSQL_PWD", "MONGODB_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def private(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file


def found(url: str) -> str | None:
    password = find_password(parse_url(url))
    return None if password is None else password.reveal()


def test_none_is_found_where_there_is_none() -> None:
    assert found("postgres://ann@db") is None
    assert found("mysql://ann@db") is None
    assert found("mongodb://ann@db") is None


def test_mongodb_has_a_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGODB_PASSWORD", "of-the-variable")
    assert found("mongodb://ann@db") == "of-the-variable"
    assert found("postgres://ann@db") is None


def test_variable_comes_before_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private(home / ".pgpass", "*:*:*:*:of-the-file\n")
    assert found("postgres://ann@db") == "of-the-file"
    monkeypatch.setenv("PGPASSWORD", "of-the-variable")
    assert found("postgres://ann@db") == "of-the-variable"
    assert found("mysql://ann@db") is None


def test_first_line_of_pgpass_that_fits_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = private(
        home / "elsewhere",
        "# db:5432:*:ann:comment\n"
        "short:line\n"
        "db:5433:*:ann:other-port\n"
        "db:5432:shop:ann:of-shop\n"
        r"db:5432:*:ann:a\:b\\c" + "\n"
        "db:*:*:bob:of-bob\n",
    )
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert found("postgres://ann@db/shop") == "of-shop"
    assert found("postgres://ann@db/other") == "a:b\\c"
    assert found("postgres://ann@db:5433") == "other-port"
    assert found("postgres://bob@db:9999/x") == "of-bob"
    assert found("postgres://eve@db") is None


def test_my_cnf_is_read_as_mysql_reads_it(home: Path) -> None:
    private(
        home / ".my.cnf",
        "!includedir /etc/mysql/conf.d\n[mysql]\nno-auto-rehash\n"
        '[client]\nuser = ann\npassword = "of the file"\n[mysqldump]\npassword=other\n',
    )
    assert found("mysql://ann@db") == "of the file"
    assert found("mariadb://ann@db") == "of the file"


@pytest.mark.parametrize(
    ("url", "name"), [("postgres://a@db", ".pgpass"), ("mysql://a@db", ".my.cnf")]
)
def test_file_that_others_may_read_is_refused(home: Path, url: str, name: str) -> None:
    private(home / name, "[client]\n").chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        found(url)


def test_file_that_is_no_option_file_is_refused(home: Path) -> None:
    private(home / ".my.cnf", "password=before any section\n")
    with pytest.raises(UsageError, match=r"\.my\.cnf"):
        found("mysql://ann@db")
