"""Ratios of versions over several experiments, chained through versions that they share.

Only ratios leave an experiment: its contenders were measured side by side, and what another
experiment found on another day is not comparable with its rates. Where no experiment has a
version beside the base, the ratio is the product of those along the shortest way of experiments;
its interval has the logs' half-widths added as independent errors are, in squares.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, variance

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.model import Result
from slowdust.analysis.results.results import group_of, in_order, outline, results_of
from slowdust.analysis.versions import Release
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice


@dataclass(frozen=True)
class Ratio:
    """Throughput of a release relative to another one."""

    log: float
    """ln rqps."""
    reach: float | None
    """Half-width of its 95% interval; None where there is none."""
    experiments: tuple[str, ...]
    through: tuple[Release, ...] = ()
    """Releases between the two, from the base on."""


@dataclass(frozen=True)
class Measured:
    """Of one step of an experiment: what it is, and who has it."""

    group: str
    unit: str
    """The base's, or that of the first contender who has it."""
    contenders: frozenset[str]


class Experiment:
    """One experiment, compared with whichever contender is asked for."""

    def __init__(self, manifest: Manifest, slices: Sequence[Slice]) -> None:
        self.manifest = manifest
        self._slices = slices
        self._ratios: dict[str, dict[Step, dict[str, Ratio]]] = {}

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.manifest.experiment

    @cached_property
    def steps(self) -> dict[Step, Measured]:
        """What was measured, in the report's order."""
        units: dict[Step, dict[str, str]] = {}
        for record in self._slices:
            units.setdefault(step_of(record), {}).setdefault(record.place.contender, record.unit)
        ranks = self._with_first(self.manifest.base)
        return {
            step: Measured(
                group=group_of(step),
                unit=next(units[step][name] for name in ranks if name in units[step]),
                contenders=frozenset(units[step]),
            )
            for step in in_order(units, self.manifest.tests)
        }

    def against(self, base: str) -> dict[Step, dict[str, Ratio]]:
        """Step -> contender -> ratio, where a report relative to `base` compares it.

        The base is among them.
        """
        if base not in self._ratios:
            found: dict[Step, dict[str, Ratio]] = defaultdict(dict)
            ranks = self._with_first(base)
            for result in results_of(self.manifest, self._slices, ranks, [], outline):
                if (ratio := self._ratio(result)) is not None:
                    step = Step(result.benchmark, result.test, result.clients)
                    found[step][result.contender] = ratio
            self._ratios[base] = {step: rates for step, rates in found.items() if base in rates}
        return self._ratios[base]

    def _with_first(self, base: str) -> list[str]:
        names = [contender.name for contender in self.manifest.contenders]
        return [base, *(name for name in names if name != base)]

    def _ratio(self, result: Result) -> Ratio | None:
        if result.rqps is None:
            return None
        reach = None
        if result.low is not None and result.high is not None:
            reach = math.log(result.high / result.low) / 2
        return Ratio(math.log(result.rqps), reach, (self.name,))


Member = tuple[Experiment, Mapping[Release, str]]
"""An experiment, and the contenders it has of a line."""


def connected(members: Sequence[Member]) -> list[set[Release]]:
    """Releases that ratios can be chained over, in the order of their first one."""
    groups: list[set[Release]] = []
    for _, contenders in members:
        joined = set(contenders)
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return groups


def ratios_to(
    base: Release, releases: Sequence[Release], members: Sequence[Member]
) -> dict[Step, dict[Release, Ratio]]:
    """Step -> release -> ratio to `base`, over as few experiments as it takes.

    `releases` is their order. A step that `base` does not have is left out.
    """
    chains = {
        step: {base: _alone(base, step, members)} | found
        for step, found in _links(base, members).items()
    }
    newest = {step: set(found) - {base} for step, found in chains.items()}
    while any(newest.values()):
        further: dict[Step, dict[Release, list[tuple[int, Ratio]]]] = {}
        for middle in [one for one in releases if any(one in new for new in newest.values())]:
            further_on = _leading_on(middle, members, chains)
            for step, links in _links(middle, further_on).items():
                if middle not in newest.get(step, ()):
                    continue
                for release in links.keys() - chains[step].keys():
                    far = abs(releases.index(release) - releases.index(middle))
                    way = _chain(chains[step][middle], middle, links[release])
                    further.setdefault(step, {}).setdefault(release, []).append((far, way))
        for step, candidates in further.items():
            # Of ways that are equally short, the one over the version that is nearest.
            for release, ways in candidates.items():
                chains[step][release] = min(ways, key=lambda way: way[0])[1]
        newest = {step: set(candidates) for step, candidates in further.items()}
    return {
        step: {release: found[release] for release in releases if release in found}
        for step, found in chains.items()
    }


def _leading_on(
    middle: Release, members: Sequence[Member], chains: Mapping[Step, Mapping[Release, Ratio]]
) -> list[Member]:
    """Experiments that have `middle` beside a release that nothing has led to yet."""
    return [
        (experiment, contenders)
        for experiment, contenders in members
        if middle in contenders
        and any(
            contenders[middle] in measured.contenders
            and any(
                contender in measured.contenders and release not in chains[step]
                for release, contender in contenders.items()
            )
            for step, measured in experiment.steps.items()
            if step in chains
        )
    ]


def _links(base: Release, members: Sequence[Member]) -> dict[Step, dict[Release, Ratio]]:
    """Ratios to `base` of what any one experiment has beside it."""
    direct: dict[Step, dict[Release, list[Ratio]]] = defaultdict(lambda: defaultdict(list))
    for experiment, contenders in members:
        if base not in contenders:
            continue
        against = experiment.against(contenders[base])
        for step, found in against.items():
            for release, contender in contenders.items():
                if release != base and contender in found:
                    direct[step][release].append(found[contender])
    return {
        step: {release: together(ratios) for release, ratios in found.items()}
        for step, found in direct.items()
    }


def _alone(base: Release, step: Step, members: Sequence[Member]) -> Ratio:
    names = [
        experiment.name
        for experiment, contenders in members
        if base in contenders and step in experiment.against(contenders[base])
    ]
    return Ratio(0.0, None, tuple(names))


def _chain(first: Ratio, middle: Release, second: Ratio) -> Ratio:
    reach = None
    if first.reach is not None and second.reach is not None:
        reach = math.hypot(first.reach, second.reach)
    return Ratio(
        log=first.log + second.log,
        reach=reach,
        experiments=tuple(dict.fromkeys((*first.experiments, *second.experiments))),
        through=(*first.through, middle),
    )


def together(ratios: Sequence[Ratio]) -> Ratio:
    """The same ratio from several experiments: the mean of its logs.

    Weighted by the intervals, where all have one; and no surer than the experiments agree.
    """
    if len(ratios) == 1:
        return ratios[0]
    logs = [ratio.log for ratio in ratios]
    reaches = [ratio.reach for ratio in ratios if ratio.reach is not None]
    experiments = tuple(name for ratio in ratios for name in ratio.experiments)
    if len(reaches) < len(ratios):
        return Ratio(fmean(logs), None, experiments)
    weights = [max(reach, 1e-6) ** -2 for reach in reaches]
    mean = sum(w * log for w, log in zip(weights, logs, strict=True)) / sum(weights)
    disagreement = 1.959964 * math.sqrt(variance(logs) / len(logs))
    return Ratio(mean, max(sum(weights) ** -0.5, disagreement), experiments)
