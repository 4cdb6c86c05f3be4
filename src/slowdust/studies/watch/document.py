"""The state of a watch as a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from slowdust import __version__
from slowdust.analysis.history.change_points import (
    ChangePointsUnavailableError,
    Noise,
    find_changes,
)
from slowdust.ratios import Ratio, work_ratio
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.ratio_lines import RatioLine, RatioPoint, Sign, history_chart
from slowdust.report.document import (
    ABSENT,
    Cell,
    Cells,
    Chart,
    Column,
    Document,
    Group,
    Items,
    Medium,
    Row,
    Section,
    Table,
    columns,
    glossary,
    text,
)
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import Change, Fate, Key, State
from slowdust.studies.watch.decision import RULES, Point, Rule, scales
from slowdust.studies.watch.judging import collect_points, name_series
from slowdust.studies.watch.series import EXPERIMENTS, Night
from slowdust.wording import clients, counted

_NIGHTS = 14
"""Last nights that a note lists."""
_DRAWN = 60
"""Last nights that are drawn."""
_TERMS = {
    "cost": (
        "Time or instructions per operation of the night's subject, relative to the base in the "
        "same experiment. Above 1 the subject costs more."
    ),
    "▲ ▼": (
        "A change point: from this night on the cost is higher, or lower. Change points use all "
        "nights; an alarm uses only the nights up to its own."
    ),
    "open": "Reported, and not acknowledged.",
    "acknowledged": (
        "Known: it is not reported again, and is listed until the test is back at its level."
    ),
    "accepted": "Closed: later nights are compared with the level after the change.",
    "gone": "The test is back at its level: at most half of the change is left.",
}


def document(name: str, state: State, nights: Sequence[Night]) -> Document:
    """Return the open alarms, the other changes, and the nights."""
    there = state.alarms
    answer = f"{counted(len(there), 'alarm')} after {counted(len(nights), 'night')}"
    series = find_levels(nights)
    grouped = groupby(series, key=lambda each: each.key[:2])
    panels = [
        _panel(f"series-{place}", [*each], nights[-_DRAWN:])
        for place, (_, each) in enumerate(grouped, start=1)
    ]
    return Document(
        name,
        [
            Group("tldr", "Summary", [text(answer)]),
            *_listed("Alarms", there),
            *_listed("Other changes", [each for each in state.changes if not each.is_open]),
            *([text(*words.in_doubt(state))] if state.doubts else []),
            *panels,
            _nights(nights, series),
            text(f"Slowdust {__version__}", media=Medium.TEXT),
            glossary(_TERMS),
        ],
        brand="Slowdust: a watch",
        first=("nights", "the nights"),
    )


def _listed(title: str, changes: Sequence[Change]) -> list[Section]:
    if not changes:
        return []
    commands = [
        change.bisect if change.bisect and change.fate is Fate.OPEN else "" for change in changes
    ]
    return [Section(title, [Items([words.with_fate(each) for each in changes], commands)])]


def _nights(nights: Sequence[Night], series: Sequence[Levels]) -> Section:
    """Return the nights with their costs relative to the base."""
    costs = {(each.name, point.night): point.level for each in series for point in each.points}
    rows = []
    for place, night in enumerate(nights):
        plan, number = night.plan, night.number
        page = f"{EXPERIMENTS}/{plan.experiment}/report.html"
        cells: Cells = [
            Cell(str(number), link=page if night.measured else ""),
            plan.date[:10],
            Cell(
                plan.subject.name + (" (failed)" if night.failed is not None else ""),
                note=night.failed or "",
            ),
            *(
                work_ratio(math.exp(costs[each.name, number]))
                if (each.name, number) in costs
                else ABSENT
                for each in series
            ),
            plan.good.name if plan.good else ABSENT,
            plan.base,
            night.host or ABSENT,
        ]
        is_last = place >= len(nights) - _NIGHTS
        rows.append(Row(cells, media=Medium.ALL if is_last else Medium.HTML))
    of_page = [Column(title, media=Medium.HTML) for title in ("last good", "base", "host")]
    heads = columns("night", "date", "subject", *(each.name for each in series), *of_page, left=3)
    about = text("Costs are relative to the base: above 1, the subject costs more.")
    return Section("Nights", [Table(heads, rows, "Nights"), about], "nights", "Nights")


def _panel(anchor: str, series: Sequence[Levels], nights: Sequence[Night]) -> Section:
    """Return the chart of a test, and the change points of its series in words."""
    test, level, _ = series[0].key
    title = f"{test}, {clients(level)}" if level > 1 else test
    places = {night.number: place for place, night in enumerate(nights)}
    marks = marks_of(["", *(each.key[2] for each in series)], "")
    lines = [
        RatioLine(
            label=each.key[2],
            mark=marks[each.key[2]],
            points=tuple(
                RatioPoint(
                    Ratio(math.exp(point.level), *each.bounds(point)), at=places[point.night]
                )
                for point in each.points
                if point.night in places
            ),
        )
        for each in series
    ]
    signs = [
        Sign(places[turn.night], turn.ratio > 1, "▲" if turn.ratio > 1 else "▼", marks[each.key[2]])
        for each in series
        for turn in each.turns
        if turn.night in places
    ]
    subjects = [f"{night.number}: {night.plan.subject.name}" for night in nights]
    described = f"{title}: cost of each night's subject relative to the base"
    turns = [
        f"{each.key[2]}: {work_ratio(turn.ratio)} times the cost from night {turn.night} on"
        for each in series
        for turn in each.turns
    ]
    return Section(
        title,
        [
            Chart(
                partial(history_chart, subjects, lines, signs, described),
                legend=[(marks[each.key[2]].css_class, each.key[2]) for each in series],
                is_wide=True,
            ),
            *([Items(turns)] if turns else []),
        ],
        anchor,
        title,
        media=Medium.HTML,
    )


_SIDES = 1.96


@dataclass(frozen=True)
class Turn:
    """A change point of a series, found with all of its nights."""

    night: int
    ratio: float
    """Cost after / cost before."""


@dataclass(frozen=True)
class Levels:
    """A series with its change points."""

    key: Key
    points: Sequence[Point]
    scale: float
    """Standard deviation of a night, of the log cost."""
    turns: Sequence[Turn]

    @property
    def name(self) -> str:
        """The name of the series, in words."""
        return name_series(self.key)

    def bounds(self, point: Point) -> tuple[float, float]:
        """Return the 95% interval of a night's cost relative to the base's."""
        half = _SIDES * max(self.scale, point.error)
        return math.exp(point.level - half), math.exp(point.level + half)


def find_levels(nights: Sequence[Night]) -> list[Levels]:
    """Return all series with their change points, in the order of the tests."""
    series = collect_points(nights)
    found = {}
    for metric, rule in RULES.items():
        keys = [key for key in series if key[2] == metric]
        for key, scale in zip(keys, scales([series[key] for key in keys], rule), strict=True):
            turns = list(_turns(series[key], scale, rule, len(series)))
            found[key] = Levels(key, series[key], scale, turns)
    return [found[key] for key in series if key in found]


def _turns(points: Sequence[Point], scale: float, rule: Rule, count: int) -> Iterator[Turn]:
    """Yield the change points within each run of nights on one host."""
    for _, run in groupby(points, key=lambda point: point.segment):
        nights = list(run)
        noise = Noise([max(scale, point.error) for point in nights], math.inf)
        try:
            changes = find_changes([point.level for point in nights], noise, count, rule.least)
        except ChangePointsUnavailableError:
            return
        for change in changes:
            yield Turn(nights[change.place].night, math.exp(change.difference))
