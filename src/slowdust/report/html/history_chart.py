"""Throughput over versions: a line for each test, its change points marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.report.html import svg
from slowdust.report.html.cells import FASTER_BAND
from slowdust.report.html.courses import EDGE, Course, Ground, axis_of_ratios, draw
from slowdust.report.html.marks import Mark
from slowdust.report.html.scale import Linear

HEIGHT = 240.0

PER_VERSION = 64
"""Pixels that a version needs, lest the labels below touch."""

_MARK_ABOVE = 8.0
"""Pixels between a point and the sign of its change."""


@dataclass(frozen=True)
class Sign:
    """Where another level begins."""

    place: int
    """Of the version on the axis."""
    rqps: float
    faster: bool
    sign: str
    mark: Mark
    """Of its line."""


def history_chart(
    versions: Sequence[str], courses: Sequence[Course], signs: Sequence[Sign], title: str
) -> Markup:
    """Versions at equal distances; the first is the level at 1, the shaded band no change."""
    if not any(course.points for course in courses) or len(versions) < 2:
        return Markup()
    x = Linear(0, len(versions) - 1, EDGE, svg.WIDTH - EDGE)
    margin = FASTER_BAND - 1
    ground = Ground(x, axis_of_ratios(courses, margin, HEIGHT), range(len(versions)), margin)
    labels = [
        *(
            svg.text(svg.share(x(place)), HEIGHT + 15, "tick middle", version)
            for place, version in enumerate(versions)
        ),
        *(_drawn(sign, ground) for sign in signs),
    ]
    chart = draw(title, courses, ground, lambda at: versions[int(at)], labels)
    width = PER_VERSION * len(versions) + 60
    return Markup('<div style="min-width:{}px">{}</div>').format(width, chart)


def _drawn(sign: Sign, ground: Ground) -> Markup:
    """An arrow above or below its point."""
    return svg.text(
        svg.share(ground.x(sign.place)),
        ground.y(sign.rqps) + (-_MARK_ABOVE if sign.faster else _MARK_ABOVE + 9),
        f"shift middle {sign.mark.css_class}",
        sign.sign,
    )
