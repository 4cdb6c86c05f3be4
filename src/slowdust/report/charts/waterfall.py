"""A change as a waterfall: parts below each other, then the whole.

A part is a part of the time per operation, or a step from release to release. Positions are
ratios to the base's time on a logarithmic axis: each part begins at the end of the part above it,
and the product of the factors of all parts is the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from slowdust import ratios
from slowdust.analysis.model import Explanation
from slowdust.analysis.story.reasons import TITLES
from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.scale import Logarithmic, ratio_ticks

PITCH = 38.0
"""Pixels from one row to the next: a line of text and the bar."""
_TEXT = 13.0
_BAR = 12.0
_AXIS = 22.0
_NARROWEST = 0.02
"""Smallest change that the axis has room for, so that noise does not look like a change."""
_FREE = 0.04
"""Share of the axis that is free beyond each end."""
_MOST_TICKS = 6


@dataclass(frozen=True)
class Row:
    """A bar from where the rows above it ended; in logs of ratios."""

    label: str
    start: float
    change: float
    low: float | None
    high: float | None

    @property
    def value(self) -> str:
        """The factor with its interval: '1.25X [1.22, 1.28]'."""
        factor = f"{ratios.ratio(math.exp(self.change))}X"
        if self.low is None or self.high is None:
            return factor
        return f"{factor} [{numbers.interval(math.exp(self.low), math.exp(self.high))}]"

    @property
    def ends(self) -> tuple[float, ...]:
        """All positions that have to be on the axis."""
        reach = () if self.low is None or self.high is None else (self.low, self.high)
        return tuple(self.start + each for each in (0.0, self.change, *reach))


def waterfall(explanation: Explanation, operation: str) -> Markup:
    return falling(
        _rows(explanation, operation), f"Parts of the change of the time per {operation}"
    )


def falling(rows: Sequence[Row], title: str) -> Markup:
    """Return the chart of any rows, with a title for readers who cannot see it."""
    scale = _scale(rows)
    height = PITCH * len(rows) + _AXIS
    drawn = [_drawn(row, scale, PITCH * place) for place, row in enumerate(rows)]
    return svg.Frame(
        title=f"{title}: " + ", ".join(f"{row.label} {row.value}" for row in rows),
        height=height,
        css_class="waterfall",
        background=(*_axis(scale, len(rows)), *(bar for bar, _ in drawn)),
        marks=tuple(whisker for _, whisker in drawn),
    ).markup()


def _rows(explanation: Explanation, operation: str) -> list[Row]:
    parts = explanation.parts
    starts = accumulate((part.change for part in parts), initial=0.0)
    rows = [
        Row(TITLES[part.name], start, part.change, part.low, part.high)
        for part, start in zip(parts, starts, strict=False)
    ]
    whole = Row(f"time per {operation}", 0.0, explanation.change, explanation.low, explanation.high)
    return [*rows, whole]


def _scale(rows: Sequence[Row]) -> Logarithmic:
    ends = [end for row in rows for end in row.ends]
    low, high = min(*ends, -_NARROWEST), max(*ends, _NARROWEST)
    free = (high - low) * _FREE
    return Logarithmic(math.exp(low - free), math.exp(high + free), 0, svg.WIDTH)


def _drawn(row: Row, scale: Logarithmic, top: float) -> tuple[Markup, Markup]:
    y = top + _TEXT + 5
    ends = sorted(scale(math.exp(row.start + each)) for each in (0.0, row.change))
    side = "slower" if row.change > 0 else "faster"
    text = svg.text("0", top + _TEXT, "row", row.label)
    text += svg.text("100%", top + _TEXT, "row end", row.value)
    bar = svg.band(ends[0], ends[1], y, y + _BAR, f"part {side}")
    if row.low is None or row.high is None:
        return text + bar, Markup()
    low, high = (scale(math.exp(row.start + each)) for each in (row.low, row.high))
    return text + bar, svg.path("whisker", svg.dashes([(low, high, y + _BAR / 2)]))


def _axis(scale: Logarithmic, rows: int) -> list[Markup]:
    """Return the ticks; their lines do not cross the texts above the bars."""
    drawn = []
    for tick in ratio_ticks(scale.low, scale.high, _MOST_TICKS):
        x = scale(tick)
        css_class = "one" if tick == 1 else "grid"
        tops = (PITCH * place + _TEXT + 4 for place in range(rows))
        drawn += [svg.upright(x, top, top + _BAR + 2, css_class) for top in tops]
        drawn.append(svg.text(svg.share(x), PITCH * rows + _AXIS - 6, "tick middle", f"{tick:g}"))
    return drawn
