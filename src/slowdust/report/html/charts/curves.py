"""What scripts draw in place of a static chart: the values behind its marks.

The page has them as JSON beside the marks. `charts.js` gives them to the chart library.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

DIGITS = 4
"""The significant digits of a value."""

Unit = Literal["count", "time", "ratio"]
"""A plain number, microseconds, or a rate relative to the base's."""


@dataclass(frozen=True)
class Curve:
    """One contender's values: runs of (x, value) with gaps between them."""

    label: str
    css_class: str
    runs: tuple[tuple[tuple[float, float], ...], ...]
    later: bool = False
    """Whether it is of a later incarnation, and paler."""


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


@dataclass(frozen=True)
class TimeCurves:
    """Curves over the seconds from 0 to `length`; a value of a second is in its middle."""

    length: float
    y: ValueAxis
    curves: tuple[Curve, ...]

    def markup(self) -> Markup:
        """Return the values as JSON in an element that no browser runs."""
        axis = {name: value for name, value in asdict(self.y).items() if value}
        content = {
            "length": self.length,
            "y": axis | {"low": self.y.low},
            "curves": [_content(curve) for curve in self.curves],
        }
        return embedded(content)


def embedded(content: object) -> Markup:
    """Return data of a chart for scripts; nothing in it can end the element."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Markup('<script type="application/json" class="values">{}</script>').format(Markup(text))


def _content(curve: Curve) -> dict[str, object]:
    content: dict[str, object] = {
        "label": curve.label,
        "mark": curve.css_class,
        "runs": [_run(run) for run in curve.runs],
    }
    return content | {"later": True} if curve.later else content


def _run(points: Sequence[tuple[float, float]]) -> list[object]:
    """Return the first x, the values, and the distances along x where not all are 1."""
    first: object = points[0][0]
    values: object = [_short(value) for _, value in points]
    distances = [x - before for (before, _), (x, _) in pairwise(points)]
    return [first, values] if all(d == 1 for d in distances) else [first, values, distances]


def _short(value: float) -> float:
    """Return `value` with `DIGITS` significant digits; whole where it is so large."""
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded
