"""Trends by date: the same contenders beside the same base, from one experiment to the next.

Ratios are those that each experiment's report has. They are not chained: every experiment has the
base, so that all points of a series are relative to the same contender, measured the same night.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from slowdust.analysis.history.lines import Circumstances, circumstances_of
from slowdust.analysis.history.series import Chained, Experiment
from slowdust.analysis.results.results import group_of, sorted_steps
from slowdust.stats.blocks import Step
from slowdust.store.manifest import WorkloadFacts


@dataclass(frozen=True)
class Night:
    """An experiment, as a place on the axis of dates."""

    experiment: str
    started: str
    """Start in ISO 8601, UTC; of an imported run only the day."""


@dataclass(frozen=True)
class DateSeries:
    """A test over all nights of a trend."""

    step: Step
    group: str
    ratios: tuple[Chained | None, ...]
    """Chained to the base by night; None where the night does not have it."""


@dataclass(frozen=True)
class Trend:
    """One contender beside one base, over two or more nights on one host with the same data."""

    contender: str
    base: str
    where: Circumstances
    nights: tuple[Night, ...]
    """The nights in their order, the earliest first."""
    series: tuple[DateSeries, ...]
    """The tests, in the report's order."""


@dataclass
class _Gathered:
    nights: list[Night] = field(default_factory=list)
    ratios: list[dict[Step, Chained]] = field(default_factory=list)
    """Ratios of each night."""
    tests: list[str] = field(default_factory=list)
    """Tests in the order in which the experiments ran them."""
    workload: WorkloadFacts | None = None
    """The user's own workload, the same in all of them."""


def trends_of(experiments: Sequence[Experiment]) -> list[Trend]:
    """Return the trends that two or more experiments have, those with the most nights first.

    Experiments without a date are left out: they have no place on the axis.
    """
    gathered: dict[tuple[Circumstances, str, str], _Gathered] = {}
    dated = [each for each in experiments if each.manifest.started is not None]
    for experiment in sorted(dated, key=lambda each: each.manifest.started or ""):
        manifest = experiment.manifest
        night = Night(experiment.name, manifest.started or "")
        ratios = experiment.against(manifest.base)
        for benchmark in dict.fromkeys(step.benchmark for step in ratios):
            where = circumstances_of(manifest, benchmark)
            for facts in manifest.contenders:
                of_contender = {
                    step: by_contender[facts.name]
                    for step, by_contender in ratios.items()
                    if step.benchmark == benchmark and facts.name in by_contender
                }
                if facts.name != manifest.base and of_contender:
                    trend = gathered.setdefault((where, manifest.base, facts.name), _Gathered())
                    trend.nights.append(night)
                    trend.workload = manifest.workload
                    trend.ratios.append(of_contender)
                    trend.tests += [test for test in manifest.tests if test not in trend.tests]
    trends = [
        _trend(where, base, contender, each)
        for (where, base, contender), each in gathered.items()
        if len(each.nights) > 1
    ]
    return sorted(trends, key=lambda trend: (-len(trend.nights), trend.base, trend.contender))


def _trend(where: Circumstances, base: str, contender: str, gathered: _Gathered) -> Trend:
    steps = dict.fromkeys(step for ratios in gathered.ratios for step in ratios)
    groups = {step: group_of(step, gathered.workload) for step in steps}
    return Trend(
        contender=contender,
        base=base,
        where=where,
        nights=tuple(gathered.nights),
        series=tuple(
            DateSeries(step, groups[step], tuple(ratios.get(step) for ratios in gathered.ratios))
            for step in sorted_steps(steps, gathered.tests)
        ),
    )
