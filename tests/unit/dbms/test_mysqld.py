"""Commands to MySQL and MariaDB and their answers, without a server."""

from __future__ import annotations

import re
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import server_account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.mysql import MysqldFamily
from slowdust.dbms.mysqld.settings import (
    RESERVED_SETTINGS,
    option_file,
    sql_file,
    user_file,
)
from slowdust.dbms.settings import Settings
from slowdust.errors import UsageError
from slowdust.secret import Secret
from tests.unit.dbms.mysqld_sites import MARIADB, MYSQL, build_of, site_of

HELP = """#!/bin/sh
for argument; do
  case "$argument" in
  --defaults-file=*) cp "${argument#*=}" @SEEN@
    if grep -q much @SEEN@; then
      echo "2026-01-01 [ERROR] [MY-1] [Server] unknown suffix 'm' in innodb_buffer_pool_size" >&2
      echo "2026-01-01 [ERROR] Aborting" >&2
      exit 1
    fi
    if grep -q "=-4" @SEEN@; then
      echo "x [Warning] option 'max_connections': signed value -4 adjusted to 1" >&2
      echo "x [Warning] option 'table_cache': unsigned value 0 adjusted to 1" >&2
    fi ;;
  --plugin-load-add=ha_rocksdb.so) rocksdb="rocksdb-block-cache-size   5" ;;
  esac
done
cat <<END
mysqld  Ver 5.6.24
  -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax.
  --log-bin[=name]    Log update queries in binary format.
  --plugin-load-add=name
                      Optional plugins to load.
Variables (--variable-name=value)
and boolean options {FALSE|TRUE}   Value (after reading options)
---------------------------------- ---------------
innodb-buffer-pool-size            134217728
innodb-doublewrite                 TRUE
max-connections                    151
$rocksdb

To see what values a running MySQL server is using, type
'mysqladmin variables' instead of 'mysqld --verbose --help'.
END
"""


@pytest.fixture
def asked(open_dir: Path) -> Build:
    """A build whose server knows few settings; it writes its option file to `seen`."""
    build = build_of("mysql", "5.6.24", open_dir)
    for name in ("bin", "share/english"):
        (open_dir / name).mkdir(parents=True)
    (open_dir / "share/english/errmsg.sys").touch()
    build.server.write_text(HELP.replace("@SEEN@", str(open_dir / "seen")))
    build.server.chmod(0o755)
    open_dir.chmod(0o777)
    return build


def test_option_file_says_what_the_server_would_read_otherwise() -> None:
    text = option_file(build_of("mysql", "5.6.24"), {"b": "a#b", "a": "1", "d": "x y\\z", "e": ""})
    assert text == '[mysqld]\na=1\nb="a#b"\nd="x y\\\\z"\ne=\n'


@pytest.mark.parametrize(
    ("value", "line"),
    [("off", "skip_log_bin"), ("on", "log_bin=binlog"), ("mine", "log_bin=mine")],
)
def test_binlog_is_a_name_or_nothing(value: str, line: str) -> None:
    assert option_file(build_of("mysql", "5.6.24"), {"log_bin": value}) == f"[mysqld]\n{line}\n"


def test_old_servers_take_words_for_zero() -> None:
    old = build_of("mysql", "5.5.9")
    assert option_file(old, {"a": "on", "b": "OFF", "c": "only"}) == "[mysqld]\na=1\nb=0\nc=only\n"
    assert option_file(build_of("mysql", "5.6.24"), {"a": "on"}) == "[mysqld]\na=on\n"


@pytest.mark.parametrize(
    ("name", "value"), [("a b", "1"), ("", "1"), ("a", "1\nport=1"), ("a", 'x"y'), ("1", "")]
)
def test_option_file_cannot_be_broken_out_of(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(name)) if name else "setting"):
        option_file(build_of("mysql", "5.6.24"), {name: value})


def test_settings_that_the_server_knows_are_taken(asked: Build) -> None:
    settings = Settings(
        "mine",
        {"log_bin": "off", "max_connections": "9"},
        {"innodb_buffer_pool_size": "64M", "innodb_redo_log_capacity": "1G"},
        {},
    )
    accepted = MYSQL.accept(asked, server_account(), settings)
    assert accepted.skipped == ("innodb_redo_log_capacity",)
    assert accepted.values.keys() == {"log_bin", "max_connections", "innodb_buffer_pool_size"}
    assert (asked.root / "seen").read_text() == option_file(asked, accepted.values)


def test_settings_of_a_plugin_are_known_when_it_is_loaded(asked: Build) -> None:
    settings = {"plugin_load_add": "ha_rocksdb.so", "rocksdb_block_cache_size": "64M"}
    accepted = MYSQL.accept(asked, server_account(), Settings("mine", settings, {}, {}))
    assert accepted.values == settings
    del settings["plugin_load_add"]
    with pytest.raises(UsageError, match="'rocksdb_block_cache_size'"):
        MYSQL.accept(asked, server_account(), Settings("mine", settings, {}, {}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_conections", "9"),
        ("xyz", "9"),
        ("loose_max_connections", "9"),
        ("max_connections", "-4"),
        ("innodb_buffer_pool_size", "much"),
        ("innodb_doublewrite", "perhaps"),
        ("datadir", "/x"),
        ("ssl", "on"),
        ("thread_cache_size", "9"),
        ("log_error", "/x"),
    ],
)
def test_settings_that_are_refused(
    asked: Build, name: str, value: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        MYSQL.accept(asked, server_account(), Settings("mine", {name: value}, {}, {}))
    assert str(error.value) == snapshot
    assert "Aborting" not in str(error.value)
    assert "table_cache" not in str(error.value)


def test_nothing_to_choose_at_the_making_of_a_data_directory(asked: Build) -> None:
    with pytest.raises(UsageError, match="create"):
        MYSQL.accept(asked, server_account(), Settings("mine", {}, {}, {"checksums": True}))


def test_default_engine_and_those_that_a_build_lacks(tmp_path: Path) -> None:
    build = build_of("mariadb", "11.4.5", tmp_path / "without")
    assert MARIADB.choose_engine(build, None) == "innodb"
    assert MARIADB.choose_engine(build, "memory") == "memory"
    with pytest.raises(UsageError, match=r"11\.4\.5 .*ha_rocksdb\.so.* Debian"):
        MARIADB.choose_engine(build, "rocksdb")
    with pytest.raises(UsageError, match="no engine 'tokudb': choose innodb, rocksdb, memory"):
        MARIADB.choose_engine(build, "tokudb")
    (tmp_path / "with/lib/plugin").mkdir(parents=True)
    (tmp_path / "with/lib/plugin/ha_rocksdb.so").touch()
    build = build_of("mariadb", "11.4.5", tmp_path / "with")
    assert MARIADB.choose_engine(build, "rocksdb") == "rocksdb"


@pytest.mark.parametrize(
    ("dbms", "version", "auth"),
    [
        ("mysql", "9.7.4", Auth.NATIVE),
        ("mysql", "8.4.1", Auth.NATIVE),
        ("mysql", "5.7.44", Auth.CACHING_SHA2),
        ("mariadb", "11.8.9", Auth.CACHING_SHA2),
        ("mysql", "8.0.36", Auth.SCRAM),
    ],
)
def test_authentication_that_a_version_does_not_know(dbms: str, version: str, auth: Auth) -> None:
    with pytest.raises(UsageError, match=f"{version} .*{auth.value}"):
        family(dbms).check_access(build_of(dbms, version), Access.make(auth=auth))


@pytest.mark.parametrize(
    ("dbms", "version", "auth", "first"),
    [
        ("mysql", "5.6.24", Auth.NATIVE,
         "GRANT ALL ON *.* TO 'slowdust'@'localhost' IDENTIFIED BY 'pw' WITH GRANT OPTION"),
        ("mysql", "5.7.5", Auth.NATIVE,
         "GRANT ALL ON *.* TO 'slowdust'@'localhost' IDENTIFIED BY 'pw' WITH GRANT OPTION"),
        ("mysql", "5.7.44", Auth.NATIVE,
         "CREATE USER IF NOT EXISTS 'slowdust'@'localhost' IDENTIFIED BY 'pw'"),
        ("mysql", "8.0.36", Auth.NATIVE,
         "CREATE USER IF NOT EXISTS 'slowdust'@'localhost' "
         "IDENTIFIED WITH mysql_native_password BY 'pw'"),
        ("mysql", "9.7.4", Auth.CACHING_SHA2,
         "CREATE USER IF NOT EXISTS 'slowdust'@'localhost' "
         "IDENTIFIED WITH caching_sha2_password BY 'pw'"),
        ("mariadb", "10.1.8", Auth.NATIVE,
         "CREATE USER IF NOT EXISTS 'slowdust'@'localhost' IDENTIFIED BY 'pw'"),
    ],
)  # fmt: skip
def test_user_is_made_in_the_words_of_the_version(
    tmp_path: Path, dbms: str, version: str, auth: Auth, first: str
) -> None:
    site = site_of(tmp_path, build_of(dbms, version), Access(Listen.LOOPBACK, auth, Secret("pw")))
    MARIADB.check_access(
        build_of("mariadb", "10.1.8"), Access(Listen.LOOPBACK, Auth.NATIVE, Secret("pw"))
    )
    kind = family(dbms)
    assert isinstance(kind, MysqldFamily)
    assert kind.start_statements(site)[0] == first


def test_sql_files_by_either_name(tmp_path: Path) -> None:
    share = tmp_path / "usr/share/mysql"
    (share / "english").mkdir(parents=True)
    (share / "english/errmsg.sys").touch()
    build = build_of("mariadb", "11.4.5", tmp_path)
    assert sql_file(build, "system_tables") is None
    for name in ("mysql_system_tables.sql", "mariadb_system_tables.sql"):
        (share / name).touch()
        file = sql_file(build, "system_tables")
        assert file is not None
        assert file.name == name


@pytest.mark.parametrize(
    ("greeting", "ready"),
    [
        (b"\x4a\x00\x00\x00\x0a5.6.24", True),
        (b"\x17\x00\x00\x00\xff\x10\x04Too many connections", False),
        (b"", False),
    ],
)
def test_server_is_ready_when_it_greets(tmp_path: Path, greeting: bytes, *, ready: bool) -> None:
    site = site_of(tmp_path, build_of("mysql", "5.6.24"))
    assert not MYSQL.is_ready(site, 1)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "mysql.sock"))
        assert not MYSQL.is_ready(site, 1), "nobody listens"
        server.listen()

        def greet() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(greeting)

        greeter = threading.Thread(target=greet)
        greeter.start()
        assert MYSQL.is_ready(site, 1) is ready
        greeter.join()


def test_error_line_is_the_first_error() -> None:
    log = [
        "2026-01-01 [Note] InnoDB: Starting",
        "2026-01-01T00:00:00Z 0 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1",
        "2026-01-01 [ERROR] Plugin 'InnoDB' init function returned error.",
        "2026-01-01 [ERROR] Aborting",
    ]
    assert MYSQL.error_line(log) == "Unable to lock ./ibdata1"
    assert MYSQL.error_line(log[2:]) == "Plugin 'InnoDB' init function returned error."
    assert MYSQL.error_line(log[:1]) is None


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("HY001", "out of memory"),
        ("HY000/3", "error writing a file"),
        ("HY000/3024", None),
        ("HY000/1114", "a table, or the disk, is full"),
        ("HY000/1205", None),
        ("40001", None),
    ],
)
def test_fatal_error_is_a_whole_state(state: str, what: str | None) -> None:
    assert MYSQL.fatal_error(state) == what


@pytest.mark.parametrize("listen", list(Listen))
def test_options_that_slowdust_sets_cannot_be_set(asked: Build, listen: Listen) -> None:
    site = site_of(asked.root, asked, Access(listen, Auth.NATIVE, Secret("pw")))
    options = [
        part.removeprefix("--").removeprefix("loose-").partition("=")[0].replace("-", "_")
        for part in MYSQL.server_command(site)[2:]
    ]
    assert "thread_cache_size" in options
    assert len(set(options)) == len(options)
    assert set(options) <= RESERVED_SETTINGS


def test_root_writes_no_file_where_the_account_may_put_a_link(tmp_path: Path) -> None:
    site = site_of(tmp_path, build_of("mysql", "9.7.4"))
    site = replace(site, data_dir=tmp_path / "data")
    assert not user_file(site).is_relative_to(site.data_dir)
