"""The change points of a history's series, and a word on those that are not looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust.analysis.history.change_points import (
    FEWEST_WITHOUT_INTERVALS,
    Change,
    NoiseOf,
    changes,
    changes_by_size,
    noise_of_intervals,
    noise_of_scatter,
)
from slowdust.analysis.history.model import ChangePoint, Series
from slowdust.analysis.history.partition import ChangePointsUnavailableError
from slowdust.analysis.story.bands import Bands
from slowdust.wording import speed

BY_SIZE_ALONE = "by size alone"
_UNAVAILABLE = (
    "Change points are not marked: the library that finds them, ruptures, is not installed; it "
    "does not come for this version of Python."
)


def mark_changes(all_series: Sequence[Series], margin: float, bands: Bands) -> list[str]:
    """Find the change points of each series; sentences: what limits them.

    Steps smaller than `margin` are no change points above the noise; where the noise is not
    known, those that are no change in `bands`.
    """
    noises = _noises(all_series)
    try:
        for series, noise in zip(all_series, noises, strict=True):
            values = [math.log(point.rqps) for point in series.points]
            if noise is None:
                found = changes_by_size(values, bands)
            else:
                found = changes(values, noise, len(all_series), math.log1p(margin))
            series.change_points = [
                _change_point(series, change, by_size_alone=noise is None) for change in found
            ]
    except ChangePointsUnavailableError:
        return [_UNAVAILABLE]
    return [_limited(bands)] if any(noise is None for noise in noises) else []


def _noises(all_series: Sequence[Series]) -> list[NoiseOf | None]:
    noises = [noise_of_intervals([point.reach for point in one.points]) for one in all_series]
    unknown = [index for index, noise in enumerate(noises) if noise is None]
    scatter = noise_of_scatter(
        [[math.log(point.rqps) for point in all_series[index].points] for index in unknown]
    )
    for index, noise in zip(unknown, scatter, strict=True):
        noises[index] = noise
    return noises


def _limited(bands: Bands) -> str:
    return (
        f"Single runs of fewer than {FEWEST_WITHOUT_INTERVALS} versions do not say how large their "
        f"noise is: there change points are marked {BY_SIZE_ALONE}, from {bands.change:.0%} on, "
        f"and another run might not find them."
    )


def _change_point(series: Series, change: Change, *, by_size_alone: bool) -> ChangePoint:
    ratio = math.exp(change.shift)
    version = series.points[change.place].version
    words = f"{speed(ratio)} from {version} on"
    if change.versions > 2 and by_size_alone:
        # Beside a ratio of 1.03 another number needs an explanation.
        words = f"on average {words}"
    return ChangePoint(
        version=version,
        before=series.points[change.place - 1].version,
        ratio=ratio,
        words=f"{words} ({BY_SIZE_ALONE})" if by_size_alone else words,
        by_size_alone=by_size_alone,
    )
