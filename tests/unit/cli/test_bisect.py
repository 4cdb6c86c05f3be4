"""Wrong uses of `slowdust bisect` are told in one line, before anything is built."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.bisection.metrics import metric_called, words_for
from slowdust.bisection.record import read_record, write_record
from slowdust.bisection.run import take_up
from tests.unit.cli.command import Slowdust
from tests.unit.synthetic_search import record_of

TEST = ("--test", "point-query")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("postgres@17.6", *TEST), "'postgres@17.6' is no range"),
        (("postgres@18..17", *TEST), "has no release of postgres"),
        (("postgres@15..16", *TEST, "--resume"), "--resume needs the --name"),
        (("postgres", *TEST, "--good", "a"), "--repo, --good and --bad belong together"),
        (("postgres@15..16", *TEST, "--repo", "."), "belong together"),
        (
            ("postgres@17..18", "--test", "nothing"),
            "no test is called 'nothing' in micro",
        ),
        (("postgres@17..18", "--test", "point*"), "--test point* means 5 tests: name one"),
        (("postgres@17..18", *TEST, "--metric", "speed"), "--metric: "),
        (("postgres@17..18", *TEST, "--clients", "0"), "at least one client is needed"),
        (("postgres@17..18", *TEST, "--clients", "1,4"), "--clients: a search has one number"),
        (
            ("postgres@17..18", *TEST, "--set", "work_mem=4MB", "--set", "work_mem=8MB"),
            "--set: a search has one value of each setting",
        ),
        (("postgres@17..18", *TEST, "--metric", "beside_rate"), "--metric: "),
        (("postgres@17..18", *TEST, "--count-budget", "soon"), "--count-budget"),
        (("postgres@17..18", *TEST, "--patience", "soon"), "--patience: 'soon' is not a duration"),
        (("postgres@17..18", *TEST, "--name", "a/b"), "is not a valid name"),
        (("postgres@17..18", *TEST, "--name", "x", "--resume"), "no search 'x' in"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    slowdust: Slowdust, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    outcome = slowdust("bisect", *arguments, "--results", tmp_path / "results")
    assert outcome.code == 2
    assert complaint in outcome.complaint
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize("option", ["--margin", "--builds"])
def test_amounts_that_are_none_are_refused(slowdust: Slowdust, option: str) -> None:
    outcome = slowdust("bisect", "postgres@17..18", *TEST, option, "many")
    assert outcome.code == 2
    assert option in outcome.err


def test_a_taken_name_is_refused(slowdust: Slowdust, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / "bisection.json").write_text("{")
    arguments = ("bisect", "postgres@17..18", *TEST, "--name", "taken", "--results")
    outcome = slowdust(*arguments, tmp_path / "results")
    assert outcome.code == 2
    assert "there is a search named 'taken' already" in outcome.complaint
    outcome = slowdust(*arguments, tmp_path / "results", "--resume")
    assert outcome.code == 1
    assert "is damaged" in outcome.complaint


def test_the_name_of_an_experiment_is_refused(slowdust: Slowdust, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    arguments = ("bisect", "postgres@17..18", *TEST, "--name", "taken", "--results")
    outcome = slowdust(*arguments, tmp_path / "results")
    assert outcome.code == 2
    assert "there is an experiment named 'taken' already" in outcome.complaint
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


def test_a_search_goes_on_with_the_same_question_only(slowdust: Slowdust, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "begun"
    folder.mkdir(parents=True)
    options = {"tests": "scan", "rows": 10_000, "budget": "60s", "settings": ["a=b"]}
    record = record_of(4)
    question = msgspec.structs.replace(record.question, options=options, metric="time")
    write_record(folder, msgspec.structs.replace(record, question=question))
    arguments = ("bisect", "postgres@1..9", "--metric", "time", "--name", "begun", "--resume")
    same = (*arguments, "--test", "scan", "--set", "a=b", "--results", tmp_path / "results")
    take_up(folder, question)

    outcome = slowdust(*same, "--budget", "2m")
    assert outcome.code == 2
    assert "cannot resume 'begun': its budget was 60s, and is now 2m" in outcome.complaint
    outcome = slowdust(*same, "--builds", "30")
    assert "cannot resume" not in outcome.err
    assert read_record(folder).question.most_candidates == 30


@pytest.mark.parametrize(
    ("name", "metric"), [("p99", "p99_us"), ("context_switches", "cs"), ("write_kb", "write_kb")]
)
def test_metrics_have_plain_names(name: str, metric: str) -> None:
    assert metric_called(name) == metric


def test_metrics_are_told_in_words() -> None:
    assert words_for("cs") == "context switches of the server's processes per operation"
    assert "99" in words_for("p99_us")
    assert "per operation" not in words_for("p99_us")
