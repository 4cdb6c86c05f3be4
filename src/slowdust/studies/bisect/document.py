"""The outcome of a search as a document, for a page or a mailing list."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from slowdust import __version__
from slowdust.ratios import with_interval, work_ratio
from slowdust.report.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.charts.marks import Mark
from slowdust.report.document import (
    ABSENT,
    Block,
    Cell,
    Chart,
    Code,
    Document,
    Group,
    Items,
    Link,
    Medium,
    Row,
    Section,
    Strong,
    Table,
    columns,
    glossary,
    shaded,
    table,
    text,
)
from slowdust.studies.bisect.outcome import Change, Outcome
from slowdust.studies.bisect.record import describe_metric
from slowdust.studies.bisect.words import certainty, summary
from slowdust.studies.engine import STEPS
from slowdust.wording import share, signed_amount

_FUNCTIONS = 8
"""Maximum number of functions listed per change."""


def document(outcome: Outcome) -> Document:
    """Return the answer, each change with its causes, and the measured candidates."""
    answer, *changes = summary(outcome)
    range_ = f"{outcome.first.name} to {outcome.last.name}"
    conditions = text(f"Measured: {outcome.conditions}", role="note")
    return Document(
        f"{outcome.test}: {range_}",
        [
            Group("tldr", "Summary", [text(answer), *([Items(changes)] if changes else [])]),
            *(_change(change, place) for place, change in enumerate(outcome.changes, start=1)),
            _levels(outcome),
            text(*certainty(outcome), role="note"),
            *([conditions] if outcome.conditions else []),
            Code([outcome.command]),
            text(f"Slowdust {__version__}", media=Medium.MARKDOWN),
            glossary(
                {
                    "relative to the first": (
                        f"Above 1: the candidate costs more than {outcome.first.name}."
                    ),
                    "sure": (
                        "The posterior probability, given all measurements, that the test changed "
                        "there by more than builds without a change differ. Any measurement may be "
                        "wrong."
                    ),
                }
            ),
        ],
        brand="Slowdust: a search",
        heading=f"Where {outcome.test} changed",
        subject=[Strong(outcome.first.title), " to ", Strong(outcome.last.title)],
        first=("levels", "measured candidates"),
    )


def _change(change: Change, place: int) -> Section:
    candidate = change.candidate
    blocks: list[Block] = []
    if len(change.candidates) > 1:
        blocks.append(Items([each.title for each in change.candidates]))
    else:
        facts = _measured(change)
        if candidate.commit is not None:
            commit = f"Commit {candidate.commit}"
            facts = [commit, f"Author {candidate.author}, {candidate.date}", *facts]
        report = Link("The report of this experiment", f"{STEPS}/{change.experiment}/report.html")
        blocks = [
            *([text(*facts, role="lines")] if facts else []),
            *([text([report], media=Medium.HTML)] if change.result else []),
            *([Code(change.diff_stat.splitlines())] if change.diff_stat else []),
            *_functions(change),
        ]
    return Section(
        candidate.title,
        blocks,
        f"change-{place}",
        "Changes" if place == 1 else "",
    )


def _measured(change: Change) -> list[str]:
    """Return the direct comparison of a change with the candidate before it."""
    result = change.result
    if result is None:
        return []
    before, after = change.before.name, change.candidate.name
    lines = []
    if result.ratio is not None:
        lines.append(
            f"Throughput of {after} relative to {before}: {with_interval(result.ratio)}, "
            f"{result.verdict}"
        )
    if result.work is not None and result.work.ratio is not None:
        lines.append(
            f"Instructions per operation: {result.work.instructions:,.0f}, "
            f"{work_ratio(result.work.ratio.value)} times {before}, {result.work.verdict}"
        )
    return lines


def _functions(change: Change) -> list[Table]:
    if change.functions is None:
        return []
    rows = [
        [
            Cell(function.title, is_code=True),
            function.fate,
            signed_amount(function.change),
            ABSENT if function.share is None else share(function.share),
        ]
        for function in change.functions.functions[:_FUNCTIONS]
    ]
    heads = ("function", "", f"{change.functions.unit} per operation", "of the change")
    return [table(heads, rows, left=2, name="Functions that changed")]


def _levels(outcome: Outcome) -> Section:
    changed = {change.candidate.name for change in outcome.changes}
    heads = ("candidate", "date", f"{describe_metric(outcome.metric)}, relative to the first", "")
    rows = [
        Row(
            [
                level.candidate.title,
                (level.candidate.date or "")[:10],
                shaded(level.cost.ratio, decimals=3) if level.place else "1",
                "changed" if level.candidate.name in changed else "",
            ]
        )
        for level in outcome.levels
    ]
    words = f"{describe_metric(outcome.metric)} of each measured candidate, relative to the first"
    chart = partial(forest, [_drawn(outcome, changed)], outcome.margin, words)
    return Section(
        "Measured candidates",
        [
            Chart(chart, is_wide=True),
            Table(columns(*heads, left=2), rows, "Measured candidates"),
        ],
        "levels",
        "Measured candidates",
    )


def _drawn(outcome: Outcome, changed: Collection[str]) -> ForestGroup:
    """Return the costs of the measured candidates, in the order of the range."""
    rows = []
    for level in outcome.levels:
        name, cost = level.candidate.name, level.cost.ratio
        if not level.place:
            continue
        # As in all charts, changes are coloured, and the others are grey like a base.
        is_change = name in changed
        verdict = ("slower" if cost.value > 1 else "faster") if is_change else "same"
        point = ForestPoint(
            cost,
            contender=name,
            mark=Mark("k1" if is_change else "k0", "circle"),
            verdict=verdict,
        )
        rows.append(ForestRow(name, "levels", (point,)))
    return ForestGroup(outcome.test, tuple(rows))
