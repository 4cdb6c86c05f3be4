"""Table cells: a number as text, or a dash that says it was not measured; and their colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from markupsafe import Markup

from slowdust import wording as phrases
from slowdust.analysis.model import ResponseTime, Result
from slowdust.report.html import numbers

Band = Literal["slower", "faster", "between"]

SLOWER_BAND = 0.95
FASTER_BAND = 1.05
"""The classic bands: at or below, at or above."""

ABSENT = Markup('<span class="absent" title="not measured">&ndash;</span>')

_ICONS: dict[Band, str] = {"slower": "▼", "faster": "▲", "between": "·"}


def band(rqps: float | None) -> Band:
    """The colour of a relative rate, as it is printed; what was not measured has none."""
    if rqps is None or SLOWER_BAND < round(rqps, 2) < FASTER_BAND:
        return "between"
    return "slower" if round(rqps, 2) <= SLOWER_BAND else "faster"


def band_of(result: Result) -> Band:
    """The colour of a result: by its rate, or in an open loop by its response time."""
    time = result.response_time
    if result.rqps is None and time is not None and time.relative:
        return band(1 / time.relative)
    return band(result.rqps)


def relative_time(time: ResponseTime) -> Markup:
    """A mean response time relative to the base's, with its interval where there is one."""
    if time.relative is None:
        return ABSENT
    shown = Markup("\N{MULTIPLICATION SIGN}") + numbers.ratio(time.relative)
    if time.low is None or time.high is None:
        return shown
    return shown + f" ({numbers.interval(time.low, time.high)})"


def icon(rqps: float | None) -> str:
    """The band as a sign, for those who do not see its colour."""
    return _ICONS[band(rqps)]


def contender_name(name: str) -> Markup:
    """A contender's name as an element; a long one may break where its parts meet.

    What a matrix varies, behind the first space, breaks between its points only.
    """
    if " " in name or "=" in name:
        words = (_unbroken(word) if "=" in word else _breakable(word) for word in name.split(" "))
        return Markup('<span class="contender">{}</span>').format(Markup(" ").join(words))
    if len(name) <= phrases.LONGEST_UNBROKEN:
        return Markup('<span class="contender short">{}</span>').format(name)
    return Markup('<span class="contender">{}</span>').format(_breakable(name))


def _unbroken(point: str) -> Markup:
    return Markup('<span class="point">{}</span>').format(point)


def _breakable(name: str) -> Markup:
    return Markup().join(
        Markup("{}<wbr>").format(part) if part in "@/:+" else part
        for part in re.split(r"([@/:+])", name)
        if part
    )


def _or_absent(value: float | None, form: Callable[[float], str]) -> str | Markup:
    return ABSENT if value is None else form(value)


def rate(value: float | None) -> str | Markup:
    """A rate: whole from 100 up, three digits below."""
    return _or_absent(value, numbers.significant)


def count(value: float | None) -> str | Markup:
    """A whole number."""
    return _or_absent(value, numbers.count)


def measured(value: float | None) -> str | Markup:
    """A value per operation, three digits."""
    return _or_absent(value, numbers.significant)


def ratio(value: float | None) -> str | Markup:
    """A relative value."""
    return _or_absent(value, numbers.ratio)


def with_relative(value: float | None, factor: float | None) -> str | Markup:
    """A value per operation, and below it how many times the base's it is, where that is known."""
    shown = measured(value)
    if factor is None:
        return shown
    return Markup(f"{shown}<small>\N{MULTIPLICATION SIGN}{numbers.ratio(factor)}</small>")


def change(ratio: float | None) -> str | Markup:
    """A ratio in words: 'up 30%', '2.1X'."""
    return _or_absent(ratio, phrases.change)


def percent(value: float | None) -> str | Markup:
    """A share as a percentage."""
    return _or_absent(value, numbers.percent)


def size(value: float | None) -> str | Markup:
    """A number of bytes."""
    return _or_absent(value, numbers.size)


def interval(low: float | None, high: float | None) -> str | Markup:
    """An interval of relative values."""
    return ABSENT if low is None or high is None else numbers.interval(low, high)


def response_time(value_us: float | None, unit: numbers.TimeUnit | None = None) -> str | Markup:
    """A response time given in microseconds, in `unit`, or with the unit that suits it."""
    return _or_absent(value_us, lambda value: numbers.response_time(value, unit))


def seconds(value: float | None) -> str | Markup:
    """A length of time given in seconds."""
    return _or_absent(value, numbers.duration)
