"""Scales of the charts: from values to positions, and the ticks a reader can count with."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from slowdust.ratios import Ratio

_CLOCK_STEPS = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)

_FREE = 0.05
"""The share of a logarithmic axis of ratios that is free beyond each end."""
LEAST = 0.1
"""The lowest ratio that an axis holds for the sake of a margin, which may be 50% and more."""


@dataclass(frozen=True)
class Linear:
    """`low`..`high` mapped in proportion to `start`..`end` (start > end turns the axis round)."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of `value`; values outside the domain land outside the range."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class Logarithmic:
    """`low`..`high` (both > 0) mapped by their logarithms: equal ratios are equal distances."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of `value`, which must be > 0."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def inside(self, value: float) -> float:
        """Return the position of `value`, or of the end that it lies beyond."""
        return self(min(max(value, self.low), self.high))


@dataclass(frozen=True)
class BrokenTime:
    """A time axis of several `spans` (start, end), with what lies between them cut out."""

    spans: tuple[tuple[float, float], ...]
    starts: tuple[float, ...]
    """The position at which each span begins."""
    per_second: float

    def __call__(self, value: float) -> float:
        """Return the position of `value`; a time inside a cut is at the end of the span before."""
        index = max(0, bisect_right([start for start, _ in self.spans], value) - 1)
        start, end = self.spans[index]
        return self.starts[index] + (min(value, end) - start) * self.per_second

    @property
    def cuts(self) -> list[float]:
        ends = [self(end) for _, end in self.spans]
        return [(end + start) / 2 for end, start in zip(ends, self.starts[1:], strict=False)]


def broken_time(
    windows: Sequence[tuple[float, float]], width: float, *, most_spans: int = 12
) -> BrokenTime:
    """Return the axis for `windows` (start, end; seconds; any order) on `width`.

    Idle stretches are cut out that are longer than a tenth of the time measured and stand out
    among the others, at most `most_spans` - 1 of them: restarts and other tests would otherwise
    leave only slivers.
    """
    merged = _merge(windows)
    busy = sum(end - start for start, end in merged)
    gaps = sorted(
        ((later[0] - earlier[1], index) for index, (earlier, later) in enumerate(pairwise(merged))),
        reverse=True,
    )
    long = max(busy / 10, 4 * median(gap for gap, _ in gaps)) if len(gaps) > 1 else busy / 10
    cut_after = {index for gap, index in gaps[: most_spans - 1] if gap > long}
    spans: list[tuple[float, float]] = []
    opened = merged[0][0]
    for index, (_, end) in enumerate(merged):
        if index in cut_after or index == len(merged) - 1:
            spans.append((opened, end))
            opened = merged[index + 1][0] if index + 1 < len(merged) else end
    gutter = width * min(0.02, 0.3 / len(spans))
    total = sum(end - start for start, end in spans) or 1.0
    per_second = (width - gutter * (len(spans) - 1)) / total
    starts: list[float] = []
    position = 0.0
    for start, end in spans:
        starts.append(position)
        position += (end - start) * per_second + gutter
    return BrokenTime(tuple(spans), tuple(starts), per_second)


def _merge(windows: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def nice_step(span: float, most_ticks: int) -> float:
    """Return the smallest of 1, 2, 5 x 10^n that is at least `span` / (`most_ticks` - 1)."""
    raw = span / max(1, most_ticks - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1, 2, 5):
        if factor * power >= raw * (1 - 1e-9):
            return factor * power
    return 10 * power


def linear_ticks(low: float, high: float, most_ticks: int) -> list[float]:
    """Return multiples of a nice step within `low`..`high`."""
    step = nice_step(high - low, most_ticks)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def time_ticks(low: float, high: float, most_ticks: int) -> list[float]:
    """Return multiples of a step of a clock, seconds to hours, within `low`..`high` seconds."""
    raw = (high - low) / max(1, most_ticks - 1)
    step = next((step for step in _CLOCK_STEPS if step >= raw), 0.0)
    if not step or raw < 1:
        return linear_ticks(low, high, most_ticks)
    return [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def zero_based(highest: float, most_ticks: int = 5) -> tuple[float, list[float]]:
    """Return upper end and ticks of an axis from 0 that holds `highest` and ends at a tick."""
    step = nice_step(highest or 1.0, most_ticks)
    steps = math.ceil((highest or 1.0) / step - 1e-9)
    return steps * step, [round(index * step, 12) for index in range(steps + 1)]


def ratio_domain(
    points: Sequence[Ratio], margin: float, widest_stray: float
) -> tuple[float, float]:
    """Return the ends of a logarithmic axis with all `points`, twice the margin, and some space.

    Intervals are held as far as `widest_stray` times beyond the outermost point.
    """
    lowest = min(max(1 - 2 * margin, LEAST), *(point.value for point in points))
    highest = max(1 + 2 * margin, *(point.value for point in points))
    lows = [point.low for point in points if point.low is not None and point.low > 0]
    highs = [point.high for point in points if point.high is not None]
    low = max(min([lowest, *lows]), lowest / widest_stray)
    high = min(max([highest, *highs]), highest * widest_stray)
    free = (high / low) ** _FREE
    return low / free, high * free


_LADDERS = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"""Steps of a decade, the finest first."""


def ratio_ticks(low: float, high: float, most_ticks: int = 9) -> list[float]:
    """Return ticks of a logarithmic axis of ratios around 1, with 1 among them where it is inside.

    Narrow axes count in even steps (0.9, 0.95, 1, 1.05), wide ones in the finest steps of each
    decade that there is room for.
    """
    if high / low <= 2:
        return linear_ticks(low, high, most_ticks)
    for factors in _LADDERS:
        if len(ladder := decade_ticks(low, high, factors)) <= most_ticks:
            return ladder
    return ladder


def decade_ticks(low: float, high: float, factors: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = (factor * 10.0**power for power in powers for factor in factors)
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def few_ticks(low: float, high: float) -> list[float]:
    """Return ticks of a low logarithmic axis: powers of ten, and finer ones where these are few."""
    for factors in ((1,), (1, 2, 5)):
        if len(ticks := decade_ticks(low, high, factors)) >= 2:
            return ticks
    return linear_ticks(low, high, 4)
