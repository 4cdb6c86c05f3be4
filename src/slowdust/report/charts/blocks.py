"""Slices in pairs: the rate of each, and the contender's rate relative to its pair's base.

A block measures every contender the same number of times (A B B A); its slots are cut into rounds.
Each contender is in a round once. A round is one column of the charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from slowdust.ratios import Ratio
from slowdust.report import numbers
from slowdust.report.charts import svg
from slowdust.report.charts.curves import Curve, Level, RoundDots, ValueAxis
from slowdust.report.charts.marks import Mark
from slowdust.report.charts.scale import (
    LEAST,
    Linear,
    Logarithmic,
    linear_ticks,
    ratio_ticks,
)
from slowdust.store.slice import Slice

RATE_HEIGHT = 170.0
RATIO_HEIGHT = 120.0

INCARNATION_GAP = 1.5
"""The number of columns that are empty between starts."""

MOST_BRACKETS = 6
"""The number of contenders whose rqps and intervals the ratio chart has room for."""

MOST_LARGE_DOTS = 150
"""The number of columns beyond which dots are drawn small."""

MOST_JOINED = 400
"""The number of lines between pairs beyond which they would fill the chart."""


@dataclass(frozen=True)
class Column:
    """One round of a block: at most one slice of every contender, by name, at `x`."""

    x: float
    incarnation: int
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Layout:
    """Columns from left to right and where each start lies (number, from, to)."""

    columns: tuple[Column, ...]
    incarnations: tuple[tuple[int, float, float], ...]
    pitch: float
    """The distance of two columns."""

    @property
    def dot(self) -> str:
        return "dot" if len(self.columns) <= MOST_LARGE_DOTS else "dot small"

    def dots(
        self,
        values: Mapping[str, Mapping[int, float]],
        marks: Mapping[str, Mark],
        y: ValueAxis,
        *,
        levels: tuple[Level, ...] = (),
        joined: str | None = None,
    ) -> RoundDots:
        """Return contender -> index of a column -> value as what scripts draw."""
        at = [column.x / self.pitch - 0.5 for column in self.columns]
        curves = (
            Curve(name, marks[name].css_class, (tuple((at[i], own[i]) for i in own),))
            for name, own in values.items()
            if own
        )
        return RoundDots(
            length=svg.WIDTH / self.pitch,
            y=y,
            curves=tuple(curves),
            incarnations=tuple(
                (n, x / self.pitch, end / self.pitch) for n, x, end in self.incarnations
            ),
            levels=levels,
            joined=joined,
        )

    def places(self, names: Sequence[str]) -> dict[str, float]:
        """Return contender -> distance of its dots from the middle of their column."""
        step = self.pitch * 0.55 / len(names)
        return {name: (at - (len(names) - 1) / 2) * step for at, name in enumerate(names)}


def layout(slices: Sequence[Slice]) -> Layout:
    rounds = _rounds(slices)
    starts = sorted({incarnation for incarnation, _, _ in rounds})
    pitch = svg.WIDTH / (len(rounds) + INCARNATION_GAP * (len(starts) - 1))
    columns: list[Column] = []
    spans: list[tuple[int, float, float]] = []
    left = 0.0
    for incarnation in starts:
        members = [rates for key, rates in rounds.items() if key[0] == incarnation]
        columns.extend(
            Column(left + (index + 0.5) * pitch, incarnation, rates)
            for index, rates in enumerate(members)
        )
        right = left + len(members) * pitch
        spans.append((incarnation, left, right))
        left = right + INCARNATION_GAP * pitch
    return Layout(tuple(columns), tuple(spans), pitch)


def _rounds(slices: Sequence[Slice]) -> dict[tuple[int, int, int], dict[str, float]]:
    """Return (start, block, n) -> contender -> rate of its n-th slice in the block."""
    rounds: dict[tuple[int, int, int], dict[str, float]] = {}
    for record in sorted(slices, key=lambda record: record.place.slot):
        place = record.place
        turn = 0
        while place.contender in rounds.get((place.incarnation, place.block, turn), {}):
            turn += 1
        rates = rounds.setdefault((place.incarnation, place.block, turn), {})
        rates[place.contender] = record.qps
    return dict(sorted(rounds.items()))


def rate_chart(plan: Layout, marks: Mapping[str, Mark], base: str, unit: str) -> Markup:
    """Return every slice as a dot, its pair joined to it by a line."""
    rates = [rate for column in plan.columns for rate in column.rates.values()]
    low, high = min(rates), max(rates)
    air = (high - low) * 0.08 or high * 0.05 or 1.0
    y = Linear(max(0.0, low - air), high + air, RATE_HEIGHT, 0)
    places = plan.places(list(marks))
    joined = [
        (column.x + places[base], y(column.rates[base]), column.x + places[name], y(rate))
        for column in plan.columns
        if base in column.rates and len(plan.columns) * (len(marks) - 1) <= MOST_JOINED
        for name, rate in column.rates.items()
        if name != base
    ]
    drawn = [svg.path("pair", svg.lines(joined))]
    for name, mark in marks.items():
        points = [
            (column.x + places[name], y(column.rates[name]))
            for column in plan.columns
            if name in column.rates
        ]
        drawn.append(svg.path(f"{plan.dot} {mark.css_class}", svg.dots(points)))
    labelled = [(tick, numbers.short(tick)) for tick in linear_ticks(y.low, y.high, 5)]
    ticks = [(y(tick), label) for tick, label in labelled]
    return svg.Frame(
        title=f"Rate of every slice in {unit}, in the order of the blocks",
        height=RATE_HEIGHT,
        css_class="timeline",
        background=(*svg.value_axis(ticks), *_separators(plan, RATE_HEIGHT)),
        marks=tuple(drawn),
        labels=tuple(_incarnation_labels(plan)),
        values=plan.dots(
            {
                name: {i: c.rates[name] for i, c in enumerate(plan.columns) if name in c.rates}
                for name in marks
            },
            marks,
            ValueAxis("count", y.low, y.high, tuple(labelled)),
            joined=base if joined else None,
        ).markup(),
    ).markup()


def ratio_chart(
    plan: Layout,
    marks: Mapping[str, Mark],
    base: str,
    margin: float,
    compared: Mapping[str, Ratio],
) -> Markup:
    """Return each rate / the base's of the same round; nothing where no round has both."""
    frame = _ratio_frame(plan, marks, base, margin, compared)
    return Markup() if frame is None else frame.markup()


def static_ratio_chart(
    plan: Layout,
    marks: Mapping[str, Mark],
    base: str,
    margin: float,
    compared: Mapping[str, Ratio],
) -> Markup:
    """Return the chart of ratios without its values, which would be much of a large page."""
    frame = _ratio_frame(plan, marks, base, margin, compared)
    return Markup() if frame is None else replace(frame, values=None).markup()


def _ratio_frame(
    plan: Layout,
    marks: Mapping[str, Mark],
    base: str,
    margin: float,
    compared: Mapping[str, Ratio],
) -> svg.Frame | None:
    others = [name for name in marks if name != base]
    places = plan.places(others) if len(others) > 1 else dict.fromkeys(others, 0.0)
    own = {
        name: {
            i: column.rates[name] / column.rates[base]
            for i, column in enumerate(plan.columns)
            if column.rates.get(base) and column.rates.get(name, 0.0) > 0
        }
        for name in others
    }
    values = [value for ratios in own.values() for value in ratios.values()]
    if not values:
        return None
    y = _ratio_axis(values, margin)
    drawn: list[Markup] = []
    brackets: list[Markup] = []
    for name, ratios in own.items():
        points = [(plan.columns[i].x + places[name], value) for i, value in ratios.items()]
        inside = [(x, y(value)) for x, value in points if y.low <= value <= y.high]
        drawn.append(svg.path(f"{plan.dot} {marks[name].css_class}", svg.dots(inside)))
        drawn.append(svg.path(f"stray {marks[name].css_class}", _strays(points, y)))
        if name in compared and len(others) <= MOST_BRACKETS:
            level = svg.dashes([(0, svg.WIDTH, y(compared[name].value))])
            drawn.append(svg.path(f"level {marks[name].css_class}", level))
            brackets.append(_bracket(compared[name], marks[name], y, 10 + 9 * len(brackets)))
    labelled = [(tick, f"{tick:g}") for tick in ratio_ticks(y.low, y.high, 5)]
    ticks = [(y(tick), label) for tick, label in labelled]
    levels = tuple(
        Level(marks[name].css_class, ratio.value, ratio.low, ratio.high)
        for name, ratio in compared.items()
        if own[name] and len(others) <= MOST_BRACKETS
    )
    band = (max(1 - margin, y.low), 1 + margin)
    return svg.Frame(
        title="Rate of each slice relative to the base's of the same round",
        height=RATIO_HEIGHT,
        css_class="timeline",
        background=(
            svg.band(0, svg.WIDTH, y(band[1]), y(band[0]), "margin-band"),
            *svg.value_axis(ticks),
            svg.level(y(1), "one"),
            *_separators(plan, RATIO_HEIGHT),
        ),
        marks=tuple(drawn),
        labels=tuple(brackets),
        values=plan.dots(
            own,
            marks,
            ValueAxis("ratio", y.low, y.high, tuple(labelled), logarithmic=True, band=band),
            levels=levels,
        ).markup(),
    )


def _ratio_axis(values: Sequence[float], margin: float) -> Logarithmic:
    """Return an axis for the margin and nearly all values, not for the few far from the others."""
    ordered = sorted(values)
    beyond = len(ordered) // 20
    low = min(max(1 - 1.5 * margin, LEAST), ordered[beyond])
    high = max(1 + 1.5 * margin, ordered[-1 - beyond])
    air = (high / low) ** 0.15
    return Logarithmic(low / air, high * air, RATIO_HEIGHT, 0)


def _strays(points: Sequence[tuple[float, float]], y: Logarithmic) -> str:
    arrows = []
    for x, value in points:
        if not y.low <= value <= y.high:
            tip, wings = (0, 5) if value > y.high else (RATIO_HEIGHT, RATIO_HEIGHT - 5)
            left, middle, right = (svg.brief(at) for at in (x - 3, x, x + 3))
            arrows.append(f"M{left} {wings:g}L{middle} {tip:g}L{right} {wings:g}")
    return "".join(arrows)


def _bracket(ratio: Ratio, mark: Mark, y: Logarithmic, x: float) -> Markup:
    """Return rqps and its interval, `x` pixels to the right of the chart."""
    data = ""
    if ratio.low is not None and ratio.high is not None:
        data = f"M{x} {svg.brief(y.inside(ratio.high))}V{svg.brief(y.inside(ratio.low))}"
    point = svg.dots([(x, y.inside(ratio.value))])
    return Markup('<svg x="100%" class="marks {}">{}{}</svg>').format(
        mark.css_class, svg.path("whisker", data), svg.path("dot", point)
    )


def _separators(plan: Layout, height: float) -> list[Markup]:
    halfway = INCARNATION_GAP * plan.pitch / 2
    return [
        svg.upright(end + halfway, 0, height, "separator") for _, _, end in plan.incarnations[:-1]
    ]


def _incarnation_labels(plan: Layout) -> list[Markup]:
    word = "start " if len(plan.incarnations) <= 4 else ""
    return [
        svg.text(svg.share((start + end) / 2), RATE_HEIGHT + 14, "tick middle", f"{word}{number}")
        for number, start, end in plan.incarnations
    ]
