"""`slowdust history` on stored experiments: selection and output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust, spoken


def lines_of(text: str) -> list[dict[str, Any]]:
    """Return the lines of the history that `--json` printed."""
    lines: list[dict[str, Any]] = json.loads(text)["lines"]
    return lines


def test_all_experiments_have_a_line_for_each_benchmark(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("history", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    lines = lines_of(outcome.out)
    assert {(line["benchmark"], *line["experiments"]) for line in lines} == {
        ("micro", "micro"),
        ("insert", "insert"),
        ("slap", "slap"),
    }
    assert {line["base"] for line in lines} == {"15.8"}


@pytest.mark.parametrize(
    "choice", [["slap"], ["--benchmark", "slap"], ["--test", "*-pk.10*", "slap"]]
)
def test_a_name_a_benchmark_or_a_test_narrows_it(
    slowdust: Slowdust, results: Path, choice: list[str]
) -> None:
    [line] = lines_of(slowdust("history", *choice, "--json").out)
    assert line["experiments"] == ["slap"]
    tests = {test["name"] for test in line["tests"]}
    assert ("range-pk.10" in tests, len(tests) > 2) == (True, "--test" not in choice)


def test_host_is_chosen_by_words_of_its_facts(slowdust: Slowdust, results: Path) -> None:
    every = slowdust("history", "--json").out
    assert slowdust("history", "--json", "--host", "EPYC").out == every
    assert slowdust("history", "--json", "--host", "Xeon").code == 2


def test_configs_are_one_line_under_their_names(slowdust: Slowdust, results: Path) -> None:
    assert "# postgres\n" in slowdust("history", "micro").out
    assert "# postgres:default\n" in slowdust("history", "micro", "--config", "default").out


def test_base_is_a_version(slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion) -> None:
    text = slowdust("history", "slap", "--base", "17.6").out
    assert text == snapshot
    assert slowdust("history", "slap").out == snapshot


def test_markdown_goes_test_by_test(slowdust: Slowdust, results: Path) -> None:
    brief, full = slowdust("history", "slap").out, slowdust("history", "slap", "--md").out
    assert "range-pk.10" not in brief
    assert "range-pk.10" in full


def test_page_is_reported_next_to_other_formats_on_standard_error(
    slowdust: Slowdust, results: Path
) -> None:
    assert slowdust("history", "--html", "page.html") == (0, "history: page.html\n", "")
    page = Path("page.html").read_text(encoding="utf-8")
    outcome = slowdust("history", "--json", "--html", "page.html")
    assert outcome.err == "history: page.html\n"
    assert len(lines_of(outcome.out)) == 3
    assert Path("page.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--benchmark", "tpcc"], "--benchmark"),
        (["--host", "Xeon"], "3 experiments"),
        (["--config", "small"], "3 experiments"),
        (["--test", "no-such-test"], "'no-such-test'"),
        (["--base", "9.6"], "9.6"),
        (["macro"], "'macro'"),
        (["--results", "nowhere"], "nowhere"),
    ],
    ids=spoken,
)
def test_a_choice_that_leaves_nothing_is_wrong_use(
    slowdust: Slowdust, results: Path, arguments: list[str], named: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("history", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.complaint
    assert outcome.complaint == snapshot


def test_unreadable_experiment_is_skipped_and_named(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    (results / "micro/manifest.json").write_text("{")
    outcome = slowdust("history", "--json")
    assert outcome.code == 0
    assert {line["benchmark"] for line in lines_of(outcome.out)} == {"insert", "slap"}
    assert outcome.complaint == snapshot
    assert "micro" in outcome.complaint
