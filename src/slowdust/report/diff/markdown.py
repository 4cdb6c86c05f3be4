"""The difference of two experiments as Markdown, and in short for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from slowdust.analysis.diff.model import Condition, Diff, Relation, TestDifference
from slowdust.analysis.diff.words import label_of
from slowdust.ratios import interval, ratio, work_ratio
from slowdust.report.markdown.table import ABSENT, escaped, or_absent, pale, table

_WIDEST = 100


def render(diff: Diff) -> str:
    """Return the whole difference: the sentences, then tables of tests and of conditions."""
    diff = escaped(diff)
    lines = [f"# {diff.before.experiment} and {diff.after.experiment}", ""]
    lines += [f"- {sentence}" for sentence in diff.summary]
    if diff.notes:
        lines += ["", *(f"> {note}  " for note in diff.notes)]
    if diff.tests:
        lines += ["", "## Tests", "", *_tests(diff), "", _explanation(diff)]
    if diff.conditions:
        lines += ["", "## Conditions", "", *_conditions(diff)]
    return "\n".join([*lines, ""])


def brief(diff: Diff) -> str:
    """Return the sentences and the tests that are not `same`, for a terminal."""
    lines = [line for text in (*diff.summary, *diff.notes) for line in _wrapped(text)]
    shown = [test for test in diff.tests if test.verdict != "same" or test.verdict_changed]
    if shown:
        lines += ["", *_aligned([_HEAD, *(_short_row(diff, test) for test in shown)])]
    if diff.conditions:
        lines += ["", "Conditions:"]
        lines += [line for each in diff.conditions for line in _wrapped(_in_words(each))]
    return "\n".join([*lines, ""])


_HEAD = ("Test", "Before", "After", "After / before")


def _short_row(diff: Diff, test: TestDifference) -> tuple[str, ...]:
    """Return the cells of a terminal: the intervals of both experiments are in their reports."""
    change = or_absent(test.ratio, ratio) + interval(test.low, test.high)
    sides = [
        ABSENT if side is None else f"{ratio(side.ratio)} {side.verdict}"
        for side in (test.before, test.after)
    ]
    return label_of(diff, test), *sides, f"{change} {test.verdict or ''}".rstrip()


def _in_words(condition: Condition) -> str:
    before, after = condition.before or "none", condition.after or "none"
    return f"  {condition.subject}, {condition.label}: {before}, then {after}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with columns two blanks apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def _wrapped(text: str) -> list[str]:
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    indent = "    " if text.startswith(" ") else "  "
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _tests(diff: Diff) -> list[str]:
    with_work = any(test.work for test in diff.tests)
    header = ["Test", "Before", "After", "After / before", "Change"]
    header += ["Work"] if with_work else []
    return table(header, [_row(diff, test, with_work=with_work) for test in diff.tests], left=1)


def _row(diff: Diff, test: TestDifference, *, with_work: bool) -> list[str]:
    change = or_absent(test.ratio, ratio) + interval(test.low, test.high)
    cells = [
        label_of(diff, test),
        _relation(test.before),
        _relation(test.after),
        pale(change) if test.verdict == "unsure" else change,
        test.verdict or ABSENT,
    ]
    if not with_work:
        return cells
    work = test.work
    return [*cells, ABSENT if work is None else f"{work_ratio(work.ratio)} {work.verdict}"]


def _relation(relation: Relation | None) -> str:
    if relation is None:
        return ABSENT
    cell = f"{ratio(relation.ratio)}{interval(relation.low, relation.high)}"
    return f"{pale(cell) if relation.verdict == 'unsure' else cell} {relation.verdict}"


def _explanation(diff: Diff) -> str:
    return (
        f"Before and after: throughput relative to {diff.base} in the same experiment, with its "
        "95% interval. After / before: the ratio of the two. In parentheses: unsure."
    )


def _conditions(diff: Diff) -> list[str]:
    rows = [_condition(condition) for condition in diff.conditions]
    return table(["Of", "What", "Before", "After"], rows, left=4)


def _condition(condition: Condition) -> list[str]:
    return [
        condition.subject,
        condition.label,
        condition.before or ABSENT,
        condition.after or ABSENT,
    ]
