"""Pending maintenance of MySQL and MariaDB after writes, and sizes of tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from slowdust.dbms.family import Sizes
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.stages import Statements, WaitUntil, WithSettings
from tests.queries import read
from tests.unit.dbms.mysqld_sites import MARIADB, MYSQL, build_of, site_of


def test_innodb_lowers_its_limits_for_a_while(tmp_path: Path) -> None:
    site = site_of(tmp_path, build_of("mysql", "9.7.4"))
    purge, analyze, flushing, checkpoint = MYSQL.after_writes(site, ["sbtest1", "sbtest2"])
    assert analyze == Statements(("ANALYZE TABLE sbtest1", "ANALYZE TABLE sbtest2"))
    assert isinstance(purge, WaitUntil)
    assert isinstance(flushing, WithSettings)
    assert isinstance(checkpoint, WaitUntil)
    behind = "Log sequence number {}\nLast checkpoint at  5000000\n"
    assert checkpoint.is_done([("InnoDB", "", behind.format(5_100_000))])
    assert not checkpoint.is_done([("InnoDB", "", behind.format(50_000_000))])
    assert list(flushing.values.items()) == [
        ("innodb_max_dirty_pages_pct_lwm", "0"),
        ("innodb_max_dirty_pages_pct", "0"),
        ("innodb_io_capacity_max", "40000"),
        ("innodb_io_capacity", "20000"),
    ]
    assert flushing.read("a") == "SELECT @@GLOBAL.a"
    assert flushing.write("a", "1") == "SET GLOBAL a = 1"
    known = {**site.settings.values, "innodb_idle_flush_pct": "0"}
    idle = dataclasses.replace(site, settings=AcceptedSettings(known, (), {}))
    of_idle = MYSQL.after_load(idle, ["a"])[-2]
    assert isinstance(of_idle, WithSettings)
    assert of_idle.values["innodb_idle_flush_pct"] == "100"
    (clean,) = flushing.stages
    assert isinstance(clean, WaitUntil)
    assert clean.is_done([("Innodb_buffer_pool_pages_dirty", "3")])
    assert not clean.is_done([("Innodb_buffer_pool_pages_dirty", "3000")])


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ("History list length 7\n", True),
        (
            "Purge done for trx's n:o < 9 undo n:o < 0 state: running\nHistory list length 700",
            False,
        ),
        ("state: running but idle\nHistory list length 70000", True),
        ("Purge done for trx's n:o < 9 undo n:o < 0\nHistory list length 700", False),
    ],
)
def test_purge_is_done_when_there_is_little_or_it_is_idle(
    tmp_path: Path, status: str, *, done: bool
) -> None:
    stages = MYSQL.after_writes(site_of(tmp_path, build_of("mysql", "5.6.24")), ["sbtest1"])
    purge = stages[0]
    assert isinstance(purge, WaitUntil)
    assert purge.is_done([("InnoDB", "", status)]) is done


def test_rocksdb_compacts(tmp_path: Path) -> None:
    site = site_of(tmp_path, build_of("mariadb", "10.11.18"), engine="rocksdb")
    before, flush, after, analyze = MARIADB.after_load(site, ["sbtest1"])
    assert flush == Statements(("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1",))
    assert before == after
    assert analyze == Statements(("ANALYZE TABLE sbtest1",)), "it reads only the sorted files"
    assert isinstance(after, WaitUntil)
    assert after.is_done([("0",)])
    assert not after.is_done([("1",)])


def test_numbers_are_brought_up_to_date_before_sizes_are_read(tmp_path: Path) -> None:
    analyze = Statements(("ANALYZE TABLE a", "ANALYZE TABLE b"))
    innodb = site_of(tmp_path, build_of("mysql", "9.7.4"))
    assert MYSQL.sizes(innodb, ["a", "b"]).before == (analyze,)
    (tmp_path / "r").mkdir()
    rocksdb = site_of(tmp_path / "r", build_of("mariadb", "10.11.18"), engine="rocksdb")
    flush, then = MARIADB.sizes(rocksdb, ["a", "b"]).before
    assert flush == Statements(("SET GLOBAL rocksdb_force_flush_memtable_now = 1",))
    assert then == analyze


def test_memory_owes_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    build = build_of("mysql", "9.7.4")
    site = site_of(tmp_path, build, engine="memory")
    assert len(MYSQL.after_writes(site, ["sbtest1"])) == 1
    assert not MYSQL.keeps_tables(site)
    assert MYSQL.keeps_tables(site_of(tmp_path, build))
    assert MYSQL.buffer_pool(site) is None


def test_sizes_match_the_files_that_hold_tables(tmp_path: Path) -> None:
    build = build_of("mysql", "9.7.4")
    for name, size in (("slowdust/a.ibd", 700), ("slowdust/a.frm", 9), ("#rocksdb/1.sst", 50)):
        file = tmp_path / "data" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
    rows = [("500", "100")]
    for engine, data in (("innodb", 700), ("rocksdb", 50), ("memory", 600)):
        site = site_of(tmp_path, build, engine=engine)
        assert read(MYSQL.sizes(site, []), rows) == Sizes(data, 500, 100)


@pytest.mark.parametrize(
    ("version", "settings", "data"),
    [
        ("9.7.4", {}, 700),
        ("9.7.4", {"innodb_file_per_table": "OFF"}, 1700),
        ("9.7.4", {"innodb_file_per_table": "0"}, 1700),
        ("5.5.9", {}, 1700),
        ("5.5.9", {"innodb_file_per_table": "on"}, 700),
    ],
)
def test_tables_may_be_in_the_system_tablespace(
    tmp_path: Path, version: str, settings: dict[str, str], data: int
) -> None:
    (tmp_path / "data/slowdust").mkdir(parents=True)
    (tmp_path / "data/slowdust/a.ibd").write_bytes(b"x" * 700)
    (tmp_path / "data/ibdata1").write_bytes(b"x" * 1000)
    site = site_of(tmp_path, build_of("mysql", version))
    site = dataclasses.replace(site, settings=AcceptedSettings(settings, (), {}))
    assert read(MYSQL.sizes(site, []), [("500", "100")]).data_bytes == data


def test_files_that_a_server_deletes_meanwhile_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "1.sst", tmp_path / "gone.sst"]
    files[0].write_bytes(b"x" * 50)
    monkeypatch.setattr("slowdust.dbms.mysqld.engines.files_below", lambda *_: files)
    site = site_of(tmp_path, build_of("mariadb", "10.11.18"), engine="rocksdb")
    assert read(MARIADB.sizes(site, []), [("500", "100")]).data_bytes == 50
