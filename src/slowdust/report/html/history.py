"""The history as one self-contained HTML page: readable without network and JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.history_model import History, LineHistory, Point, Series
from slowdust.analysis.phrases import GROUP_TITLES
from slowdust.report.history_markdown import (
    CHAINED,
    MARKS,
    MEAN_AND_MEDIAN,
    change_at,
    label_of,
)
from slowdust.report.html import numbers
from slowdust.report.html.environment import environment, shipped
from slowdust.report.html.history_chart import Course, CoursePoint, history_chart
from slowdust.report.html.marks import Mark, marks_of

MOST_UNFOLDED = 4
"""Groups of a line whose tests are shown at once."""


@dataclass(frozen=True)
class Cell:
    """A version of a test or group; `rqps` is None where there is none."""

    rqps: float | None
    shown: str = ""
    mark: str = ""
    """Of a change point."""
    title: str = ""


@dataclass(frozen=True)
class HistoryRow:
    """A line of a table, and of the chart above it."""

    label: str
    clients: int
    mark: Mark
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Panel:
    """A chart with its table: the groups, or a group's tests."""

    title: str
    anchor: str
    rows: tuple[HistoryRow, ...]
    chart: Markup
    changes: tuple[str, ...]
    """Sentences: the change points."""


@dataclass(frozen=True)
class LineView:
    """One line of versions."""

    history: LineHistory
    anchor: str
    panels: tuple[Panel, ...]
    several_clients: bool
    unfolded: bool
    host: str


def render(history: History) -> str:
    """The whole page."""
    template = environment().get_template("history.html")
    return template.render(
        lines=[_view(line, index) for index, line in enumerate(history.lines)],
        history=history,
        style=shipped("page.css"),
        marks=MARKS,
        chained=CHAINED,
        mean_and_median=MEAN_AND_MEDIAN,
    )


def _view(line: LineHistory, index: int) -> LineView:
    anchor = f"line-{index}"
    by_group: dict[str, list[Series]] = {}
    for series in line.tests:
        by_group.setdefault(series.group, []).append(series)
    panels = [
        _panel(line, GROUP_TITLES.get(group, group), f"{anchor}-{place}", tests)
        for place, (group, tests) in enumerate(by_group.items())
    ]
    if line.groups:
        panels.insert(0, _panel(line, "Groups of tests", f"{anchor}-groups", line.groups))
    return LineView(
        history=line,
        anchor=anchor,
        panels=tuple(panels),
        several_clients=len({series.clients for series in line.tests}) > 1,
        unfolded=len(by_group) <= MOST_UNFOLDED,
        host=" · ".join(f"{label} {value}" for label, value in line.host.items())
        or "host not recorded",
    )


def _panel(line: LineHistory, title: str, anchor: str, all_series: Sequence[Series]) -> Panel:
    several = len({series.clients for series in line.tests}) > 1
    labels = [
        f"{label_of(series)}, {series.clients} clients" if several else label_of(series)
        for series in all_series
    ]
    marks = marks_of(["", *labels], "")
    courses = [
        _course(line, series, label, marks)
        for series, label in zip(all_series, labels, strict=True)
    ]
    told = f"{title} of {line.line}: throughput relative to {line.base}, by version"
    return Panel(
        title=title,
        anchor=anchor,
        rows=tuple(
            HistoryRow(
                label=label_of(series),
                clients=series.clients,
                mark=marks[label],
                cells=tuple(_cell(series, version.label) for version in line.versions),
            )
            for series, label in zip(all_series, labels, strict=True)
        ),
        chart=history_chart([one.label for one in line.versions], courses, told),
        changes=tuple(
            f"{label}: {', '.join(change.words for change in series.change_points)}"
            for series, label in zip(all_series, labels, strict=True)
            if series.change_points
        ),
    )


def _course(line: LineHistory, series: Series, label: str, marks: Mapping[str, Mark]) -> Course:
    places = {version.label: place for place, version in enumerate(line.versions)}
    return Course(
        label=label,
        mark=marks[label],
        points=tuple(
            CoursePoint(
                place=places[point.version],
                rqps=point.rqps,
                low=point.low,
                high=point.high,
                change=change.ratio if (change := change_at(series, point.version)) else None,
            )
            for point in series.points
        ),
    )


def _cell(series: Series, version: str) -> Cell:
    point = next((point for point in series.points if point.version == version), None)
    if point is None:
        return Cell(None)
    change = change_at(series, version)
    return Cell(
        rqps=point.rqps,
        shown=numbers.ratio(point.rqps) + (CHAINED if point.through else ""),
        mark=MARKS[change.ratio > 1] if change else "",
        title="; ".join((*([change.words] if change else []), *_origin(point))),
    )


def _origin(point: Point) -> list[str]:
    told = []
    if point.low is not None and point.high is not None:
        told.append(f"95% interval {numbers.interval(point.low, point.high)}")
    if point.through:
        told.append(f"chained through {', '.join(point.through)}")
    return [*told, f"from {', '.join(point.experiments)}"]
