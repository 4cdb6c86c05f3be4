"""The trends by date as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from slowdust.analysis.history.dates import DateSeries, Trend
from slowdust.report.charts.ratio_lines import RatioPoint
from slowdust.report.document import (
    Cell,
    Cells,
    Column,
    Document,
    Panels,
    Row,
    Section,
    Table,
    columns,
    judged,
    text,
)
from slowdust.report.history import Course, panel_of
from slowdust.wording import GROUP_TITLES, counted, step_label

_MOST_DATES = 40
"""Maximum number of dates that a trend shows, the last ones."""


def document(trends: Sequence[Trend]) -> Document:
    """Return the ratios of the same contender to the same base, from night to night."""
    sections = [_trend(trend, f"trend-{place}") for place, trend in enumerate(trends)]
    none = (
        "No trend yet: no two experiments compare the same contender with the same base, on the "
        "same host and with the same data."
    )
    return Document(
        "Trends by date",
        sections or [Section("", [text(none)], "trend-0")],
        brand="Slowdust trends",
        heading="From night to night",
        subject="Throughput of the same contender relative to the same base, by date",
        first=("trend-0", "first trend"),
    )


def _trend(trend: Trend, anchor: str) -> Section:
    first = max(0, len(trend.nights) - _MOST_DATES)
    nights = trend.nights[first:]
    dates = _labels([night.started for night in nights])
    by_group: dict[str, list[DateSeries]] = {}
    for series in trend.series:
        by_group.setdefault(series.group, []).append(series)
    levels = {series.step.clients for series in trend.series}
    rows: list[Row] = []
    panels = []
    for place, (group, all_series) in enumerate(by_group.items()):
        title = GROUP_TITLES.get(group, group)
        courses = [
            Course(
                step_label(series.step.test, series.step.clients, levels),
                tuple(
                    RatioPoint(each.ratio, at)
                    for at, each in enumerate(series.ratios[first:])
                    if each is not None
                ),
            )
            for series in all_series
        ]
        words = f"{title}: throughput of {trend.contender} relative to {trend.base}, by date"
        panel = panel_of(title, f"{anchor}-{place}", dates, courses, words)
        panels.append(replace(panel, is_open=place == 0))
        for course, series in zip(courses, all_series, strict=True):
            cells: Cells = [Cell(course.label, mark=panel.marks[course.label])]
            for each in series.ratios[first:]:
                cell = judged(None if each is None else each.ratio)
                shade = cell.verdict if cell.verdict in ("slower", "faster") else ""
                cells.append(replace(cell, verdict="", shade=shade, hint=cell.verdict))
            rows.append(Row(cells, title))
    where = trend.where
    shown = f"; the last {len(dates)} are shown" if first else ""
    facts = [
        f"benchmark {where.benchmark}",
        *([where.data] if where.data else []),
        f"{counted(len(trend.nights), 'experiment')}{shown}",
        ", ".join(f"{label} {value}" for label, value in where.host) or "host not recorded",
    ]
    heads = [
        Column(date, page=f"experiments/{quote(night.experiment)}.html", hint=night.experiment)
        for date, night in zip(dates, nights, strict=True)
    ]
    title = f"{trend.contender} compared with {trend.base}"
    return Section(
        title,
        [
            text(
                f"{'; '.join(facts)}. Dates are evenly spaced. Pale marks are unsure.", role="lead"
            ),
            Panels(Table(columns("test", *heads, left=1), rows, "by date"), panels),
        ],
        anchor,
        f"{title}, {where.benchmark}",
    )


def _labels(starts: Sequence[str]) -> tuple[str, ...]:
    """Return the days, with the time of day if two experiments began on one day."""
    days = [start[:10] for start in starts]
    if len(set(days)) == len(days):
        return tuple(days)
    return tuple(start[:16].replace("T", " ") for start in starts)
