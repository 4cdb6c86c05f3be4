"""The rate of a long step as bars, contenders below each other, incarnations as dots on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from slowdust.report.html import numbers
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Linear

PITCH = 40.0
"""Pixels from one bar to the next: a line of text and the bar."""
_TEXT = 13.0
_BAR = 14.0


@dataclass(frozen=True)
class Bar:
    """One contender; without incarnations it has no rate."""

    label: str
    mark: Mark
    rate: float | None
    """The median of the incarnations."""
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
        title=f"Rate of each contender in {unit}{', its incarnations as dots' if dotted else ''}",
        height=tops[-1],
        css_class="bars",
        behind=tuple(behind for behind, _ in drawn),
        marks=tuple(dots for _, dots in drawn if dotted),
    ).markup()


def _bar(bar: Bar, x: Linear, top: float, unit: str) -> tuple[Markup, Markup]:
    """Return the bar with its text, and its dots."""
    value = "not measured" if bar.rate is None else f"{numbers.significant(bar.rate)} {unit}"
    text = svg.text("0", top + _TEXT, "row", bar.label)
    text += svg.text("100%", top + _TEXT, "row end", value)
    if bar.rate is None:
        return text, Markup()
    y = top + _TEXT + 6
    state = "bar missed" if bar.note else "bar"
    body = svg.band(0, x(bar.rate), y, y + _BAR, f"{state} {bar.mark.colour}")
    if bar.note:
        body += svg.text("0", y + _BAR + _TEXT, "bar-note", bar.note)
    points = [(x(rate), y + _BAR / 2) for rate in bar.incarnations]
    return text + body, svg.path(f"dot {bar.mark.css_class}", svg.dots(points))
