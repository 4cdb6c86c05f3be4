"""Change points: where a series of versions changes its level, and is not only noise.

The series x of versions 1..n are ln rqps with the noise s of each. Optimal partitioning (PELT:
Killick, Fearnhead and Eckley 2012, J. Am. Stat. Assoc. 107; the library ruptures: Truong, Oudre
and Vayatis 2020, Signal Processing 167) minimises

    sum over segments of  sum ((x - mean)^2 / s^2)   +   penalty * (number of segments - 1)

with means weighted by 1 / s^2. Without a change the most that one split can save is the largest
of n - 1 variables that are the square of Student's t, whose degrees of freedom are those of s
(the chi-squared where s is known); the penalty is the quantile that this exceeds with a
probability of `FALSE_ALARM` over all series of a history together (Bonferroni). So noise is
hardly ever taken for a change, however many series there are.

The noise of a few single runs is unknown. All that can be said of them is which changes are large
enough to matter (`find_changes_by_size`), and not whether they are noise.
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
from slowdust.units import known

FloatArray = npt.NDArray[np.float64]

_PACKAGE = "ruptures"
_NOT_LOADED: Mapping[str, Sequence[str]] = {
    _PACKAGE: (),
    f"{_PACKAGE}.detection": (),
    f"{_PACKAGE}.costs": ("cost_factory",),
}
"""Packages of the library whose `__init__` is not run -> names that PELT imports from them.

They import every search and every cost, and with them most of SciPy, which takes a second: more
than the rest of a history.
"""
FALSE_ALARM = 0.05
"""Probability of any change point in a history in which nothing changed."""
FEWEST_WITHOUT_INTERVALS = 6
"""Fewest versions whose scatter says how large the noise of single runs is."""
LEAST_SCATTER = 0.01
"""Least noise of a single run, in ln rqps, however alike a few happen to be."""
_TRUE_STEP = 3.0
"""Difference of neighbouring versions, in standard deviations, from which it is no noise."""
_MEDIAN_OF_NORMAL = 0.6745
"""Median of a normal variable's size, in standard deviations."""
_MISSED = 1.05
"""The noise, relative to that of the differences that are kept: of noise some are left out, too."""
_DECIDED_MOVES = 1e-9
BY_SIZE_ALONE = "by size alone"
_UNAVAILABLE = (
    "Change points are not marked: the library that finds them, ruptures, is not installed; it "
    "does not come for this version of Python."
)


class ChangePointsUnavailableError(Exception):
    """The library is not installed for this Python."""


def segment_ends(values: FloatArray, weights: FloatArray, penalty: float) -> list[int]:
    """Return the ends (exclusive) of the segments with the least cost; a segment is >= 1 value.

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

    # One version is enough for a segment: the newest one may be what changed.
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
    """Return the library's search, and the class that costs are derived from."""
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
    """Return the same from a version of the library whose modules are others."""
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
    """Index into the series of the first version of the new level, at least 1."""
    difference: float
    """Mean of the segment that begins there, less the mean of the one before it."""
    versions: int
    """Number of versions in these two segments."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the independent errors of a series, one for each version."""

    deviations: Sequence[float]
    freedom: float
    """Degrees of freedom with which they are known."""


def find_changes(
    series: Sequence[float], noise: Noise, count: int, least: float = 0.0
) -> list[Change]:
    """Return the changes of level of one of `count` series, in ln rqps.

    Changes smaller than `least` do not count. Raises `ChangePointsUnavailableError`.
    """
    if len(series) < 2:
        return []
    values = np.asarray(series, dtype=np.float64)
    weights = np.asarray(noise.deviations, dtype=np.float64) ** -2.0
    penalty = penalty_of(len(series), count, noise.freedom)
    smallest = max(least, _DECIDED_MOVES)
    return _changes(values, weights, penalty, lambda difference: abs(difference) >= smallest)


def find_changes_by_size(series: Sequence[float], bands: Bands) -> list[Change]:
    """Return the changes of level, but for small ones, of a series whose noise is unknown.

    A lone step between two levels is one if and only if `bands` call it a change, wherever it
    is: at the ends of n versions, where it saves least, a step d saves d^2 (n - 1) / n. Raises
    `ChangePointsUnavailableError`.
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
    """Return what another segment has to save, in units of the noise's variance."""
    from scipy.special import ndtri, stdtrit

    tail = FALSE_ALARM / count / (length - 1) / 2
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail)) ** 2


def _changes(
    values: FloatArray, weights: FloatArray, penalty: float, counts: Callable[[float], bool]
) -> list[Change]:
    """Return where segments meet, without the steps that do not count, the smallest first."""
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

    The half-width of that version itself is None. A ratio has the noise of two versions, each taken
    for half of its variance; the version that all are relative to has the median one. Returns None
    if any other version has no interval.
    """
    others = known(half_widths)
    if not others or len(others) < len(half_widths) - 1:
        return None
    scale = 1.959964 * math.sqrt(2)
    typical = median(others)
    deviations = [max(typical if half is None else half, 1e-6) / scale for half in half_widths]
    return Noise(deviations, math.inf)


def noise_of_scatter(all_series: Sequence[Sequence[float]]) -> list[Noise | None]:
    """Return the noise of each series of single runs, from differences of neighbouring versions.

    Differences are left out that are far larger than the median one, as true changes are: so a
    change at every other version is no noise. A series is taken to
    be at least as noisy as the typical one, and as `LEAST_SCATTER`. None for series of fewer than
    `FEWEST_WITHOUT_INTERVALS` versions.
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
    """Set the change points of each series; return notes about what limits them.

    Steps smaller than `margin` are no change points; where the noise is unknown, neither are
    steps that are no change in `bands`.
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
        f"Single runs of fewer than {FEWEST_WITHOUT_INTERVALS} versions do not say how large their "
        f"noise is: there change points are marked {BY_SIZE_ALONE}, from {bands.change:.0%} on, "
        f"and another run might not find them."
    )


def _change_point(series: Series, change: Change, *, by_size_alone: bool) -> ChangePoint:
    ratio = math.exp(change.difference)
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
