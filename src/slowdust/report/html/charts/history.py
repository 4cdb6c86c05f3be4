"""Throughput over versions: a line for each test, its change points marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.summary import CLEARLY_FASTER
from slowdust.report.html.charts import svg
from slowdust.report.html.charts.marks import Mark
from slowdust.report.html.charts.ratio_lines import (
    EDGE,
    Axes,
    RatioLine,
    axis_of_ratios,
    draw,
    with_whiskers,
)
from slowdust.report.html.charts.scale import Linear
from slowdust.units import known

HEIGHT = 240.0

PER_VERSION = 64
"""Pixels that a version needs at least."""
PER_LETTER = 7.5
"""Of a version's label, in pixels; lest two of them touch."""
LONGEST_LABEL = 20
"""Letters; the build of a release may be a whole path."""
_LAST_LETTERS = 7
"""Of these, where the middle is left out."""

MOST_SIGNS = 3
"""Of one kind above or below a version; more are counted."""

_APART = 7.0
"""Drawing units between two lines' intervals at one version."""
_SIGN = 12.0
"""Height of the sign of a change, in pixels."""
_FROM_POINT = 8.0
"""Pixels between a point and the sign nearest to it."""
_BASELINE = 9.0
"""Of a sign below its top."""


@dataclass(frozen=True)
class Sign:
    """Where another level begins."""

    place: int
    """Of the version on the axis."""
    faster: bool
    sign: str
    mark: Mark
    """Of its line."""


def history_chart(
    versions: Sequence[str], courses: Sequence[RatioLine], signs: Sequence[Sign], title: str
) -> Markup:
    """Versions at equal distances; the first is the level at 1, the shaded band no change.

    Changes of level are above all of their version, or below them if it is slower.
    """
    if not any(course.points for course in courses) or len(versions) < 2:
        return Markup()
    x = Linear(0, len(versions) - 1, EDGE, svg.WIDTH - EDGE)
    margin = CLEARLY_FASTER - 1
    y = axis_of_ratios(
        courses,
        margin,
        bottom=HEIGHT - _room(one for one in signs if not one.faster),
        top=_room(one for one in signs if one.faster),
    )
    apart = _APART if with_whiskers(courses) else 0.0
    ground = Axes(x, y, range(len(versions)), margin, HEIGHT, apart)
    labels = [
        *(
            svg.text(svg.share(x(place)), HEIGHT + 15, "tick middle", _shortened(version))
            for place, version in enumerate(versions)
        ),
        *_drawn(signs, courses, ground),
    ]
    chart = draw(title, courses, ground, lambda at: versions[int(at)], labels)
    longest = max(len(_shortened(version)) for version in versions)
    width = max(PER_VERSION, PER_LETTER * longest + 12) * len(versions) + 60
    return Markup('<div style="min-width:{}px">{}</div>').format(round(width), chart)


def _shortened(version: str) -> str:
    """Without the middle of a long one: two builds of one directory differ in the last letters."""
    if len(version) <= LONGEST_LABEL:
        return version
    return f"{version[: LONGEST_LABEL - _LAST_LETTERS - 1]}…{version[-_LAST_LETTERS:]}"


def _room(signs: Iterator[Sign]) -> float:
    """Pixels for the highest heap of signs that any version has in one direction."""
    heaps = Counter(sign.place for sign in signs).values()
    highest = max((count if count <= MOST_SIGNS else 1 for count in heaps), default=0)
    return _FROM_POINT + _SIGN * highest if highest else 0.0


def _drawn(signs: Sequence[Sign], courses: Sequence[RatioLine], ground: Axes) -> Iterator[Markup]:
    """Arrows, one above the other, beyond all points and intervals of their version."""
    heaps: dict[tuple[int, bool], list[Sign]] = {}
    for sign in signs:
        heaps.setdefault((sign.place, sign.faster), []).append(sign)
    for (place, faster), heap in heaps.items():
        heights = _heights(courses, place, ground)
        at = svg.share(ground.x(place))
        if faster:
            tops = [min(heights) - _FROM_POINT - _SIGN * index for index in range(len(heap))]
        else:
            tops = [
                max(heights) + _FROM_POINT + _BASELINE + _SIGN * index for index in range(len(heap))
            ]
        if len(heap) > MOST_SIGNS:
            shown = "".join(dict.fromkeys(sign.sign for sign in heap))
            yield svg.text(at, tops[0], "shift middle", f"{shown} {len(heap)}")
            continue
        for top, sign in zip(tops, heap, strict=True):
            yield svg.text(at, top, f"shift middle {sign.mark.css_class}", sign.sign)


def _heights(courses: Sequence[RatioLine], place: int, ground: Axes) -> list[float]:
    """Of all that is drawn at a version."""
    points = [point for course in courses for point in course.points if point.at == place]
    values = [point.rqps for point in points]
    if with_whiskers(courses):
        ends = known(end for point in points for end in (point.low, point.high))
        values += [min(max(end, ground.y.low), ground.y.high) for end in ends]
    return [ground.y(value) for value in values]
