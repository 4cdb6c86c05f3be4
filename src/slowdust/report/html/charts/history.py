"""Throughput over versions: a line for each test, its change points marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.results.summary import CLEARLY_FASTER
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
"""The least pixels of a version."""
PER_LETTER = 7.5
"""Pixels of a letter of a version's label, so that no two labels touch."""
LONGEST_LABEL = 20
"""Letters of a label; the build of a release may be a whole path."""
_LAST_LETTERS = 7
"""The last letters of a label whose middle is left out."""

MOST_SIGNS = 3
"""Signs of one kind above or below a version; more are counted."""

_APART = 7.0
"""Drawing units between two lines' intervals at one version."""
_SIGN = 12.0
"""Height of the sign of a change, in pixels."""
_FROM_POINT = 8.0
"""Pixels between a point and the sign nearest to it."""
_BASELINE = 9.0
"""Pixels from the top of a sign to its baseline."""


@dataclass(frozen=True)
class Sign:
    """The sign of a version at which another level begins."""

    place: int
    """The place of the version on the axis."""
    faster: bool
    sign: str
    mark: Mark
    """The mark of its line."""


def history_chart(
    versions: Sequence[str], lines: Sequence[RatioLine], signs: Sequence[Sign], title: str
) -> Markup:
    """Return versions at equal distances; the first is the level at 1, the shaded band no change.

    Changes of level are above all of their version, or below them if it is slower.
    """
    if not any(line.points for line in lines) or len(versions) < 2:
        return Markup()
    x = Linear(0, len(versions) - 1, EDGE, svg.WIDTH - EDGE)
    margin = CLEARLY_FASTER - 1
    y = axis_of_ratios(
        lines,
        margin,
        bottom=HEIGHT - _room(sign for sign in signs if not sign.faster),
        top=_room(sign for sign in signs if sign.faster),
    )
    apart = _APART if with_whiskers(lines) else 0.0
    axes = Axes(x, y, range(len(versions)), margin, HEIGHT, apart)
    labels = [
        *(
            svg.text(svg.share(x(place)), HEIGHT + 15, "tick middle", _shortened(version))
            for place, version in enumerate(versions)
        ),
        *_drawn(signs, lines, axes),
    ]
    chart = draw(title, lines, axes, lambda at: versions[int(at)], labels)
    longest = max(len(_shortened(version)) for version in versions)
    width = max(PER_VERSION, PER_LETTER * longest + 12) * len(versions) + 60
    return Markup('<div style="min-width:{}px">{}</div>').format(round(width), chart)


def _shortened(version: str) -> str:
    """Return a long version without its middle: builds of one directory differ at the end."""
    if len(version) <= LONGEST_LABEL:
        return version
    return f"{version[: LONGEST_LABEL - _LAST_LETTERS - 1]}…{version[-_LAST_LETTERS:]}"


def _room(signs: Iterator[Sign]) -> float:
    """Return the pixels for the most signs that any version has in one direction."""
    stacks = Counter(sign.place for sign in signs).values()
    highest = max((count if count <= MOST_SIGNS else 1 for count in stacks), default=0)
    return _FROM_POINT + _SIGN * highest if highest else 0.0


def _drawn(signs: Sequence[Sign], lines: Sequence[RatioLine], axes: Axes) -> Iterator[Markup]:
    """Yield arrows, one above the other, beyond all points and intervals of their version."""
    stacks: dict[tuple[int, bool], list[Sign]] = {}
    for sign in signs:
        stacks.setdefault((sign.place, sign.faster), []).append(sign)
    for (place, faster), stack in stacks.items():
        heights = _heights(lines, place, axes)
        at = svg.share(axes.x(place))
        if faster:
            top, down = min(heights) - _FROM_POINT, -_SIGN
        else:
            top, down = max(heights) + _FROM_POINT + _BASELINE, _SIGN
        if len(stack) > MOST_SIGNS:
            kinds = "".join(dict.fromkeys(sign.sign for sign in stack))
            yield svg.text(at, top, "shift middle", f"{kinds} {len(stack)}")
            continue
        for index, sign in enumerate(stack):
            yield svg.text(at, top + down * index, f"shift middle {sign.mark.css_class}", sign.sign)


def _heights(lines: Sequence[RatioLine], place: int, axes: Axes) -> list[float]:
    """Return the heights of all that is drawn at a version."""
    points = [point for line in lines for point in line.points if point.at == place]
    ends = known(end for point in points for end in (point.low, point.high))
    whiskers = ends if with_whiskers(lines) else []
    return [axes.y.inside(value) for value in (*(point.rqps for point in points), *whiskers)]
