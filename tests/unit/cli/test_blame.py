"""`slowdust blame`: stored experiments, and wrong uses that are told before anything is built."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from slowdust.bisection.ranges import released
from slowdust.blaming.run import Question, Record, series_in
from slowdust.builds import Build
from slowdust.store.manifest import BuildFacts
from tests.unit.cli.command import Slowdust

WORKLOAD = Path(__file__).parents[2] / "cases" / "limits" / "in-table.toml"


def test_stored_experiments_are_told_without_measuring(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("blame", "--from", "micro")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0] == "postgres: 15.8 to 17.6"
    [line] = json.loads(slowdust("blame", "--from", "micro", "--json").out)["lines"]
    assert [step["after"] for step in line["steps"]] == ["17.6"]
    tests = {test["name"] for test in line["steps"][0]["tests"]}
    assert {"point-query", "scan"} <= tests


def test_tests_are_chosen_and_a_page_is_written(slowdust: Slowdust, results: Path) -> None:
    chosen = ("--tests", "scan", "--html", "blame.html")
    outcome = slowdust("blame", "--from", "micro", *chosen)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "page: blame.html\n")
    page = (results.parent / "blame.html").read_text()
    assert "Range queries (1 test)" in page
    assert "Point queries" not in page


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Missing argument 'RELEASES"),
        (("postgres@17.6",), "'postgres@17.6' is no range"),
        (("postgres@15..16", "mysql@5.6..9.7"), "one range is measured at a time"),
        (("postgres@17..18", "--every", "minor"), "--every minor: write major"),
        (("postgres@17.0..17.9",), "has one such release, 17.9: two are needed"),
        (("postgres@17..18", "--tests", "nothing"), "no test is called 'nothing' in micro"),
        (("postgres@17..18", "--tests", "scan", "--suite", "quick"), "--tests and --suite both"),
        (("postgres@17..18", "--clients", "0"), "at least one client is needed"),
        (("postgres@17..18", "--budget", "long"), "budget"),
        (("postgres@17..18", "--patience", "soon"), "--patience: 'soon' is not a duration"),
        (
            ("postgres@17..18", "--set", "work_mem=4MB", "--set", "work_mem=8MB"),
            "--set: a series of releases has one value of each setting",
        ),
        (("postgres@17..18", "--name", "a/b"), "is not a valid name"),
        (("postgres@17..18", "--resume"), "--resume needs the --name of the series"),
        (("postgres@17..18", "--name", "x", "--resume"), "no series of releases 'x' in"),
        (("--from", "nothing"), "no experiment 'nothing' in"),
        (("--from", "micro", "--budget", "5m"), "--budget is of measuring"),
        (("--from", "micro", "--tests", "scam"), "--tests: no test is called 'scam'"),
        (("--from", "micro", "--benchmark", "insert"), "there is no benchmark 'insert': there are"),
        (("--from", "micro", "--benchmark", "mirco"), "'mirco': did you mean micro?"),
        (("--from", "micro", "--tests", ""), "--tests is empty: write names or patterns"),
        (("--from", "micro", "--tests", " ,"), "--tests is empty: write names or patterns"),
    ],
)
def test_wrong_use_is_told_and_nothing_is_begun(
    slowdust: Slowdust, results: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    before = sorted(path.name for path in results.iterdir())
    outcome = slowdust("blame", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err
    assert sorted(path.name for path in results.iterdir()) == before


@pytest.mark.parametrize("work", [(), ("--workload", str(WORKLOAD))])
def test_a_setting_that_a_release_refuses_is_told_before_a_series_begins(
    slowdust: Slowdust, results: Path, monkeypatch: pytest.MonkeyPatch, work: tuple[str, ...]
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
    assert "3.24.0 has no setting 'cache_sise': did you mean cache_size?" in outcome.complaint
    assert sorted(path.name for path in results.iterdir()) == before


def test_a_series_goes_on_with_the_same_question_only(slowdust: Slowdust, results: Path) -> None:
    listed = released("postgres@17.0..17.2").listed
    question = Question(
        range="postgres@17.0..17.2",
        every="1",
        together=None,
        options={"rows": 1000, "tests": "scan", "budget": "2s"},
    )
    record = Record(question=question, releases=listed, experiments=[[0, 1, 2]])
    (results / "begun").mkdir()
    series_in(results / "begun").write(record)
    same = ("--every", "1", "--rows", "1000", "--tests", "scan", "--name", "begun")
    outcome = slowdust("blame", "postgres@17.0..17.2", *same)
    assert "there is a series of releases named 'begun' already" in outcome.complaint
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert outcome.code == 2
    assert "cannot resume 'begun': its budget was 2s, and is now 5m" in outcome.complaint
    (results / "begun" / "blame.json").write_text("{")
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert (outcome.code, "is damaged" in outcome.complaint) == (1, True)
    newer = msgspec.structs.replace(record, schema=9)
    series_in(results / "begun").write(newer)
    outcome = slowdust("blame", "postgres@17.0..17.2", *same, "--resume")
    assert (outcome.code, "newer Slowdust" in outcome.complaint) == (2, True)
