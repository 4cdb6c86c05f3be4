"""Trends by date: the same contenders compared with the same base, in one experiment after another.

Ratios are taken from each experiment's report and are not chained: every experiment has the base,
so all points of a series are relative to the same contender, measured in the same night.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.history.lines import Circumstances, circumstances_of
from slowdust.analysis.history.series import Chained, Experiment
from slowdust.analysis.results.results import group_of, sorted_steps
from slowdust.stats.blocks import Step


@dataclass(frozen=True)
class Night:
    """An experiment as a point on the date axis."""

    experiment: str
    started: str
    """Start in ISO 8601, UTC; for imported runs only the day."""


@dataclass(frozen=True)
class DateSeries:
    """A test over all nights of a trend."""

    step: Step
    group: str
    ratios: tuple[Chained | None, ...]
    """Ratio to the base for each night; None if the night does not have it."""


@dataclass(frozen=True)
class Trend:
    """One contender and one base over two or more nights, on one host with the same data."""

    contender: str
    base: str
    where: Circumstances
    nights: tuple[Night, ...]
    """The nights, the earliest first."""
    series: tuple[DateSeries, ...]
    """The tests, in the report's order."""


_Nights = list[tuple[Experiment, dict[Step, Chained]]]
"""Experiments, each with the ratios of one contender."""


def trends_of(experiments: Sequence[Experiment]) -> list[Trend]:
    """Return the trends over two or more experiments, those with the most nights first.

    Experiments without a date are skipped.
    """
    gathered: dict[tuple[Circumstances, str, str], _Nights] = {}
    dated = [each for each in experiments if each.manifest.started is not None]
    for experiment in sorted(dated, key=lambda each: each.manifest.started or ""):
        manifest = experiment.manifest
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
                    nights = gathered.setdefault((where, manifest.base, facts.name), [])
                    nights.append((experiment, of_contender))
    trends = [
        _trend(where, base, contender, nights)
        for (where, base, contender), nights in gathered.items()
        if len(nights) > 1
    ]
    return sorted(trends, key=lambda trend: (-len(trend.nights), trend.base, trend.contender))


def _trend(where: Circumstances, base: str, contender: str, nights: _Nights) -> Trend:
    manifests = [experiment.manifest for experiment, _ in nights]
    steps = dict.fromkeys(step for _, ratios in nights for step in ratios)
    tests = dict.fromkeys(test for manifest in manifests for test in manifest.tests)
    return Trend(
        contender=contender,
        base=base,
        where=where,
        nights=tuple(Night(each.experiment, each.started or "") for each in manifests),
        series=tuple(
            DateSeries(
                step,
                group_of(step, manifests[-1].workload),
                tuple(ratios.get(step) for _, ratios in nights),
            )
            for step in sorted_steps(steps, list(tests))
        ),
    )
