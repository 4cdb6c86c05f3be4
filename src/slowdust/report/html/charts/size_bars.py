"""Sizes of builds as bars below each other: code, other text, data, and what is not loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markupsafe import Markup

from slowdust.report.html.charts import svg
from slowdust.report.html.charts.scale import Linear

_PITCH = 34.0
_TEXT = 13.0
_BAR = 12.0


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
    drawn = [_bar(bar, x, row * _PITCH) for row, bar in enumerate(bars)]
    frame = svg.Frame(title, len(bars) * _PITCH, css_class="bars sizes", behind=tuple(drawn))
    return frame.markup()


def _bar(bar: SizeBar, x: Linear, top: float) -> Markup:
    text = svg.text("0", top + _TEXT, "row", bar.label)
    text += svg.text("100%", top + _TEXT, "row end", bar.value)
    y = top + _TEXT + 5
    ends = pairwise(accumulate(bar.parts, initial=0))
    parts = (
        svg.band(x(start), x(end), y, y + _BAR, f"part part-{place}")
        for place, (start, end) in enumerate(ends)
    )
    return text + Markup().join(parts)
