"""QPS at a given recall, between measured efforts: arithmetic on points (recall, QPS)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

FARTHEST = 10.0
"""Ratio of what two neighbouring efforts miss beyond which nothing is read between them, as from
0.90 to 0.99: the error of what is read grows with it (docs/vectors.md)."""
READING_ERROR = 0.04
"""Standard deviation of ln QPS that are read between two efforts from those of the effort that is
there: measured (docs/vectors.md)."""


class Point(NamedTuple):
    """What one effort gave."""

    recall: float
    qps: float
    test: str = ""

    @property
    def missed(self) -> float:
        """The share of the exact answers that it does not find."""
        return 1 - self.recall


def in_percent(recall: float) -> str:
    """Write a recall for a reader: '97.0%'."""
    return f"{100 * recall:.1f}%"


class Lack(Enum):
    """A reason for which efforts have no QPS at a recall."""

    SILENT = "no search succeeded"
    BELOW = "the most effort finds less"
    ABOVE = "the least effort finds more"
    APART = "the efforts around it are too far apart"


class OutOfReachError(ValueError):
    """No QPS can be told at a recall."""

    def __init__(self, lack: Lack, around: Sequence[Point] = ()) -> None:
        """`around` has the efforts next to the recall, by ascending recall."""
        super().__init__(lack.value)
        self.lack = lack
        self.around = tuple(around)


def _ascending(points: Sequence[Point]) -> list[Point]:
    """Return the points with QPS by ascending recall; of those that find as much, the fastest."""
    fastest: dict[float, Point] = {}
    for point in sorted(points, key=lambda point: point.qps):
        if point.qps > 0:
            fastest[point.recall] = point
    return [fastest[recall] for recall in sorted(fastest)]


def between(points: Sequence[Point], recall: float) -> tuple[Point, Point]:
    """Return the two neighbours that a recall lies between, twice the same where one has it.

    Raises:
        OutOfReachError: there are none, as nothing is extrapolated, or they are farther apart than
            `FARTHEST`.
    """
    ascending = _ascending(points)
    if not ascending:
        raise OutOfReachError(Lack.SILENT)
    if ascending[-1].recall < recall:
        raise OutOfReachError(Lack.BELOW, ascending[-1:])
    if ascending[0].recall > recall:
        raise OutOfReachError(Lack.ABOVE, ascending[:1])
    above = next(place for place, point in enumerate(ascending) if point.recall >= recall)
    right, left = ascending[above], ascending[max(0, above - 1)]
    if right.recall == recall:
        return right, right
    if left.missed > FARTHEST * right.missed:
        raise OutOfReachError(Lack.APART, (left, right))
    return left, right


class Reading(NamedTuple):
    """QPS at a recall, and the tests that it was read between."""

    ln_qps: float
    tests: tuple[str, str]


def read_at(points: Sequence[Point], recall: float) -> Reading:
    """Return the QPS at a recall: ln QPS is linear in ln(1 - recall) between two neighbours.

    Raises:
        OutOfReachError: there are no two neighbours to read it between.
    """
    left, right = between(points, recall)
    tests = (left.test, right.test)
    if left == right:
        return Reading(math.log(left.qps), tests)
    weight = math.log(left.missed / (1 - recall)) / math.log(left.missed / right.missed)
    return Reading((1 - weight) * math.log(left.qps) + weight * math.log(right.qps), tests)
