"""Relative throughput along an axis, a line for each of those that are compared: what the charts
over clients and over versions have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.scale import Logarithmic, ratio_domain, ratio_ticks

EDGE = 40.0
"""Drawing units left free beside the first place on the axis and the last."""

MOST_WITH_WHISKERS = 5
"""Lines whose intervals can be told apart in one chart."""

WIDEST_STRAY = 1.5
"""How far an interval may reach beyond all points before it is cut off."""

_MOST_TICKS = 7


@dataclass(frozen=True)
class RatioPoint:
    """Relative throughput at one place of the axis."""

    at: float
    """A number of clients, or the place of a version."""
    rqps: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RatioLine:
    """One line of the chart."""

    label: str
    mark: Mark
    points: tuple[RatioPoint, ...]
    """In ascending order of their places."""


@dataclass(frozen=True)
class Axes:
    """What courses are drawn on."""

    x: Callable[[float], float]
    y: Logarithmic
    stops: Sequence[float]
    """Places on the axis that have a line upwards."""
    margin: float
    """Share around 1 within which a difference does not matter: shaded."""
    height: float
    apart: float = 0.0
    """Drawing units between the lines, where intervals at one place would lie on each other."""


def axis_of_ratios(
    courses: Sequence[RatioLine], margin: float, bottom: float, top: float = 0.0
) -> Logarithmic:
    """A logarithmic axis from `bottom` (pixels) up to `top` that holds all `courses`."""
    points = [point for course in courses for point in course.points]
    return Logarithmic(*ratio_domain(points, margin, WIDEST_STRAY), bottom, top)


def with_whiskers(courses: Sequence[RatioLine]) -> bool:
    """Whether the chart shows intervals."""
    known = any(point.low is not None for course in courses for point in course.points)
    return known and len(courses) <= MOST_WITH_WHISKERS


def draw(
    title: str,
    courses: Sequence[RatioLine],
    ground: Axes,
    name_of: Callable[[float], str],
    labels: Sequence[Markup],
) -> Markup:
    """The chart; `name_of` says what a place is called, `labels` are those below."""
    y = ground.y
    ticks = ratio_ticks(y.low, y.high, _MOST_TICKS)
    top, bottom = y(min(y.high, 1 + ground.margin)), y(max(y.low, 1 - ground.margin))
    shown = with_whiskers(courses)
    middle = (len(courses) - 1) / 2
    return svg.Frame(
        title=title,
        height=ground.height,
        css_class="clients",
        behind=(
            svg.band(0, svg.WIDTH, top, bottom, "margin-band"),
            *(svg.level(y(tick), "one" if tick == 1 else "grid") for tick in ticks),
            *(svg.upright(ground.x(stop), 0, ground.height, "grid") for stop in ground.stops),
        ),
        marks=tuple(
            _line(course, ground, name_of, (index - middle) * ground.apart, whiskers=shown)
            for index, course in enumerate(courses)
        ),
        labels=tuple(labels),
        axis=tuple(svg.text("100%", y(t) + 4, "tick end", f"{t:g}", dx=-8) for t in ticks),
    ).markup()


def _line(
    course: RatioLine,
    ground: Axes,
    name_of: Callable[[float], str],
    aside: float,
    *,
    whiskers: bool,
) -> Markup:
    x, y = ground.x, ground.y
    placed = [(x(point.at) + aside, y(point.rqps)) for point in course.points]
    intervals = svg.lines(
        (x(point.at) + aside, _inside(y, point.low), x(point.at) + aside, _inside(y, point.high))
        for point in course.points
        if whiskers and point.low is not None and point.high is not None
    )
    words = "; ".join(f"{name_of(point.at)}: {point.rqps:.2f}" for point in course.points)
    return Markup('<g class="{}"><title>{}</title>{}{}{}</g>').format(
        course.mark.css_class,
        f"{course.label}: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(placed))),
        svg.path("whisker", intervals),
        svg.path("dot big", svg.dots(placed)),
    )


def _inside(y: Logarithmic, value: float) -> float:
    return y(min(max(value, y.low), y.high))
