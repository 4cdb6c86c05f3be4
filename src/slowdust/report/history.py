"""Signs and labels of a history, which its Markdown and its page have in common."""

from __future__ import annotations

from slowdust.analysis.history.model import ChangePoint, LineHistory, Point, Series
from slowdust.store.step import split_hold
from slowdust.wording import GROUP_TITLES, beside_hold

MARKS_ABOVE_NOISE = "▲ ▼"
"""Signs of change points from which on throughput is higher, and lower."""
MARKS_BY_SIZE_ALONE = "△ ▽"
"""Signs of change points of which nothing is known but the size."""
CHAINED = "*"
MEAN_AND_MEDIAN = (
    "The table has the geometric mean of a group's tests, of those that all versions have; the "
    "common result, in the sentences, is that of its median test."
)


def several_clients(line: LineHistory) -> bool:
    return len({series.clients for series in line.tests}) > 1


def label_of(series: Series) -> str:
    """Return a group with its number of tests, or the name of a test."""
    if not series.tests:
        return series.name
    title = GROUP_TITLES.get(series.group, series.group)
    return f"{title}{beside_hold(split_hold(series.name)[1])} ({len(series.tests)})"


def point_at(series: Series, version: str) -> Point | None:
    return next((point for point in series.points if point.version == version), None)


def change_at(series: Series, version: str) -> ChangePoint | None:
    return next((change for change in series.change_points if change.version == version), None)


def mark_of(change: ChangePoint) -> str:
    """Return the arrow of a change: hollow where it is one by size alone."""
    faster, slower = (MARKS_BY_SIZE_ALONE if change.by_size_alone else MARKS_ABOVE_NOISE).split()
    return faster if change.ratio > 1 else slower
