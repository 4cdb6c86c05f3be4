"""`slowdust builds`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from slowdust.cli.builds import command
from slowdust.errors import UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows() -> dict[str, dict[str, Any]]:
    found = json.loads(invoke("list", "--json"))["builds"]
    return {f"{row['dbms']}@{row['version']}": row for row in found}


def test_get_list_remove(registry: Registry) -> None:
    assert rows()["postgres@17.6"] == {
        "dbms": "postgres",
        "version": "17.6",
        "state": "available",
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
    with pytest.raises(UsageError, match=r"write DBMS@VERSION, for example postgres@17\.6"):
        invoke("get", name)
