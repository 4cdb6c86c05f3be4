"""Relative throughput along an axis, as lines: the charts over clients and over versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from slowdust import ratios
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Logarithmic, Ratio, ratio_domain, ratio_ticks

EDGE = 40.0
"""Drawing units that are free beside the first place on the axis and the last."""

MOST_WITH_WHISKERS = 5
"""The number of lines whose intervals can be told apart in one chart."""

WIDEST_STRAY = 1.5
"""The ratio to the outermost point from which an interval is cut off."""

_MOST_TICKS = 7


@dataclass(frozen=True)
class RatioPoint(Ratio):
    """Relative throughput at one place of the axis."""

    at: float
    """A number of clients, or the place of a version."""
    unsure: bool = False


@dataclass(frozen=True)
class RatioLine:
    """One line of the chart."""

    label: str
    mark: Mark
    points: tuple[RatioPoint, ...]
    """The points in ascending order of their places."""


@dataclass(frozen=True)
class Axes:
    """The axes and the size of a chart."""

    x: Callable[[float], float]
    y: Logarithmic
    stops: Sequence[float]
    """The places on the axis that have a line upwards."""
    margin: float
    """The shaded share around 1 within which a difference does not matter."""
    height: float
    apart: float = 0.0
    """Drawing units between lines whose intervals would lie on each other."""


def axis_of_ratios(
    lines: Sequence[RatioLine], margin: float, bottom: float, top: float = 0.0
) -> Logarithmic:
    """Return a logarithmic axis from `bottom` (pixels) up to `top` that holds all lines."""
    points = [point for line in lines for point in line.points]
    return Logarithmic(*ratio_domain(points, margin, WIDEST_STRAY), bottom, top)


def with_whiskers(lines: Sequence[RatioLine]) -> bool:
    """Return whether the chart shows intervals."""
    known = any(point.low is not None for line in lines for point in line.points)
    return known and len(lines) <= MOST_WITH_WHISKERS


def draw(
    title: str,
    lines: Sequence[RatioLine],
    axes: Axes,
    name_of: Callable[[float], str],
    labels: Sequence[Markup],
) -> Markup:
    """Return the chart; `name_of` names a place, `labels` are those below the axis."""
    y = axes.y
    ticks = ratio_ticks(y.low, y.high, _MOST_TICKS)
    top, bottom = y(min(y.high, 1 + axes.margin)), y(max(y.low, 1 - axes.margin))
    whiskers = with_whiskers(lines)
    middle = (len(lines) - 1) / 2
    return svg.Frame(
        title=title,
        height=axes.height,
        css_class="clients",
        behind=(
            svg.band(0, svg.WIDTH, top, bottom, "margin-band"),
            *(svg.level(y(tick), "one" if tick == 1 else "grid") for tick in ticks),
            *(svg.upright(axes.x(stop), 0, axes.height, "grid") for stop in axes.stops),
        ),
        marks=tuple(
            _line(line, axes, name_of, (index - middle) * axes.apart, whiskers=whiskers)
            for index, line in enumerate(lines)
        ),
        labels=tuple(labels),
        axis=tuple(svg.text("100%", y(t) + 4, "tick end", f"{t:g}", dx=-8) for t in ticks),
    ).markup()


def _line(
    line: RatioLine,
    axes: Axes,
    name_of: Callable[[float], str],
    aside: float,
    *,
    whiskers: bool,
) -> Markup:
    x, y = axes.x, axes.y
    placed = [(x(point.at) + aside, y(point.rqps)) for point in line.points]
    words = "; ".join(f"{name_of(point.at)}: {ratios.ratio(point.rqps)}" for point in line.points)
    sure = [point for point in line.points if not point.unsure]
    pale = [point for point in line.points if point.unsure]
    return Markup('<g class="{}"><title>{}</title>{}{}{}</g>').format(
        line.mark.css_class,
        f"{line.label}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(placed))),
        _marks(sure, axes, aside, whiskers=whiskers),
        Markup('<g class="not-sure">{}</g>').format(_marks(pale, axes, aside, whiskers=whiskers))
        if pale
        else "",
    )


def _marks(points: Sequence[RatioPoint], axes: Axes, aside: float, *, whiskers: bool) -> Markup:
    x, y = axes.x, axes.y
    intervals = svg.lines(
        (x(point.at) + aside, y.inside(point.low), x(point.at) + aside, y.inside(point.high))
        for point in points
        if whiskers and point.low is not None and point.high is not None
    )
    dots = svg.dots([(x(point.at) + aside, y(point.rqps)) for point in points])
    return svg.path("whisker", intervals) + svg.path("dot big", dots)
