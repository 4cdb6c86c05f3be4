"""Change points: versions at which a series changes its level by more than noise.

The series x of versions 1..n are ln rqps with the noise s of each. Optimal partitioning (PELT:
Killick, Fearnhead and Eckley 2012, J. Am. Stat. Assoc. 107; the library ruptures: Truong, Oudre
and Vayatis 2020, Signal Processing 167) minimises

    sum over segments of  sum ((x - mean)^2 / s^2)   +   penalty * (number of segments - 1)

with means weighted by 1 / s^2. Without a change, the most that one split can save is the largest of
n - 1 variables distributed as the square of Student's t with the degrees of freedom of s
(chi-squared if s is known). The penalty is the quantile that this exceeds with a probability of
`FALSE_ALARM` over all series of a history together (Bonferroni). So noise is rarely taken for a
change, even with many series.

The noise of a few single runs is unknown. For these, changes that are large enough to matter are
found (`find_changes_by_size`); they may be noise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from slowdust.analysis.history.model import ChangePoint, Series
from slowdust.analysis.story.bands import Bands
from slowdust.analysis.story.bands import Change as Band
from slowdust.ratios import speed
from slowdust.stats.relative import HALF_WIDTH
from slowdust.units import known

FloatArray = npt.NDArray[np.float64]

_PACKAGE = "ruptures"
_NOT_LOADED: Mapping[str, Sequence[str]] = {
    _PACKAGE: (),
    f"{_PACKAGE}.detection": (),
    f"{_PACKAGE}.costs": ("cost_factory",),
}
"""Packages of the library whose `__init__` is not run -> names that PELT imports from them.

They import every search and every cost, and most of SciPy. That takes a second, more than the rest
of a history.
"""
FALSE_ALARM = 0.05
"""Probability of any change point in a history without changes."""
FEWEST_WITHOUT_INTERVALS = 6
"""Fewest versions from whose scatter the noise of single runs is estimated."""
LEAST_SCATTER = 0.01
"""Smallest noise of a single run, in ln rqps, however small the scatter."""
_TRUE_STEP = 3.0
"""Smallest difference of neighbouring versions, in standard deviations, that is not noise."""
_MEDIAN_OF_NORMAL = 0.6745
"""Median of a normal variable's size, in standard deviations."""
_MISSED = 1.05
"""Ratio of the noise to the noise of the kept differences: some noise is dropped with changes."""
_DECIDED_MOVES = 1e-9
BY_SIZE_ALONE = "by size alone"
_UNAVAILABLE = (
    "Change points are not marked, because the library ruptures is not installed; it is not "
    "available for this version of Python."
)


class ChangePointsUnavailableError(Exception):
    """The library is not installed for this version of Python."""


def segment_ends(values: FloatArray, weights: FloatArray, penalty: float) -> list[int]:
    """Return the ends (exclusive) of the segments with the least cost, each of >= 1 value.

    A segment costs its weighted squares plus `penalty`. Raises `ChangePointsUnavailableError`.
    """
    squares = _Squares(values, weights)
    if squares.between(0, len(values)) <= penalty:
        return [len(values)]
    search, base = _pelt()

    class WeightedMean(base):  # type: ignore[misc, valid-type]
        """Squared distance from the segment's mean, both weighted."""

        model = "weighted-mean"
        min_size = 1

        def fit(self, signal: FloatArray) -> WeightedMean:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            return squares.between(start, end)

    # One version is enough for a segment: the newest one may have changed.
    fitted = search(custom_cost=WeightedMean(), min_size=1, jump=1).fit(values)
    return [int(end) for end in fitted.predict(pen=penalty)]


class _Squares:
    """Weighted squared distances from a segment's weighted mean, from running sums."""

    def __init__(self, values: FloatArray, weights: FloatArray) -> None:
        centered = values - np.average(values, weights=weights)
        self._sums: list[list[float]] = [
            [0.0, *np.cumsum(weights * centered**power).tolist()] for power in (0, 1, 2)
        ]

    def between(self, start: int, end: int) -> float:
        """Return the sum over the values from `start` up to `end`."""
        weight, first, second = (sums[end] - sums[start] for sums in self._sums)
        return max(0.0, second - first**2 / weight)


@cache
def _pelt() -> tuple[Any, Any]:
    """Return the library's search and the base class of its costs."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ChangePointsUnavailableError(f"no module named {_PACKAGE}")
    try:
        with _stub_packages(Path(spec.submodule_search_locations[0])):
            module = import_module(f"{_PACKAGE}.detection.pelt")
            return module.Pelt, module.BaseCost
    except (ImportError, AttributeError):
        return _pelt_of_whole_library()


def _pelt_of_whole_library() -> tuple[Any, Any]:
    """Return the same from a version of the library with other modules."""
    try:
        return import_module(_PACKAGE).Pelt, import_module(f"{_PACKAGE}.base").BaseCost
    except ImportError as error:
        raise ChangePointsUnavailableError(str(error)) from error


@contextmanager
def _stub_packages(place: Path) -> Iterator[None]:
    """Provide empty packages for `_NOT_LOADED` while the modules below them are imported."""
    before = _loaded_modules()
    for name in before:
        del sys.modules[name]
    for name, wanted in _NOT_LOADED.items():
        package = ModuleType(name)
        package.__path__ = [str(place.joinpath(*name.split(".")[1:]))]
        for member in wanted:
            setattr(package, member, None)
        sys.modules[name] = package
    try:
        yield
    finally:
        for name in _loaded_modules():
            del sys.modules[name]
        sys.modules.update(before)


def _loaded_modules() -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in sys.modules.items()
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
    }


@dataclass(frozen=True)
class Change:
    """A change of level."""

    place: int
    """Index of the new level's first version in the series, at least 1."""
    difference: float
    """Mean of the segment that begins there, less the mean of the preceding segment."""
    versions: int
    """Number of versions in these two segments."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the independent errors of a series, one for each version."""

    deviations: Sequence[float]
    freedom: float
    """Degrees of freedom of their estimate."""


def find_changes(
    series: Sequence[float], noise: Noise, count: int, least: float = 0.0
) -> list[Change]:
    """Return the changes of level of one of `count` series, in ln rqps.

    Changes smaller than `least` are ignored. Raises `ChangePointsUnavailableError`.
    """
    if len(series) < 2:
        return []
    values = np.asarray(series, dtype=np.float64)
    weights = np.asarray(noise.deviations, dtype=np.float64) ** -2.0
    penalty = penalty_of(len(series), count, noise.freedom)
    smallest = max(least, _DECIDED_MOVES)
    return _changes(values, weights, penalty, lambda difference: abs(difference) >= smallest)


def find_changes_by_size(series: Sequence[float], bands: Bands) -> list[Change]:
    """Return the changes of level, except small ones, of a series with unknown noise.

    A single step between two levels is one if and only if `bands` classify it as a change, at any
    position: at the ends of n versions, where it saves least, a step d saves d^2 (n - 1) / n.
    Raises `ChangePointsUnavailableError`.
    """
    if len(series) < 2:
        return []
    values = np.asarray(series, dtype=np.float64)
    penalty = bands.least_log**2 * (1 - 1 / len(series)) * (1 - _DECIDED_MOVES)
    return _changes(
        values,
        np.ones_like(values),
        penalty,
        lambda difference: bands.of(math.exp(difference)) is not Band.NONE,
    )


def penalty_of(length: int, count: int, freedom: float = math.inf) -> float:
    """Return how much another segment has to save, in units of the noise's variance."""
    from scipy.special import ndtri, stdtrit

    tail = FALSE_ALARM / count / (length - 1) / 2
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail)) ** 2


def _changes(
    values: FloatArray, weights: FloatArray, penalty: float, counts: Callable[[float], bool]
) -> list[Change]:
    """Return the boundaries of segments, after removing steps that do not count, smallest first."""
    ends = segment_ends(values, weights, penalty)
    while True:
        starts = [0, *ends[:-1]]
        means = [
            float(np.average(values[start:end], weights=weights[start:end]))
            for start, end in zip(starts, ends, strict=True)
        ]
        changes = [
            Change(place, after - before, end - start)
            for place, start, end, (before, after) in zip(
                starts[1:], starts[:-1], ends[1:], pairwise(means), strict=True
            )
        ]
        too_small = [change for change in changes if not counts(change.difference)]
        if not too_small:
            return changes
        ends.remove(min(too_small, key=lambda change: abs(change.difference)).place)


def noise_of_intervals(half_widths: Sequence[float | None]) -> Noise | None:
    """Return the noise of ratios to one version, from half-widths in ln rqps of 95% intervals.

    The common version itself has no half-width. A ratio has the noise of two versions; each is
    assigned half of its variance, and the common version the median noise. None if any other
    version has no interval.
    """
    others = known(half_widths)
    if not others or len(others) < len(half_widths) - 1:
        return None
    scale = HALF_WIDTH * math.sqrt(2)
    typical = median(others)
    deviations = [max(typical if half is None else half, 1e-6) / scale for half in half_widths]
    return Noise(deviations, math.inf)


def noise_of_scatter(all_series: Sequence[Sequence[float]]) -> list[Noise | None]:
    """Return the noise of each series of single runs, from differences of neighbouring versions.

    Differences far larger than the median are excluded as true changes, so a change at every other
    version is not noise. A series is assumed to be at least as noisy as the typical series, and as
    `LEAST_SCATTER`. None for series with fewer than `FEWEST_WITHOUT_INTERVALS` versions.
    """
    scatters = [_scatter(series) for series in all_series]
    present = known(scatters)
    typical = median(present) if present else 0.0
    return [
        None
        if scatter is None
        else Noise([max(scatter, typical, LEAST_SCATTER)] * len(series), len(series) - 2)
        for scatter, series in zip(scatters, all_series, strict=True)
    ]


def _scatter(series: Sequence[float]) -> float | None:
    if len(series) < FEWEST_WITHOUT_INTERVALS:
        return None
    steps = np.abs(np.diff(series))
    noise = steps[steps <= _TRUE_STEP * np.median(steps) / _MEDIAN_OF_NORMAL]
    return _MISSED * math.sqrt(float(np.mean(noise**2)) / 2)


def mark_changes(all_series: Sequence[Series], margin: float, bands: Bands) -> list[str]:
    """Set the change points of each series; return notes about their limitations.

    Steps smaller than `margin` are ignored; if the noise is unknown, so are steps that `bands` do
    not classify as a change.
    """
    noises = _noises(all_series)
    try:
        for series, noise in zip(all_series, noises, strict=True):
            values = [math.log(point.ratio.value) for point in series.points]
            if noise is None:
                changes = find_changes_by_size(values, bands)
            else:
                changes = find_changes(values, noise, len(all_series), math.log1p(margin))
            series.change_points = [
                _change_point(series, change, by_size_alone=noise is None) for change in changes
            ]
    except ChangePointsUnavailableError:
        return [_UNAVAILABLE]
    return [_note_about_sizes(bands)] if any(noise is None for noise in noises) else []


def _noises(all_series: Sequence[Series]) -> list[Noise | None]:
    noises = [
        noise_of_intervals([point.ratio.half_width for point in series.points])
        for series in all_series
    ]
    unknown = [index for index, noise in enumerate(noises) if noise is None]
    scatter = noise_of_scatter(
        [[math.log(point.ratio.value) for point in all_series[index].points] for index in unknown]
    )
    for index, noise in zip(unknown, scatter, strict=True):
        noises[index] = noise
    return noises


def _note_about_sizes(bands: Bands) -> str:
    return (
        f"The noise of single runs of fewer than {FEWEST_WITHOUT_INTERVALS} versions is unknown: "
        f"their change points are marked {BY_SIZE_ALONE}, from {bands.change:.0%} on, and another "
        f"run might not find them."
    )


def _change_point(series: Series, change: Change, *, by_size_alone: bool) -> ChangePoint:
    ratio = math.exp(change.difference)
    version = series.points[change.place].version
    words = f"{speed(ratio)} from {version} on"
    if change.versions > 2 and by_size_alone:
        # The average may differ from the ratio printed for the version.
        words = f"on average {words}"
    return ChangePoint(
        version=version,
        before=series.points[change.place - 1].version,
        ratio=ratio,
        words=f"{words} ({BY_SIZE_ALONE})" if by_size_alone else words,
        by_size_alone=by_size_alone,
    )
