"""The page of trends by date."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust import ratios
from slowdust.analysis.history.chaining import Ratio
from slowdust.analysis.history.dates import DateSeries, Trend
from slowdust.report.html import numbers
from slowdust.report.html.charts.marks import Mark, marks_of
from slowdust.report.html.charts.ratio_lines import RatioLine, RatioPoint, history_chart
from slowdust.report.html.environment import environment, shipped
from slowdust.wording import GROUP_TITLES, step_label

_MOST_DATES = 40
"""Dates that a trend shows; of more the last ones."""


@dataclass(frozen=True)
class _Row:
    label: str
    mark: Mark
    ratios: tuple[Ratio | None, ...]


@dataclass(frozen=True)
class _Panel:
    title: str
    chart: Markup
    rows: tuple[_Row, ...]


@dataclass(frozen=True)
class _TrendView:
    trend: Trend
    anchor: str
    dates: tuple[str, ...]
    panels: tuple[_Panel, ...]
    left_out: int
    """Number of earlier dates that are not shown."""


def render(trends: Sequence[Trend]) -> str:
    return (
        environment()
        .get_template("dates.html")
        .render(
            trends=[_view(trend, index) for index, trend in enumerate(trends)],
            style=shipped("page.css", "site.css", "charts.css"),
            script=shipped("save.js"),
            ratio_text=_ratio_text,
            interval_text=_interval_text,
        )
    )


def _view(trend: Trend, index: int) -> _TrendView:
    first = max(0, len(trend.nights) - _MOST_DATES)
    dates = _labels([night.started for night in trend.nights[first:]])
    by_group: dict[str, list[DateSeries]] = {}
    for series in trend.series:
        by_group.setdefault(series.group, []).append(series)
    levels = {series.step.clients for series in trend.series}
    panels = [
        _panel(trend, dates, GROUP_TITLES.get(group, group), group_series, levels)
        for group, group_series in by_group.items()
    ]
    return _TrendView(trend, f"trend-{index}", dates, tuple(panels), first)


def _labels(starts: Sequence[str]) -> tuple[str, ...]:
    """Return the days, with the time of day where two began on one day."""
    days = [start[:10] for start in starts]
    if len(set(days)) == len(days):
        return tuple(days)
    return tuple(start[:16].replace("T", " ") for start in starts)


def _panel(
    trend: Trend,
    dates: Sequence[str],
    title: str,
    group_series: Sequence[DateSeries],
    levels: set[int],
) -> _Panel:
    labels = [step_label(each.step.test, each.step.clients, levels) for each in group_series]
    marks = marks_of(["", *labels], "")
    rows = tuple(
        _Row(label, marks[label], series.ratios[-len(dates) :])
        for label, series in zip(labels, group_series, strict=True)
    )
    words = f"{title}: throughput of {trend.contender} relative to {trend.base}, by date"
    return _Panel(title, history_chart(dates, [_line(row) for row in rows], [], words), rows)


def _line(row: _Row) -> RatioLine:
    return RatioLine(
        label=f"{row.label}, relative throughput by date",
        mark=row.mark,
        points=tuple(
            RatioPoint(math.exp(ratio.log), *_bounds(ratio), place)
            for place, ratio in enumerate(row.ratios)
            if ratio is not None
        ),
    )


def _bounds(ratio: Ratio) -> tuple[float | None, float | None]:
    if ratio.half_width is None:
        return None, None
    return math.exp(ratio.log - ratio.half_width), math.exp(ratio.log + ratio.half_width)


def _ratio_text(ratio: Ratio) -> str:
    return ratios.ratio(math.exp(ratio.log))


def _interval_text(ratio: Ratio) -> str:
    low, high = _bounds(ratio)
    return "" if low is None or high is None else numbers.interval(low, high)
