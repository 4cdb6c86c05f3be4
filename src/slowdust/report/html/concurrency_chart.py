"""Relative rate over the number of clients, both on logarithmic axes: who overtakes whom, where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from slowdust.report.html import svg
from slowdust.report.html.marks import Mark
from slowdust.report.html.scale import Logarithmic, ratio_domain, ratio_ticks

HEIGHT = 190.0

MOST_WITH_WHISKERS = 4
"""Contenders whose intervals can be told apart in one chart."""

CLOSEST_LABELS = 60.0
"""Drawing units between two numbers of clients on the axis."""

_EDGE = 40.0
"""Drawing units left free beside the first level and the last."""

WIDEST_STRAY = 1.5
"""How far an interval may reach beyond all points before it is cut off."""


@dataclass(frozen=True)
class LevelPoint:
    """A contender at one number of clients."""

    clients: int
    rqps: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Series:
    """A contender's points, in ascending order of clients."""

    contender: str
    mark: Mark
    points: tuple[LevelPoint, ...]


def concurrency_chart(series: Sequence[Series], margin: float, title: str) -> Markup:
    """One line for each contender, the base the level at 1; nothing without two levels.

    `margin` is the share around 1 within which a difference does not matter.
    """
    levels = sorted({point.clients for one in series for point in one.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], _EDGE, svg.WIDTH - _EDGE)
    points = [point for one in series for point in one.points]
    y = Logarithmic(*ratio_domain(points, margin, WIDEST_STRAY), HEIGHT, 0)
    low, high = max(y.low, 1 - margin), min(y.high, 1 + margin)
    ticks = ratio_ticks(y.low, y.high, 7)
    return svg.Frame(
        title=title,
        height=HEIGHT,
        css_class="clients",
        behind=(
            svg.band(0, svg.WIDTH, y(high), y(low), "margin-band"),
            *(svg.level(y(tick), "one" if tick == 1 else "grid") for tick in ticks),
            *(svg.upright(x(level), 0, HEIGHT, "grid") for level in levels),
        ),
        marks=tuple(_line(one, x, y, len(series)) for one in series),
        labels=(
            *(svg.text("0", y(tick) + 4, "tick end", f"{tick:g}", dx=-8) for tick in ticks),
            *_level_labels(levels, x),
        ),
    ).markup()


def _line(one: Series, x: Logarithmic, y: Logarithmic, contenders: int) -> Markup:
    placed = [(x(point.clients), y(point.rqps)) for point in one.points]
    whiskers = ""
    if contenders <= MOST_WITH_WHISKERS:
        whiskers = svg.lines(
            (x(point.clients), _inside(y, point.low), x(point.clients), _inside(y, point.high))
            for point in one.points
            if point.low is not None and point.high is not None
        )
    words = "; ".join(f"{point.clients}: {point.rqps:.2f}" for point in one.points)
    return Markup('<g class="{}"><title>{}</title>{}{}{}</g>').format(
        one.mark.css_class,
        f"{one.contender}, rqps by clients: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(placed))),
        svg.path("whisker", whiskers),
        svg.path("dot big", svg.dots(placed)),
    )


def _inside(y: Logarithmic, value: float) -> float:
    return y(min(max(value, y.low), y.high))


def _level_labels(levels: Sequence[int], x: Logarithmic) -> list[Markup]:
    """The numbers of clients below the chart, while they do not touch."""
    labels: list[Markup] = []
    last = -CLOSEST_LABELS
    for level in levels:
        if x(level) - last >= CLOSEST_LABELS:
            last = x(level)
            labels.append(svg.text(svg.share(last), HEIGHT + 15, "tick middle", str(level)))
    return labels
