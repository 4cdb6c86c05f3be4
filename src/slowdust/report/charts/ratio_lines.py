"""Relative throughput as lines: the charts over clients and over versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from slowdust import ratios
from slowdust.analysis.model import Result
from slowdust.analysis.results.summary import CLEARLY_FASTER
from slowdust.ratios import Ratio
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import Linear, Logarithmic, ratio_domain, ratio_ticks
from slowdust.units import known

EDGE = 40.0
"""Free drawing units before the first place on the axis and after the last one."""

MOST_WITH_WHISKERS = 5
"""The most lines whose intervals can be distinguished in one chart."""

WIDEST_STRAY = 1.5
"""An interval that reaches this ratio beyond the outermost point is cut off."""

_MOST_TICKS = 7


@dataclass(frozen=True)
class RatioPoint:
    """Relative throughput at one place of the axis."""

    ratio: Ratio
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
    return Logarithmic(
        *ratio_domain([point.ratio for point in points], margin, WIDEST_STRAY), bottom, top
    )


def with_whiskers(lines: Sequence[RatioLine]) -> bool:
    known = any(point.ratio.low is not None for line in lines for point in line.points)
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
        background=(
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
    placed = [(x(point.at) + aside, y(point.ratio.value)) for point in line.points]
    words = "; ".join(
        f"{name_of(point.at)}: {ratios.ratio(point.ratio.value)}" for point in line.points
    )
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
        (x(point.at) + aside, y.inside(low), x(point.at) + aside, y.inside(high))
        for point in points
        if whiskers and point.ratio.interval is not None
        for low, high in [point.ratio.interval]
    )
    dots = svg.dots([(x(point.at) + aside, y(point.ratio.value)) for point in points])
    return svg.path("whisker", intervals) + svg.path("dot big", dots)


HEIGHT = 240.0

PER_VERSION = 64
"""The least pixels of a version."""
PER_LETTER = 7.5
"""Pixels of a letter of a version's label, so that no two labels touch."""
LONGEST_LABEL = 20
"""Letters of a label; the build of a release may be a whole path."""
_LAST_LETTERS = 7
"""The last letters of a label whose middle is omitted."""

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
    faster: bool
    sign: str
    mark: Mark


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
    points = [point for line in lines for point in line.points if point.at == place]
    ends = known(end for point in points for end in (point.ratio.low, point.ratio.high))
    whiskers = ends if with_whiskers(lines) else []
    return [axes.y.inside(value) for value in (*(point.ratio.value for point in points), *whiskers)]


LEVELS_HEIGHT = 190.0
CLOSEST_LABELS = 60.0
"""Drawing units between two labels of the axis."""


def levels_chart(
    test: str,
    steps: Mapping[int, Mapping[str, Result]],
    marks: Mapping[str, Mark],
    base: str,
    margin: float,
) -> Markup:
    """Return the lines of a test; `steps` has the results by contender for each number of clients.

    Both axes are logarithmic. Nothing without two numbers of clients.
    """
    lines = [
        RatioLine(
            f"{name}, rqps by clients",
            mark,
            tuple(
                RatioPoint(
                    cell.ratio,
                    at=level,
                    unsure=cell.verdict == "unsure",
                )
                for level, results in sorted(steps.items())
                if (cell := results.get(name)) is not None
                if cell.ratio and cell.ratio.value
            ),
        )
        for name, mark in marks.items()
        if name != base
    ]
    lines = [line for line in lines if line.points]
    levels = sorted({point.at for line in lines for point in line.points})
    if len(levels) < 2:
        return Markup()
    x = Logarithmic(levels[0], levels[-1], EDGE, svg.WIDTH - EDGE)
    axes = Axes(x, axis_of_ratios(lines, margin, LEVELS_HEIGHT), levels, margin, LEVELS_HEIGHT)
    title = f"Rate of {test} relative to {base}, by number of clients"
    labels = svg.place_labels(levels, x, LEVELS_HEIGHT, CLOSEST_LABELS, "{:.0f}".format)
    return draw(title, lines, axes, "{:.0f}".format, labels)
