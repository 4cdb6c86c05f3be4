"""Recall and QPS of searches: curves, and contenders where they find as much.

QPS at one effort are of different answers where contenders find different shares. So they are
compared at equal recall, too: in each start of the servers ln QPS of both is interpolated between
the efforts (`starts.py`), and the difference is the one pair of that start. Where a start of
either has no QPS at the recall nothing is compared: which starts reach it is not independent of
how fast they are there (`starts.py`). The interval is Student's t of the mean of the pairs, with
the error of reading between different efforts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from slowdust.analysis.comparison.estimate import estimate_pairs
from slowdust.analysis.comparison.hosts import ONE_HOST, Hosts
from slowdust.analysis.comparison.relative import BlockRatios, Step
from slowdust.analysis.comparison.verdict import Judgement, judge_estimates
from slowdust.analysis.model import (
    AtRecall,
    IndexResult,
    Result,
    SearchComparison,
    SearchCurve,
    SearchPoint,
)
from slowdust.analysis.recall.starts import (
    READING_ERROR,
    Points,
    Reach,
    in_percent,
    points_of,
    reach,
)
from slowdust.benchmarks import known_test
from slowdust.ratios import Margins, Ratio
from slowdust.store.search import IndexSize, Recall
from slowdust.store.slice import Slice

LEVELS = (0.90, 0.95, 0.99)
"""Recalls at which contenders are compared."""
ALIKE = 0.01
"""Difference of two recalls from which QPS at one effort are said to be of different answers."""
_FEWEST_STARTS = 2
_SEVERAL_HOSTS = "measured on several hosts, of whose difference pairs of starts say nothing"
_NOT_COMPARED = "fewer than two starts of the servers measured all efforts of both"


class Curve(NamedTuple):
    """Tests that differ in their effort alone."""

    benchmark: str
    name: str
    clients: int


_Place = tuple[Curve, str, float]


@dataclass(frozen=True)
class _Level:
    """A contender at a recall; beside the base in the starts that both have, if there are any."""

    curve: Curve
    contender: str
    own: Reach
    of_base: Reach | None
    """What the base reaches in the same starts; None for the base itself."""

    @property
    def pairs(self) -> Mapping[int, float]:
        """Start -> ln of the ratio; empty where a start of either has none."""
        if self.of_base is None or self.own.lacking or self.of_base.lacking:
            return {}
        base = self.of_base.readings
        return {
            number: own.ln_qps - base[number].ln_qps for number, own in self.own.readings.items()
        }

    @property
    def reading_error(self) -> float:
        """The standard error that all pairs share, since they were read between efforts.

        Between the same efforts both are off alike.
        """
        base = self.of_base.readings if self.of_base is not None else {}
        apart = [own.tests != base[number].tests for number, own in self.own.readings.items()]
        return READING_ERROR * math.sqrt(2) * fmean(apart)

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
    """Add what each search found; where the base finds another share, QPS have no verdict."""
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
                f"{in_percent(of_base)}: its QPS is of other answers, and is to be read at equal "
                "recall"
            )
            result.typical = result.ratio = result.all_time = None
            result.basis = result.needed = None


def finds_another_share(recall: float, of_base: float) -> bool:
    """Return whether two recalls differ so much that their QPS are of different answers."""
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
    """Return each curve with its contenders, the base first; empty where nothing was searched."""
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
    levels = _levels(curves, points_of(slices, recalls), contenders[0])
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

    Builds have one client. Earlier versions let several make one index, of which most failed: the
    fewest clients count.
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
