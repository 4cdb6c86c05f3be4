"""QPS at a recall in each start of the servers, and why some starts have none."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import NamedTuple

from slowdust.analysis.results.per_op import rate_of
from slowdust.store.preparation import Recall
from slowdust.store.slice import Slice

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


Points = Mapping[tuple[str, int, str], Mapping[int, Point]]
"""Test, clients and contender -> start -> what it gave there."""


@dataclass(frozen=True)
class Reach:
    """A contender at a recall, in each start of the servers that measured all of its efforts.

    What all starts have is a number. Where some have none, the others are those that happen to find
    more, or less, and would be compared with all of another contender's.
    """

    recall: float
    readings: Mapping[int, Reading]
    """Start -> its QPS."""
    lacking: Mapping[int, OutOfReachError]
    """Start -> why it has none."""

    @property
    def starts(self) -> set[int]:
        return {*self.readings, *self.lacking}

    @property
    def qps(self) -> float | None:
        if self.lacking or not self.readings:
            return None
        return math.exp(fmean(reading.ln_qps for reading in self.readings.values()))

    def among(self, starts: Collection[int]) -> Reach:
        return Reach(
            self.recall,
            {number: reading for number, reading in self.readings.items() if number in starts},
            {number: error for number, error in self.lacking.items() if number in starts},
        )

    def reason(self, of: str = "") -> str:
        """Say why there are no QPS; `of` stands before or behind 'starts' to name whose they are.

        Of several reasons the most frequent is told.
        """
        if not self.starts:
            return f"no start of the servers measured all efforts{_of(of)}"
        lack, count = Counter(error.lack for error in self.lacking.values()).most_common(1)[0]
        if count < len(self.starts):
            some = f"{count} of {len(self.starts)} starts{_of(of)}"
            return _some(lack, some, self.recall, alone=count == 1)
        words = _all(lack, [error.around for error in self.lacking.values()])
        return f"{of}: {words}" if of else words


def _of(name: str) -> str:
    return f" of {name}" if name else ""


def _some(lack: Lack, some: str, recall: float, *, alone: bool) -> str:
    match lack:
        case Lack.BELOW:
            return f"{some} {'does' if alone else 'do'} not reach a recall of {recall:.2f}"
        case Lack.ABOVE:
            finds = "finds" if alone else "find"
            return f"{some} {finds} more than {recall:.2f} with the least effort"
        case Lack.APART:
            return f"in {some} the efforts around a recall of {recall:.2f} are too far apart"
        case Lack.SILENT:
            return f"in {some} {lack.value}"


def _all(lack: Lack, around: Sequence[Sequence[Point]]) -> str:
    found = [in_percent(fmean(points)) for points in zip(*_recalls(around), strict=True)]
    match lack:
        case Lack.BELOW:
            return f"the most effort finds {found[0]}"
        case Lack.ABOVE:
            qps = math.exp(fmean(math.log(points[0].qps) for points in around))
            return f"the least effort finds {found[0]} already, at {qps:,.0f} QPS"
        case Lack.APART:
            return f"the efforts around it find {found[0]} and {found[1]}, which is too far apart"
        case Lack.SILENT:
            return str(lack.value)


def _recalls(around: Sequence[Sequence[Point]]) -> list[list[float]]:
    return [[point.recall for point in points] for points in around]


def points_of(slices: Sequence[Slice], recalls: Sequence[Recall]) -> Points:
    """Return what each test gave in each start in which it was timed and its recall was asked."""
    of_one: dict[tuple[str, int, str], dict[int, list[Slice]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in slices:
        place = record.place
        of_one[place.test, place.clients, place.contender][place.incarnation].append(record)
    found = {(each.test, each.contender, each.incarnation): each.recall for each in recalls}
    return {
        (test, clients, contender): {
            number: Point(found[test, contender, number], rate_of(records), test)
            for number, records in incarnations.items()
            if (test, contender, number) in found
        }
        for (test, clients, contender), incarnations in of_one.items()
    }


def reach(
    points: Points, tests: Collection[str], clients: int, contender: str, recall: float
) -> Reach:
    """Return a contender's QPS at a recall in each start that measured all of the tests.

    A start that left tests out has wider gaps to read across, and not the same for all.
    """
    of_tests = [points.get((test, clients, contender), {}) for test in sorted(tests)]
    complete = set(of_tests[0]).intersection(*of_tests) if of_tests else set()
    readings, lacking = {}, {}
    for number in sorted(complete):
        try:
            readings[number] = read_at([each[number] for each in of_tests], recall)
        except OutOfReachError as error:
            lacking[number] = error
    return Reach(recall, readings, lacking)
