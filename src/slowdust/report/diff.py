"""The difference of two experiments as a page, as Markdown, and in short for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.diff import Condition, Diff, TestDifference, label_of
from slowdust.ratios import Ratio, ratio, with_interval, work_ratio
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Mark, marks_of
from slowdust.report.html.environment import environment, shipped
from slowdust.report.markdown.table import ABSENT, escaped, judged, table
from slowdust.units import known
from slowdust.wording import GROUP_TITLES, step_label


@dataclass(frozen=True)
class TestView:
    """A test with what the page calls it."""

    __test__ = False  # pytest takes classes called Test... for tests

    test: TestDifference
    label: str
    """Name, with the contender and clients where there are several."""
    step: str
    """Name without the contender."""
    anchor: str


Groups = dict[str, list[TestView]]
"""Title of a group of tests -> its tests."""


def render_page(diff: Diff) -> str:
    groups = _groups(diff)
    # As everywhere, the older of two has the grey of a base.
    before, after = marks_of(["before", "after"], "before").values()
    template = environment().get_template("diff.html")
    return template.render(
        diff=diff,
        groups=groups,
        sides=[(diff.before, "Before", before), (diff.after, "After", after)],
        charts=_charts(diff, groups, before, after),
        with_work=any(test.work for test in diff.tests),
        style=shipped("page.css", "site.css", "charts.css"),
        script=shipped("save.js"),
    )


def _groups(diff: Diff) -> Groups:
    levels = {test.clients for test in diff.tests}
    groups: Groups = {}
    for place, test in enumerate(diff.tests):
        step = step_label(test.test, test.clients, levels)
        view = TestView(test, label_of(diff, test), step, f"test-{place}")
        groups.setdefault(GROUP_TITLES.get(test.group, test.group), []).append(view)
    return groups


def _charts(diff: Diff, groups: Groups, before: Mark, after: Mark) -> list[tuple[str, Markup]]:
    names = dict.fromkeys(test.contender for test in diff.tests)
    charts = [(name, _chart(diff, groups, name, (before, after))) for name in names]
    return [(name, chart) for name, chart in charts if chart]


def _chart(diff: Diff, groups: Groups, contender: str, marks: tuple[Mark, Mark]) -> Markup:
    drawn = []
    for title, views in groups.items():
        rows = [
            ForestRow(view.step, view.anchor, _points(diff, view.test, marks))
            for view in views
            if view.test.contender == contender
        ]
        if rows := [row for row in rows if row.points]:
            drawn.append(ForestGroup(title, tuple(rows)))
    words = f"Throughput of {contender} relative to {diff.base} in both experiments, by test"
    return forest(drawn, diff.margin, words)


def _points(diff: Diff, test: TestDifference, marks: Sequence[Mark]) -> tuple[ForestPoint, ...]:
    sides = (diff.before.experiment, test.before), (diff.after.experiment, test.after)
    return tuple(
        known(
            _point(name, relation, mark)
            for (name, relation), mark in zip(sides, marks, strict=True)
        )
    )


def _point(experiment: str, relation: Ratio | None, mark: Mark) -> ForestPoint | None:
    if relation is None:
        return None
    return ForestPoint(
        *(relation.value, relation.low, relation.high),
        contender=experiment,
        mark=mark,
        verdict=relation.verdict or "",
    )


_WIDEST = 100


def render_markdown(diff: Diff) -> str:
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
    change = ABSENT if test.ratio is None else with_interval(test.ratio)
    sides = [
        ABSENT if side is None else f"{ratio(side.value)} {side.verdict}"
        for side in (test.before, test.after)
    ]
    return label_of(diff, test), *sides, f"{change} {test.verdict or ''}".rstrip()


def _in_words(condition: Condition) -> str:
    before, after = condition.before or "none", condition.after or "none"
    return f"  {condition.subject}, {condition.label}: {before}, then {after}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
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
    cells = [
        label_of(diff, test),
        _relation(test.before),
        _relation(test.after),
        judged(test.ratio),
        test.verdict or ABSENT,
    ]
    if not with_work:
        return cells
    work = test.work
    return [
        *cells,
        ABSENT if work is None else f"{work_ratio(work.ratio.value)} {work.ratio.verdict}",
    ]


def _relation(relation: Ratio | None) -> str:
    return ABSENT if relation is None else f"{judged(relation)} {relation.verdict}"


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
