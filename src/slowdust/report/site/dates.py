"""The page of trends by date."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust import ratios
from slowdust.analysis.history.dates import DateSeries, Trend
from slowdust.analysis.history.series import Chained
from slowdust.report.html import numbers
from slowdust.report.html.charts.marks import marks_of
from slowdust.report.html.charts.ratio_lines import RatioLine, RatioPoint, history_chart
from slowdust.report.html.environment import environment, shipped
from slowdust.wording import GROUP_TITLES, step_label

_MOST_DATES = 40
"""Dates that a trend shows; of more the last ones."""


View = dict[str, object]
"""What a part of the template shows, by name."""


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


def _view(trend: Trend, index: int) -> View:
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
    anchor = f"trend-{index}"
    return {"trend": trend, "anchor": anchor, "dates": dates, "panels": panels, "left_out": first}


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
) -> View:
    labels = [step_label(each.step.test, each.step.clients, levels) for each in group_series]
    marks = marks_of(["", *labels], "")
    shown = [series.ratios[-len(dates) :] for series in group_series]
    rows = [
        {"label": label, "mark": marks[label], "ratios": own}
        for label, own in zip(labels, shown, strict=True)
    ]
    lines = [
        RatioLine(
            label=f"{label}, relative throughput by date",
            mark=marks[label],
            points=tuple(
                RatioPoint(ratio.value, ratio.low, ratio.high, place)
                for place, each in enumerate(own)
                if each is not None
                for ratio in [each.ratio]
            ),
        )
        for label, own in zip(labels, shown, strict=True)
    ]
    words = f"{title}: throughput of {trend.contender} relative to {trend.base}, by date"
    return {"title": title, "chart": history_chart(dates, lines, [], words), "rows": rows}


def _ratio_text(chained: Chained) -> str:
    return ratios.ratio(chained.ratio.value)


def _interval_text(chained: Chained) -> str:
    interval = chained.ratio.interval
    return "" if interval is None else numbers.interval(*interval)
