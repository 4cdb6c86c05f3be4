"""The difference of two experiments as a document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowdust.analysis.diff import Diff, TestDifference, label_of
from slowdust.ratios import Ratio, work_ratio
from slowdust.report.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.charts.marks import Mark, marks_of
from slowdust.report.document import (
    ABSENT,
    Cell,
    Chart,
    Column,
    Document,
    Group,
    Heads,
    Items,
    Medium,
    Row,
    Section,
    Strong,
    Table,
    columns,
    glossary,
    judged,
    shaded,
    table,
    text,
)
from slowdust.wording import GROUP_TITLES, step_label

# The older one has the grey of a base.
_BEFORE, _AFTER = marks_of(["before", "after"], "before").values()
_SHADES = {"more": "slower", "less": "faster", "unsure": "unsure"}


def document(diff: Diff) -> Document:
    """Return the changes in sentences, the tests with both ratios, and conditions that differ."""
    before, after = diff.before.experiment, diff.after.experiment
    notes = [text(*diff.notes, role="quoted")] if diff.notes else []
    return Document(
        f"{before} and {after}",
        [
            Group("tldr", "Summary", [Items(diff.summary)]),
            *notes,
            _sides(diff),
            *([_tests(diff), _charts(diff)] if diff.tests else []),
            _conditions(diff),
            _reading(diff),
        ],
        brand="Slowdust: two experiments",
        heading="Changes between two experiments",
        subject=[Strong(before), ", then ", Strong(after)],
        first=("tests", "tests"),
        marks={"before": _BEFORE.css_class, "after": _AFTER.css_class},
    )


def _sides(diff: Diff) -> Table:
    rows = [
        (
            Cell(
                side.experiment,
                contender=word.lower(),
                note="" if side.finished else "not finished",
            ),
            (side.started or "at an unknown time").replace("T", " ").replace("+00:00", " UTC"),
            side.contenders[0],
            ", ".join(side.contenders[1:]),
        )
        for word, side in (("Before", diff.before), ("After", diff.after))
    ]
    heads = ("experiment", "started", "base", "contenders")
    return table(heads, rows, left=4, name="The experiments", media=Medium.HTML)


def _tests(diff: Diff) -> Section:
    with_work = any(test.work for test in diff.tests)
    sides = [Column(title, is_brief=True) for title in ("Before", "After")]
    heads: Heads = [
        "Test",
        *sides,
        "After / before",
        "Change",
        *(["Work"] if with_work else []),
    ]
    rows = [
        Row(
            [
                label_of(diff, test),
                judged(test.before),
                judged(test.after),
                shaded(test.ratio),
                test.verdict or ABSENT,
                *([_work(test)] if with_work else []),
            ],
            group=GROUP_TITLES.get(test.group, test.group),
            media=Medium.FILE
            if test.verdict == "same" and not test.verdict_changed
            else Medium.ALL,
        )
        for test in diff.tests
    ]
    explained = (
        f"Before and after: throughput relative to {diff.base} in the same experiment, with its "
        "95% interval. After / before: the ratio of the two. In parentheses: unsure."
    )
    shown = Table(columns(*heads, left=1), rows, "Tests of both experiments", is_grouped=True)
    return Section("Tests", [shown, text(explained, media=Medium.FILE)], "tests", "Tests")


def _work(test: TestDifference) -> Cell:
    if (work := test.work) is None:
        return Cell()
    verdict = work.ratio.verdict or ""
    return Cell(work_ratio(work.ratio.value), verdict=verdict, shade=_SHADES.get(verdict, ""))


def _charts(diff: Diff) -> Section:
    sides = [(_BEFORE.css_class, diff.before.experiment), (_AFTER.css_class, diff.after.experiment)]
    names = [*dict.fromkeys(test.contender for test in diff.tests)]
    charts = [
        Chart(
            partial(
                forest,
                _forest_groups(diff, name),
                diff.margin,
                f"Throughput of {name} relative to {diff.base} in both experiments, by test",
            ),
            caption=name if len(names) > 1 else "",
            legend=() if place else sides,
            is_wide=True,
        )
        for place, name in enumerate(names)
    ]
    return Section("Side by side", charts, "intervals", "Side by side")


def _forest_groups(diff: Diff, contender: str) -> list[ForestGroup]:
    levels = {test.clients for test in diff.tests}
    groups: dict[str, list[ForestRow]] = {}
    for test in diff.tests:
        points = _points(diff, test)
        if test.contender == contender and points:
            row = ForestRow(step_label(test.test, test.clients, levels), "tests", points)
            groups.setdefault(GROUP_TITLES.get(test.group, test.group), []).append(row)
    return [ForestGroup(title, tuple(rows)) for title, rows in groups.items()]


def _points(diff: Diff, test: TestDifference) -> tuple[ForestPoint, ...]:
    sides: Sequence[tuple[str, Ratio | None, Mark]] = (
        (diff.before.experiment, test.before, _BEFORE),
        (diff.after.experiment, test.after, _AFTER),
    )
    return tuple(
        ForestPoint(
            relation,
            contender=experiment,
            mark=mark,
            verdict=relation.verdict or "",
        )
        for experiment, relation, mark in sides
        if relation is not None
    )


def _conditions(diff: Diff) -> Section:
    rows = [
        (each.subject, each.label, each.before or ABSENT, each.after or ABSENT)
        for each in diff.conditions
    ]
    heads = ("Of", "What", "Before", "After")
    shown = table(heads, rows, left=4, name="Conditions that differ")
    same = "The recorded conditions are the same: method, host, builds and settings."
    return Section(
        "Conditions",
        [shown if rows else text(same, media=Medium.HTML)],
        "conditions",
        "Conditions",
    )


def _reading(diff: Diff) -> Section:
    words = {
        "before, after": (
            "Throughput of the contender relative to the base in one experiment, with its 95% "
            "interval and its verdict. Rates of two experiments are never compared."
        ),
        "after / before": (
            "The ratio of these two ratios, with its 95% interval. It is slower or faster if the "
            "interval excludes 1 after a correction for the number of tests, and the same if it is "
            f"within {diff.margin * 100:.0f}%. Pale: unsure."
        ),
        "\N{EN DASH}": "Not measured, or not comparable. Never zero.",
    }
    return glossary(words)
