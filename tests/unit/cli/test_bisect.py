"""Wrong uses of `slowdust bisect` fail with one line, before anything is built."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.studies.bisect.record import Record, describe_metric, parse_metric
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.synthetic_search import record_of

TEST = ("--test", "point-query")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("postgres@17.6", *TEST), "'postgres@17.6'"),
        (("postgres@18..17", *TEST), "postgres"),
        (("postgres@15..16", *TEST, "--resume"), "--resume"),
        (("postgres", *TEST, "--good", "a"), "--repo"),
        (("postgres@15..16", *TEST, "--repo", "."), "--repo"),
        (
            ("postgres@17..18", "--test", "nothing"),
            "'nothing'",
        ),
        (("postgres@17..18", "--test", "point*"), "--test"),
        (("postgres@17..18", *TEST, "--metric", "speed"), "--metric: "),
        (("postgres@17..18", *TEST, "--clients", "0"), "client"),
        (("postgres@17..18", *TEST, "--clients", "1,4"), "--clients"),
        (
            ("postgres@17..18", *TEST, "--set", "work_mem=4MB", "--set", "work_mem=8MB"),
            "--set",
        ),
        (("postgres@17..18", *TEST, "--metric", "beside_rate"), "--metric: "),
        (("postgres@17..18", *TEST, "--count-budget", "soon"), "--count-budget"),
        (("postgres@17..18", *TEST, "--patience", "soon"), "--patience"),
        (("postgres@17..18", *TEST, "--name", "a/b"), "a/b"),
        (("postgres@17..18", *TEST, "--name", "x", "--resume"), "'x'"),
    ],
    ids=spoken,
)
def test_wrong_use_is_reported_in_one_line(
    slowdust: Slowdust,
    tmp_path: Path,
    arguments: tuple[str, ...],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    outcome = slowdust("bisect", *arguments, "--results", tmp_path / "results")
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize("option", ["--margin", "--builds"])
def test_amounts_that_are_none_are_refused(slowdust: Slowdust, option: str) -> None:
    outcome = slowdust("bisect", "postgres@17..18", *TEST, option, "many")
    assert outcome.code == 2
    assert option in outcome.err


def test_a_taken_name_is_refused(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / "bisection.json").write_text("{")
    arguments = ("bisect", "postgres@17..18", *TEST, "--name", "taken", "--results")
    outcome = slowdust(*arguments, tmp_path / "results")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    outcome = slowdust(*arguments, tmp_path / "results", "--resume")
    assert outcome.code == 1
    assert "is damaged" in outcome.complaint


def test_the_name_of_an_experiment_is_refused(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    arguments = ("bisect", "postgres@17..18", *TEST, "--name", "taken", "--results")
    outcome = slowdust(*arguments, tmp_path / "results")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


def test_a_search_resumes_with_the_same_question_only(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "begun"
    folder.mkdir(parents=True)
    options = {"tests": "scan", "rows": 10_000, "budget": "60s", "settings": ["a=b"]}
    record = record_of(4)
    question = msgspec.structs.replace(record.question, options=options, metric="time")
    kept = folder / "bisection.json"
    kept.write_bytes(msgspec.json.encode(msgspec.structs.replace(record, question=question)))
    arguments = ("bisect", "postgres@1..9", "--metric", "time", "--name", "begun", "--resume")
    same = (*arguments, "--test", "scan", "--set", "a=b", "--results", tmp_path / "results")

    outcome = slowdust(*same, "--budget", "2m")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    outcome = slowdust(*same, "--builds", "30")
    read = msgspec.json.decode(kept.read_bytes(), type=Record)
    assert read.question.most_candidates == 30


@pytest.mark.parametrize(
    ("name", "metric"), [("p99", "p99_us"), ("context_switches", "cs"), ("write_kb", "write_kb")]
)
def test_metrics_have_plain_names(name: str, metric: str) -> None:
    assert parse_metric(name) == metric


def test_metrics_are_reported_in_words(snapshot: SnapshotAssertion) -> None:
    assert [describe_metric("cs"), describe_metric("p99_us")] == snapshot
