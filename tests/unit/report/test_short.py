"""The report as a comment: the answer first, the rest folded, within the size limit."""

from __future__ import annotations

import re

import msgspec
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import junit
from slowdust.report.markdown.report import MOST, render_short
from tests.unit.synthetic import Noise, synthetic_experiment


def large(contenders: int, tests: int) -> Report:
    names = [f"mysql@8.0.{number}" for number in range(20, 20 + contenders)]
    steps = [f"range-covered-secondary-index.{number}" for number in range(tests)]
    shifts: dict[str, float | dict[str, float]] = {
        names[-1]: dict.fromkeys(steps[::3], 0.6),
        names[1]: 1.2,
    }
    return analyse(
        *synthetic_experiment(
            names, steps, shifts=shifts, noise=Noise(slice=0.05), incarnations=2, blocks=3
        )
    )


def test_it_begins_with_the_answer_and_folds_the_rest(snapshot: SnapshotAssertion) -> None:
    report = analyse(*synthetic_experiment(["a@1", "a@2"], ["scan"], shifts={"a@2": 0.5}))
    text = render_short(report)

    head = text.partition("<details>")[0]
    assert head == snapshot
    assert report.answer is not None
    assert all(line in head for line in report.answer.slower)
    assert text.count("<details>") == text.count("</details>") >= 1
    assert re.search(r"\| 0\.\d\d \[0\.\d\d, 0\.\d\d\] slower \|", text)


def test_the_comment_about_14_contenders_and_53_tests_fits() -> None:
    report = large(contenders=14, tests=4)
    report.results = [
        msgspec.structs.replace(result, test=f"{result.test}{copy}")
        for copy in range(14)
        for result in report.results
    ][: 14 * 53]
    text = render_short(report)

    assert len(text.encode()) < MOST
    assert "All 53 tests" in text
    assert sum(line.startswith("| range-") for line in text.splitlines()) == 53
    assert len(text.partition("<details>")[0].splitlines()) < 40


def test_tests_that_do_not_fit_are_skipped_and_reported() -> None:
    report = large(contenders=4, tests=20)
    report.warnings = [f"warning {number} " + "x" * 200 for number in range(400)]
    text = render_short(report)

    assert len(text.encode()) <= MOST
    assert "are excluded" in text
    assert "All 20 tests" in text
    assert text.count("<details>") == text.count("</details>")


def test_junit_has_a_case_for_each_result_compared_with_the_base() -> None:
    from xml.etree import ElementTree as ET

    report = large(contenders=3, tests=4)
    suite = ET.fromstring(junit.render(report).encode())
    compared = [result for result in report.results if result.contender != report.base]
    verdicts = [result.verdict for result in compared]

    cases = suite.findall("testcase")
    assert [(c.get("classname"), c.get("name")) for c in cases] == [
        (result.contender, result.test) for result in compared
    ]
    assert int(suite.get("tests", "")) == len(compared)
    assert len(suite.findall("testcase/failure")) == verdicts.count("slower")
    assert int(suite.get("failures", "")) == verdicts.count("slower") > 0
    assert len(suite.findall("testcase/skipped")) == verdicts.count("unsure")
    assert int(suite.get("skipped", "")) == verdicts.count("unsure") > 0


def test_a_contender_alone_has_its_numbers_and_no_table_of_verdicts(
    snapshot: SnapshotAssertion,
) -> None:
    text = render_short(analyse(*synthetic_experiment(["a@1"], ["scan"])))

    assert text == snapshot
    assert "\n- scan: " in text
    assert "| contender |" not in text
