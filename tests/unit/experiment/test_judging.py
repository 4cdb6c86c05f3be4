"""Tests are settled while their verdict holds and are reopened when it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowdust.experiment.journal import Journal
from slowdust.experiment.judging import Judge
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import parse_spec
from slowdust.ratios import Margins
from slowdust.store.folder import Folder, Writer, writing
from slowdust.store.slice import Slice
from tests.unit.synthetic import QUIET, Noise, synthetic_experiment, synthetic_manifest

CONTENDERS = ["postgres@15.8", "postgres@17.6"]
TESTS = ["point-query", "scan", "random-points.100"]
MARGIN = 0.03
ALL = {"point-query@1", "scan@1", "random-points.100@1"}


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with writing(Folder(tmp_path / "x")) as opened:
        opened.write_manifest(synthetic_manifest(CONTENDERS, TESTS, (1,), 3, 1))
        yield opened


def journal_of(writer: Writer) -> Journal:
    spec = parse_spec({"name": "x", "contenders": CONTENDERS, "tests": TESTS})
    return Journal(spec, writer, writer.folder.read_manifest())


def judge_of(journal: Journal) -> Judge:
    return Judge(CONTENDERS, Margins(MARGIN), journal)


def others(step: PlannedStep) -> list[str]:
    del step
    return CONTENDERS[1:]


def add(journal: Journal, slices: list[Slice], incarnations: range, *tests: str) -> None:
    steps = {step.test.name: step for step in journal.steps}
    for record in slices:
        if record.place.incarnation in incarnations and record.place.test in (tests or TESTS):
            steps[record.place.test].slices.append(record)


def quiet_slices() -> list[Slice]:
    return synthetic_experiment(CONTENDERS, TESTS, noise=QUIET, incarnations=6)[1]


def test_no_test_is_settled_before_three_starts(writer: Writer) -> None:
    journal = journal_of(writer)
    add(journal, quiet_slices(), range(1, 3))
    assert judge_of(journal).settled(others) == set()
    add(journal, quiet_slices(), range(3, 4))
    assert judge_of(journal).settled(others) == ALL


def test_few_tests_are_not_settled_before_four(writer: Writer) -> None:
    journal = journal_of(writer)
    journal.steps[:] = [step for step in journal.steps if step.test.name == "point-query"]
    add(journal, quiet_slices(), range(1, 4), "point-query")
    assert judge_of(journal).settled(others) == set()
    add(journal, quiet_slices(), range(4, 5), "point-query")
    assert judge_of(journal).settled(others) == {"point-query@1"}


def test_six_starts_where_a_restart_moved_all_tests(writer: Writer) -> None:
    tests = [*TESTS, "read-only.100"]
    twice = {CONTENDERS[1]: 2.0}
    moved = [
        replace(record, qps=record.qps * 1.1)
        if record.place.incarnation == 2 and record.place.contender == CONTENDERS[1]
        else record
        for record in synthetic_experiment(
            CONTENDERS, tests, shifts=twice, noise=QUIET, incarnations=6
        )[1]
    ]
    spec = parse_spec({"name": "x", "contenders": CONTENDERS, "tests": tests})
    journal = Journal(spec, writer, writer.folder.read_manifest())
    add(journal, moved, range(1, 6), *tests)
    assert judge_of(journal).settled(others) == set()
    add(journal, moved, range(6, 7), *tests)
    assert judge_of(journal).settled(others) == {step.key for step in journal.steps}


def test_every_contender_that_still_runs_must_be_settled(writer: Writer) -> None:
    journal = journal_of(writer)
    add(journal, quiet_slices(), range(1, 4))
    assert judge_of(journal).settled(lambda step: [*others(step), "postgres@18.4"]) == set()


def test_a_verdict_that_other_tests_take_away_opens_its_test_again(writer: Writer) -> None:
    journal = journal_of(writer)
    judge = judge_of(journal)
    alike = Noise(slice=0.03, stolen_share=0, restart=0)
    restarts_do_nothing = synthetic_experiment(
        CONTENDERS, TESTS[:2], noise=alike, incarnations=3, seed=1
    )[1]
    add(journal, restarts_do_nothing, range(1, 4), "point-query")
    assert journal.keep_settled(judge.settled(others)) == []
    assert journal.manifest.settled == ["point-query@1"]

    restarts_move_tests = synthetic_experiment(
        CONTENDERS, TESTS[1:], noise=Noise(restart=0.03), incarnations=6, seed=5
    )[1]
    add(journal, restarts_move_tests, range(1, 7), "scan", "random-points.100")
    reopened = journal.keep_settled(judge.settled(others))
    assert [step.key for step in reopened] == ["point-query@1"]
    assert journal.manifest.settled == []
    assert not any(step.settled for step in journal.steps)


def test_a_resumed_experiment_knows_what_was_opened_again(writer: Writer) -> None:
    journal = journal_of(writer)
    first, second, _ = journal.steps
    journal.keep_settled({first.key, second.key})
    journal.end_turn(second, 1.0)
    journal.keep_settled({second.key})
    journal.end_turn(second, 2.0)
    assert [step.settled for step in journal_of(writer).steps] == [False, True, False]


def test_a_resumed_experiment_keeps_the_lengths_of_slices(writer: Writer) -> None:
    journal = journal_of(writer)
    first = journal.steps[0]
    journal.keep_length(first, 0.05)
    assert journal_of(writer).manifest.method.slice_lengths == {first.key: 0.05}
