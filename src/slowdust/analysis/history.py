"""Versions over time: the throughput of each relative to the first, from any set of experiments.

A group of tests is told by the geometric mean of their rqps. It is the one mean of ratios that
does not depend on which version they are relative to, and whose chain of ratios is its ratio
(Fleming and Wallace 1986, Commun. ACM 29(3)); a median of ratios has neither property. Only tests
that every version has are in it, lest another mixture of tests look like a change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from slowdust.analysis.bands import Bands, Rates, changes_of_group
from slowdust.analysis.chaining import Experiment, Member, Ratio, connected, ratios_to
from slowdust.analysis.circumstances import (
    Circumstances,
    circumstances_of,
    differences_of_hosts,
)
from slowdust.analysis.config_hints import hints
from slowdust.analysis.configs import Configs, configs_of, configs_told
from slowdust.analysis.group_changes import GroupChanges
from slowdust.analysis.history_changes import mark_changes
from slowdust.analysis.history_model import (
    History,
    LineHistory,
    Point,
    Series,
    Version,
)
from slowdust.analysis.phrases import GROUP_TITLES, listing, shortened
from slowdust.analysis.relative import Step
from slowdust.analysis.versions import Release, in_order, lines_of
from slowdust.store.manifest import ContenderFacts


@dataclass(frozen=True)
class Choice:
    """What of the experiments the history is wanted of."""

    benchmark: Callable[[str], bool]
    test: Callable[[str], bool]
    base: str | None
    """A version; the first unless named."""
    bands: Bands
    configs: Configs | None
    """The only ones, taken for one; each its own if None."""
    hosts_are_one: bool
    """Of those experiments that do not say on which host they ran: the user's word."""


def history_of(experiments: Sequence[Experiment], choice: Choice) -> History:
    """A line's history for each benchmark, host and amount of data; the largest first."""
    gathered: dict[tuple[Circumstances, str], list[Member]] = {}
    for experiment in experiments:
        for benchmark in filter(choice.benchmark, _benchmarks(experiment)):
            where = circumstances_of(experiment.manifest, benchmark)
            if choice.hosts_are_one:
                where = replace(where, alone="")
            present = _with_results(experiment, benchmark)
            for line, releases in _lines_of(present, choice.configs).items():
                gathered.setdefault((where, line), []).append((experiment, releases))
    lines_found = []
    single: dict[str, None] = {}
    for (where, line), members in gathered.items():
        found = _line_history(where, line, members, choice)
        if found is None:
            single[line] = None
        else:
            lines_found.append(found)
    told = {found.line for found in lines_found}
    alone = [line for line in single if line not in told]
    notes = [f"Without two versions that can be compared: {shortened(alone)}."] if alone else []
    if choice.configs is None:
        notes += hints(gathered, alone)
    lines_found.sort(key=lambda one: (one.benchmark, -len(one.versions), one.line))
    return History(lines=lines_found, notes=notes)


def _benchmarks(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(step.benchmark for step in experiment.steps))


def _with_results(experiment: Experiment, benchmark: str) -> list[ContenderFacts]:
    """The contenders that did not drop out before they were measured."""
    of_it = [one for step, one in experiment.steps.items() if step.benchmark == benchmark]
    names = {name for one in of_it for name in one.contenders}
    return [contender for contender in experiment.manifest.contenders if contender.name in names]


def _lines_of(
    contenders: Sequence[ContenderFacts], configs: Configs | None
) -> dict[str, dict[Release, str]]:
    return lines_of(contenders) if configs is None else configs.releases(contenders)


def _line_history(
    where: Circumstances, line: str, members: Sequence[Member], choice: Choice
) -> LineHistory | None:
    # The largest set of versions that are chained; of equal ones that with the oldest.
    releases = in_order({release for _, known in members for release in known})
    sets = sorted(connected(members), key=lambda one: (-len(one), releases.index(min_of(one))))
    chosen = [release for release in releases if release in sets[0]]
    if len(chosen) < 2:
        return None
    base = next((one for one in chosen if choice.base in {one.version, one.label}), chosen[0])
    ratios = {
        step: found
        for step, found in ratios_to(base, chosen, members).items()
        if step.benchmark == where.benchmark and choice.test(step.test) and len(found) > 1
    }
    versions = [one for one in chosen if any(one in found for found in ratios.values())]
    if len(versions) < 2:
        return None
    kept = [member for member in members if set(versions) & set(member[1])]
    details = _Details(kept)
    tests = [_series(step, ratios[step], details) for step in details.order if step in ratios]
    groups = _groups(tests, [one.label for one in versions])
    margin = max(experiment.manifest.method.margin for experiment, _ in kept)
    untold = [step for step in details.order if step not in ratios and choice.test(step.test)]
    configs = configs_of(versions, kept) if choice.configs else {}
    notes = [
        *_left_out(releases, versions, base, choice),
        *_without(untold, base),
        *_chained(tests),
        *configs_told(configs),
    ]
    notes += differences_of_hosts([experiment.manifest for experiment, _ in kept])
    notes += mark_changes([*groups, *tests], margin, choice.bands)
    return LineHistory(
        line=line,
        benchmark=where.benchmark,
        host=dict(where.host),
        data=where.data,
        base=base.label,
        versions=[
            Version(
                label=one.label,
                version=one.version,
                experiments=[experiment.name for experiment, known in kept if one in known],
                configs=[config for config, releases in configs.items() if one in releases],
            )
            for one in versions
        ],
        experiments=[experiment.name for experiment, _ in kept],
        groups=groups,
        tests=tests,
        changes=_in_bands(line, tests, [one.label for one in versions], choice.bands),
        notes=notes,
    )


def min_of(releases: Iterable[Release]) -> Release:
    """The oldest."""
    return in_order(releases)[0]


class _Details:
    """Groups, units and order of the tests, as the experiments' reports have them."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.groups: dict[Step, str] = {}
        self.units: dict[Step, str] = {}
        for experiment, _ in members:
            for step, measured in experiment.steps.items():
                self.groups.setdefault(step, measured.group)
                self.units.setdefault(step, measured.unit)

    @property
    def order(self) -> list[Step]:
        """Groups in the posts' order, within them that of the report."""
        titles = [*GROUP_TITLES, *dict.fromkeys(self.groups.values())]
        return sorted(self.groups, key=lambda step: titles.index(self.groups[step]))


def _series(step: Step, found: dict[Release, Ratio], details: _Details) -> Series:
    return Series(
        name=step.test,
        group=details.groups[step],
        clients=step.clients,
        unit=details.units[step],
        points=[
            _point(release.label, ratio, [one.label for one in ratio.through])
            for release, ratio in found.items()
        ],
    )


def _point(version: str, ratio: Ratio, through: list[str]) -> Point:
    known = ratio.reach is not None
    return Point(
        version=version,
        rqps=math.exp(ratio.log),
        low=math.exp(ratio.log - ratio.reach) if known and ratio.reach is not None else None,
        high=math.exp(ratio.log + ratio.reach) if known and ratio.reach is not None else None,
        experiments=list(ratio.experiments),
        through=through,
    )


def _groups(tests: Sequence[Series], versions: Sequence[str]) -> list[Series]:
    """A series for each group and number of clients, of the tests that all versions have."""
    members: dict[tuple[str, int], list[Series]] = {}
    for test in tests:
        if len(test.points) == len(versions):
            members.setdefault((test.group, test.clients), []).append(test)
    return [
        Series(
            name=group,
            group=group,
            clients=clients,
            tests=[test.name for test in series],
            points=[_mean_of(column) for column in zip(*(s.points for s in series), strict=True)],
        )
        for (group, clients), series in members.items()
    ]


def _mean_of(points: Sequence[Point]) -> Point:
    """The geometric mean; its half-width is the mean one, as if all tests erred together.

    They do in part, since they share restarts; as if each erred on its own would be too sure.
    """
    log = fmean(math.log(point.rqps) for point in points)
    reaches = [reach for point in points if (reach := point.reach) is not None]
    ratio = Ratio(
        log=log,
        reach=fmean(reaches) if len(reaches) == len(points) else None,
        experiments=tuple(dict.fromkeys(name for point in points for name in point.experiments)),
    )
    through = dict.fromkeys(version for point in points for version in point.through)
    return _point(points[0].version, ratio, list(through))


def _in_bands(
    line: str, tests: Sequence[Series], versions: Sequence[str], bands: Bands
) -> list[GroupChanges]:
    rates: dict[tuple[str, int], dict[str, dict[str, float]]] = {}
    for test in tests:
        known = {point.version: point.rqps for point in test.points}
        rates.setdefault((test.group, test.clients), {})[test.name] = known
    levels = {clients for _, clients in rates}
    found = []
    for (group, clients), of_group in rates.items():
        told = clients if len(levels) > 1 else None
        of_group_rates: Rates = of_group
        present = [one for one in versions if any(one in known for known in of_group.values())]
        counted = changes_of_group(group, told, present, of_group_rates, bands)
        if counted is not None:
            counted.line = line
            found.append(counted)
    return found


def _left_out(
    releases: Sequence[Release], versions: Sequence[Release], base: Release, choice: Choice
) -> list[str]:
    notes = []
    if missing := [release.label for release in releases if release not in versions]:
        notes.append(
            f"Left out, because no experiment has them beside a version that leads to "
            f"{base.label}: {listing(missing)}."
        )
    if choice.base is not None and choice.base not in {base.version, base.label}:
        notes.append(f"It has no version {choice.base}: the first one, {base.label}, is the base.")
    return notes


def _without(steps: Sequence[Step], base: Release) -> list[str]:
    names = list(dict.fromkeys(step.test for step in steps))
    if not names:
        return []
    return [
        f"Left out, because nothing there can be compared with {base.label}: {shortened(names)}."
    ]


def _chained(tests: Sequence[Series]) -> list[str]:
    ways: dict[tuple[str, ...], Counter[str]] = {}
    all_points = [point for test in tests for point in test.points]
    measured = Counter(point.version for point in all_points)
    for point in all_points:
        if point.through:
            ways.setdefault(tuple(point.through), Counter())[point.version] += 1
    return [
        f"Chained through {listing(list(way))}, for lack of an experiment with both: "
        + listing(
            [
                version if count == measured[version] else f"{version} (in {count} tests)"
                for version, count in versions.items()
            ]
        )
        + "."
        for way, versions in ways.items()
    ]
