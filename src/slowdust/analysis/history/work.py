"""Work from version to version: counted instructions per operation, chained as throughput is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean

from slowdust.analysis.comparison.hosts import hosts_of
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.history.chaining import Experiment, MeasuredStep, Ratio
from slowdust.analysis.history.model import Point, PointWork, Series
from slowdust.analysis.versions import Release
from slowdust.analysis.work.cost import place_of
from slowdust.analysis.work.estimate import counts_by_step, judge_work
from slowdust.store.count import Count
from slowdust.units import known


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
        """The timed steps that the counts belong to, with the contenders that were counted."""
        timed = self._experiment.steps
        return {
            place: MeasuredStep(timed[place].group, timed[place].unit, frozenset(by_contender))
            for step, by_contender in self._counts.items()
            if (place := place_of(step, timed)) is not None
        }

    def against(self, base: str) -> dict[Step, dict[str, Ratio]]:
        """Return step -> contender -> ratio of instructions per operation to those of `base`."""
        timed = self._experiment.steps
        contenders = [contender.name for contender in self._experiment.manifest.contenders]
        judged = judge_work(
            self._counts,
            [base, *(name for name in contenders if name != base)],
            self._experiment.manifest.workload,
            hosts_of(self._experiment.manifest),
        )
        ratios: dict[Step, dict[str, Ratio]] = {}
        for judgement in judged:
            estimate = judgement.estimate
            place = place_of(estimate.step, timed)
            if place is None or estimate.ratio is None:
                continue
            interval = estimate.interval
            reach = None if interval is None else math.log(interval.high / interval.low) / 2
            by_contender = ratios.setdefault(place, {base: Ratio(0.0, None, (self.name,))})
            by_contender[estimate.contender] = Ratio(math.log(estimate.ratio), reach, (self.name,))
        return ratios

    @cached_property
    def _counts(self) -> dict[Step, dict[str, list[Count]]]:
        return counts_by_step(self._experiment.counts)


def add_work(
    series: Series, ratios: Mapping[Release, Ratio], labels: Mapping[Release, str]
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
    reaches = known(work.half_width for work in works)
    ratio = Ratio(
        log=fmean(math.log(work.ratio) for work in works),
        half_width=fmean(reaches) if len(reaches) == len(works) else None,
        experiments=tuple(dict.fromkeys(name for work in works for name in work.experiments)),
    )
    return _work(ratio, list(dict.fromkeys(name for work in works for name in work.through)))


def _work(ratio: Ratio, through: list[str]) -> PointWork:
    reach = ratio.half_width
    return PointWork(
        ratio=math.exp(ratio.log),
        low=None if reach is None else math.exp(ratio.log - reach),
        high=None if reach is None else math.exp(ratio.log + reach),
        experiments=list(ratio.experiments),
        through=through,
    )
