"""Series of a history: ratios of versions over several experiments, and their means by group.

Only ratios are shared between experiments: contenders of one experiment were measured together, and
rates of another day are not comparable. If no experiment has both a version and the base, the ratio
is the product of the ratios along the shortest path of experiments. Half-widths of the logs add up
in squares, as independent errors do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist, fmean, variance
from typing import Protocol

from msgspec.structs import replace

from slowdust.analysis.comparison import hosts_of, step_of
from slowdust.analysis.history.model import Point, PointWork, Series
from slowdust.analysis.model import Result
from slowdust.analysis.results.results import group_of, outline, results_of, sorted_steps
from slowdust.analysis.versions import Release
from slowdust.analysis.work import counts_by_step, find_timed_step, judge_work
from slowdust.ratios import Ratio, Verdict
from slowdust.stats.blocks import Step
from slowdust.stats.relative import EQUIVALENCE, HALF_WIDTH, Interval
from slowdust.stats.verdict import verdict_of
from slowdust.store.count import Count
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.step import name_with_hold, split_hold
from slowdust.units import known
from slowdust.wording import GROUP_TITLES


@dataclass(frozen=True)
class Chained:
    """A release relative to another, in throughput or in instructions per operation."""

    log: float
    """Natural logarithm of the ratio."""
    half_width: float | None
    """Half-width of the 95% interval of `log`; None without an interval."""
    experiments: tuple[str, ...]
    through: tuple[Release, ...] = ()
    """Releases through which it is chained, from the base on."""
    verdict: Verdict | None = None
    """The verdict of its only experiment; None for several experiments and single runs."""

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
    """The unit of the base, or else of the first contender."""
    contenders: frozenset[str]
    """Contenders measured in it."""


class Experiment:
    """An experiment whose contenders can be compared with any of them."""

    def __init__(
        self, manifest: Manifest, slices: Sequence[Slice], counts: Sequence[Count] = ()
    ) -> None:
        self.manifest = manifest
        self.counts = counts
        self._slices = slices
        self._ratios: dict[str, dict[Step, dict[str, Chained]]] = {}

    @classmethod
    def read(cls, folder: Folder) -> Experiment:
        """Read the records that a history needs.

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
        """The measured steps, in the report's order."""
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
        """Return step -> contender -> ratio, as in a report relative to the contender `base`."""
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
    """An experiment's ratios of one kind: of throughput, or of work."""

    @property
    def name(self) -> str:
        """The experiment's name."""

    @property
    def steps(self) -> Mapping[Step, MeasuredStep]: ...

    def against(self, base: str) -> Mapping[Step, Mapping[str, Chained]]:
        """Return step -> contender -> ratio to the contender `base`."""


Member = tuple[Experiment, Mapping[Release, str]]
"""An experiment, and its contenders of a line."""
ComparedMember = tuple[Compared, Mapping[Release, str]]
"""An experiment's ratios of one kind, and its contenders of a line."""


def connected_releases(members: Sequence[Member]) -> list[set[Release]]:
    groups: list[set[Release]] = []
    for _, contenders in members:
        joined = set(contenders)
        separate = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                separate.append(group)
        groups = [*separate, joined]
    return groups


def ratios_to(
    base: Release, releases: Sequence[Release], members: Sequence[ComparedMember]
) -> dict[Step, dict[Release, Chained]]:
    """Return step -> release -> ratio to `base`, over as few experiments as possible.

    `releases` are in order. Steps that `base` does not have are skipped.
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
            # Of equally short paths, the one through the nearest version is used.
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
    """Return the members with `middle` and a release that no chain has reached."""
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
    """Return the ratios to `base` of the releases that share an experiment with it."""
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

    It is weighted by the intervals if all have one. The interval covers at least the disagreement
    between the experiments.
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
    disagreement = HALF_WIDTH * math.sqrt(variance(logs) / len(logs))
    return Chained(mean, max(sum(weights) ** -0.5, disagreement), experiments)


_NARROWER = NormalDist().inv_cdf((1 + EQUIVALENCE) / 2) / HALF_WIDTH
"""Half-width of the interval for `same` / half-width of the 95% interval."""


class Details:
    """Groups, units and order of the tests, as in the experiments' reports."""

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
        """The steps by group, in the order of `GROUP_TITLES`, and within groups as in reports."""
        titles = [*GROUP_TITLES, *dict.fromkeys(self.groups.values())]
        return sorted(self.groups, key=lambda step: titles.index(self.groups[step]))


def series_of(
    step: Step, ratios: Mapping[Release, Chained], details: Details, labels: Mapping[Release, str]
) -> Series:
    """Return the series of a test; `labels` is release -> label."""
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
    """Return a series for each group, number of clients and hold, over tests that all versions
    have.

    If a transaction was held open concurrently, the group's name includes the hold.
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
    """Return the geometric mean; its half-width is the mean half-width, as if errors were the same.

    Errors are partly the same, since tests share restarts; assuming independence would understate
    them.
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
    """Return the verdict of a ratio of rates from its 95% interval; None without one."""
    if ratio.interval is None:
        return None
    low, high = ratio.interval
    middle, half = (math.log(high) + math.log(low)) / 2, math.log(high / low) / 2 * _NARROWER
    equivalence = Interval(math.exp(middle - half), math.exp(middle + half))
    return verdict_of(Interval(low, high), equivalence, margin)


class CountedExperiment:
    """The work of an experiment whose counted contenders can be compared with any of them."""

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
            if (place := find_timed_step(step, timed)) is not None
        }

    def against(self, base: str) -> dict[Step, dict[str, Chained]]:
        """Return step -> contender -> instructions per operation / the base's."""
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
            place = find_timed_step(estimate.step, timed)
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
    """Set the work of the points of a test's series; `labels` is release -> label."""
    works = {
        labels[release]: _work(ratio, [labels[middle] for middle in ratio.through])
        for release, ratio in ratios.items()
    }
    for point in series.points:
        point.work = works.get(point.version)


def mean_work(points: Sequence[Point]) -> PointWork | None:
    """Return the geometric mean of a version's work over tests; None if any test has none.

    Its half-width is the mean half-width, as for throughput.
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
