"""`slowdust import`: its kinds and options; tests/unit/archive tests the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.archive.insert_files import write_runs
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive
from tests.unit.cli.command import Slowdust, spoken


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Results of both benchmarks, each in two runs."""
    write_archive(tmp_path / "mar25.small", {RUN_A: [Written()], RUN_B: [Written(rate=1200.25)]})
    write_runs(tmp_path / "mar25.small", {"8m.my5649.c1": {}, "8m.my8044.c1": {}})
    return tmp_path / "mar25.small"


@pytest.mark.parametrize("kind", ["sysbench", "iibench"])
def test_an_import_is_an_experiment_like_any_other(
    slowdust: Slowdust, archive: Path, kind: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("import", kind, archive)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("mar25.small: 2 contenders, ")
    [line] = slowdust("list").out.splitlines()
    assert line.split(maxsplit=2)[0] == "mar25.small"
    assert f"imported ({kind})" in line
    shown = slowdust("show", "mar25.small").out.splitlines()
    assert shown[0].startswith("mar25.small: imported, ")
    assert shown == snapshot
    assert len(json.loads(slowdust("report", "--json").out)["contenders"]) == 2


def test_name_and_results_and_published_numbers_are_options(
    slowdust: Slowdust, archive: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust(
        "import", "sysbench", archive, "--name", "mine", "--compat", "--results", "elsewhere"
    )
    assert outcome.code == 0
    assert outcome.out.startswith("mine: ")
    shown = slowdust("show", "mine", "--results", "elsewhere").out
    assert shown == snapshot
    assert slowdust("list").out == ""


def test_a_directory_with_nothing_to_import_is_a_failure(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "empty").mkdir()
    for kind in ("sysbench", "iibench"):
        outcome = slowdust("import", kind, "empty")
        assert outcome.code == 1
        assert outcome.out.splitlines()[-1] == snapshot
    assert slowdust("list").out == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["sysbench"], "'DIR...'"),
        (["iibench"], "'DIR...'"),
        (["sysbench", "nowhere"], "'nowhere'"),
        (["oracle", "."], "'oracle'"),
        (["sysbench", ".", "--clients", "0"], "x>=1"),
        (["sysbench", ".", "--scan", "some"], "'some'"),
        (["iibench", ".", "--scan", "one-thread"], "--scan"),
    ],
    ids=spoken,
)
def test_wrong_use(
    slowdust: Slowdust, arguments: list[str], named: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("import", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.err
    assert outcome.err == snapshot
    assert not Path("results").exists()


def test_a_measured_experiment_is_not_replaced_by_an_import(
    slowdust: Slowdust, archive: Path, results: Path
) -> None:
    before = (results / "micro/manifest.json").read_bytes()
    outcome = slowdust("import", "sysbench", archive, "--name", "micro")
    assert (outcome.code, outcome.out) == (2, "")
    assert "micro" in outcome.complaint
    assert (results / "micro/manifest.json").read_bytes() == before
