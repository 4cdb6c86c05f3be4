"""The report for a terminal: from 60 columns up, no word is broken."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.report import terminal
from slowdust.report.answer import first_screen
from slowdust.report.console import NARROWEST
from tests.unit.report.media import printed
from tests.unit.report.sample import (
    counted_experiment,
    disk_experiment,
    long_experiment,
    matrix_experiment,
    plain_experiment,
    sweep_experiment,
    troubled_experiment,
)

SAMPLES = {
    "plain": plain_experiment,
    "counted": counted_experiment,
    "disk": disk_experiment,
    "long": long_experiment,
    "matrix": matrix_experiment,
    "sweep": sweep_experiment,
    "troubled": troubled_experiment,
}


LONG = ("""<script>alert('x')</script>&"@1""",)


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_line_is_too_long_and_no_word_is_broken(
    sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = SAMPLES[sample]()[0]
    texts = {width: printed(report, width) for width in (60, 80, 110)}
    whole = set(printed(report, 1000).split())
    monkeypatch.setattr(terminal, "MOST_BESIDE", 0)
    whole |= set(printed(report, 1000).split())  # columns of the other table

    for width, text in texts.items():
        rules = {word for word in text.split() if set(word) == {"\u2500"}}
        assert max(map(len, text.splitlines())) <= width
        # A name of a contender that takes half the line has to be broken.
        parts = {word for word in set(text.split()) - whole if any(word in name for name in LONG)}
        assert set(text.split()) - rules - parts <= whole, width


def test_the_answer_comes_first_the_table_last() -> None:
    report = counted_experiment()[0]
    lines = printed(report, 80).splitlines()

    screen = first_screen(report)
    assert screen is not None
    labels = [label for label, _ in screen.facts]
    assert [line.split("  ")[0] for line in lines if line.startswith(tuple(labels))] == labels
    head = next(number for number, line in enumerate(lines) if line.startswith("test "))
    in_table = {line.split()[0] for line in lines[head + 2 :] if line}
    assert report.answer is not None
    changed = (*report.answer.slower, *report.answer.faster)
    in_lines = {line.partition(":")[0] for line in changed}
    tests = {result.test for result in report.results}
    assert tests <= in_table | in_lines
    assert not in_table & in_lines


def test_the_storage_is_a_table_that_the_narrowest_terminal_has_room_for() -> None:
    report = disk_experiment()[0]
    lines = printed(report, NARROWEST).splitlines()
    head = next(number for number, line in enumerate(lines) if "pages/s" in line.split())
    assert lines[head].split() == ["test", "contender", "amplification", "pages/s"]
    rows = [line.split() for line in lines[head + 2 : head + 6]]
    assert [row[0] for row in rows] == [result.test for result in report.results]
    amplified = [f"{result.per_op['read_amplification']:.2f}" for result in report.results]
    assert [row[2] for row in rows] == amplified


def test_many_contenders_have_their_verdicts_counted(snapshot: SnapshotAssertion) -> None:
    report = matrix_experiment()[0]
    text = printed(report, 60)

    [head] = [line for line in text.splitlines() if line.startswith("contender ")]
    assert head.split()[1:3] == ["slower", "faster"]
    assert " ".join(text.split()) == snapshot
