"""Ratios of versions over several experiments, chained through versions that they share.

Experiments share ratios only: contenders of one were measured side by side, and rates of another
day are not comparable with theirs. If no experiment has a version beside the base, its ratio is the
product of the ratios along the shortest path of experiments; the half-widths of the logs add up as
independent errors do, in squares.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, variance
from typing import Protocol

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.model import Result
from slowdust.analysis.results.results import group_of, outline, results_of, sorted_steps
from slowdust.analysis.versions import Release
from slowdust.ratios import Ratio, Verdict
from slowdust.store.count import Count
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.units import known


@dataclass(frozen=True)
class Chained:
    """A release relative to another one, in throughput or in instructions per operation."""

    log: float
    """Natural logarithm of the ratio."""
    half_width: float | None
    """Half-width of the 95% interval of `log`; None without one."""
    experiments: tuple[str, ...]
    through: tuple[Release, ...] = ()
    """Releases that it is chained over, from the base on."""
    verdict: Verdict | None = None
    """The verdict of the one experiment that it is from; None for several, and single runs."""

    @property
    def ratio(self) -> Ratio:
        if self.half_width is None:
            return Ratio(math.exp(self.log), verdict=self.verdict)
        low, high = self.log - self.half_width, self.log + self.half_width
        return Ratio(math.exp(self.log), math.exp(low), math.exp(high), self.verdict)


@dataclass(frozen=True)
class MeasuredStep:
    """One step of an experiment."""

    group: str
    unit: str
    """The base's unit, or that of the first contender that was measured."""
    contenders: frozenset[str]
    """Contenders that were measured in it."""


class Experiment:
    """An experiment, whose contenders can be compared with any of them."""

    def __init__(
        self, manifest: Manifest, slices: Sequence[Slice], counts: Sequence[Count] = ()
    ) -> None:
        self.manifest = manifest
        self.counts = counts
        self._slices = slices
        self._ratios: dict[str, dict[Step, dict[str, Chained]]] = {}

    @classmethod
    def read(cls, folder: Folder) -> Experiment:
        """Read what a history needs of an experiment.

        Raises:
            UsageError: there is no such experiment, or a newer Slowdust wrote it.
            SlowdustError: a file is damaged.
        """
        return cls(folder.read_manifest(), folder.read_slices(), folder.read_counts())

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.manifest.experiment

    @cached_property
    def steps(self) -> dict[Step, MeasuredStep]:
        """The steps that were measured, in the report's order."""
        units: dict[Step, dict[str, str]] = {}
        for record in self._slices:
            units.setdefault(step_of(record), {}).setdefault(record.place.contender, record.unit)
        contenders = self._with_first(self.manifest.base)
        return {
            step: MeasuredStep(
                group=group_of(step, self.manifest.workload),
                unit=next(units[step][name] for name in contenders if name in units[step]),
                contenders=frozenset(units[step]),
            )
            for step in sorted_steps(units, self.manifest.tests)
        }

    @cached_property
    def rates(self) -> frozenset[tuple[str, str, int, float]]:
        """Contender, test, clients and rate of each slice."""
        return frozenset(
            (record.place.contender, record.place.test, record.place.clients, record.qps)
            for record in self._slices
        )

    def against(self, base: str) -> dict[Step, dict[str, Chained]]:
        """Return step -> contender -> ratio, as a report relative to `base` has it.

        The base is one of the contenders.
        """
        if base not in self._ratios:
            ratios: dict[Step, dict[str, Chained]] = defaultdict(dict)
            contenders = self._with_first(base)
            for result in results_of(self.manifest, self._slices, contenders, [], outline):
                if (ratio := self._ratio(result)) is not None:
                    step = Step.of(result)
                    ratios[step][result.contender] = ratio
            self._ratios[base] = {
                step: by_contender for step, by_contender in ratios.items() if base in by_contender
            }
        return self._ratios[base]

    def _with_first(self, base: str) -> list[str]:
        names = [contender.name for contender in self.manifest.contenders]
        return [base, *(name for name in names if name != base)]

    def _ratio(self, result: Result) -> Chained | None:
        if (ratio := result.ratio) is None:
            return None
        log = math.log(ratio.value)
        return Chained(log, ratio.half_width, (self.name,), verdict=result.verdict)


class Compared(Protocol):
    """An experiment's ratios of one kind: those of throughput, or those of work."""

    @property
    def name(self) -> str:
        """The experiment's name."""

    @property
    def steps(self) -> Mapping[Step, MeasuredStep]: ...

    def against(self, base: str) -> Mapping[Step, Mapping[str, Chained]]:
        """Return step -> contender -> ratio to `base`, which is one of the contenders."""


Member = tuple[Experiment, Mapping[Release, str]]
"""An experiment, and its contenders of a line."""
ComparedMember = tuple[Compared, Mapping[Release, str]]
"""An experiment's ratios of one kind, and its contenders of a line."""


def connected_releases(members: Sequence[Member]) -> list[set[Release]]:
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
    base: Release, releases: Sequence[Release], members: Sequence[ComparedMember]
) -> dict[Step, dict[Release, Chained]]:
    """Return step -> release -> ratio to `base`, over as few experiments as possible.

    `releases` is their order. Steps that `base` does not have are left out.
    """
    chains = {
        step: {base: _ratio_of_base(base, step, members)} | ratios
        for step, ratios in _direct_ratios(base, members).items()
    }
    newest = {step: set(ratios) - {base} for step, ratios in chains.items()}
    while any(newest.values()):
        longer: dict[Step, dict[Release, list[tuple[int, Chained]]]] = {}
        for middle in [r for r in releases if any(r in reached for reached in newest.values())]:
            useful = _members_beyond(middle, members, chains)
            for step, ratios in _direct_ratios(middle, useful).items():
                if middle not in newest.get(step, ()):
                    continue
                for release in ratios.keys() - chains[step].keys():
                    distance = abs(releases.index(release) - releases.index(middle))
                    ratio = _chain(chains[step][middle], middle, ratios[release])
                    longer.setdefault(step, {}).setdefault(release, []).append((distance, ratio))
        for step, candidates in longer.items():
            # Of paths that are equally short, the one over the nearest version counts.
            for release, paths in candidates.items():
                chains[step][release] = min(paths, key=lambda path: path[0])[1]
        newest = {step: set(candidates) for step, candidates in longer.items()}
    return {
        step: {release: ratios[release] for release in releases if release in ratios}
        for step, ratios in chains.items()
    }


def _members_beyond(
    middle: Release,
    members: Sequence[ComparedMember],
    chains: Mapping[Step, Mapping[Release, Chained]],
) -> list[ComparedMember]:
    """Return the members that have `middle` beside a release that no chain has reached."""
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


def _direct_ratios(
    base: Release, members: Sequence[ComparedMember]
) -> dict[Step, dict[Release, Chained]]:
    """Return the ratios to `base` of the releases that an experiment has beside it."""
    direct: dict[Step, dict[Release, list[Chained]]] = defaultdict(lambda: defaultdict(list))
    for experiment, contenders in members:
        if base not in contenders:
            continue
        for step, ratios in experiment.against(contenders[base]).items():
            for release, contender in contenders.items():
                if release != base and contender in ratios:
                    direct[step][release].append(ratios[contender])
    return {
        step: {release: combined(ratios) for release, ratios in by_release.items()}
        for step, by_release in direct.items()
    }


def _ratio_of_base(base: Release, step: Step, members: Sequence[ComparedMember]) -> Chained:
    names = [
        experiment.name
        for experiment, contenders in members
        if base in contenders and step in experiment.against(contenders[base])
    ]
    return Chained(0.0, None, tuple(names))


def _chain(first: Chained, middle: Release, second: Chained) -> Chained:
    half_width = None
    if first.half_width is not None and second.half_width is not None:
        half_width = math.hypot(first.half_width, second.half_width)
    return Chained(
        log=first.log + second.log,
        half_width=half_width,
        experiments=tuple(dict.fromkeys((*first.experiments, *second.experiments))),
        through=(*first.through, middle),
    )


def combined(ratios: Sequence[Chained]) -> Chained:
    """Return the mean of the logs of one ratio from several experiments.

    They are weighted by the intervals if all have one. The interval is no narrower than the
    experiments' disagreement.
    """
    if len(ratios) == 1:
        return ratios[0]
    logs = [ratio.log for ratio in ratios]
    half_widths = known(ratio.half_width for ratio in ratios)
    experiments = tuple(name for ratio in ratios for name in ratio.experiments)
    if len(half_widths) < len(ratios):
        return Chained(fmean(logs), None, experiments)
    weights = [max(half_width, 1e-6) ** -2 for half_width in half_widths]
    mean = sum(w * log for w, log in zip(weights, logs, strict=True)) / sum(weights)
    disagreement = 1.959964 * math.sqrt(variance(logs) / len(logs))
    return Chained(mean, max(sum(weights) ** -0.5, disagreement), experiments)
