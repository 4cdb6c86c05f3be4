"""Numbers as a reader wants them: few digits, thousands separators, one unit in a column.

Every function takes a measured number; `cells` prints a dash for a missing one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from slowdust.analysis.results.summary import CLEARLY_FASTER, CLEARLY_SLOWER
from slowdust.ratios import ratio


@dataclass(frozen=True)
class TimeUnit:
    """A unit for a column of response times."""

    symbol: str
    microseconds: float


Band = Literal["slower", "faster", "between"]


def band(rqps: float | None) -> Band:
    """Return the colour of a relative rate as it is printed; a missing one has none."""
    if rqps is None or CLEARLY_SLOWER < round(rqps, 2) < CLEARLY_FASTER:
        return "between"
    return "slower" if round(rqps, 2) <= CLEARLY_SLOWER else "faster"


MICROSECONDS = TimeUnit("µs", 1.0)
MILLISECONDS = TimeUnit("ms", 1e3)
SECONDS = TimeUnit("s", 1e6)

TO = "\N{EN DASH}"
_LEAST_MAGNITUDE = -4
"""The power of ten of the smallest values without an exponent."""
_BYTES_UNITS = ("B", "kB", "MB", "GB", "TB")


def significant(value: float, digits: int = 3) -> str:
    """Return `value` with at least `digits` significant digits.

    Digits before the decimal point are all kept: 12345.6 is '12,346', 0.01234 is '0.0123'. Below
    0.0001 it has an exponent, as Markdown has it: '5.3e-08'.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude < _LEAST_MAGNITUDE:
        return f"{value:.{digits}g}"
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def interval(low: float, high: float) -> str:
    """Return both ends of an interval, with a third decimal where two would show a point."""
    if low >= 0.095 and high < 10 and high - low < 0.015:
        return f"{low:.3f}{TO}{high:.3f}"
    return f"{ratio(low)}{TO}{ratio(high)}"


def percent(share: float) -> str:
    """Return a fraction as a percentage: a decimal below 10% unless it is zero."""
    return f"{share * 100:.0f}%" if share >= 0.1 else f"{share * 100:.1f}".removesuffix(".0") + "%"


def time_unit(values_us: Iterable[float]) -> TimeUnit:
    """Return the largest unit that keeps the digits of the smallest of `values_us`."""
    smallest = min(values_us, default=0.0)
    if smallest >= 1e6:
        return SECONDS
    return MILLISECONDS if smallest >= 1e3 else MICROSECONDS


def response_time(value_us: float, unit: TimeUnit | None = None) -> str:
    """Return a response time in `unit`, or with the symbol of the unit that suits it."""
    if unit is not None:
        return significant(value_us / unit.microseconds)
    own = time_unit([value_us])
    return f"{significant(value_us / own.microseconds)} {own.symbol}"


def size(value_bytes: float) -> str:
    """Return bytes with a decimal unit: 1,500,000 is '1.50 MB'."""
    value = float(value_bytes)
    for unit in _BYTES_UNITS[:-1]:
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{significant(value)} {unit}"
        value /= 1000
    return f"{significant(value)} {_BYTES_UNITS[-1]}"


def duration(seconds: float) -> str:
    """Return a length of time: '0.250 s', '12.5 s', '3 min 20 s', '2 h 5 min'."""
    if seconds < 100:
        return f"{significant(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def clock(seconds: float) -> str:
    """Return an offset on a time axis: '0:07', '12:34', '1:02:03'; tenths unless they are zero."""
    tenths = round(seconds * 10)
    whole, tenth = divmod(tenths, 10)
    minutes, second = divmod(whole, 60)
    tail = f"{second:02d}" + (f".{tenth}" if tenth else "")
    if minutes < 60:
        return f"{minutes}:{tail}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{tail}"


def short(value: float) -> str:
    """Return a rate on an axis: '850', '12k', '1.5M'."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"


def brief_time(value_us: float) -> str:
    """Return a response time on an axis: '200 µs', '1 ms', '10 s'."""
    for unit in (SECONDS, MILLISECONDS):
        if value_us >= unit.microseconds:
            return f"{value_us / unit.microseconds:g} {unit.symbol}"
    return f"{value_us:g} {MICROSECONDS.symbol}"
