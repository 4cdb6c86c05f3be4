"""Throughput over versions: a line for each test, its change points marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from slowdust.report.html import svg
from slowdust.report.html.cells import FASTER_BAND
from slowdust.report.html.marks import Mark
from slowdust.report.html.scale import Linear, Logarithmic, ratio_domain, ratio_ticks

HEIGHT = 240.0

MOST_WITH_WHISKERS = 6
"""Lines whose intervals can be told apart in one chart."""

PER_VERSION = 64
"""Pixels that a version needs, lest the labels below touch."""

_EDGE = 40.0
"""Drawing units left free beside the first version and the last."""

WIDEST_STRAY = 1.5
"""How far an interval may reach beyond all points before it is cut off."""

_MARK_ABOVE = 8.0
"""Pixels between a point and the sign of its change."""


@dataclass(frozen=True)
class CoursePoint:
    """A version of a line."""

    place: int
    """Of the version on the axis."""
    rqps: float
    low: float | None
    high: float | None
    change: float | None
    """The new level / the old one, where another level begins."""


@dataclass(frozen=True)
class Course:
    """One line of the chart."""

    label: str
    mark: Mark
    points: tuple[CoursePoint, ...]


def history_chart(versions: Sequence[str], courses: Sequence[Course], title: str) -> Markup:
    """Versions at equal distances; the first is the level at 1, the shaded band no change."""
    points = [point for course in courses for point in course.points]
    if not points or len(versions) < 2:
        return Markup()
    x = Linear(0, len(versions) - 1, _EDGE, svg.WIDTH - _EDGE)
    margin = FASTER_BAND - 1
    y = Logarithmic(*ratio_domain(points, margin, WIDEST_STRAY), HEIGHT, 0)
    low, high = max(y.low, 1 - margin), min(y.high, 1 + margin)
    chart = svg.Frame(
        title=title,
        height=HEIGHT,
        css_class="clients",
        behind=(
            svg.band(0, svg.WIDTH, y(high), y(low), "margin-band"),
            *(
                svg.level(y(tick), "one" if tick == 1 else "grid")
                for tick in ratio_ticks(y.low, y.high, 7)
            ),
            *(svg.upright(x(place), 0, HEIGHT, "grid") for place in range(len(versions))),
        ),
        marks=tuple(_line(course, versions, x, y, len(courses)) for course in courses),
        labels=(
            *(
                svg.text("0", y(tick) + 4, "tick end", f"{tick:g}", dx=-8)
                for tick in ratio_ticks(y.low, y.high, 7)
            ),
            *(
                svg.text(svg.share(x(place)), HEIGHT + 15, "tick middle", version)
                for place, version in enumerate(versions)
            ),
            *(sign for course in courses for sign in _signs(course, x, y)),
        ),
    ).markup()
    width = PER_VERSION * len(versions) + 60
    return Markup('<div style="min-width:{}px">{}</div>').format(width, chart)


def _line(
    course: Course, versions: Sequence[str], x: Linear, y: Logarithmic, courses: int
) -> Markup:
    placed = [(x(point.place), y(point.rqps)) for point in course.points]
    whiskers = ""
    if courses <= MOST_WITH_WHISKERS:
        whiskers = svg.lines(
            (x(point.place), _inside(y, point.low), x(point.place), _inside(y, point.high))
            for point in course.points
            if point.low is not None and point.high is not None
        )
    words = "; ".join(f"{versions[point.place]}: {point.rqps:.2f}" for point in course.points)
    return Markup('<g class="{}"><title>{}</title>{}{}{}</g>').format(
        course.mark.css_class,
        f"{course.label}, relative throughput by version: {words}",
        svg.path("course", svg.lines((*a, *b) for a, b in pairwise(placed))),
        svg.path("whisker", whiskers),
        svg.path("dot big", svg.dots(placed)),
    )


def _signs(course: Course, x: Linear, y: Logarithmic) -> list[Markup]:
    """An arrow above or below each point at which another level begins."""
    return [
        svg.text(
            svg.share(x(point.place)),
            y(point.rqps) + (-_MARK_ABOVE if point.change > 1 else _MARK_ABOVE + 9),
            f"shift middle {course.mark.css_class}",
            "▲" if point.change > 1 else "▼",
        )
        for point in course.points
        if point.change is not None
    ]


def _inside(y: Logarithmic, value: float) -> float:
    return y(min(max(value, y.low), y.high))
