"""`slowdust explain` on stored experiments: selection, output and errors."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest
from click.shell_completion import ShellComplete
from syrupy.assertion import SnapshotAssertion

from slowdust.cli.main import cli
from slowdust.report import json as data
from tests.unit.cli.command import Outcome, Slowdust, spoken

SCHEMA = Path(__file__).parents[3] / "docs" / "explain.schema.json"


def test_the_contender_that_changed_most_is_shown_and_others_are_named(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("explain", "micro", "point-query")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == snapshot
    assert lines[1] == snapshot
    assert lines == snapshot
    assert max(map(len, lines)) <= 100


def test_all_contenders_are_shown_one_after_the_other(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("explain", "micro", "scan", "--contender", "*", "--clients", "1")
    heads = [line for line in outcome.out.splitlines() if line.startswith("scan, 1 client: ")]
    assert [head.split()[3] for head in heads] == ["postgres@17.6", "mariadb@11.4.5"]


def test_an_unsure_test_has_what_can_be_excluded(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("explain", "micro", "point-query", "--contender", "17.6", "--clients", "2")
    assert outcome.out == snapshot


def test_another_base_turns_the_change_round(slowdust: Slowdust, results: Path) -> None:
    chosen = ("explain", "micro", "scan", "--clients", "2", "--json")
    there = json.loads(slowdust(*chosen, "--contender", "17.6").out)["explained"][0]
    back = json.loads(slowdust(*chosen, "--contender", "15.8", "--base", "17.6").out)
    assert back["explained"][0]["base"] == "postgres@17.6"
    product = there["result"]["rqps"] * back["explained"][0]["result"]["rqps"]
    assert product == pytest.approx(1, abs=0.02)


def test_json_is_what_its_schema_says(slowdust: Slowdust, results: Path) -> None:
    remedy = (
        """python -c 'from slowdust.report import json as j; print(j.explain_schema(), end="")'"""
    )
    assert SCHEMA.read_text() == data.explain_schema(), f"{remedy} > docs/explain.schema.json"
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for name, test in (("micro", "insert"), ("insert", "l.i0"), ("slap", "range-pk.10")):
        printed = json.loads(slowdust("explain", name, test, "--contender", "*", "--json").out)
        validator.validate(printed)
        assert {each["result"]["test"] for each in printed["explained"]} == {test}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("mocro", "scan"), "'mocro'"),
        (("micro", "point-quer"), "'point-quer'"),
        (("micro", "nothing"), "update-index"),
        (("micro", "scan", "--contender", "15.8"), "postgres@15.8"),
        (("micro", "scan", "--contender", "9.6"), "9.6"),
        (("micro", "scan", "--base", "9.6"), "9.6"),
        (("micro", "scan", "--clients", "3"), "--clients"),
    ],
    ids=spoken,
)
def test_wrong_use_is_reported_in_one_line(
    slowdust: Slowdust,
    results: Path,
    arguments: tuple[str, ...],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    outcome = slowdust("explain", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.complaint
    assert outcome.complaint == snapshot


def test_tests_of_the_experiment_on_the_line_are_completed(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results.parent)
    shell = ShellComplete(cli, {}, "slowdust", "_SLOWDUST_COMPLETE")

    def completed(*words: str) -> list[str]:
        return [item.value for item in shell.get_completions([*words[:-1]], words[-1])]

    assert completed("explain", "mi") == ["micro"]
    assert completed("explain", "micro", "point") == ["point-query"]
    assert completed("explain", "nothing", "point") == []


def commands(outcome: Outcome) -> list[str]:
    """The commands that would tell more, as they are printed."""
    return [line.strip() for line in outcome.out.splitlines() if line.startswith("    slowdust ")]


def test_printed_commands_run_as_they_are(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    asked = ("point-query", "--contender", "17.6", "--clients", "2")
    moved = results.parent / "with space"
    results.rename(moved)
    for named, typed in (
        (("micro", "--results", "with space"), "'with space/micro'"),
        (("with space/micro/manifest.json",), "'with space/micro'"),
        (("./with space/micro",), "'with space/micro'"),
    ):
        [more, *_] = commands(slowdust("explain", *named, *asked))
        assert more == snapshot
        refused = slowdust("more", *shlex.split(typed), "--tests", "nothing")
        assert refused.complaint == snapshot


def test_a_results_folder_of_the_environment_is_not_repeated(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    results.rename(results.parent / "there")
    monkeypatch.setenv("SLOWDUST_RESULTS", "there")
    asked = ("micro", "point-query", "--contender", "17.6", "--clients", "2")
    [more, *_] = commands(slowdust("explain", *asked))
    assert more == snapshot
