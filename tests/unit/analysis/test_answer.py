"""The answer: five lines, whose bounds claim no more than the intervals."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Answer, Report
from slowdust.analysis.stored import analyse
from slowdust.ratios import at_most
from tests.unit.synthetic import QUIET, Noise, synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"
TESTS = ["point-query", "scan", "insert"]


def answer_of(report: Report) -> Answer:
    assert report.answer is not None
    return report.answer


def test_differences_and_their_bounds(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(
        [A, B], TESTS, shifts={B: {"point-query": 0.8, "insert": 1.5}}, noise=QUIET
    )

    answer = answer_of(analyse(manifest, slices))

    assert answer.slower == snapshot
    assert answer.faster == snapshot
    assert answer.rest == snapshot


def test_nothing_is_decided_by_noise_and_the_command_continues(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([A, B], TESTS, incarnations=2, blocks=2)

    report = analyse(manifest, slices)
    answer = answer_of(report)

    assert [answer.slower, answer.faster] == snapshot
    lows = [r.ratio.low for r in report.results if r.ratio and r.ratio.low]
    assert at_most(min(lows)) in answer.rest
    assert answer.open == snapshot


def test_each_of_several_contenders_is_named_and_many_are_cut(snapshot: SnapshotAssertion) -> None:
    others = [f"postgres@17.{minor}" for minor in range(8)]
    manifest, slices = synthetic_experiment(
        [A, *others], ["point-query", "scan"], shifts=dict.fromkeys(others, 0.8), noise=QUIET
    )

    answer = answer_of(analyse(manifest, slices))

    assert answer.slower == snapshot


def test_an_unfinished_experiment_says_so_and_one_start_gives_no_verdict(
    snapshot: SnapshotAssertion,
) -> None:
    shifts = {B: 0.5}
    manifest, slices = synthetic_experiment(
        [A, B], TESTS, shifts=shifts, noise=QUIET, incarnations=1
    )
    finished = analyse(manifest, slices)
    manifest.finished = None

    report = analyse(manifest, slices)

    assert {r.verdict for r in finished.results if r.contender == B} == {"slower"}
    assert {r.verdict for r in report.results if r.contender == B} == {"unsure"}
    assert report.unfinished == snapshot
    assert answer_of(report).open == snapshot


def test_of_a_contender_alone_there_are_the_conditions() -> None:
    manifest, slices = synthetic_experiment([A], TESTS)

    answer = answer_of(analyse(manifest, slices))
    assert "1 client" in answer.conditions
    assert not (answer.slower or answer.faster or answer.rest or answer.open)


@pytest.mark.parametrize(
    "settings",
    [
        {"synchronous_commit": "off"},
        {"fsync": "off"},
        {},
        {"autovacuum": "off"},
    ],
)
def test_conditions_say_what_a_commit_does(
    settings: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    manifest, slices = synthetic_experiment([A, B], TESTS)
    for contender in manifest.contenders:
        contender.settings = settings

    assert answer_of(analyse(manifest, slices)).conditions == snapshot


def test_waits_of_writes_on_a_running_mongodb_are_not_claimed(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment(["mongodb@7.0.14", "mongodb@8.0.6"], TESTS)
    started = answer_of(analyse(manifest, slices)).conditions
    manifest.contenders[1].running = True

    found = answer_of(analyse(manifest, slices)).conditions

    assert started == snapshot
    assert found == snapshot


def test_a_setting_that_differs_is_no_condition(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([A, B], TESTS)
    for contender, value in zip(manifest.contenders, ("on", "off"), strict=True):
        contender.settings = {"synchronous_commit": value, "jit": value}

    conditions = answer_of(analyse(manifest, slices)).conditions

    assert conditions == snapshot
    assert "jit" not in conditions


def test_a_bound_beyond_what_is_known_is_no_answer(snapshot: SnapshotAssertion) -> None:
    noise = Noise(slice=1.5, stolen_share=0.0, restart=0.5)
    manifest, slices = synthetic_experiment([A, B], ["scan"], noise=noise, blocks=2)

    assert answer_of(analyse(manifest, slices)).rest == snapshot


@pytest.mark.parametrize(
    ("bound", "words"),
    [(0.961, "3.9% slower"), (0.9601, "4% slower"), (1.121, "13% faster"), (2.41, "2.5X faster")],
)
def test_bounds_are_rounded_away_from_1(bound: float, words: str) -> None:
    assert at_most(bound) == words
