"""Series of a history: its tests, and the geometric means of their groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import NormalDist, fmean

from msgspec.structs import replace

from slowdust.analysis.comparison.hosts import hosts_of
from slowdust.analysis.comparison.ratio import CONFIDENCE, EQUIVALENCE, Interval
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import verdict_of
from slowdust.analysis.history.chaining import Chained, Experiment, MeasuredStep, Member
from slowdust.analysis.history.model import Point, PointWork, Series
from slowdust.analysis.versions import Release
from slowdust.analysis.work import counts_by_step, judge_work, place_of
from slowdust.ratios import Ratio, Verdict
from slowdust.store.count import Count
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
        self._margins = [experiment.manifest.method.margins for experiment, _ in members]
        for experiment, _ in members:
            for step, measured in experiment.steps.items():
                self.groups.setdefault(step, measured.group)
                self.units.setdefault(step, measured.unit)

    def margin_of(self, test: str) -> float:
        return max(margins.of(test) for margins in self._margins)

    @property
    def order(self) -> list[Step]:
        """The steps: groups in the posts' order, tests within them in the report's."""
        titles = [*GROUP_TITLES, *dict.fromkeys(self.groups.values())]
        return sorted(self.groups, key=lambda step: titles.index(self.groups[step]))


def series_of(
    step: Step, ratios: Mapping[Release, Chained], details: Details, labels: Mapping[Release, str]
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
                details.margin_of(step.test),
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
    log = fmean(math.log(point.ratio.value) for point in points)
    half_widths = known(point.ratio.half_width for point in points)
    ratio = Chained(
        log=log,
        half_width=fmean(half_widths) if len(half_widths) == len(points) else None,
        experiments=tuple(dict.fromkeys(name for point in points for name in point.experiments)),
    )
    through = dict.fromkeys(version for point in points for version in point.through)
    mean = _point(points[0].version, ratio, list(through), margin)
    mean.work = mean_work(points)
    return mean


def _point(version: str, ratio: Chained, through: list[str], margin: float) -> Point:
    return Point(
        version=version,
        ratio=replace(ratio.ratio, margin=margin),
        experiments=list(ratio.experiments),
        through=through,
        unsure=(ratio.verdict or verdict_of_interval(ratio.ratio, margin)) == "unsure" or None,
    )


def verdict_of_interval(ratio: Ratio, margin: float) -> Verdict | None:
    """Return the verdict of a ratio of rates by its 95% interval; None without one."""
    if ratio.interval is None:
        return None
    low, high = ratio.interval
    middle, half = (math.log(high) + math.log(low)) / 2, math.log(high / low) / 2 * _NARROWER
    equivalence = Interval(math.exp(middle - half), math.exp(middle + half))
    return verdict_of(Interval(low, high), equivalence, margin)


class CountedExperiment:
    """The work of an experiment, whose counted contenders can be compared with any of them."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._experiment.name

    @cached_property
    def steps(self) -> dict[Step, MeasuredStep]:
        timed = self._experiment.steps
        return {
            place: MeasuredStep(timed[place].group, timed[place].unit, frozenset(by_contender))
            for step, by_contender in self._counts.items()
            if (place := place_of(step, timed)) is not None
        }

    def against(self, base: str) -> dict[Step, dict[str, Chained]]:
        """Return step -> contender -> ratio of instructions per operation to those of `base`."""
        timed = self._experiment.steps
        contenders = [contender.name for contender in self._experiment.manifest.contenders]
        judged = judge_work(
            self._counts,
            [base, *(name for name in contenders if name != base)],
            self._experiment.manifest.workload,
            hosts_of(self._experiment.manifest),
        )
        ratios: dict[Step, dict[str, Chained]] = {}
        for judgement in judged:
            estimate = judgement.estimate
            place = place_of(estimate.step, timed)
            if place is None or estimate.ratio is None:
                continue
            reach = estimate.interval.half_width if estimate.interval else None
            by_contender = ratios.setdefault(place, {base: Chained(0.0, None, (self.name,))})
            by_contender[estimate.contender] = Chained(
                math.log(estimate.ratio), reach, (self.name,)
            )
        return ratios

    @cached_property
    def _counts(self) -> dict[Step, dict[str, list[Count]]]:
        return counts_by_step(self._experiment.counts)


def add_work(
    series: Series, ratios: Mapping[Release, Chained], labels: Mapping[Release, str]
) -> None:
    """Set the work of the points of a test's series; `labels` is release -> its name."""
    works = {
        labels[release]: _work(ratio, [labels[middle] for middle in ratio.through])
        for release, ratio in ratios.items()
    }
    for point in series.points:
        point.work = works.get(point.version)


def mean_work(points: Sequence[Point]) -> PointWork | None:
    """Return the geometric mean of the work of a version in several tests; None if one has none.

    Its half-width is the mean one, as that of throughput is.
    """
    works = known(point.work for point in points)
    if len(works) < len(points):
        return None
    reaches = known(work.ratio.half_width for work in works)
    ratio = Chained(
        log=fmean(math.log(work.ratio.value) for work in works),
        half_width=fmean(reaches) if len(reaches) == len(works) else None,
        experiments=tuple(dict.fromkeys(name for work in works for name in work.experiments)),
    )
    return _work(ratio, list(dict.fromkeys(name for work in works for name in work.through)))


def _work(ratio: Chained, through: list[str]) -> PointWork:
    return PointWork(ratio=ratio.ratio, experiments=list(ratio.experiments), through=through)
