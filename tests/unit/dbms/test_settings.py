"""Configurations: their content and their sizes."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds.catalog import known_dbms
from slowdust.dbms import family
from slowdust.dbms.settings import (
    Share,
    load_config,
    shipped_configs,
)
from slowdust.errors import UsageError

GB = 1 << 30


def test_share_follows_memory_within_its_limits() -> None:
    share = Share(share=0.25, min="128MB", max="8GB")
    assert share.bytes_of(16 * GB) == 4 * GB
    assert share.bytes_of(64 * GB) == 8 * GB
    assert share.bytes_of(100 << 20) == 128 << 20
    assert Share(share=0.5).bytes_of(3 * GB) == 3 * GB // 2


def test_share_is_a_multiple_of_the_largest_granule_that_fits() -> None:
    share = Share(share=0.5, min="128MB", multiple_of=("128MB", "1GB"))

    assert share.bytes_of(2 * (3013 << 20)) == 2 * GB
    assert share.bytes_of(2 * (700 << 20)) == 640 << 20
    assert share.bytes_of(0) == 128 << 20


def test_memory_is_shared_by_the_contenders_that_are_up_side_by_side() -> None:
    postgres = family("postgres")
    alone = postgres.settings("default", {}, 1, memory_bytes=16 * GB)
    beside = postgres.settings("default", {}, 4, memory_bytes=16 * GB)
    assert alone.required["shared_buffers"] == "4096MB"
    assert beside.required["shared_buffers"] == "1024MB"
    assert {k for k in alone.required if alone.required[k] != beside.required[k]} == {
        "shared_buffers",
        "effective_cache_size",
    }


@pytest.mark.parametrize(
    ("config", "clients", "connections"),
    [
        ("max_connections = 300", 81, "300"),
        ("max_connections = 300", 280, "300"),
        ("max_connections = 300", 281, "301"),
        ("max_connections = 50", 60, "80"),
        ("", 80, None),
        ("", 81, "101"),
    ],
)
def test_room_for_the_clients_is_never_less_than_the_config_gives(
    tmp_path: Path, config: str, clients: int, connections: str | None
) -> None:
    file = tmp_path / "mine.toml"
    for part in ("settings", "optional"):
        file.write_text(f"[{part}]\n{config}\n")
        settings = family("mysql").settings(str(file), {}, 1, clients=clients)
        values = {**settings.optional, **settings.required}
        assert values.get("max_connections") == connections


def test_room_for_the_clients_is_as_the_user_says() -> None:
    settings = family("mysql").settings("default", {"max-connections": "9"}, 1, clients=1000)
    assert settings.required["max_connections"] == "9"


def test_override_replaces_and_is_required() -> None:
    settings = family("postgres").settings("default", {"JIT": "on", "work_mem": "1MB"}, 1)
    assert settings.required["jit"] == "on"
    assert settings.required["work_mem"] == "1MB"
    assert "jit" not in settings.optional


@pytest.mark.parametrize(
    ("dbms", "config", "engine"),
    [
        (dbms, config, engine)
        for dbms in known_dbms()
        for config in shipped_configs(dbms)
        for engine in family(dbms).engines or (None,)
    ],
)
def test_shipped_configurations_are_sound(dbms: str, config: str, engine: str | None) -> None:
    settings = family(dbms).settings(config, {}, 2, engine=engine)
    assert settings.required
    assert not settings.required.keys() & settings.optional.keys()


def test_settings_of_an_engine_are_for_that_engine_alone() -> None:
    mysql = family("mysql")
    innodb, rocksdb, memory = (
        mysql.settings("default", {}, 1, engine=engine, memory_bytes=16 * GB).required
        for engine in ("innodb", "rocksdb", "memory")
    )
    assert innodb["innodb_buffer_pool_size"] == "4096M"
    assert rocksdb["rocksdb_block_cache_size"] == "4096M"
    assert rocksdb["innodb_buffer_pool_size"] == "64M"
    assert memory["max_heap_table_size"] == "4096M"
    assert not [name for name in {**innodb, **memory} if "rocksdb" in name]
    assert "max_heap_table_size" not in innodb


@pytest.mark.parametrize("config", ["default", "small", "durable"])
def test_mariadb_has_the_configurations_of_mysql(config: str) -> None:
    assert load_config("mariadb", config) == load_config("mysql", config)


def test_engine_of_the_users_own_configuration(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'based_on = "default"\n[optional]\nsync-binlog = 1\n'
        "[engines.innodb.optional]\ninnodb-doublewrite = false\n"
    )
    mysql = family("mysql")
    innodb, memory = (
        mysql.settings(str(file), {}, 1, engine=engine) for engine in ("innodb", "memory")
    )
    assert innodb.optional["innodb_doublewrite"] == "off"
    assert "innodb_doublewrite" not in innodb.required
    assert memory.required["innodb_doublewrite"] == "on"
    assert memory.optional["sync_binlog"] == "1"
    assert "sync_binlog" not in memory.required


def documented_configs() -> list[str]:
    """The indented blocks of the documentation that are configurations."""
    text = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    return [block for block in map(dedent, blocks) if "settings]" in block]


@pytest.mark.parametrize("text", documented_configs())
def test_documented_configurations_can_be_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    config = load_config("mysql", str(file))
    assert config.settings or config.engines


def test_the_documented_configuration_is_default_with_what_it_changes(tmp_path: Path) -> None:
    [text] = [text for text in documented_configs() if "based_on" in text]
    file = tmp_path / "mine.toml"
    file.write_text(text)
    mysql = family("mysql")
    default, mine = (
        mysql.settings(name, {}, 1, engine="innodb", memory_bytes=16 * GB)
        for name in ("default", str(file))
    )
    changed = {key for key, value in mine.required.items() if value != default.required.get(key)}
    assert changed == {"innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size"}
    assert mine.required["innodb_buffer_pool_size"] == "8192M"
    assert {**default.optional, "innodb_redo_log_capacity": "4096M"} == dict(mine.optional)


def test_durable_is_default_with_commits_that_wait() -> None:
    default, durable = (load_config("postgres", name) for name in ("default", "durable"))
    assert default.settings["synchronous_commit"] == "off"
    assert durable.settings["synchronous_commit"] == "on"
    assert durable.settings["shared_buffers"] == default.settings["shared_buffers"]
    assert durable.optional == default.optional


def test_configuration_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('based_on = "small"\n[settings]\njit = true\nwork_mem = "1MB"\nseed = 3\n')
    settings = family("postgres").settings(str(file), {}, 1)
    assert settings.config == str(file)
    assert settings.required["shared_buffers"] == "64MB"
    assert (settings.required["jit"], settings.required["seed"]) == ("on", "3")
    assert "jit" not in settings.optional


@pytest.mark.parametrize(
    "text",
    [
        "[settings]\na = ",
        "[setings]\na = 1",
        "[settings]\na = { share = 0.5, most = '1GB' }",
        "[settings]\na = { share = 0.5, max = 'much' }",
        "[settings]\na = [1]",
        "based_on = 'nothing'",
        "based_on = 'mysql/nothing'",
        "[settings]\nJit = 1\njit = 2",
        "[engines.innodb]\na = 1",
    ],
)
def test_wrong_configuration_is_reported_in_one_line(
    tmp_path: Path, text: str, snapshot: SnapshotAssertion
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        family("postgres").settings(str(file), {}, 1)
    assert str(error.value) == snapshot
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        *(f"share = {share}" for share in ("nan", "inf", "-inf", "1e300", "-1", "0", "1.01")),
        'share = 0.5, multiple_of = ["0MB"]',
        'share = 0.5, multiple_of = ["128MB", "0"]',
    ],
)
def test_a_share_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[settings]\nshared_buffers = {{ {text} }}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"share|sizes above 0"):
        family("postgres").settings(str(path), {}, 1)


def test_configuration_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"'tiny': .*default, durable"):
        load_config("postgres", "tiny")
    with pytest.raises(UsageError, match=r"cannot read .*nothing\.toml: No such file"):
        load_config("postgres", "nothing.toml")
