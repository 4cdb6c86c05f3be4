"""The history as one self-contained HTML page: readable without network and JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust import ratios
from slowdust.analysis.history.change_points import BY_SIZE_ALONE
from slowdust.analysis.history.model import History, LineHistory, Point, Series
from slowdust.report.history import (
    CHAINED,
    MARKS_ABOVE_NOISE,
    MARKS_BY_SIZE_ALONE,
    MEAN_AND_MEDIAN,
    change_at,
    label_of,
    mark_of,
    point_at,
    several_clients,
)
from slowdust.report.html import numbers
from slowdust.report.html.charts.marks import marks_of
from slowdust.report.html.charts.ratio_lines import RatioLine, RatioPoint, Sign, history_chart
from slowdust.report.html.environment import environment, shipped
from slowdust.wording import GROUP_TITLES, clients

MOST_UNFOLDED = 4
"""The number of groups up to which their tests are all unfolded."""


View = dict[str, object]
"""What a part of the template shows, by name."""


def render(history: History) -> str:
    template = environment().get_template("history.html")
    return template.render(
        lines=[_view(line, index) for index, line in enumerate(history.lines)],
        history=history,
        style=shipped("page.css", "charts.css"),
        script=shipped("save.js"),
        kinds=_kinds(history),
        above_noise=MARKS_ABOVE_NOISE,
        by_size_alone=MARKS_BY_SIZE_ALONE,
        chained=CHAINED,
        mean_and_median=MEAN_AND_MEDIAN,
        has_unsure=any(
            point.unsure
            for line in history.lines
            for series in (*line.groups, *line.tests)
            for point in series.points
        ),
    )


def _kinds(history: History) -> set[str]:
    """Return the kinds of change points that the page has, for its glossary."""
    return {
        BY_SIZE_ALONE if change.by_size_alone else "above noise"
        for line in history.lines
        for series in (*line.groups, *line.tests)
        for change in series.change_points
    }


def _view(line: LineHistory, index: int) -> View:
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
    return {
        "history": line,
        "anchor": anchor,
        "panels": panels,
        "several_clients": several_clients(line),
        "unfolded": len(by_group) <= MOST_UNFOLDED,
        "host": " · ".join(f"{label} {value}" for label, value in line.host.items())
        or "host not recorded",
    }


def _panel(line: LineHistory, title: str, anchor: str, all_series: Sequence[Series]) -> View:
    """Return a chart with its table, the groups or a group's tests, and their change points."""
    several = several_clients(line)
    labels = [
        f"{label_of(series)}, {clients(series.clients)}" if several else label_of(series)
        for series in all_series
    ]
    marks = marks_of(["", *labels], "")
    versions = [version.label for version in line.versions]
    labelled = list(zip(all_series, labels, strict=True))
    lines = [
        RatioLine(
            label=f"{label}, relative throughput by version",
            mark=marks[label],
            points=tuple(
                RatioPoint(
                    *(point.ratio.value, point.ratio.low, point.ratio.high),
                    versions.index(point.version),
                )
                for point in series.points
            ),
        )
        for series, label in labelled
    ]
    signs = [
        Sign(versions.index(change.version), change.ratio > 1, mark_of(change), marks[label])
        for series, label in labelled
        for change in series.change_points
    ]
    words = f"{title} of {line.line}: throughput relative to {line.base}, by version"
    return {
        "title": title,
        "anchor": anchor,
        "rows": [
            {
                "label": label_of(series),
                "clients": series.clients,
                "mark": marks[label],
                "cells": [_cell(series, version) for version in versions],
            }
            for series, label in labelled
        ],
        "chart": history_chart(versions, lines, signs, words),
        "changes": [
            f"{label}: {', '.join(change.words for change in series.change_points)}"
            for series, label in labelled
            if series.change_points
        ],
    }


def _cell(series: Series, version: str) -> View:
    """Return a version of a test or group; its `rqps` is None where there is none."""
    point = point_at(series, version)
    if point is None:
        return {"rqps": None}
    change = change_at(series, version)
    return {
        "rqps": point.ratio.value,
        "text": ratios.ratio(point.ratio.value) + (CHAINED if point.through else ""),
        "mark": mark_of(change) if change else "",
        "unsure": bool(point.unsure),
        "title": "; ".join((*([change.words] if change else []), *_origin(point))),
        "work": _work_of(point),
    }


def _work_of(point: Point) -> str:
    if point.work is None:
        return ""
    return (
        f"work {ratios.work_ratio(point.work.ratio.value)}{CHAINED if point.work.through else ''}"
    )


def _origin(point: Point) -> list[str]:
    origin = [f"from {', '.join(point.experiments)}"]
    if point.through:
        origin.insert(0, f"chained through {', '.join(point.through)}")
    if point.ratio.interval is not None:
        origin.insert(0, f"95% interval {numbers.interval(*point.ratio.interval)}")
    return [*(["unsure"] if point.unsure else []), *origin]
