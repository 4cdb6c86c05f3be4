"""`slowdust blame`: stored experiments, and wrong uses that fail before anything is built."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build
from slowdust.store.manifest import BuildFacts
from slowdust.studies.blame import Question, Record
from slowdust.studies.candidates import released
from tests.unit.cli.command import Slowdust, spoken

WORKLOAD = Path(__file__).parents[2] / "cases" / "limits" / "in-table.toml"


def test_stored_experiments_are_shown_without_measuring(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("blame", "--from", "micro")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0] == snapshot
    [line] = json.loads(slowdust("blame", "--from", "micro", "--json").out)["lines"]
    assert [step["after"] for step in line["steps"]] == ["17.6"]
    tests = {test["name"] for test in line["steps"][0]["tests"]}
    assert {"point-query", "scan"} <= tests


def test_tests_are_chosen_and_a_page_is_written(slowdust: Slowdust, results: Path) -> None:
    chosen = ("--tests", "scan", "--html", "blame.html")
    outcome = slowdust("blame", "--from", "micro", *chosen)
    assert (outcome.code, outcome.out, outcome.err) == (0, "page: blame.html\n", "")
    page = (results.parent / "blame.html").read_text()
    assert "Range queries (1 test)" in page
    assert "Point queries" not in page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "RELEASES"),
        (("postgres@17.6",), "'postgres@17.6'"),
        (("postgres@15..16", "mysql@5.6..9.7"), "mysql"),
        (("postgres@17..18", "--every", "minor"), "--every"),
        (("postgres@17.0..17.9",), "17.9"),
        (("postgres@17..18", "--tests", "nothing"), "'nothing'"),
        (("postgres@17..18", "--tests", "scan", "--suite", "quick"), "--tests"),
        (("postgres@17..18", "--clients", "0"), "client"),
        (("postgres@17..18", "--budget", "long"), "budget"),
        (("postgres@17..18", "--patience", "soon"), "--patience"),
        (
            ("postgres@17..18", "--set", "work_mem=4MB", "--set", "work_mem=8MB"),
            "--set",
        ),
        (("postgres@17..18", "--name", "a/b"), "a/b"),
        (("postgres@17..18", "--resume"), "--resume"),
        (("postgres@17..18", "--name", "x", "--resume"), "'x'"),
        (("--from", "nothing"), "'nothing'"),
        (("--from", "micro", "--budget", "5m"), "--budget"),
        (("--from", "micro", "--tests", "scam"), "--tests"),
        (("--from", "micro", "--benchmark", "insert"), "'insert'"),
        (("--from", "micro", "--benchmark", "mirco"), "'mirco'"),
        (("--from", "micro", "--tests", ""), "--tests"),
        (("--from", "micro", "--tests", " ,"), "--tests"),
    ],
    ids=spoken,
)
def test_wrong_use_is_reported_and_nothing_is_begun(
    slowdust: Slowdust,
    results: Path,
    arguments: tuple[str, ...],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    before = sorted(path.name for path in results.iterdir())
    outcome = slowdust("blame", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.err
    assert outcome.err == snapshot
    assert sorted(path.name for path in results.iterdir()) == before


@pytest.mark.parametrize("work", [(), ("--workload", str(WORKLOAD))])
def test_a_setting_that_a_release_refuses_is_reported_before_a_series_begins(
    slowdust: Slowdust,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: tuple[str, ...],
    snapshot: SnapshotAssertion,
) -> None:
    def resolve(dbms: str, version: str, *_: object) -> Build:
        facts = BuildFacts(source="directory", version=version)
        return Build(dbms, version, Path("/b"), "directory", Path("/b/lib.so"), facts)

    monkeypatch.setattr("slowdust.experiment.setup.builds.resolve", resolve)
    before = sorted(path.name for path in results.iterdir())
    outcome = slowdust(
        *("blame", "sqlite@3.24.0..3.50.2", "--every", "100", "--set", "cache_sise=1,2", *work)
    )
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [outcome.complaint]
    assert outcome.complaint == snapshot
    assert sorted(path.name for path in results.iterdir()) == before


def test_a_series_resumes_with_the_same_question_only(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    listed = released("postgres@17.0..17.2").listed
    question = Question(
        range="postgres@17.0..17.2",
        every="1",
        together=None,
        options={"rows": 1000, "tests": "scan", "budget": "2s"},
    )
    record = Record(question=question, releases=listed, experiments=[[0, 1, 2]])
    (results / "begun").mkdir()
    kept = results / "begun" / "blame.json"
    kept.write_bytes(msgspec.json.encode(record))
    same = ("--every", "1", "--rows", "1000", "--tests", "scan", "--name", "begun")
    outcome = slowdust("blame", "postgres@17.0..17.2", *same)
    assert outcome.complaint == snapshot
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    kept.write_text("{")
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert (outcome.code, "is damaged" in outcome.complaint) == (1, True)
    kept.write_bytes(msgspec.json.encode(msgspec.structs.replace(record, schema=9)))
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert (outcome.code, "newer Slowdust" in outcome.complaint) == (2, True)
