"""Wrong uses of `slowdust capacity` fail with one line, before anything is built."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.folder import Folder, writing
from slowdust.store.trial import Trial
from slowdust.studies.capacity.record import RECORD_FILE, SERVERS, Record
from slowdust.studies.capacity.study import Capacities
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.synthetic import synthetic_manifest
from tests.unit.synthetic_capacity import question_of

SLA = ("--sla", "p99<5ms")
TEST = ("--test", "point-query")
POSTGRES = ("postgres@17.6", *SLA)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            ("postgres@17.6", "--sla", "p98<5ms", *TEST),
            "--sla",
        ),
        ((*POSTGRES, *TEST, "--resume"), "--resume"),
        ((*POSTGRES, *TEST, "--precision", "0%"), "--precision"),
        ((*POSTGRES, "--test", "nothing"), "'nothing'"),
        ((*POSTGRES, "--test", "point*"), "--test"),
        ((*POSTGRES, *TEST, "--clients", "1,4"), "--clients"),
        ((*POSTGRES, "--test", "delete"), "delete"),
        ((*POSTGRES, *TEST, "--patience", "soon"), "--patience"),
        ((*POSTGRES, *TEST, "--name", "a/b"), "a/b"),
        ((*POSTGRES, *TEST, "--name", "x", "--resume"), "'x'"),
        ((*POSTGRES, "--benchmark", "insert", "--test", "l.i0"), "l.i0"),
        (
            (*POSTGRES, "--benchmark", "insert", "--test", "qr100", "--trial", "1s"),
            "--trial",
        ),
        (
            (*POSTGRES, "--benchmark", "insert", "--test", "qr100", "--trial", "4s"),
            "--trial",
        ),
        (
            (*POSTGRES, *TEST, "--trial", "1h"),
            "--trial",
        ),
        ((*POSTGRES, "--workload", "absent.toml", *TEST), "absent.toml"),
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
    outcome = slowdust("capacity", *arguments, "--results", tmp_path / "results")
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize(
    ("contenders", "named"),
    [
        (("nosuch@1",), "'nosuch'"),
        (("sqlite@9.9.9",), "sqlite@9.9.9"),
        (("/nowhere/at/all",), "/nowhere/at/all"),
    ],
    ids=spoken,
)
def test_contenders_that_there_are_not_leave_the_name_free(
    slowdust: Slowdust,
    tmp_path: Path,
    contenders: tuple[str, ...],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    results = tmp_path / "results"
    arguments = ("capacity", *contenders, *SLA, *TEST, "--name", "x", "--results", results)
    outcome = slowdust(*arguments)
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert outcome.err.splitlines() == [outcome.complaint]
    assert not results.exists()


def test_a_failure_says_that_trials_are_kept_where_there_are_any(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "x"
    folder.mkdir(parents=True)
    question = question_of(["nosuch@1"], clients="4", rows=10_000, budget="2m")
    record = Record(question=question)
    (folder / RECORD_FILE).write_bytes(msgspec.json.encode(record))
    trial = Trial(
        contender="A", start=1, turn=0, rate=1000.0, seconds=0.5, took=0.5, operations=500,
        times={"p99": 0.001},
    )  # fmt: skip
    servers = Folder(folder / SERVERS)
    with writing(servers) as writer:
        writer.write_manifest(synthetic_manifest(["A"], ["point-query"]))
        writer.append_trials(trial)
    arguments = ("capacity", "nosuch@1", *SLA, *TEST, "--name", "x", "--resume")
    outcome = slowdust(*arguments, "--results", folder.parent)
    assert outcome.complaint == snapshot
    assert outcome.err == snapshot
    assert servers.read_trials() == [trial]


@pytest.mark.parametrize("option", ["--precision", "--trial"])
def test_amounts_that_are_none_are_refused(slowdust: Slowdust, option: str) -> None:
    outcome = slowdust("capacity", *POSTGRES, *TEST, option, "many")
    assert outcome.code == 2
    assert option in outcome.err


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("capacity.json", "'taken'"),
        ("bisection.json", "'taken'"),
        ("manifest.json", "'taken'"),
    ],
    ids=spoken,
)
def test_a_taken_name_is_refused(
    slowdust: Slowdust, tmp_path: Path, file: str, named: str, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "taken"
    folder.mkdir(parents=True)
    (folder / file).write_text("{")
    arguments = ("capacity", *POSTGRES, *TEST, "--name", "taken", "--results", folder.parent)
    outcome = slowdust(*arguments)
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert file in {path.name for path in folder.iterdir()}


def test_a_search_resumes_with_the_same_question_only(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "results" / "begun"
    folder.mkdir(parents=True)
    question = question_of(["postgres@17.6"], clients="4", rows=10_000, budget="2m")
    record = Record(question=question, ended="budget")
    (folder / RECORD_FILE).write_bytes(msgspec.json.encode(record))
    study = Capacities()
    study.record = record
    study.resume(question)
    assert study.record.ended == "budget", "it is at its end"
    study.resume(msgspec.structs.replace(question, options={**question.options, "budget": "9m"}))
    assert study.record.ended is None, "it goes on"

    same = ("capacity", "postgres@17.6", *TEST, "--name", "begun", "--resume")
    outcome = slowdust(*same, "--sla", "p99<6ms", "--results", folder.parent)
    assert outcome.code == 2
    assert outcome.complaint == snapshot
