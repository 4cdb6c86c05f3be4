"""Ratios with their intervals and verdicts, and how they are printed.

A small difference is printed as a percentage, a large one as a factor, on both sides of 1: '4%
slower', '1.6X slower', '1,600X slower'. `distance` prints it wherever a ratio appears in words.
Tables show a ratio as a number followed by its `interval`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, final

import msgspec

Verdict = Literal["faster", "slower", "same", "unsure"]
Amount = Literal["less", "more", "same", "unsure"]
"""Verdict on a metric for which neither more nor less is better."""
Basis = Literal["typical", "all time"]
"""The ratio that the verdict is based on: the typical block, or the totals."""

MULTIPLE = 1.5
"""Smallest factor that is printed as a factor and not as a percentage."""
_TINY = 0.095
"""Ratios below this are printed with significant digits: fixed decimals would lose them."""
_ROUNDING_ERROR = 1e-9


@final
class Ratio(msgspec.Struct, frozen=True):
    """A value divided by the base's value: above 0, and 1 for the base itself."""

    value: float
    low: float | None = None
    high: float | None = None
    """Bounds of the 95% interval; None for the base, with fewer than two blocks and for a single
    run."""
    verdict: Verdict | Amount | None = None
    """None for the base and for a value that is not judged."""
    margin: float | None = None
    """The largest difference from 1 that the verdict calls the same; None without a verdict."""

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def bound(self) -> float | None:
        """The bound nearer 1; None without an interval that excludes 1."""
        if self.low is None or self.high is None or self.low <= 1 <= self.high:
            return None
        return self.low if self.low > 1 else self.high

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width, in ln of the ratio."""
        return math.log(self.high / self.low) / 2 if self.low and self.high else None

    def inverse(self) -> Ratio:
        """Return the base's value divided by this one, with the same verdict."""
        low, high = (1 / end if end else None for end in (self.high, self.low))
        return Ratio(1 / self.value, low, high, self.verdict, self.margin)


@dataclass(frozen=True)
class Keys:
    """Keys under which JSON and CSV store the parts of a ratio, among the record's other fields.

    A part without a key is not written.
    """

    value: str | None = None
    low: str | None = None
    high: str | None = None
    verdict: str | None = None
    verdicts: object = Verdict
    """Type of the verdict."""
    nested: bool = False
    """Whether the parts are in an object of their own under the field's name."""

    def named(self, ratio: Ratio | None) -> dict[str, float | str | None]:
        """Return key -> part."""
        parts = (("value", self.value), ("low", self.low), ("high", self.high))
        return {
            key: getattr(ratio, part, None)
            for part, key in (*parts, ("verdict", self.verdict))
            if key is not None
        }


@dataclass(frozen=True)
class Margins:
    """The largest differences from 1 that count as the same."""

    usual: float
    own: Mapping[str, float] = field(default_factory=dict)
    """Test, or key of a metric -> margin."""

    def of(self, name: str, usual: float | None = None) -> float:
        """Return the margin of a test or a metric; `usual` replaces the experiment's."""
        return self.own.get(name, self.usual if usual is None else usual)


PLAIN = Keys("ratio", "low", "high", "verdict", Literal[Verdict, Amount])
"""Keys of a ratio that is a value of its own."""


class Rounding(Enum):
    """How the size of a difference is rounded."""

    NEAREST = "nearest"
    """The digits that a measured rate supports."""
    EXACT = "exact"
    """One digit more, for counts."""
    DOWN = "down"
    """Towards no difference, for lower bounds."""
    UP = "up"
    """Away from no difference, for upper bounds."""


def distance(value: float, rounding: Rounding = Rounding.NEAREST) -> str:
    """Format the distance of a ratio from 1: '0.4%', '7%', '1.6X', '57X', '1,600X'."""
    if value <= 0:
        return "\N{INFINITY}X"
    factor = max(value, 1 / value)
    return _multiple(factor, rounding) if factor >= MULTIPLE else _percentage(value, rounding)


def _multiple(factor: float, rounding: Rounding) -> str:
    if factor < 10:
        decimals = 2 if rounding is Rounding.EXACT else 1
        rounded = _round(factor, 10.0**-decimals, rounding)
        return f"{rounded:.{decimals}f}X" if rounded < 10 else "10X"
    return f"{_round(factor, 10.0 ** (math.floor(math.log10(factor)) - 1), rounding):,.0f}X"


def _percentage(value: float, rounding: Rounding) -> str:
    percent = abs(value - 1) * 100
    if percent >= 10:
        return f"{_round(percent, 1.0, rounding):g}%"
    if rounding is Rounding.NEAREST:
        return f"{percent:.0f}%" if percent >= 1 else f"{percent:.1f}%"
    if rounding is Rounding.DOWN and percent < 0.1:
        return f"{percent:.2g}%"
    return f"{_round(percent, 0.1, rounding):.2g}%"


def _round(value: float, step: float, rounding: Rounding) -> float:
    steps = value / step
    if rounding is Rounding.DOWN:
        return math.floor(steps + _ROUNDING_ERROR) * step
    if rounding is Rounding.UP:
        return math.ceil(steps - _ROUNDING_ERROR) * step
    return round(steps) * step


def speed(value: float) -> str:
    """Format relative throughput in words: '7% slower', '12% faster', '1,600X slower'."""
    return f"{distance(value)} {'faster' if value > 1 else 'slower'}"


def bounded_speed(of: Ratio) -> tuple[str, str]:
    """Write relative throughput and its bounds: '1.6X slower', ' (1.4X to 1.8X)'."""
    size, bounds = _bounded(of)
    return f"{size} {'faster' if of.value > 1 else 'slower'}", bounds


def bounded_work(of: Ratio) -> tuple[str, str]:
    """Write a ratio of instructions and its bounds: '4.6% less work', ' (4.4% to 4.9%)'."""
    size, bounds = _bounded(of)
    return f"{size} {'more' if of.value > 1 else 'less'} work", bounds


def _bounded(of: Ratio) -> tuple[str, str]:
    """Write a distance from 1 and its bounds, all as percentages or all as factors.

    The nearer bound is rounded down and the farther one up. Bounds are empty if
    the interval is missing or includes 1, or if both are printed alike.
    """
    if of.value <= 0:
        return distance(of.value), ""
    is_multiple = max(of.value, 1 / of.value) >= MULTIPLE
    size = distance(of.value, Rounding.NEAREST if is_multiple else Rounding.EXACT)
    if of.bound is None or of.low is None or of.high is None:
        return size, ""
    ends = (of.low, of.high) if of.low > 1 else (of.high, of.low)
    bounds = [
        distance(end, rounding)
        if end <= 0
        else _multiple(max(end, 1 / end), rounding)
        if is_multiple
        else _percentage(end, rounding)
        for end, rounding in zip(ends, (Rounding.DOWN, Rounding.UP), strict=True)
    ]
    return size, "" if bounds[0] == bounds[1] else f" ({' to '.join(bounds)})"


def change(value: float) -> str:
    """Format the ratio of an amount as a change: 'up 30%', 'down 4%', 'up 2.1X', 'flat'."""
    if value <= 0:
        return "down to 0"
    if round(abs(value - 1) * 100) == 0:
        return "flat"
    return f"{'up' if value > 1 else 'down'} {distance(value)}"


def throughput(value: float) -> str:
    """Format relative throughput, to be followed by a version: '20% less throughput than'."""
    return f"{distance(value)} {'more' if value > 1 else 'less'} throughput than"


def work_in_words(value: float) -> str:
    """Format a ratio of instructions: '4.6% less work', '1.52X more work'."""
    return f"{distance(value, Rounding.EXACT)} {'more' if value > 1 else 'less'} work"


def instructions(value: float) -> str:
    """Format a ratio of instructions, to be followed by 'per query': '4.6% fewer instructions'."""
    return f"{distance(value, Rounding.EXACT)} {'more' if value > 1 else 'fewer'} instructions"


def at_least(bound: float) -> str:
    """Format the bound of an interval that is nearer 1: 'at least 3%', 'at least 1,600X'."""
    return f"at least {distance(bound, Rounding.DOWN)}"


def with_bound(words: str, bound: float | None) -> str:
    """Append the bound nearer 1 to words about a ratio."""
    return words if bound is None else f"{words}, {at_least(bound)}"


def at_most(bound: float) -> str:
    """Format how far a ratio can be from 1: '3.1% slower', '12% faster', '2.4X faster'."""
    return f"{distance(bound, Rounding.UP)} {'faster' if bound > 1 else 'slower'}"


def ratio(value: float, decimals: int = 2) -> str:
    """Format a ratio as a number: '0.88', '0.00062', '12.3', '1,640'."""
    if 0 < abs(value) < _TINY:
        return f"{value:.{decimals}g}"
    if abs(value) < 10:
        return f"{value:.{decimals}f}"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def work_ratio(value: float) -> str:
    """Format a ratio of instructions, which is exact enough for three decimals."""
    return ratio(value, 3)


def with_interval(of: Ratio, decimals: int = 2) -> str:
    """Format a ratio with its interval, if it has one: '0.88 [0.84, 0.92]'."""
    return f"{ratio(of.value, decimals)}{interval(of, decimals)}"


def interval(of: Ratio, decimals: int = 2) -> str:
    """Format the interval after a ratio: ' [0.84, 0.92]'; '' without an interval."""
    if of.interval is None:
        return ""
    low, high = of.interval
    one = ratio(1.0, decimals)
    if of.bound is not None and one in (ratio(low, decimals), ratio(high, decimals)):
        decimals += 1  # so that no bound reads as 1
    return f" [{ratio(low, decimals)}, {ratio(high, decimals)}]"
