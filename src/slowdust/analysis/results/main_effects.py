"""Main effects of a matrix: the effect of each value of an axis on the rate, over all other axes.

Contenders that differ only in one axis are compared test by test. The effect of a value is the
geometric mean, over tests and over combinations of the other axes, of their ratios to the axis's
first value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from slowdust.analysis.model import Report
from slowdust.analysis.results.results import by_step
from slowdust.stats.blocks import Step
from slowdust.wording import matrix_points

Point = Mapping[str, str]
"""Axis -> its value."""


@dataclass(frozen=True)
class MainEffect:
    """The effect of one value of an axis."""

    axis: str
    value: str
    first: str
    """The value of the axis that it is compared with."""
    ratio: float
    """Geometric mean of rate / rate with `first`."""
    lowest: float
    highest: float
    """The extreme tests, as geometric means over the other axes."""
    combinations: int
    """Combinations of the other axes that were measured with both values."""
    tests: int


def main_effects(report: Report) -> list[MainEffect]:
    """Return the effects of all axes of a report's matrix; empty with fewer than two axes."""
    points = matrix_points(report.contenders)
    axes = list(next(iter(points.values()), {}))
    if len(axes) < 2:
        return []
    effects = []
    for axis in axes:
        first, *others = dict.fromkeys(point[axis] for point in points.values())
        for value in others:
            pairs = [
                (name, other)
                for (name, point), (other, partner) in product(points.items(), points.items())
                if point[axis] == value and partner == {**point, axis: first}
            ]
            changes = _changes(report, pairs)
            if changes:
                effects.append(_effect(axis, value, first, len(pairs), list(changes.values())))
    return effects


def _changes(report: Report, pairs: Sequence[tuple[str, str]]) -> dict[Step, float]:
    """Return step -> mean log ratio over the pairs; steps that lack a ratio are skipped."""
    changes: dict[Step, float] = {}
    for step, results in by_step(report.results).items():
        ratios = {name: result.ratio and result.ratio.value for name, result in results.items()}
        ratios[report.base] = 1.0
        logs = [
            math.log(above / below)
            for name, other in pairs
            if (above := ratios.get(name)) and (below := ratios.get(other))
        ]
        if logs and len(logs) == len(pairs):
            changes[step] = sum(logs) / len(logs)
    return changes


def _effect(
    axis: str, value: str, first: str, combinations: int, changes: Sequence[float]
) -> MainEffect:
    return MainEffect(
        axis=axis,
        value=value,
        first=first,
        ratio=math.exp(sum(changes) / len(changes)),
        lowest=math.exp(min(changes)),
        highest=math.exp(max(changes)),
        combinations=combinations,
        tests=len(changes),
    )
