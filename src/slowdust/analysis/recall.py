"""Recall and QPS of approximate searches: curves, and comparisons at equal recall.

QPS at one effort belong to different answers if contenders find different shares. So they are also
compared at equal recall: in each start of the servers, ln QPS of both is interpolated between the
efforts, and the difference is the single pair of that start. If either lacks QPS at that recall in
any start, nothing is compared: reaching the recall is not independent of speed. The interval is
Student's t of the mean of the pairs, with the interpolation error between different efforts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import NamedTuple

import numpy as np

from slowdust.analysis.model import (
    AtRecall,
    IndexResult,
    Result,
    SearchComparison,
    SearchCurve,
    SearchPoint,
)
from slowdust.analysis.results.per_op import rate_of
from slowdust.benchmarks import known_test
from slowdust.ratios import Margins, Ratio
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_pairs
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.verdict import Judgement, judge_estimates
from slowdust.store.preparation import IndexSize, Recall
from slowdust.store.slice import Slice

FARTHEST = 10.0
"""Largest ratio of the missed shares of two neighbouring efforts for interpolation, as from 0.90 to
0.99: the interpolation error grows with it (docs/vectors.md)."""
READING_ERROR = 0.04
"""Standard deviation of interpolated ln QPS from the value of an effort at that recall: measured
(docs/vectors.md)."""


class Point(NamedTuple):
    """Recall and QPS of one effort."""

    recall: float
    qps: float
    test: str = ""

    @property
    def missed(self) -> float:
        return 1 - self.recall


def in_percent(recall: float) -> str:
    """Format a recall: '97.0%'."""
    return f"{100 * recall:.1f}%"


class Lack(Enum):
    """A reason for missing QPS at a recall."""

    SILENT = "no search succeeded"
    BELOW = "the highest effort finds less"
    ABOVE = "the lowest effort finds more"
    TOO_FAR = "the neighbouring efforts are too far from each other"


class OutOfReachError(ValueError):
    """QPS at a recall cannot be determined."""

    def __init__(self, lack: Lack, around: Sequence[Point] = ()) -> None:
        """`around` has the efforts next to the recall, by ascending recall."""
        super().__init__(lack.value)
        self.lack = lack
        self.around = tuple(around)


def _ascending(points: Sequence[Point]) -> list[Point]:
    """Return the points with QPS by ascending recall; for equal recalls, the fastest."""
    fastest: dict[float, Point] = {}
    for point in sorted(points, key=lambda point: point.qps):
        if point.qps > 0:
            fastest[point.recall] = point
    return [fastest[recall] for recall in sorted(fastest)]


def between(points: Sequence[Point], recall: float) -> tuple[Point, Point]:
    """Return the two neighbours of a recall, or twice the point at that recall.

    Raises:
        OutOfReachError: there are no neighbours (nothing is extrapolated), or they are farther from
            each other than `FARTHEST`.
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
        raise OutOfReachError(Lack.TOO_FAR, (left, right))
    return left, right


class Reading(NamedTuple):
    """QPS at a recall, and the tests that it was interpolated between."""

    ln_qps: float
    tests: tuple[str, str]


def read_at(points: Sequence[Point], recall: float) -> Reading:
    """Return the QPS at a recall: ln QPS is linear in ln(1 - recall) between two neighbours.

    Raises:
        OutOfReachError: there are no two neighbours to interpolate between.
    """
    left, right = between(points, recall)
    tests = (left.test, right.test)
    if left == right:
        return Reading(math.log(left.qps), tests)
    weight = math.log(left.missed / (1 - recall)) / math.log(left.missed / right.missed)
    return Reading((1 - weight) * math.log(left.qps) + weight * math.log(right.qps), tests)


Points = Mapping[tuple[str, int, str], Mapping[int, Point]]
"""Test, clients and contender -> start -> its point."""


@dataclass(frozen=True)
class Reach:
    """A contender at a recall, in each start of the servers that measured all of its efforts.

    There is a value only if all starts have one. Otherwise the starts with a value would be those
    that happened to find more, or less, and would be compared with all of another contender's.
    """

    recall: float
    readings: Mapping[int, Reading]
    """Start -> QPS."""
    lacking: Mapping[int, OutOfReachError]
    """Start -> the reason for missing QPS."""

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
        """Return the reason for missing QPS, the most frequent of several.

        `of` names the contender.
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
            return f"{some} {finds} more than {recall:.2f} with the lowest effort"
        case Lack.TOO_FAR:
            return (
                f"in {some} the efforts around a recall of {recall:.2f} are too far from each other"
            )
        case Lack.SILENT:
            return f"in {some} {lack.value}"


def _all(lack: Lack, around: Sequence[Sequence[Point]]) -> str:
    found = [in_percent(fmean(points)) for points in zip(*_recalls(around), strict=True)]
    match lack:
        case Lack.BELOW:
            return f"the highest effort finds {found[0]}"
        case Lack.ABOVE:
            qps = math.exp(fmean(math.log(points[0].qps) for points in around))
            return f"the lowest effort already finds {found[0]}, at {qps:,.0f} QPS"
        case Lack.TOO_FAR:
            return (
                f"the neighbouring efforts find {found[0]} and {found[1]}: too far to interpolate"
            )
        case Lack.SILENT:
            return str(lack.value)


def _recalls(around: Sequence[Sequence[Point]]) -> list[list[float]]:
    return [[point.recall for point in points] for points in around]


def collect_points(slices: Sequence[Slice], recalls: Sequence[Recall]) -> Points:
    """Return the points of each test in the starts that timed it and measured its recall."""
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

    A start without some of the tests would have wider gaps to interpolate.
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


LEVELS = (0.90, 0.95, 0.99)
"""Recalls at which contenders are compared."""
ALIKE = 0.01
"""Smallest difference of two recalls for which QPS at one effort are not comparable."""
_FEWEST_STARTS = 2
_SEVERAL_HOSTS = "measured on several hosts: pairs of starts do not show variation between hosts"
_NOT_COMPARED = "fewer than two starts of the servers measured all efforts on both"


class Curve(NamedTuple):
    """Tests that differ only in their effort."""

    benchmark: str
    name: str
    clients: int


_Place = tuple[Curve, str, float]


@dataclass(frozen=True)
class _Level:
    """A contender at a recall, paired with the base in the starts that both have, if any."""

    curve: Curve
    contender: str
    own: Reach
    of_base: Reach | None
    """The base in the same starts; None for the base itself."""

    @property
    def pairs(self) -> Mapping[int, float]:
        """Start -> ln of the ratio; empty if a start of either has no QPS."""
        if self.of_base is None or self.own.lacking or self.of_base.lacking:
            return {}
        base = self.of_base.readings
        return {
            number: own.ln_qps - base[number].ln_qps for number, own in self.own.readings.items()
        }

    @property
    def reading_error(self) -> float:
        """The standard error that all pairs share because of interpolation between efforts.

        Between the same efforts both have the same error, which cancels.
        """
        base = self.of_base.readings if self.of_base is not None else {}
        differ = [own.tests != base[number].tests for number, own in self.own.readings.items()]
        return READING_ERROR * math.sqrt(2) * fmean(differ)

    @property
    def recall(self) -> float:
        return self.own.recall

    def is_of_several(self, hosts: Hosts) -> bool:
        return len(hosts.names(self.pairs)) > 1

    @property
    def place(self) -> _Place:
        return self.curve, self.contender, self.recall

    @property
    def cell(self) -> BlockRatios:
        step = Step(self.curve.benchmark, f"{self.curve.name} at {self.recall}", self.curve.clients)
        return BlockRatios(
            step=step,
            contender=self.contender,
            by_incarnation=tuple(np.array([[pair]]) for pair in self.pairs.values()),
            numbers=tuple(self.pairs),
            parts="steps",
        )


def add_recall(results: Sequence[Result], recalls: Sequence[Recall], base: str) -> None:
    """Add recalls to results; if the base's recall differs, QPS get no verdict."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in recalls:
        found[record.test, record.contender].append(record.recall)
    means = {place: fmean(shares) for place, shares in found.items()}
    for result in results:
        result.recall = means.get((result.test, result.contender))
        of_base = means.get((result.test, base))
        if result.recall is None or of_base is None or result.contender == base:
            continue
        if finds_another_share(result.recall, of_base):
            result.notes.append(
                f"it finds {in_percent(result.recall)} of the neighbours, {base} "
                f"{in_percent(of_base)}: compare QPS at equal recall"
            )
            result.typical = result.ratio = result.all_time = None
            result.basis = result.needed = None


def finds_another_share(recall: float, of_base: float) -> bool:
    """Return whether recalls differ too much to compare QPS."""
    return abs(recall - of_base) > ALIKE


def search_comparisons(
    results: Sequence[Result],
    slices: Sequence[Slice],
    recalls: Sequence[Recall],
    contenders: Sequence[str],
    margins: Margins | float,
    *,
    hosts: Hosts = ONE_HOST,
) -> list[SearchComparison]:
    """Return each curve with its contenders, the base first; empty without searches."""
    curves: dict[Curve, dict[str, list[SearchPoint]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        test = known_test(result.benchmark, result.test)
        if test is None or test.curve is None or test.effort is None or result.recall is None:
            continue
        curve = Curve(result.benchmark, test.curve, result.clients)
        point = SearchPoint(
            test=result.test, effort=test.effort, recall=result.recall, qps=result.qps
        )
        curves[curve][result.contender].append(point)
    levels = _levels(curves, collect_points(slices, recalls), contenders[0])
    judged = _judged([level for level in levels if not level.is_of_several(hosts)], margins)
    return [
        SearchComparison(
            benchmark=curve.benchmark,
            curve=curve.name,
            clients=curve.clients,
            contenders=[
                SearchCurve(
                    contender=name,
                    points=sorted(of_curve[name], key=lambda point: point.effort),
                    at=[
                        _at(level, contenders[0], judged.get(level.place), hosts)
                        for level in levels
                        if (level.curve, level.contender) == (curve, name)
                    ],
                )
                for name in contenders
                if name in of_curve
            ],
        )
        for curve, of_curve in curves.items()
    ]


def _at(level: _Level, base: str, judgement: Judgement | None, hosts: Hosts) -> AtRecall:
    own, of_base = level.own, level.of_base
    at = AtRecall(recall=level.recall, starts=len(own.starts), reached=len(own.readings))
    at.qps = own.qps
    if at.qps is None:
        at.reason = own.reason()
    elif of_base is None:
        at.ratio = Ratio(1.0)
    elif of_base.lacking:
        at.reason = of_base.reason(base)
    elif level.is_of_several(hosts):
        at.reason = _SEVERAL_HOSTS
    elif judgement is None:
        at.reason = _NOT_COMPARED
    else:
        at.ratio = judgement.ratio
    return at


def _judged(levels: Sequence[_Level], margins: Margins | float) -> dict[_Place, Judgement]:
    comparable = [level for level in levels if len(level.pairs) >= _FEWEST_STARTS]
    estimates = estimate_pairs(
        [level.cell for level in comparable], [level.reading_error for level in comparable]
    )
    judgements = judge_estimates(estimates, margins)
    return {level.place: judgement for level, judgement in zip(comparable, judgements, strict=True)}


def _levels(
    curves: Mapping[Curve, Mapping[str, Sequence[SearchPoint]]], points: Points, base: str
) -> list[_Level]:
    levels = []
    for curve, of_curve in curves.items():
        for recall in LEVELS:
            reached = {
                name: reach(points, [each.test for each in own], curve.clients, name, recall)
                for name, own in of_curve.items()
            }
            of_base = reached.get(base, Reach(recall, {}, {}))
            for name, own in reached.items():
                if name == base:
                    levels.append(_Level(curve, name, own, None))
                else:
                    both = own.starts & of_base.starts or own.starts
                    levels.append(_Level(curve, name, own.among(both), of_base.among(both)))
    return levels


def index_results(
    results: Sequence[Result], sizes: Sequence[IndexSize], contenders: Sequence[str]
) -> list[IndexResult]:
    """Return each kind of index on each contender that has one, the base first.

    Builds have one client. In earlier versions several clients built one index and most of them
    failed, so the fewest clients count.
    """
    builds: dict[tuple[str, str], Result] = {}
    for result in results:
        test = known_test(result.benchmark, result.test)
        if test is not None and test.builds_index is not None:
            place = (test.builds_index, result.contender)
            if place not in builds or result.clients < builds[place].clients:
                builds[place] = result
    stored: dict[tuple[str, str], list[int]] = defaultdict(list)
    for size in sizes:
        stored[size.index, size.contender].append(size.bytes)
    kinds = dict.fromkeys([kind for kind, _ in builds] + [kind for kind, _ in stored])
    return [
        _index(kind, name, builds.get((kind, name)), stored, contenders[0])
        for kind in kinds
        for name in contenders
        if (kind, name) in builds or (kind, name) in stored
    ]


def _index(
    kind: str,
    contender: str,
    build: Result | None,
    stored: dict[tuple[str, str], list[int]],
    base: str,
) -> IndexResult:
    result = IndexResult(index=kind, contender=contender)
    if build is not None and build.qps > 0:
        result.build_s = build.clients / build.qps
        result.relative = build.ratio.inverse() if build.ratio and build.ratio.value else None
    if own := stored.get((kind, contender)):
        result.bytes = fmean(own)
        if of_base := stored.get((kind, base)):
            result.bytes_relative = result.bytes / fmean(of_base) if fmean(of_base) else None
    return result
