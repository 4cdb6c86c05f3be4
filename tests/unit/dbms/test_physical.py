"""Servers' answers about their files and their work, as numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slowdust.analysis.preparation import FACTS, WORK
from slowdust.dbms import family
from slowdust.dbms.family import Site
from slowdust.dbms.mysqld.engines import ENGINES
from tests.queries import read
from tests.unit.dbms.mysqld_sites import build_of, site_of

POSTGRES = family("postgres")

STATUS = """\
Purge done for trx's n:o < 9 undo n:o < 0 state: running but idle
History list length 12
Ibuf: size 3, free list len 0, seg size 2, 0 merges
Log sequence number          44681134
Log flushed up to            44681134
Last checkpoint at           44680808
"""
COMPACTION = """
** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)
----------------------------------------
  L0      0/0    0.00 KB   0.0      0.0
  L1      1/0   19.00 MB   0.1      0.0
  L6      3/0   512.00 KB   0.0      0.0
 Sum      4/0   19.50 MB   0.0      0.0
"""


def of_postgres(folder: Path) -> Site:
    return replace(site_of(folder, build_of("postgres", "17.6")), engine=None)


def test_facts_of_postgres(tmp_path: Path) -> None:
    relations = [
        ["sbtest1", None, "2736", "33", "100000", "5", None],
        ["k_1", "sbtest1", "242", "0", "100000", None, "2"],
        ["h_1", "sbtest1", "9", "0", "100000", None, None],
    ]
    assert read(POSTGRES.facts(of_postgres(tmp_path)), relations, [["208"]]) == {
        "sbtest1": {
            "pages": 2736, "pages_not_all_visible": 33, "rows": 100000, "dead_rows": 5,
        },
        "sbtest1.k_1": {"pages": 242, "height": 2},
        "sbtest1.h_1": {"pages": 9},
        "server": {"checkpoint_age_bytes": 208},
    }  # fmt: skip


def test_work_of_postgres_without_any_table(tmp_path: Path) -> None:
    query = POSTGRES.counters(of_postgres(tmp_path))
    assert read(query, [["7", "8", "9", "10.0"]]) == {
        "heap_blocks": 7, "index_blocks": 8, "rows_fetched": 9, "log_bytes": 10,
    }  # fmt: skip
    assert read(query, [[None, None, None, "10"]]) == {"log_bytes": 10}


def test_facts_of_innodb(tmp_path: Path) -> None:
    query = ENGINES["innodb"].facts(site_of(tmp_path, build_of("mysql", "9.7.4")))
    indexes = [
        ["sbtest1", "PRIMARY", "size", "1379"],
        ["sbtest1", "PRIMARY", "n_leaf_pages", "1371"],
    ]
    dirty = [["Innodb_buffer_pool_pages_dirty", "4"]]
    answers = [dirty, [["InnoDB", "", STATUS]], indexes]
    assert read(query, *answers) == {
        "server": {
            "dirty_pages": 4, "undo_logs": 12, "change_buffer_pages": 3,
            "checkpoint_age_bytes": 326,
        },
        "sbtest1.PRIMARY": {"allocated_pages": 1379, "leaf_pages": 1371},
    }  # fmt: skip
    without_change_buffer = [["InnoDB", "", "History list length 0"]]
    assert read(query, dirty, without_change_buffer) == {
        "server": {"dirty_pages": 4, "undo_logs": 0}
    }


def test_old_versions_have_no_sizes_of_indexes(tmp_path: Path) -> None:
    asked = []
    for version in ("5.5.9", "5.6.24"):
        (tmp_path / version).mkdir()
        site = site_of(tmp_path / version, build_of("mysql", version))
        query = ENGINES["innodb"].facts(site)
        assert query is not None
        asked.append(query.statements)
    assert not any("innodb_index_stats" in statement for statement in asked[0])
    assert any("innodb_index_stats" in statement for statement in asked[1])


def test_facts_of_rocksdb(tmp_path: Path) -> None:
    query = ENGINES["rocksdb"].facts(site_of(tmp_path, build_of("mariadb", "10.11.18")))
    answers = [
        [["sbtest1", "k_1", "108921", "8921"]],
        [["COMPACTION_PENDING", "0"], ["CUR_SIZE_ALL_MEM_TABLES", "2048"]],
        [
            ["DBSTATS", "rocksdb", "  L1      9/0   9.00 MB"],
            ["CF_COMPACTION", "__system__", "  L1      7/0   1.67 KB"],
            ["CF_COMPACTION", "default", COMPACTION],
        ],
    ]
    assert read(query, *answers) == {
        "sbtest1.k_1": {"entries": 108921, "tombstones": 8921},
        "server": {
            "compaction_pending": 0, "memtable_bytes": 2048,
            "levels": 2, "files": 4, "lsm_bytes": 19.5 * (1 << 20),
        },
    }  # fmt: skip


def test_work_of_mysql_is_added_up_by_kind(tmp_path: Path) -> None:
    query = family("mysql").counters(site_of(tmp_path, build_of("mysql", "9.7.4")))
    rows = [
        ["Handler_read_key", "5"],
        ["Handler_read_next", "7"],
        ["Handler_update", "2"],
        ["Handler_commit", "100"],
        ["Innodb_buffer_pool_read_requests", "50"],
        ["Innodb_os_log_written", "512"],
    ]
    assert read(query, rows) == {
        "row_reads": 12, "row_writes": 2, "page_reads": 50, "log_bytes": 512,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_every_quantity_is_in_the_table(tmp_path: Path, engine: str) -> None:
    answers: dict[str, list[list[list[str | None]]]] = {
        "innodb": [
            [["dirty", "1"]],
            [["", "", STATUS]],
            [["t", "i", name, "1"] for name in ("size", "n_leaf_pages")],
        ],
        "rocksdb": [
            [["t", "i", "1", "1"]],
            [["COMPACTION_PENDING", "0"], ["CUR_SIZE_ALL_MEM_TABLES", "0"]],
            [["CF_COMPACTION", "default", COMPACTION]],
        ],
        "memory": [],
    }  # fmt: skip
    query = ENGINES[engine].facts(site_of(tmp_path, build_of("mysql", "9.7.4")))
    facts = {} if query is None else query.read(answers[engine])
    assert {name for of_subject in facts.values() for name in of_subject} <= FACTS.keys()
    assert set(WORK) >= {"row_reads", "row_writes", "heap_blocks", "index_blocks", "rows_fetched"}
