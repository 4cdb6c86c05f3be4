"""The difference of two experiments as Markdown, and in short for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from slowdust.analysis.diff.model import Condition, Diff, Relation, TestDifference
from slowdust.analysis.diff.words import label_of
from slowdust.report.markdown.table import (
    ABSENT,
    interval,
    or_absent,
    pale,
    ratio,
    table,
    work_ratio,
)

_WIDTH = 100


def render(diff: Diff) -> str:
    """Return the whole difference: the sentences, then tables of tests and of conditions."""
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
        lines += ["", *_table(diff, shown)]
    if diff.conditions:
        lines += ["", *_conditions(diff)]
    return "\n".join([*lines, ""])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _tests(diff: Diff) -> list[str]:
    return _table(diff, diff.tests)


def _table(diff: Diff, tests: Sequence[TestDifference]) -> list[str]:
    with_work = any(test.work for test in tests)
    header = ["Test", "Before", "After", "After / before", "Change"]
    header += ["Work"] if with_work else []
    return table(header, [_row(diff, test, with_work=with_work) for test in tests], left=1)


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
