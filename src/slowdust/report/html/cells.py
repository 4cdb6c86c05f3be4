"""Table cells: a number as text, or a dash that says it was not measured; and their colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from markupsafe import Markup, escape

from slowdust import ratios, wording
from slowdust.analysis.model import (
    ResponseTime,
    Result,
    Work,
)
from slowdust.analysis.story.unsure import what_decides
from slowdust.ratios import Amount, Ratio
from slowdust.report import numbers
from slowdust.report.numbers import Band, band
from slowdust.report.sections.measured import ICONS

_Value = TypeVar("_Value")

ABSENT = Markup('<span class="absent" title="not measured">&ndash;</span>')


def band_of(result: Result) -> Band:
    """Return the colour of a result: by its rate, or in an open loop by its response time."""
    time = result.response_time and result.response_time.relative
    if result.ratio is None and time and time.value:
        return band(1 / time.value)
    return band(result.ratio and result.ratio.value)


def sureness(result: Result) -> str:
    return " not-sure" if result.verdict == "unsure" else ""


def rate_and_outlook(result: Result) -> str:
    """Return what a cell says when pointed at: its rate, and what would decide it."""
    rate = f"{measured(result.qps)} {result.unit}"
    if (typical := result.typical_beside) is not None:
        rate += f"; typical {ratios.ratio(typical)}"
        if result.typical is not None and result.typical.interval is not None:
            rate += f" ({numbers.interval(*result.typical.interval)})"
    elif result.all_time is not None:
        rate += f"; all time {ratios.ratio(result.all_time.value)} ({interval(result.all_time)})"
    return f"{rate}; unsure: {outlook}" if (outlook := what_decides(result)) else rate


def work_sureness(work: Work) -> str:
    return " not-sure" if work.verdict == "unsure" else ""


def amount_class(amount: Amount) -> str:
    return {"more": "slower", "less": "faster"}.get(amount, amount)


def work_icon(work: Work) -> str:
    """Return the verdict as a sign, for those who do not see its colour."""
    signs: dict[Amount | None, str] = {"more": "+", "less": "\N{MINUS SIGN}"}
    return signs.get(work.verdict, "·")


def work_interval(work: Work) -> str | Markup:
    if work.ratio is None or work.ratio.interval is None:
        return ABSENT
    return numbers.TO.join(map(ratios.work_ratio, work.ratio.interval))


def instructions_in_words(work: Work) -> str:
    parts = [f"{measured(work.instructions)} instructions per operation, by {work.source}"]
    if work.ratio is not None and work.bound is not None:
        parts.append(ratios.with_bound(ratios.work_in_words(work.ratio.value), work.bound))
    parts += [
        f"{measured(amount)} {name.replace('_', ' ')}" for name, amount in work.events.items()
    ]
    if work.background is not None:
        parts.append(f"{measured(work.background)} instructions of the background")
    return "; ".join(parts)


def relative_time(time: ResponseTime) -> Markup:
    """Return a mean response time relative to the base's, with its interval if there is one."""
    if time.relative is None:
        return ABSENT
    multiple = Markup("\N{MULTIPLICATION SIGN}") + ratios.ratio(time.relative.value)
    if time.relative.interval is None:
        return multiple
    return multiple + f" ({interval(time.relative)})"


def icon(rqps: float | None) -> str:
    """Return the band as a sign, for those who do not see its colour."""
    return ICONS[band(rqps)]


def contender_name(name: str) -> Markup:
    """Return a contender's name as an element; a long one may break where its parts meet.

    The points of a matrix, after the first space, are not broken.
    """
    if " " in name or "=" in name:
        point = Markup('<span class="point">{}</span>')
        words = (
            point.format(word) if "=" in word else _breakable(word) for word in name.split(" ")
        )
        return Markup('<span class="contender">{}</span>').format(Markup(" ").join(words))
    if len(name) <= wording.LONGEST_UNBROKEN:
        return Markup('<span class="contender short">{}</span>').format(name)
    return Markup('<span class="contender">{}</span>').format(_breakable(name))


def _breakable(name: str) -> Markup:
    return Markup().join(
        Markup("{}<wbr>").format(part) if part in "@/:+" else part
        for part in re.split(r"([@/:+])", name)
        if part
    )


def or_absent(form: Callable[[_Value], str]) -> Callable[[_Value | None], str | Markup]:
    """Return a formatter that shows None, a value that was not measured, as a dash."""
    return lambda value: ABSENT if value is None else form(value)


count = or_absent(numbers.count)
measured = or_absent(numbers.significant)
"""A value per operation, or a rate: three digits, all of those before the point."""
ratio = or_absent(ratios.ratio)
amount = or_absent(wording.amount)
work_ratio = or_absent(ratios.work_ratio)
percent = or_absent(numbers.percent)


def judged_interval(result: Result) -> str | Markup:
    return interval(result.ratio)


def value(ratio: Ratio | None) -> float | None:
    return None if ratio is None else ratio.value


def interval(ratio: Ratio | None) -> str | Markup:
    return ABSENT if ratio is None or ratio.interval is None else numbers.interval(*ratio.interval)


def response_time(value_us: float | None, unit: numbers.TimeUnit | None = None) -> str | Markup:
    """Return a response time given in microseconds, in `unit` or with the unit that suits it."""
    return ABSENT if value_us is None else numbers.response_time(value_us, unit)


def with_code(text: str) -> Markup:
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part
        for place, part in enumerate(parts)
    )
