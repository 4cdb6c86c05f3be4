"""Wrong uses of `slowdust capacity` are told in one line, before anything is built."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.capacity.record import (
    Record,
    Trial,
    append_trials,
    read_record,
    read_trials,
    write_record,
)
from slowdust.capacity.run import take_up
from tests.unit.cli.command import Slowdust
from tests.unit.synthetic_capacity import question_of

SLA = ("--sla", "p99<5ms")
TEST = ("--test", "point-query")
POSTGRES = ("postgres@17.6", *SLA)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("postgres@17.6", "--sla", "p98<5ms", *TEST),
            "--sla: there is no term 'p98': did you mean p99?",
        ),
        ((*POSTGRES, *TEST, "--resume"), "--resume needs the --name"),
        ((*POSTGRES, *TEST, "--precision", "0%"), "--precision 0%: no search ends there"),
        ((*POSTGRES, "--test", "nothing"), "no test is called 'nothing' in micro"),
        ((*POSTGRES, "--test", "point*"), "--test point* means 5 tests: name one"),
        ((*POSTGRES, *TEST, "--clients", "1,4"), "--clients: a search has one number"),
        ((*POSTGRES, "--test", "delete"), "each operation uses up a row"),
        ((*POSTGRES, *TEST, "--patience", "soon"), "--patience: 'soon' is not a duration"),
        ((*POSTGRES, *TEST, "--name", "a/b"), "is not a valid name"),
        ((*POSTGRES, *TEST, "--name", "x", "--resume"), "no search 'x' in"),
        ((*POSTGRES, "--benchmark", "insert", "--test", "l.i0"), "only the steps with queries"),
        (
            (*POSTGRES, "--benchmark", "insert", "--test", "qr100", "--trial", "1s"),
            "--trial 1s: a trial of qr100 takes at least 2s, in which each writer commits 4 times",
        ),
        (
            (*POSTGRES, "--benchmark", "insert", "--test", "qr100", "--trial", "4s"),
            "--trial 4s: a trial takes at most a fortieth of --budget 2m00s, here 3s",
        ),
        (
            (*POSTGRES, *TEST, "--trial", "1h"),
            "--trial 1h00m: a trial takes at most a fortieth of --budget 2m00s, here 3s",
        ),
        ((*POSTGRES, "--workload", "absent.toml", *TEST), "absent.toml"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    slowdust: Slowdust, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    outcome = slowdust("capacity", *arguments, "--results", tmp_path / "results")
    assert outcome.code == 2
    assert complaint in outcome.complaint
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize(
    ("contenders", "complaint"),
    [
        (("nosuch@1",), "unknown dbms 'nosuch'"),
        (("sqlite@9.9.9",), "sqlite@9.9.9 is not in the catalog"),
        (("/nowhere/at/all",), "/nowhere/at/all"),
    ],
)
def test_contenders_that_there_are_not_leave_the_name_free(
    slowdust: Slowdust, tmp_path: Path, contenders: tuple[str, ...], complaint: str
) -> None:
    results = tmp_path / "results"
    arguments = ("capacity", *contenders, *SLA, *TEST, "--name", "x", "--results", results)
    outcome = slowdust(*arguments)
    assert outcome.code == 2
    assert complaint in outcome.complaint
    assert outcome.err.splitlines() == [outcome.complaint]
    assert not results.exists()


def test_a_failure_says_that_trials_are_kept_where_there_are_any(
    slowdust: Slowdust, tmp_path: Path
) -> None:
    folder = tmp_path / "results" / "x"
    folder.mkdir(parents=True)
    question = question_of(["nosuch@1"], clients="4", rows=10_000, budget="2m")
    write_record(folder, Record(question=question, contenders=["A"], starts=3))
    trial = Trial(
        contender="A", start=1, turn=0, rate=1000.0, seconds=0.5, took=0.5, operations=500,
        times={"p99": 0.001},
    )  # fmt: skip
    append_trials(folder, [trial])
    arguments = ("capacity", "nosuch@1", *SLA, *TEST, "--name", "x", "--resume")
    outcome = slowdust(*arguments, "--results", folder.parent)
    assert "unknown dbms 'nosuch'" in outcome.complaint
    assert "the trials are kept" in outcome.err
    assert read_trials(folder) == [trial]


@pytest.mark.parametrize("option", ["--precision", "--trial"])
def test_amounts_that_are_none_are_refused(slowdust: Slowdust, option: str) -> None:
    outcome = slowdust("capacity", *POSTGRES, *TEST, option, "many")
    assert outcome.code == 2
    assert option in outcome.err


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("capacity.json", "there is a search named 'taken' already"),
        ("bisection.json", "there is something else named 'taken' already"),
        ("manifest.json", "there is an experiment named 'taken' already"),
    ],
)
def test_a_taken_name_is_refused(
    slowdust: Slowdust, tmp_path: Path, file: str, complaint: str
) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / file).write_text("{")
    arguments = ("capacity", *POSTGRES, *TEST, "--name", "taken", "--results", folder.parent)
    outcome = slowdust(*arguments)
    assert outcome.code == 2
    assert complaint in outcome.complaint
    assert file in {path.name for path in folder.iterdir()}


def test_a_search_goes_on_with_the_same_question_only(slowdust: Slowdust, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "begun"
    folder.mkdir(parents=True)
    question = question_of(["postgres@17.6"], clients="4", rows=10_000, budget="2m")
    write_record(folder, Record(question=question, ended="budget"))
    take_up(folder, question)
    assert read_record(folder).ended == "budget", "it is at its end"
    longer = msgspec.structs.replace(question, options={**question.options, "budget": "9m"})
    take_up(folder, longer)
    assert read_record(folder).ended is None, "it goes on"

    same = ("capacity", "postgres@17.6", *TEST, "--name", "begun", "--resume")
    outcome = slowdust(*same, "--sla", "p99<6ms", "--results", folder.parent)
    assert outcome.code == 2
    assert "cannot resume 'begun': its sla was p99<5ms, and is now p99<6ms" in outcome.complaint
