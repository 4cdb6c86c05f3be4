"""The values of a chart, which scripts draw in place of the static marks.

The page has them as JSON next to the marks. `charts.js` passes them to the chart library.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

DIGITS = 4

Unit = Literal["count", "time", "ratio"]
"""A plain number, microseconds, or a rate relative to the base's."""


@dataclass(frozen=True)
class Curve:
    """One contender's values: runs of (x, value) with gaps between them."""

    label: str
    css_class: str
    runs: tuple[tuple[tuple[float, float], ...], ...]
    later: bool = False
    """Whether it is of a later start, and paler."""


@dataclass(frozen=True)
class ValueAxis:
    """The upright axis, as the static chart has it."""

    unit: Unit
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False
    dashed: float | None = None
    """A value with a dashed line: a target."""
    band: tuple[float, float] | None = None
    """The values between which a difference does not matter."""


@dataclass(frozen=True)
class Level:
    """A value over the whole width, with its interval at the right."""

    mark: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TimeCurves:
    """Curves over the seconds from 0 to `length`; a value of a second is in its middle."""

    length: float
    y: ValueAxis
    curves: tuple[Curve, ...]

    def markup(self) -> Markup:
        return embedded(_values(self.length, self.y, self.curves))


@dataclass(frozen=True)
class RoundDots:
    """A dot for each value of a round, over the rounds of all starts; each is 1 wide."""

    length: float
    y: ValueAxis
    curves: tuple[Curve, ...]
    incarnations: tuple[tuple[int, float, float], ...]
    """The number of each start, where its first round begins and its last one ends."""
    levels: tuple[Level, ...] = ()
    joined: str | None = None
    """The contender whose dot has a line to each of the others of its round."""

    def markup(self) -> Markup:
        content = _values(self.length, self.y, self.curves)
        content["incarnations"] = self.incarnations
        if self.levels:
            content["levels"] = [asdict(level) for level in self.levels]
        if self.joined is not None:
            content["joined"] = self.joined
        return embedded(content)


def _values(length: float, y: ValueAxis, curves: Sequence[Curve]) -> dict[str, object]:
    axis = {name: value for name, value in asdict(y).items() if value}
    return {
        "length": length,
        "y": axis | {"low": y.low},
        "curves": [_content(curve) for curve in curves],
    }


def as_json(content: object) -> Markup:
    """Return data for scripts; nothing in it can end the element that it stands in."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))


def embedded(content: object) -> Markup:
    script = Markup('<script type="application/json" class="values">{}</script>')
    return script.format(as_json(content))


def _content(curve: Curve) -> dict[str, object]:
    content: dict[str, object] = {
        "label": curve.label,
        "mark": curve.css_class,
        "runs": [_run(run) for run in curve.runs],
    }
    return content | {"later": True} if curve.later else content


def _run(points: Sequence[tuple[float, float]]) -> list[object]:
    """Return the first x, the values, and the distances along x where not all are 1."""
    first: object = round(points[0][0], 3)
    values: object = [_short(value) for _, value in points]
    distances = [round(x - before, 3) for (before, _), (x, _) in pairwise(points)]
    return [first, values] if all(d == 1 for d in distances) else [first, values, distances]


def _short(value: float) -> float:
    """Return `value` with `DIGITS` significant digits; whole where it is so large."""
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded
