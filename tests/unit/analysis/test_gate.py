"""Conditions that fail a check: only certain differences beyond the threshold."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.results.gate import Gate, Kind, caught_by, parse_gate
from slowdust.analysis.stored import analyse
from slowdust.errors import UsageError
from tests.unit.report.sample import counted_experiment
from tests.unit.synthetic import QUIET, synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"


@pytest.fixture(scope="module")
def report() -> Report:
    shifts = {B: {"scan": 0.9, "insert": 0.5}}
    return analyse(
        *synthetic_experiment([A, B], ["point-query", "scan", "insert"], shifts=shifts, noise=QUIET)
    )


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("slower", Gate(Kind.SLOWER)),
        ("slower:5%", Gate(Kind.SLOWER, 0.05)),
        ("slower:5", Gate(Kind.SLOWER, 0.05)),
        ("more-work:1.5%", Gate(Kind.MORE_WORK, 0.015)),
        ("more-work:200%", Gate(Kind.MORE_WORK, 2.0)),
    ],
)
def test_gates_are_typed_as_they_are_written(text: str, gate: Gate) -> None:
    assert parse_gate(text) == gate
    assert parse_gate(str(gate)) == gate


@pytest.mark.parametrize(
    "text", ["", "slow", "faster", "slower:", "slower:-1%", "slower:100%", "5%"]
)
def test_other_words_are_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--fail-on {text}: "):
        parse_gate(text)


def test_only_what_is_certain_beyond_the_threshold_is_caught(
    report: Report, snapshot: SnapshotAssertion
) -> None:
    bounds = {result.test: result.bound for result in report.results if result.bound}
    assert bounds["scan"] < 0.93
    just = (1 - bounds["scan"]) * 100

    assert caught_by(parse_gate("slower"), report) == snapshot
    assert "scan" in caught_by(Gate(Kind.SLOWER, just / 100 - 0.001), report)
    assert "scan" not in caught_by(Gate(Kind.SLOWER, just / 100 + 0.001), report)
    assert caught_by(parse_gate("slower:60%"), report) == ""
    assert caught_by(parse_gate("more-work"), report) == "", "nothing was counted"


def test_unsure_results_fail_nothing() -> None:
    noisy = analyse(*synthetic_experiment([A, B], ["scan"], shifts={B: 0.95}, blocks=2))

    assert {result.verdict for result in noisy.results} == {None, "unsure"}
    assert caught_by(parse_gate("slower"), noisy) == ""


def test_work_is_caught_by_its_own_interval() -> None:
    report = counted_experiment()[0]
    more = {r.test for r in report.results if r.work is not None and r.work.verdict == "more"}

    text = caught_by(parse_gate("more-work"), report)

    assert more
    assert all(test in text for test in more)
    assert caught_by(parse_gate("more-work:10000%"), report) == ""
