"""The state of a watch as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from slowdust.ratios import work_ratio
from slowdust.report.html.charts.marks import Mark, marks_of
from slowdust.report.html.charts.ratio_lines import RatioLine, RatioPoint, Sign, history_chart
from slowdust.report.html.environment import environment, shipped
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import State
from slowdust.studies.watch.levels import Levels, levels_of
from slowdust.studies.watch.series import EXPERIMENTS, Night
from slowdust.wording import clients, counted

_NIGHTS = 60
"""The last nights, which are drawn."""


@dataclass(frozen=True)
class Panel:
    """The chart of one test."""

    title: str
    anchor: str
    legend: Sequence[tuple[Mark, str]]
    chart: Markup
    turns: Sequence[str]
    """The change points of its series, in words."""


def render(name: str, state: State, nights: Sequence[Night]) -> str:
    """Return the whole page."""
    template = environment().get_template("watch.html")
    there = state.alarms
    series = levels_of(nights)
    grouped = groupby(series, key=lambda each: each.key[:2])
    return template.render(
        name=name,
        answer=f"{counted(len(there), 'alarm')} after {counted(len(nights), 'night')}.",
        alarms=[(change, words.with_fate(change)) for change in there],
        others=[words.with_fate(change) for change in state.changes if not change.is_open],
        doubts=words.in_doubt(state),
        panels=[
            _panel(f"series-{place}", [*each], nights[-_NIGHTS:])
            for place, (_, each) in enumerate(grouped, start=1)
        ],
        nights=[*reversed(nights)],
        experiments=EXPERIMENTS,
        style=shipped("page.css", "charts.css"),
        script=shipped("save.js"),
    )


def _panel(anchor: str, series: Sequence[Levels], nights: Sequence[Night]) -> Panel:
    test, level, _ = series[0].key
    title = f"{test}, {clients(level)}" if level > 1 else test
    places = {night.number: place for place, night in enumerate(nights)}
    marks = marks_of(["", *(each.key[2] for each in series)], "")
    lines = [
        RatioLine(
            label=each.key[2],
            mark=marks[each.key[2]],
            points=tuple(
                RatioPoint(math.exp(point.level), *each.bounds(point), at=places[point.night])
                for point in each.points
                if point.night in places
            ),
        )
        for each in series
    ]
    signs = [
        Sign(places[turn.night], turn.ratio > 1, _sign(turn.ratio), marks[each.key[2]])
        for each in series
        for turn in each.turns
        if turn.night in places
    ]
    subjects = [f"{night.number}: {night.plan.subject.name}" for night in nights]
    words_ = f"{title}: cost of each night's subject relative to the base's"
    return Panel(
        title=title,
        anchor=anchor,
        legend=[(marks[each.key[2]], each.key[2]) for each in series],
        chart=history_chart(subjects, lines, signs, words_),
        turns=[
            f"{each.key[2]}: {work_ratio(turn.ratio)} times as much from night {turn.night} on"
            for each in series
            for turn in each.turns
        ],
    )


def _sign(ratio: float) -> str:
    return "▲" if ratio > 1 else "▼"
