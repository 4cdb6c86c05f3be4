"""`slowdust workloads`: errors before anything is read or written."""

from __future__ import annotations

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust
from tests.unit.workloads.files import SMALL, TABLES

GOOD = "SELECT title FROM books WHERE id = 7"


def test_a_dbms_without_workloads_is_no_choice(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "library.toml").write_text(SMALL)
    refused = slowdust("workloads", "check", "library.toml", "--dbms", "oracle")
    assert (refused.code, refused.out) == (2, "")
    assert refused.complaint == snapshot


def test_a_file_that_is_there_is_not_replaced(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "the.log").write_text(f"LOG:  statement: {GOOD}\n")
    (tmp_path / "tables.toml").write_text(TABLES)
    command = ("workloads", "from", "the.log", "--tables", "tables.toml", "-o")
    refused = slowdust(*command, "tables.toml")
    assert refused.code == 2
    assert refused.complaint == snapshot
    assert (tmp_path / "tables.toml").read_text() == TABLES
    assert slowdust(*command, "my shop.toml").code == 0
    assert slowdust("workloads", "check", "my shop.toml").code == 0


def test_without_tables_there_is_no_workload(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "the.log").write_text(f"LOG:  statement: {GOOD}\n")
    refused = slowdust("workloads", "from", "the.log", "-o", "made.toml")
    assert (refused.code, (tmp_path / "made.toml").exists()) == (2, False)
    assert refused.complaint == snapshot
