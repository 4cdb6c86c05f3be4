"""The tl;dr: groups of tests as lists, not as a wall of words."""

from __future__ import annotations

import re

from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import answer, html, json, terminal
from slowdust.report.markdown import report as markdown
from tests.unit import synthetic
from tests.unit.report.outline import words
from tests.unit.synthetic import synthetic_experiment, synthetic_manifest, synthetic_slice

NAMES = ["mysql@5.6.51", "mysql@5.7.44", "mysql@8.0.28"]
TESTS = ["point-query", "hot-points", "scan"]
A, B = "postgres@15.8", "postgres@17.6"


def single_runs() -> Report:
    slices = [
        synthetic_slice(contender=name, test=test, qps=qps)
        for test in TESTS
        for name, qps in zip(NAMES, (1000, 1300, 800), strict=True)
    ]
    return analyse(synthetic_manifest(NAMES, TESTS), slices)


def test_groups_that_follow_each_other_are_one_passage() -> None:
    report = single_runs()

    first, groups, *rest = answer.passages(report)

    assert answer.beginning(report) == report.tldr[:1]
    assert first == report.tldr[1]
    assert groups == report.group_changes
    assert len(report.group_changes) == 2
    assert rest == report.tldr[4:]


def test_a_terminal_and_markdown_list_each_step_of_a_group() -> None:
    report = single_runs()
    block = [
        "- Point queries (2 tests)",
        "  - from 5.6.51 to 5.7.44 there are big improvements for all tests",
        "  - from 5.7.44 to 8.0.28 there are big regressions for all tests",
        "  - for 8.0.28 the common result is about 20% less throughput than 5.6.51",
    ]

    assert "\n".join(block) in "\n".join(terminal.lines(report))
    assert "\n".join(block) in markdown.render(report)


def test_the_page_lists_them_and_json_keeps_sentences(snapshot: SnapshotAssertion) -> None:
    report = single_runs()

    page = html.render(report, [])

    assert re.findall(r"<li>(from [^<]*)</li>", page) == snapshot
    assert report.tldr[2] not in page
    assert report.tldr[2] in json.render(report)


def test_why_little_is_decided_comes_before_the_note_about_a_restart(
    snapshot: SnapshotAssertion,
) -> None:
    tests = ["point-query", "scan", "update-index", "insert"]
    noise = synthetic.Noise(slice=0.05, tail_freedom=30, stolen_share=0, drift=0.0, restart=0.0)
    manifest, slices = synthetic_experiment([A, B], tests, noise=noise, blocks=12, seed=4)
    for record in slices:
        if record.place.contender == B and record.place.incarnation == 2:
            record.qps *= 1.3
    report = analyse(manifest, slices)

    [note] = report.notes
    text = "\n".join(terminal.lines(report))
    assert text.split("\n\n")[:2] == snapshot
    assert note in text.split("\n\n")[1]
    text = markdown.render(report)
    page = html.render(report, slices)
    assert text.partition("## tl;dr")[0].splitlines() == snapshot
    before, _, after = page.partition('<section class="note on-comparison"')
    assert words(before.rpartition('<section class="tldr')[2].partition(">")[2]) == snapshot
    assert note in after
