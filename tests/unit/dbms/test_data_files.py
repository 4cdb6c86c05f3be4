"""The files with pages of tables, and the flush before written bytes are counted."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from slowdust.accounts import Account
from slowdust.dbms import family
from slowdust.dbms.access import Access
from slowdust.dbms.family import Family, Site
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.stages import Statements, WaitUntil, WithSettings
from tests.unit.dbms.mysqld_sites import MARIADB, MYSQL, build_of, site_of

FILES = {
    "postgres": ("base/5/16384", "base/5/16384_vm", "pg_wal/000000010000000000000001"),
    "mysql": ("data/slowdust/sbtest1.ibd", "data/#innodb_redo/#ib_redo1", "data/ibdata1"),
    "mariadb": ("data/#rocksdb/1.sst", "data/#rocksdb/1.log", "data/slowdust/sbtest1.ibd"),
    "sqlite": ("slowdust.db", "slowdust.db-wal", "ready"),
    "ferretdb": ("postgres/base/5/1", "slowdust.sqlite", "state.json"),
    "mongodb": ("collection-7.wt", "index-8.wt", "journal/WiredTigerLog.1"),
}
"""DBMS -> files of its directory."""


def site(folder: Path, dbms: str, engine: str | None) -> Site:
    for name in FILES[dbms]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return Site(
        build=build_of(dbms, "9.7.4"),
        account=Account("me", os.getuid(), os.getgid()),
        data_dir=folder,
        config_file=folder / "server.conf",
        socket_dir=folder,
        port=5432,
        access=Access(),
        settings=AcceptedSettings({}, (), {}),
        engine=engine,
    )


@pytest.mark.parametrize(
    ("dbms", "engine", "files"),
    [
        ("postgres", None, FILES["postgres"][:2]),
        ("mysql", "innodb", FILES["mysql"][:1]),
        ("mysql", "memory", ()),
        ("mariadb", "rocksdb", FILES["mariadb"][:1]),
        ("sqlite", None, FILES["sqlite"][:2]),
        ("ferretdb", "sqlite", FILES["ferretdb"][1:2]),
        ("ferretdb", "postgres", FILES["ferretdb"][:1]),
        ("mongodb", "wiredtiger", FILES["mongodb"][:2]),
    ],
)
def test_logs_are_no_data_files(
    tmp_path: Path, dbms: str, engine: str | None, files: tuple[str, ...]
) -> None:
    found = family(dbms).data_files(site(tmp_path, dbms, engine))
    assert sorted(found) == sorted(tmp_path / name for name in files)


@pytest.mark.parametrize(
    ("kind", "dbms", "version", "statement"),
    [
        (family("postgres"), "postgres", "17.6", "SELECT current_setting('block_size')"),
        (MYSQL, "mysql", "9.7.4", "SELECT @@GLOBAL.innodb_page_size"),
        (MYSQL, "mysql", "5.5.9", "SELECT 16384"),
        (family("sqlite"), "sqlite", "3.50.2", "SELECT page_size FROM pragma_page_size"),
        (family("ferretdb"), "ferretdb", "1.24.0", None),
        (family("mongodb"), "mongodb", "7.0.14", None),
    ],
)
def test_pages_have_the_size_that_the_server_reports(
    tmp_path: Path, kind: Family, dbms: str, version: str, statement: str | None
) -> None:
    query = kind.page_size(site_of(tmp_path, build_of(dbms, version)))
    assert (None if query is None else query.statements[0]) == statement


def test_blocks_of_myrocks_are_compressed_and_of_no_one_size(tmp_path: Path) -> None:
    of_rocksdb = site_of(tmp_path, build_of("mariadb", "10.11.18"), engine="rocksdb")
    assert MARIADB.page_size(of_rocksdb) is None


def test_all_is_written_out_before_it_is_counted(tmp_path: Path) -> None:
    postgres = dataclasses.replace(site_of(tmp_path, build_of("postgres", "17.6")), engine=None)
    assert family("postgres").write_out(postgres) == [Statements(("CHECKPOINT",))]
    purge, pages, checkpoint = MYSQL.write_out(site_of(tmp_path, build_of("mysql", "9.7.4")))
    assert isinstance(purge, WaitUntil)
    assert isinstance(pages, WithSettings)
    assert isinstance(checkpoint, WaitUntil)
    (stage,) = family("sqlite").write_out(postgres)
    assert isinstance(stage, Statements)
    assert "wal_checkpoint" in stage.texts[0]
