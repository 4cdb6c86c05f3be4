"""The difference of two experiments as a page, the one beside the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.diff.model import Diff, Relation, TestDifference
from slowdust.analysis.diff.words import label_of
from slowdust.report.html.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.html.charts.marks import Mark, marks_of
from slowdust.report.html.environment import environment, shipped
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


def render(diff: Diff) -> str:
    """Return the whole page."""
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
    """Return contender -> the intervals of both experiments, of those that have any."""
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


def _point(experiment: str, relation: Relation | None, mark: Mark) -> ForestPoint | None:
    if relation is None:
        return None
    return ForestPoint(
        *(relation.ratio, relation.low, relation.high),
        contender=experiment,
        mark=mark,
        verdict=relation.verdict,
    )
