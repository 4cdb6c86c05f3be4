"""What releases cost as a page: for each group the steps as a waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from slowdust.analysis.blame import Blame, GroupBlame, LineBlame, Part, RatioKind, Step
from slowdust.report.blame.cells import (
    CHAINED_LEGEND,
    HEADS,
    LEGEND,
    columns,
    facts,
    head,
    is_chained,
    largest,
    largest_title,
    part_of,
    ratio_at,
    value,
)
from slowdust.report.html.charts.waterfall import Row, falling
from slowdust.report.html.environment import environment, shipped

_FUNCTIONS = 12
"""Functions of a step that are listed."""
_WHAT: dict[RatioKind, str] = {"time": "time per operation", "work": "instructions per operation"}


@dataclass(frozen=True)
class Panel:
    """A group with its sentences and its chart."""

    title: str
    sentences: Sequence[str]
    caption: str
    chart: Markup


@dataclass(frozen=True)
class LineView:
    """A line of releases."""

    blame: LineBlame
    anchor: str
    facts: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    """Label -> the text of each cell, and the class that colours it."""
    legend: Sequence[str]
    panels: Sequence[Panel]
    largest: Sequence[tuple[str, str, str]]
    largest_title: str


def render(blame: Blame) -> str:
    """Return the whole page."""
    template = environment().get_template("blame.html")
    return template.render(
        blame=blame,
        lines=[_view(line, place) for place, line in enumerate(blame.lines)],
        most_functions=_FUNCTIONS,
        style=shipped("page.css", "charts.css"),
        script=shipped("save.js"),
    )


def _view(line: LineBlame, place: int) -> LineView:
    chosen = columns(line)
    return LineView(
        blame=line,
        anchor=f"line-{place}",
        facts=facts(line),
        heads=[f"{head(group, line)} {HEADS[kind]}" for group, kind in chosen],
        rows=[
            (step.label, [_cell(group, step, kind) for group, kind in chosen])
            for step in (*line.steps, line.whole)
        ],
        legend=[LEGEND, *([CHAINED_LEGEND] if is_chained(line) else [])],
        panels=[
            _panel(line, group, part)
            for group, part in zip(line.groups, line.whole.groups, strict=True)
        ],
        largest=[
            (
                step.label,
                largest(step, "slower", line),
                largest(step, "faster", line),
            )
            for step in line.steps
        ],
        largest_title=largest_title(line),
    )


def _cell(group: Part, step: Step, kind: RatioKind) -> tuple[str, str]:
    cell = ratio_at(group, step, kind)
    verdict = (cell and cell.ratio.verdict) or ""
    return value(cell, kind), verdict


def _panel(line: LineBlame, blame: GroupBlame, whole: Part) -> Panel:
    title, _, first = blame.sentences[0].partition(": ")
    # Work of some steps names them, but has no bars that lead to the last release.
    evidence: RatioKind = blame.evidence if whole.by(blame.evidence) is not None else "time"
    what = _WHAT[evidence]
    steps = [(step, part_of(whole, step)) for step in line.steps]
    changes = [0.0 if part is None else part.cost(evidence) or 0.0 for _, part in steps]
    rows = [
        _row(step.label, start, part, evidence)
        for (step, part), start in zip(steps, accumulate(changes, initial=0.0), strict=False)
        if part is not None and part.by(evidence) is not None
    ]
    rows += [_row(line.whole.label, 0.0, whole, evidence)] if whole.by(evidence) else []
    return Panel(
        title=title,
        sentences=[first[:1].upper() + first[1:], *blame.sentences[1:]],
        caption=f"{what.capitalize()}, relative to {line.whole.before}; lines are 95% intervals",
        chart=falling(rows, f"{title}, {what} from release to release"),
    )


def _row(label: str, start: float, part: Part, evidence: RatioKind) -> Row:
    cost = part.cost(evidence)
    ratio = part.by(evidence)
    assert cost is not None and ratio is not None, "only what was measured has a row"
    return Row(label, start, cost, *part.cost_interval(evidence))
