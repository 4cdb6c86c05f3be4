"""Failures come first; from 1% of the executions on, a test has no verdict."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.failures import count_failures, failed_wholly
from slowdust.analysis.results.gate import parse_gate
from slowdust.analysis.stored import analyse
from slowdust.cli.conduct import gate_exit_code
from slowdust.report import html
from slowdust.report.answer import first_screen
from slowdust.report.formats import REPORTS, SHORT_REPORTS, render_as
from slowdust.store.manifest import StepFailure
from slowdust.store.slice import Slice
from tests.unit.report.media import printed
from tests.unit.synthetic import Noise, fails, synthetic_experiment
from tests.unit.synthetic_counts import synthetic_counts

BASE, OTHER = "postgres@15.8", "postgres@17.6"
TESTS = ["point-query", "scan"]
Spoil = Callable[[Slice], None]


def is_wrong(record: Slice) -> None:
    """All operations of the slice have a wrong result."""
    record.measured.errors = {"wrong-row-count": record.measured.operations or 0}
    record.measured.error_texts = {"wrong-row-count": "row count 0, expected 1"}


def fails_in(share: float, *, retried: bool = False) -> Spoil:
    """A share of the operations of the slice fails, or collides and is repeated."""

    def spoil(record: Slice) -> None:
        count = round((record.measured.operations or 0) * share)
        record.measured.errors = {"40001": count}
        record.measured.retries = count if retried else 0

    return spoil


def report_of(spoil: Spoil, *contenders: str) -> Report:
    """A report of contenders twice as slow; on some, point-query is spoiled."""
    manifest, slices = synthetic_experiment(
        [BASE, OTHER], TESTS, shifts={OTHER: {"point-query": 0.5}}, noise=Noise(slice=0.001)
    )
    for record in slices:
        if record.place.test == "point-query" and record.place.contender in contenders:
            spoil(record)
    counts = synthetic_counts([BASE, OTHER], TESTS, shifts={OTHER: {"point-query": 1.2}})
    return analyse(manifest, slices, counts=counts)


def failed_line(report: Report) -> str:
    """The text of the first line of the answer, which is about failures."""
    screen = first_screen(report)
    assert screen is not None
    label, words = screen.facts[0]
    assert label == "Failed"
    assert isinstance(words, str)
    return words


def compared(report: Report) -> Result:
    """The result of point-query compared with the base."""
    [result] = [r for r in report.results if (r.test, r.contender) == ("point-query", OTHER)]
    return result


@pytest.mark.parametrize("contenders", [(BASE,), (OTHER,), (BASE, OTHER)])
@pytest.mark.parametrize("spoil", [fails, is_wrong, fails_in(0.011)])
def test_a_test_that_fails_on_either_side_has_no_verdict(
    spoil: Spoil, contenders: tuple[str, ...], snapshot: SnapshotAssertion
) -> None:
    assert compared(report_of(spoil)).verdict == "slower"

    result = compared(report_of(spoil, *contenders))

    assert (result.ratio, result.typical) == (None, None)
    assert result.work is not None
    assert (result.work.ratio, result.compared) == (None, {})
    assert result.notes == snapshot


@pytest.mark.parametrize("spoil", [fails_in(0.009), fails_in(0.2, retried=True)])
def test_few_failures_and_repeated_collisions_leave_a_verdict(spoil: Spoil) -> None:
    report = report_of(spoil, OTHER)

    assert compared(report).verdict == "slower"
    assert report.answer is not None
    assert report.answer.failures == ""


def test_a_wholly_wrong_test_has_no_rate() -> None:
    report = report_of(is_wrong, OTHER)

    assert compared(report).qps == 0
    assert failed_wholly(report)
    assert not failed_wholly(report_of(fails_in(0.5), OTHER))


def test_failures_count_executions_and_name_the_most_frequent_error() -> None:
    _, slices = synthetic_experiment([BASE], ["scan"])
    slices = slices[:2]
    for record in slices:
        record.measured.operations = 90
    slices[0].measured.errors = {"40001": 6, "22012": 7, "wrong-row-count": 5}
    slices[0].measured.retries = 3
    slices[0].measured.error_texts = {"22012": "division by zero"}

    found = count_failures(slices)

    assert found is not None
    assert (found.executions, found.failed) == (180 + 10, 10 + 5)
    assert (found.state, found.text, found.wholly) == ("22012", "division by zero", False)
    assert count_failures(slices[1:]) is None


@pytest.mark.parametrize(
    ("spoil", "state"),
    [(fails, "22012 division by zero"), (is_wrong, "row count 0, expected 1")],
)
def test_every_format_has_failures_first(
    spoil: Spoil, state: str, snapshot: SnapshotAssertion
) -> None:
    report = report_of(spoil, OTHER)
    failures = compared(report).failures
    assert failures is not None
    words = failed_line(report)
    assert words.startswith("point-query ")
    assert f"postgres@17.6: all of {failures.executions:,} operations, {state}" in words
    assert " ".join(printed(report).split()).startswith(f"Failed {words}")
    for name, formats in (("md", REPORTS), ("md", SHORT_REPORTS), ("json", REPORTS)):
        assert words in " ".join(render_as(name, formats, report, [], []).split())
    assert words in html.render(report, [], [])
    assert report.answer is not None
    assert report.answer.next == snapshot


def test_the_others_of_a_failing_test_are_not_the_rest_of_something(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment([BASE, OTHER], TESTS)
    for record in slices:
        if record.place.test == "point-query":
            fails(record)
    report = analyse(manifest, slices)
    assert report.answer is not None
    assert report.answer.rest == snapshot


def test_nothing_is_decided_without_a_result_of_the_base(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([BASE, OTHER], TESTS)
    report = analyse(manifest, [each for each in slices if each.place.contender == OTHER])
    assert report.answer is not None
    assert report.answer.open == snapshot


def test_nothing_is_decided_where_every_test_fails(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([BASE, OTHER], ["scan"])
    for record in slices:
        fails(record)

    report = analyse(manifest, slices)

    assert report.answer is not None
    assert report.answer.next == snapshot
    assert report.answer.failures == snapshot


def test_junit_has_an_error_for_a_test_that_fails(snapshot: SnapshotAssertion) -> None:
    suite = ET.fromstring(render_as("junit", REPORTS, report_of(fails, OTHER), [], []))
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")
    [error] = suite.iter("error")
    assert (error.text or "") == snapshot


def test_a_gate_does_not_pass_a_test_that_fails_wholly() -> None:
    gates = [parse_gate("slower")]
    assert gate_exit_code(gates, report_of(fails, OTHER)) == 1
    assert gate_exit_code(gates, report_of(fails_in(0.5), OTHER)) == 0
    assert gate_exit_code(gates, report_of(fails_in(0.0))) == 3
    assert gate_exit_code([], report_of(fails, OTHER)) == 0, "a report is not the experiment"


def test_a_test_that_was_ended_is_reported_first_and_is_not_decided(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment([BASE, OTHER], TESTS, shifts={OTHER: {"scan": 0.5}})
    manifest.failed_steps = [
        StepFailure(
            test="point-query",
            clients=1,
            contender=OTHER,
            incarnation=1,
            reason="an operation had not ended after 60 s",
            after_s=61.0,
        )
    ]
    report = analyse(manifest, [each for each in slices if each.place.test == "scan"])
    first = failed_line(report)
    assert first == snapshot
    assert first not in report.tldr
    assert report.answer is not None
    assert report.answer.next == snapshot
