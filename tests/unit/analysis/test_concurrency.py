from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Course, CourseKind
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.concurrency import course_of, courses_of, summary_of_courses
from slowdust.ratios import Verdict
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import QUIET, synthetic_experiment

LEVELS = (1, 2, 4, 8, 16)
_LETTERS: dict[str, Verdict] = {"+": "faster", "-": "slower", "=": "same", "?": "unsure"}


def course_of_letters(verdicts: str) -> Course:
    """The course of one letter for each of `LEVELS`."""
    judged = {n: _LETTERS[letter] for n, letter in zip(LEVELS, verdicts, strict=False)}
    return course_of("b", judged, {})


@pytest.mark.parametrize(
    ("verdicts", "kind", "at"),
    [
        ("+++++", "always faster", None),
        ("--", "always slower", None),
        (
            "---++",
            "overtakes",
            8,
        ),
        (
            "-=?=+",
            "overtakes",
            16,
        ),
        (
            "-+=+=",
            "overtakes",
            2,
        ),
        (
            "++==-",
            "falls behind",
            16,
        ),
        (
            "+----",
            "falls behind",
            2,
        ),
        ("==+++", "sometimes faster", None),
        (
            "--??=",
            "sometimes slower",
            None,
        ),
        ("--???", "sometimes slower", None),
        ("=+===", "sometimes faster", None),
        ("=====", "never differs", None),
        ("==?==", "never differs", None),
        ("?????", "never differs", None),
        (
            "+-+=-",
            "changes more than once",
            None,
        ),
        (
            "-++--",
            "changes more than once",
            None,
        ),
    ],
)
def test_courses(
    verdicts: str, kind: CourseKind, at: int | None, snapshot: SnapshotAssertion
) -> None:
    course = course_of_letters(verdicts)
    assert (course.kind, course.at) == (kind, at)
    assert course.words == snapshot


@pytest.mark.parametrize("neither", ["=", "?"])
@pytest.mark.parametrize("side", ["+", "-"])
def test_same_and_unsure_cross_nothing(side: str, neither: str) -> None:
    assert course_of_letters(f"{side}{neither}{side}{neither}{side}").at is None
    assert course_of_letters(f"{neither}{side}").at is None


def test_levels_are_in_ascending_order_for_any_order_of_results() -> None:
    results = [
        a_result("b", clients=16, rqps=1.2, verdict="faster"),
        a_result("b", clients=2, rqps=0.8, verdict="slower"),
        a_result("a", clients=2, rqps=1.0),
    ]
    [concurrency] = courses_of(results)
    assert concurrency.test == "point-query"
    assert [(c.contender, c.kind, c.at) for c in concurrency.courses] == [("b", "overtakes", 16)]


def test_one_level_has_no_course() -> None:
    one = a_result("b", rqps=0.8, verdict="slower")
    assert courses_of([one]) == []
    unjudged = a_result("b", clients=8)
    assert courses_of([one, unjudged]) == []


def test_each_contender_and_test_has_its_own_course() -> None:
    results = [
        a_result(name, test=test, clients=level, rqps=0.8, verdict="slower")
        for test in ("scan", "insert")
        for level in (1, 8)
        for name in ("b", "c")
    ]
    assert [(test.test, [c.contender for c in test.courses]) for test in courses_of(results)] == [
        ("scan", ["b", "c"]),
        ("insert", ["b", "c"]),
    ]


def test_a_summary_names_each_kind_once(snapshot: SnapshotAssertion) -> None:
    summary = summary_of_courses(
        [
            ("scan", course_of_letters("---++")),
            ("insert", course_of_letters("-----")),
            ("delete", course_of_letters("-++++")),
        ]
    )
    assert summary == snapshot
    assert summary_of_courses([]) == ""


def test_a_known_crossing_is_found_in_an_experiment(snapshot: SnapshotAssertion) -> None:
    report = analyse(
        *synthetic_experiment(
            ["a@1", "a@2"],
            ["point-query", "scan"],
            shifts={"a@2": {"point-query@1": 0.8, "point-query@4": 0.9, "point-query@16": 1.3}},
            clients=(1, 4, 16),
            noise=QUIET,
            blocks=6,
        )
    )
    scan, point = report.concurrency
    assert (point.test, point.courses[0].kind, point.courses[0].at) == (
        "point-query",
        "overtakes",
        16,
    )
    assert (scan.test, scan.courses[0].kind) == ("scan", "never differs")
    clause = report.tldr
    assert clause == snapshot
