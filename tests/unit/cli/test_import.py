"""`slowdust import`: its kinds and options; tests/unit/archive has what becomes of the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.archive.insert_files import write_runs
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive
from tests.unit.cli.command import Slowdust


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Results of both benchmarks, each in two runs."""
    write_archive(tmp_path / "mar25.small", {RUN_A: [Written()], RUN_B: [Written(rate=1200.25)]})
    write_runs(tmp_path / "mar25.small", {"8m.my5649.c1": {}, "8m.my8044.c1": {}})
    return tmp_path / "mar25.small"


@pytest.mark.parametrize("kind", ["sysbench", "iibench"])
def test_an_import_is_an_experiment_like_any_other(
    slowdust: Slowdust, archive: Path, kind: str
) -> None:
    outcome = slowdust("import", kind, archive)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("mar25.small: 2 contenders, ")
    [line] = slowdust("list").out.splitlines()
    assert line.split(maxsplit=2)[0] == "mar25.small"
    assert f"imported ({kind})" in line
    shown = slowdust("show", "mar25.small").out.splitlines()
    assert shown[0].startswith("mar25.small: imported, ")
    assert f"imported: {kind} from mar25.small, clean" in shown
    assert len(json.loads(slowdust("report", "--json").out)["contenders"]) == 2


def test_name_and_results_and_published_numbers_are_options(
    slowdust: Slowdust, archive: Path
) -> None:
    outcome = slowdust(
        "import", "sysbench", archive, "--name", "mine", "--compat", "--results", "elsewhere"
    )
    assert outcome.code == 0
    assert outcome.out.startswith("mine: ")
    shown = slowdust("show", "mine", "--results", "elsewhere").out
    assert "imported: sysbench from mar25.small, compat" in shown
    assert slowdust("list").out == ""


def test_a_directory_with_nothing_to_import_is_a_failure(
    slowdust: Slowdust, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for kind in ("sysbench", "iibench"):
        outcome = slowdust("import", kind, "empty")
        assert outcome.code == 1
        assert outcome.out.splitlines()[-1].startswith("nothing was found")
    assert slowdust("list").out == ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["sysbench"], "Missing argument 'DIR...'"),
        (["iibench"], "Missing argument 'DIR...'"),
        (["sysbench", "nowhere"], "Directory 'nowhere' does not exist"),
        (["oracle", "."], "there is no command 'oracle'"),
        (["sysbench", ".", "--clients", "0"], "0 is not in the range x>=1"),
        (["sysbench", ".", "--scan", "some"], "'some' is not one of 'all-threads', 'one-thread'"),
        (["iibench", ".", "--scan", "one-thread"], "--scan"),
    ],
)
def test_wrong_use(slowdust: Slowdust, arguments: list[str], complaint: str) -> None:
    outcome = slowdust("import", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err
    assert not Path("results").exists()


def test_a_measured_experiment_is_not_replaced_by_an_import(
    slowdust: Slowdust, archive: Path, results: Path
) -> None:
    before = (results / "micro/manifest.json").read_bytes()
    outcome = slowdust("import", "sysbench", archive, "--name", "micro")
    assert (outcome.code, outcome.out) == (2, "")
    assert "micro" in outcome.complaint
    assert (results / "micro/manifest.json").read_bytes() == before
