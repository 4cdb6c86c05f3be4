"""Configurations: what they say, and how they are sized."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.builds.catalog import known_dbms
from slowdust.dbms import family
from slowdust.dbms.settings import (
    Share,
    load_config,
    parse_bytes,
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


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("64kB", 64 << 10), ("128MB", 128 << 20), ("8 GB", 8 * GB), ("1TB", 1 << 40)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MB", "1.5GB", "-1MB", "1 XB", "128MiB"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        parse_bytes(text)


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


def test_override_replaces_and_is_required() -> None:
    settings = family("postgres").settings("default", {"JIT": "on", "work_mem": "1MB"}, 1)
    assert settings.required["jit"] == "on"
    assert settings.required["work_mem"] == "1MB"
    assert "jit" not in settings.optional


@pytest.mark.parametrize(
    ("dbms", "config"),
    [(dbms, config) for dbms in known_dbms() for config in shipped_configs(dbms)],
)
def test_shipped_configurations_are_sound(dbms: str, config: str) -> None:
    settings = family(dbms).settings(config, {}, 2)
    assert settings.required
    assert not settings.required.keys() & settings.optional.keys()


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
    ("text", "message"),
    [
        ("[settings]\na = ", "mine.toml"),
        ("[setings]\na = 1", "setings"),
        ("[settings]\na = { share = 0.5, most = '1GB' }", "most"),
        ("[settings]\na = { share = 0.5, max = 'much' }", "'much' is no size"),
        ("[settings]\na = [1]", "settings"),
        ("based_on = 'nothing'", "based_on is one of default, durable, small"),
    ],
)
def test_wrong_configuration_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as error:
        family("postgres").settings(str(file), {}, 1)
    assert "\n" not in str(error.value)


def test_configuration_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no configuration 'tiny': use one of default, durable"):
        load_config("postgres", "tiny")
    with pytest.raises(UsageError, match=r"nothing\.toml cannot be read: No such file"):
        load_config("postgres", "nothing.toml")
