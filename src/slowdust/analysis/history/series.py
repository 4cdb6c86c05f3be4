"""Series of a history: its tests, and the geometric means of their groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean

from slowdust.analysis.comparison.ratio import CONFIDENCE, EQUIVALENCE, Interval
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import verdict_of
from slowdust.analysis.history.chaining import Member, Ratio
from slowdust.analysis.history.model import Point, Series
from slowdust.analysis.history.work import mean_work
from slowdust.analysis.model import Verdict
from slowdust.analysis.versions import Release
from slowdust.store.step import name_with_hold, split_hold
from slowdust.units import known
from slowdust.wording import GROUP_TITLES

_NARROWER = NormalDist().inv_cdf((1 + EQUIVALENCE) / 2) / NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Half-width of the interval that decides `same` / that of the 95% interval."""


class Details:
    """Groups, units and order of the tests, the same as in the experiments' reports."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.groups: dict[Step, str] = {}
        self.units: dict[Step, str] = {}
        self.margin = max(experiment.manifest.method.margin for experiment, _ in members)
        for experiment, _ in members:
            for step, measured in experiment.steps.items():
                self.groups.setdefault(step, measured.group)
                self.units.setdefault(step, measured.unit)

    @property
    def order(self) -> list[Step]:
        """The steps: groups in the posts' order, tests within them in the report's."""
        titles = [*GROUP_TITLES, *dict.fromkeys(self.groups.values())]
        return sorted(self.groups, key=lambda step: titles.index(self.groups[step]))


def series_of(
    step: Step, ratios: Mapping[Release, Ratio], details: Details, labels: Mapping[Release, str]
) -> Series:
    """Return the series of a test; `labels` is release -> its name."""
    return Series(
        name=step.test,
        group=details.groups[step],
        clients=step.clients,
        unit=details.units[step],
        points=[
            _point(
                labels[release],
                ratio,
                [labels[version] for version in ratio.through],
                details.margin,
            )
            for release, ratio in ratios.items()
        ],
    )


def groups_of(tests: Sequence[Series], versions: Sequence[str], margin: float) -> list[Series]:
    """Return a series for each group, number of clients and hold, over tests of all versions.

    Where a transaction was held open beside the tests, the group has the hold in its name, too.
    """
    members: dict[tuple[str, str, int], list[Series]] = {}
    for test in tests:
        if len(test.points) == len(versions):
            name = name_with_hold(test.group, split_hold(test.name)[1])
            members.setdefault((name, test.group, test.clients), []).append(test)
    return [
        Series(
            name=name,
            group=group,
            clients=clients,
            tests=[test.name for test in series],
            points=[
                _mean_of(column, margin) for column in zip(*(s.points for s in series), strict=True)
            ],
        )
        for (name, group, clients), series in members.items()
    ]


def _mean_of(points: Sequence[Point], margin: float) -> Point:
    """Return the geometric mean; its half-width is the mean one, as if errors were the same.

    Errors are in part the same, since tests share restarts; independent ones would be too small.
    """
    log = fmean(math.log(point.rqps) for point in points)
    half_widths = known(point.half_width for point in points)
    ratio = Ratio(
        log=log,
        half_width=fmean(half_widths) if len(half_widths) == len(points) else None,
        experiments=tuple(dict.fromkeys(name for point in points for name in point.experiments)),
    )
    through = dict.fromkeys(version for point in points for version in point.through)
    mean = _point(points[0].version, ratio, list(through), margin)
    mean.work = mean_work(points)
    return mean


def _point(version: str, ratio: Ratio, through: list[str], margin: float) -> Point:
    half = ratio.half_width
    return Point(
        version=version,
        rqps=math.exp(ratio.log),
        low=None if half is None else math.exp(ratio.log - half),
        high=None if half is None else math.exp(ratio.log + half),
        experiments=list(ratio.experiments),
        through=through,
        unsure=_unsure(ratio, margin) or None,
    )


def _unsure(ratio: Ratio, margin: float) -> bool:
    """Return whether a ratio is unsure, as its experiment says, or by the interval of several."""
    if ratio.verdict is not None or ratio.half_width is None:
        return ratio.verdict == "unsure"
    low, high = (math.exp(ratio.log + side * ratio.half_width) for side in (-1, 1))
    return verdict_between(low, high, margin) == "unsure"


def verdict_between(low: float | None, high: float | None, margin: float) -> Verdict | None:
    """Return the verdict of a ratio of rates by its 95% interval; None without one."""
    if low is None or high is None:
        return None
    middle, half = (math.log(high) + math.log(low)) / 2, math.log(high / low) / 2 * _NARROWER
    equivalence = Interval(math.exp(middle - half), math.exp(middle + half))
    return verdict_of(Interval(low, high), equivalence, margin)
