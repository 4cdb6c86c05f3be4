"""The summary: groups of tests as lists."""

from __future__ import annotations

import re

from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import html, json
from slowdust.report.markdown import report as markdown
from tests.unit import synthetic
from tests.unit.report.media import printed
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


def test_a_terminal_and_markdown_list_each_step_of_a_group() -> None:
    report = single_runs()
    block = [
        "- Point queries (2 tests)",
        "  - from 5.6.51 to 5.7.44 there are big improvements for all tests",
        "  - from 5.7.44 to 8.0.28 there are big regressions for all tests",
        "  - for 8.0.28 the common result is about 20% less throughput than 5.6.51",
    ]

    assert "\n".join(block) in printed(report)
    assert "\n".join(block) in markdown.render(report)


def test_the_page_lists_them_and_json_keeps_sentences(snapshot: SnapshotAssertion) -> None:
    report = single_runs()

    page = html.render(report, [])

    assert re.findall(r"<li>(from [^<]*)</li>", page) == snapshot
    sentence = report.group_changes[0].sentence
    assert sentence not in page
    assert sentence in report.tldr
    assert sentence in json.render(report)


def test_what_is_open_comes_before_the_note_about_a_restart(snapshot: SnapshotAssertion) -> None:
    tests = ["point-query", "scan", "update-index", "insert"]
    noise = synthetic.Noise(slice=0.05, tail_freedom=30, stolen_share=0, drift=0.0, restart=0.0)
    manifest, slices = synthetic_experiment([A, B], tests, noise=noise, blocks=12, seed=4)
    for record in slices:
        if record.place.contender == B and record.place.incarnation == 2:
            record.qps *= 1.3
    report = analyse(manifest, slices)

    [note] = report.notes
    screen, second, *_ = printed(report).split("\n\n")
    assert screen == snapshot
    assert second == note
    assert markdown.render(report).partition("\n> ")[0].splitlines() == snapshot
    before, _, after = html.render(report, slices).partition('<section class="note"')
    assert words(before.rpartition("</nav>")[2]) == snapshot
    assert note in after
