"""Bars below each other: rates of long steps, and sizes of builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markupsafe import Markup

from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import Linear

PITCH = 40.0
"""Pixels from one bar to the next: a line of text and the bar."""
_TEXT = 13.0
_BAR = 14.0


@dataclass(frozen=True)
class Bar:
    """One contender; without starts it has no rate."""

    label: str
    mark: Mark
    rate: float | None
    """The median over the starts."""
    incarnations: tuple[float, ...]
    note: str = ""
    """'SLA failed: 612 of 1,000 inserts/s'; the bar is grey then."""


def bars_chart(bars: Sequence[Bar], unit: str) -> Markup:
    """Return all bars on one scale from 0; nothing where none has a rate."""
    highest = max(
        (rate for bar in bars for rate in (bar.rate or 0.0, *bar.incarnations)), default=0
    )
    if not highest:
        return Markup()
    dotted = any(len(bar.incarnations) > 1 for bar in bars)
    x = Linear(0, highest, 0, svg.WIDTH)
    heights = [PITCH + (_TEXT if bar.note else 0) for bar in bars]
    tops = [0.0, *accumulate(heights)]
    drawn = [_bar(bar, x, top, unit) for bar, top in zip(bars, tops, strict=False)]
    return svg.Frame(
        title=f"Rate of each contender in {unit}{', its starts as dots' if dotted else ''}",
        height=tops[-1],
        css_class="bars",
        background=tuple(bar for bar, _ in drawn),
        marks=tuple(dots for _, dots in drawn if dotted),
    ).markup()


def _bar(bar: Bar, x: Linear, top: float, unit: str) -> tuple[Markup, Markup]:
    value = "not measured" if bar.rate is None else f"{numbers.significant(bar.rate)} {unit}"
    text = _labelled(bar.label, value, top)
    if bar.rate is None:
        return text, Markup()
    y = top + _TEXT + 6
    state = "bar missed" if bar.note else "bar"
    body = svg.band(0, x(bar.rate), y, y + _BAR, f"{state} {bar.mark.colour}")
    if bar.note:
        body += svg.text("0", y + _BAR + _TEXT, "bar-note", bar.note)
    points = [(x(rate), y + _BAR / 2) for rate in bar.incarnations]
    return text + body, svg.path(f"dot {bar.mark.css_class}", svg.dots(points))


def _labelled(label: str, value: str, top: float) -> Markup:
    text = svg.text("0", top + _TEXT, "row", label)
    return text + svg.text("100%", top + _TEXT, "row end", value)


_SIZE_PITCH = 34.0
_SIZE_BAR = 12.0


@dataclass(frozen=True)
class SizeBar:
    """A build: its label, its value in words, and its parts in bytes."""

    label: str
    value: str
    parts: tuple[int, ...]


def size_bars(bars: Sequence[SizeBar], title: str) -> Markup:
    """Return all bars on one scale from 0; the parts of each are shaded in their order."""
    highest = max((sum(bar.parts) for bar in bars), default=0)
    if not highest:
        return Markup()
    x = Linear(0, highest, 0, svg.WIDTH)
    drawn = [_size_bar(bar, x, row * _SIZE_PITCH) for row, bar in enumerate(bars)]
    frame = svg.Frame(
        title, len(bars) * _SIZE_PITCH, css_class="bars sizes", background=tuple(drawn)
    )
    return frame.markup()


def _size_bar(bar: SizeBar, x: Linear, top: float) -> Markup:
    y = top + _TEXT + 5
    ends = pairwise(accumulate(bar.parts, initial=0))
    parts = (
        svg.band(x(start), x(end), y, y + _SIZE_BAR, f"part part-{place}")
        for place, (start, end) in enumerate(ends)
    )
    return _labelled(bar.label, bar.value, top) + Markup().join(parts)
