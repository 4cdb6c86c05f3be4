"""Settings in force match the given ones in any spelling."""

from __future__ import annotations

import pytest

from slowdust.dbms.mysqld.settings import settings_in_force
from slowdust.dbms.postgres_protocol import query_of_settings


@pytest.mark.parametrize(
    ("given", "setting", "unit", "kind", "same"),
    [
        ("128MB", "16384", "8kB", "integer", True),
        ("16384", "16384", "8kB", "integer", True),
        ("100001kB", "12500", "8kB", "integer", False),
        ("1h", "3600", "s", "integer", True),
        ("90min", "5400", "s", "integer", True),
        ("0.5GB", "65536", "8kB", "integer", True),
        ("0x10", "16", None, "integer", True),
        ("300", "300", None, "integer", True),
        ("300", "100", None, "integer", False),
        ("1.10", "1.1", None, "real", True),
        ("2ms", "2", "ms", "real", True),
        ("ON", "on", None, "bool", True),
        ("1", "on", None, "bool", True),
        ("tru", "on", None, "bool", True),
        ("of", "off", None, "bool", True),
        ("off", "on", None, "bool", False),
        ("false", "off", None, "enum", True),
        ("Replica", "replica", None, "enum", True),
        ("on", "remote_apply", None, "enum", False),
        ("a, b", "a, b", None, "string", True),
    ],
)
def test_values_of_postgres(
    given: str, setting: str, unit: str | None, kind: str, *, same: bool
) -> None:
    row = ["name", "as shown", setting, unit, kind]
    read = query_of_settings({"name": given, "not_reported": "1"}).read([[row]])
    assert {name: (value.text, value.as_given) for name, value in read.items()} == {
        "name": ("as shown", same)
    }


def test_only_the_given_settings_are_asked_for() -> None:
    (statement,) = query_of_settings({"jit": "on", "work_mem": "4MB"}).statements
    assert "IN ('jit', 'work_mem')" in statement
    assert "IN (NULL)" in query_of_settings({}).statements[0]


@pytest.mark.parametrize(
    ("name", "given", "in_force", "same"),
    [
        ("innodb_buffer_pool_size", "512M", "536870912", True),
        ("innodb_buffer_pool_size", "100M", "134217728", False),
        ("innodb_io_capacity", "3k", "3072", True),
        ("innodb_max_dirty_pages_pct", "90", "90.000000", True),
        ("performance_schema", "off", "OFF", True),
        ("innodb_file_per_table", "1", "ON", True),
        ("innodb_file_per_table", "true", "OFF", False),
        ("log_bin", "on", "ON", True),
        ("log_bin", "binlog", "ON", True),
        ("log_bin", "off", "OFF", True),
        ("log_bin", "off", "ON", False),
        ("binlog_format", "row", "ROW", True),
        ("binlog_format", "row", "STATEMENT", False),
        ("innodb_flush_method", "2", "O_DSYNC", True),
        ("sql_mode", "STRICT_ALL_TABLES", "ANSI_QUOTES,STRICT_ALL_TABLES", True),
        ("sql_mode", "ANSI_QUOTES", "STRICT_ALL_TABLES", False),
        ("innodb_doublewrite", "on", "ON", True),
        ("innodb_flush_method", "O_DIRECT", "O_DIRECT", True),
        ("innodb_flush_method", "O_DIRECT", "O_DIRECT_NO_FSYNC", False),
        ("character_set_server", "utf8", "utf8mb4", False),
        ("tmpdir", "/data/tmp", "/data/tmp/", True),
        ("tmpdir", "/data/tmp", "/data/tmp2", False),
        ("optimizer_switch", "mrr=off", "index_merge=on,mrr=off", True),
    ],
)
def test_values_of_mysql(name: str, given: str, in_force: str, *, same: bool) -> None:
    read = settings_in_force({name: given}).read([[[name, in_force], ["other", "1"]]])
    assert {key: (value.text, value.as_given) for key, value in read.items()} == {
        name: (in_force, same)
    }


def test_options_that_are_no_variables_are_absent_and_old_names_are_known() -> None:
    given = {"plugin_load_add": "ha_rocksdb.so", "transaction_isolation": "READ-COMMITTED"}
    read = settings_in_force(given).read([[["tx_isolation", "READ-COMMITTED"]]])
    assert list(read) == ["transaction_isolation"]
    assert read["transaction_isolation"].as_given
