"""Forest plot: a point and an interval for every comparison, on one logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust import ratios
from slowdust.ratios import Ratio
from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import Logarithmic, ratio_domain, ratio_ticks

ROW = 17.0
GROUP = 30.0
EDGE = 26.0
"""The height (pixels) of a row, of a group's heading, and of the axis above and below."""

WIDEST_STRAY = 1.35
"""An interval that reaches this ratio beyond the outermost point is cut off with an arrow."""

LONGEST_LABEL = 30


@dataclass(frozen=True)
class ForestPoint:
    """One comparison of a contender with the base."""

    ratio: Ratio
    contender: str
    mark: Mark
    verdict: str


@dataclass(frozen=True)
class ForestRow:
    """A step: one line for each contender that was compared in it."""

    label: str
    anchor: str
    points: tuple[ForestPoint, ...]


@dataclass(frozen=True)
class ForestGroup:
    """Rows under one heading."""

    name: str
    rows: tuple[ForestRow, ...]


def forest(groups: Sequence[ForestGroup], margin: float, title: str) -> Markup:
    """Return the plot of all `groups`; empty if nothing was compared.

    `margin` is the share around 1 within which a difference does not matter.
    """
    points = [point for group in groups for row in group.rows for point in row.points]
    if not points:
        return Markup()
    low, high = ratio_domain([point.ratio for point in points], margin, WIDEST_STRAY)
    scale = Logarithmic(low, high, 0, svg.WIDTH)
    stripes: list[Markup] = []
    labels: list[Markup] = []
    marks: list[Markup] = []
    y = EDGE
    for group in groups:
        labels.append(svg.text("0", y + GROUP - 9, "forest-group end", group.name, dx=-14))
        y += GROUP
        for row in group.rows:
            labels.append(_row_label(row, y))
            if len(row.points) > 1:  # a hairline shows which lines belong together
                stripes.append(svg.level(y, "grid"))
            for point in row.points:
                marks.append(_interval(point, scale, y + ROW / 2))
                verdict = f"value {point.verdict}"
                labels.append(svg.text("100%", y + ROW / 2 + 4, verdict, _in_words(point), dx=12))
                y += ROW
    height = y + EDGE
    return svg.Frame(
        title=title,
        height=height,
        css_class="forest",
        background=(*_background(scale, margin, height), *stripes),
        marks=tuple(marks),
        labels=tuple(labels),
    ).markup()


def _background(scale: Logarithmic, margin: float, height: float) -> list[Markup]:
    top, bottom = EDGE, height - EDGE
    low, high = max(scale.low, 1 - margin), min(scale.high, 1 + margin)
    drawn = [svg.band(scale(low), scale(high), top, bottom, "margin-band")]
    for tick in ratio_ticks(scale.low, scale.high):
        x = scale(tick)
        drawn.append(svg.upright(x, top, bottom, "one" if tick == 1 else "grid"))
        drawn.extend(
            svg.text(svg.share(x), y, "tick middle", f"{tick:g}") for y in (top - 9, bottom + 17)
        )
    return drawn


def _row_label(row: ForestRow, y: float) -> Markup:
    name = row.label
    if len(name) > LONGEST_LABEL:
        name = name[: LONGEST_LABEL - 1] + "…"
    return Markup('<a href="#{}"><title>{}</title>{}</a>').format(
        row.anchor, row.label, svg.text("0", y + ROW / 2 + 4, "row end", name, dx=-14)
    )


def _interval(point: ForestPoint, scale: Logarithmic, y: float) -> Markup:
    centre = scale(point.ratio.value)
    data = ""
    if point.ratio.low is not None and point.ratio.high is not None:
        left = scale(point.ratio.low) if point.ratio.low > 0 else 0.0
        right = scale(point.ratio.high)
        data = svg.dashes([(max(0.0, left), min(svg.WIDTH, right), y)])
        if left < 0:
            data += f"M7 {svg.brief(y - 4)}L0 {svg.brief(y)}L7 {svg.brief(y + 4)}"
        if right > svg.WIDTH:
            data += f"M993 {svg.brief(y - 4)}L1000 {svg.brief(y)}L993 {svg.brief(y + 4)}"
    pale = " not-sure" if point.verdict == "unsure" else ""
    return Markup('<g class="{}{}"><title>{}</title>{}{}</g>').format(
        point.mark.css_class,
        pale,
        f"{point.contender}: {_in_words(point)}, {point.verdict}",
        svg.path("whisker", data),
        svg.path("dot big", svg.dots([(centre, y)])),
    )


def _in_words(point: ForestPoint) -> str:
    value = ratios.ratio(point.ratio.value)
    if point.ratio.interval is None:
        return value
    return f"{value} ({numbers.interval(*point.ratio.interval)})"
