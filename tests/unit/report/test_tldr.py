"""The tl;dr: groups of tests as lists, not as a wall of words."""

from __future__ import annotations

from slowdust.analysis.analyse import analyse
from slowdust.analysis.model import Report
from slowdust.report import html, json, tldr
from slowdust.report.markdown import report as markdown
from tests.unit.synthetic import synthetic_manifest, synthetic_slice

NAMES = ["mysql@5.6.51", "mysql@5.7.44", "mysql@8.0.28"]
TESTS = ["point-query", "hot-points", "scan"]


def single_runs() -> Report:
    slices = [
        synthetic_slice(contender=name, test=test, qps=qps)
        for test in TESTS
        for name, qps in zip(NAMES, (1000, 1300, 800), strict=True)
    ]
    return analyse(synthetic_manifest(NAMES, TESTS), slices)


def test_groups_that_follow_each_other_are_one_passage() -> None:
    report = single_runs()

    first, groups, *rest = tldr.passages(report)

    assert first == report.tldr[0]
    assert groups == report.group_changes
    assert len(report.group_changes) == 2
    assert rest == report.tldr[3:]


def test_a_terminal_and_markdown_list_each_step_of_a_group() -> None:
    report = single_runs()
    block = [
        "- Point queries (2 tests)",
        "  - from 5.6.51 to 5.7.44 there are big improvements for all tests",
        "  - from 5.7.44 to 8.0.28 there are big regressions for all tests",
        "  - for 8.0.28 the common result is about 20% less throughput than 5.6.51",
    ]

    assert tldr.lines(report)[1:5] == block
    assert "\n".join(block) in markdown.render(report)


def test_the_page_lists_them_and_json_keeps_sentences() -> None:
    report = single_runs()

    page = html.render(report, [])

    assert "<li>from 5.7.44 to 8.0.28 there are big regressions for all tests</li>" in page
    assert report.tldr[1] not in page
    assert report.tldr[1] in json.render(report)
