"""`slowdust history` and `slowdust report --bands` in a folder of results."""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.history.history import history_of
from slowdust.cli.main import main
from slowdust.report.formats import HISTORIES, render_as
from slowdust.report.history import document
from slowdust.report.markdown.document import plain
from tests.unit.synthetic_history import as_build, choice, experiments, keep, measured, single_runs

EARLY = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, seed=1)
LATE = measured("late", {"5.7.44": 1.0, "8.0.28": 0.5, "9.5.0": 0.5}, seed=2)


@pytest.fixture
def slowdust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slowdust", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        assert isinstance(exit_info.value.code, int)
        printed = capsys.readouterr()
        return exit_info.value.code, printed.out, printed.err

    return call


def test_the_command_reads_the_results_folder(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    for pair in (EARLY, LATE):
        keep(tmp_path / "results", *pair)

    code, text, _ = slowdust("history")
    assert code == 0
    assert text == plain(document(history_of(experiments(EARLY, LATE), choice())))

    code, text, _ = slowdust("history", "late", "--json", "--test", "sc*", "--base", "9.5.0")
    (line,) = json.loads(text)["lines"]
    assert (code, line["base"], line["experiments"]) == (0, "9.5.0", ["late"])
    assert [test["name"] for test in line["tests"]] == ["scan"]

    code, text, _ = slowdust("history", "--html", "out.html")
    assert (code, text) == (0, "history: out.html\n")
    assert (tmp_path / "out.html").read_text() == render_as(
        "html", HISTORIES, history_of(experiments(EARLY, LATE), choice())
    )


def test_a_rebuilt_directory_is_in_the_order_in_which_it_was_measured(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    for name, sha256, started in (
        ("mon", "bbbb0", "2026-01-05T08:00:00Z"),
        ("tue", "aaaa0", "2026-01-06T08:00:00Z"),
    ):
        pair = as_build(measured(name, {"17.6": 1.0, "18": 0.5}), "18", "mybuild", sha256)
        pair[0].started = started
        keep(tmp_path / "results", *pair)

    for names in ([], ["tue", "mon"]):
        _, text, _ = slowdust("history", *names)
        assert "| 17.6 | 18 mybuild bbbb | 18 mybuild aaaa |" in text


def test_the_command_takes_configs_for_one(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    manifest, slices = EARLY
    manifest = copy.deepcopy(manifest)
    manifest.contenders[1].config = "small"
    keep(tmp_path / "results", manifest, slices)

    code, _, errors = slowdust("history")
    assert code == 2
    assert errors == snapshot

    code, text, _ = slowdust("history", "--config", "default,small")
    assert code == 0
    assert "# mysql:default,small\n" in text
    assert [line for line in text.splitlines() if "small (5.7.44)" in line] == snapshot


def test_a_base_that_no_history_has_is_refused(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    keep(tmp_path / "results", *EARLY)

    code, _, errors = slowdust("history", "--base", "99")

    assert code == 2
    assert errors == snapshot


def test_tests_that_no_experiment_has_are_refused(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    keep(tmp_path / "results", *EARLY)

    code, _, errors = slowdust("history", "--test", "nope*")

    assert code == 2
    assert errors == snapshot


def test_the_report_has_the_bands_that_were_asked_for(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    keep(tmp_path / "results", *EARLY)

    _, plain, _ = slowdust("report", "early")
    _, narrow, _ = slowdust("report", "early", "--bands", "5,15")
    _, wide, _ = slowdust("report", "early", "--bands", "5,30")

    assert "regressions" not in plain
    told = [
        [line for line in banded.splitlines() if line not in plain.splitlines()]
        for banded in (narrow, wide)
    ]
    assert told[0] != told[1]
    assert ["\n".join(lines) for lines in told] == snapshot


def test_one_experiment_without_a_history_is_not_in_the_plural(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    keep(tmp_path / "results", *single_runs("alone", {"5.6": 1.0}))

    code, _, errors = slowdust("history")

    assert code == 2
    assert errors == snapshot


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["history"], "no history"),
        (["history", "missing"], "missing"),
        (["history", "--bands", "5"], "CHANGE,BIG"),
        (["report", "--bands", "15,5"], "CHANGE <= BIG"),
    ],
)
def test_wrong_use_gives_one_clear_line(
    slowdust: Callable[..., tuple[int, str, str]], arguments: list[str], complaint: str
) -> None:
    code, _, errors = slowdust(*arguments)

    assert code == 2
    assert complaint in errors


def test_a_damaged_experiment_is_skipped_and_named(
    slowdust: Callable[..., tuple[int, str, str]], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    keep(tmp_path / "results", *EARLY)
    keep(tmp_path / "results", *LATE)
    (tmp_path / "results" / "late" / "manifest.json").write_text("{")

    code, text, errors = slowdust("history")

    assert (code, "2 versions in 1 experiment" in text) == (0, True)
    assert errors == snapshot
