"""The series of a watch with their change points, for its page and its note."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from slowdust.analysis.history.change_points import (
    ChangePointsUnavailableError,
    Noise,
    find_changes,
)
from slowdust.studies.watch.alarms import Key
from slowdust.studies.watch.decision import RULES, Point, Rule, scales
from slowdust.studies.watch.judging import points_of, words_for
from slowdust.studies.watch.series import Night

_SIDES = 1.96


@dataclass(frozen=True)
class Turn:
    """A change point of a series: all its nights are looked at, also those that came later."""

    night: int
    ratio: float
    """Cost after / cost before."""


@dataclass(frozen=True)
class Levels:
    """One series."""

    key: Key
    points: Sequence[Point]
    scale: float
    """Standard deviation of a night, of the log cost."""
    turns: Sequence[Turn]

    @property
    def name(self) -> str:
        """The name of the series."""
        return words_for(self.key)

    def bounds(self, point: Point) -> tuple[float, float]:
        """Return the 95% interval of a night's cost relative to the base's."""
        half = _SIDES * max(self.scale, point.error)
        return math.exp(point.level - half), math.exp(point.level + half)


def levels_of(nights: Sequence[Night]) -> list[Levels]:
    """Return all series with their change points, in the order of the tests."""
    series = points_of(nights)
    found = {}
    for metric, rule in RULES.items():
        keys = [key for key in series if key[2] == metric]
        for key, scale in zip(keys, scales([series[key] for key in keys], rule), strict=True):
            turns = list(_turns(series[key], scale, rule, len(series)))
            found[key] = Levels(key, series[key], scale, turns)
    return [found[key] for key in series if key in found]


def _turns(points: Sequence[Point], scale: float, rule: Rule, count: int) -> Iterator[Turn]:
    """Yield the change points within each run of nights on one host."""
    for _, run in groupby(points, key=lambda point: point.segment):
        nights = list(run)
        noise = Noise([max(scale, point.error) for point in nights], math.inf)
        try:
            changes = find_changes([point.level for point in nights], noise, count, rule.least)
        except ChangePointsUnavailableError:
            return
        for change in changes:
            yield Turn(nights[change.place].night, math.exp(change.difference))
