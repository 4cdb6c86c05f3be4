"""Versions over time: the throughput of each relative to the first, from any set of experiments.

A group of tests is told by the geometric mean of their rqps. It is the one mean of ratios that
does not depend on which version they are relative to, and whose chain of ratios is its ratio
(Fleming and Wallace 1986, Commun. ACM 29(3)); a median of ratios has neither property. Only tests
that every version has are in it, lest another mixture of tests look like a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.history.chaining import Experiment, Member, Ratio, connected, ratios_to
from slowdust.analysis.history.changes import mark_changes
from slowdust.analysis.history.circumstances import (
    Circumstances,
    circumstances_of,
    differences_of_hosts,
    is_host,
)
from slowdust.analysis.history.config_hints import hints
from slowdust.analysis.history.configs import Configs, configs_of, configs_told
from slowdust.analysis.history.model import (
    History,
    LineHistory,
    Series,
    Version,
)
from slowdust.analysis.history.series import Details, groups_of, series_of
from slowdust.analysis.story.bands import Bands, Rates, changes_of_group
from slowdust.analysis.story.group_changes import GroupChanges
from slowdust.analysis.versions import Release, in_order, labels_of, lines_of
from slowdust.store.manifest import ContenderFacts
from slowdust.wording import counted, listing, shortened

_Line = tuple[Circumstances, str]


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
    host: str | None
    """Words of its facts, or `UNRECORDED`; any unless named."""


def history_of(experiments: Sequence[Experiment], choice: Choice) -> History:
    """A line's history for each benchmark, host and amount of data; the largest first."""
    gathered = _gathered(experiments, choice)
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


def _gathered(experiments: Sequence[Experiment], choice: Choice) -> dict[_Line, list[Member]]:
    found: dict[_Line, list[Member]] = {}
    for experiment in experiments:
        if choice.host is not None and not is_host(experiment.manifest, choice.host):
            continue
        for benchmark in filter(choice.benchmark, _benchmarks(experiment)):
            where = circumstances_of(experiment.manifest, benchmark)
            if choice.host is not None:
                # The user's word for those that do not say on which host they ran.
                where = replace(where, alone="")
            present = _with_results(experiment, benchmark)
            for line, releases in _lines_of(present, choice.configs).items():
                found.setdefault((where, line), []).append((experiment, releases))
    return found


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


@dataclass(frozen=True)
class _Chained:
    """The versions of a line that are compared, and by what."""

    releases: Sequence[Release]
    """All that the line has, the oldest first."""
    labels: Mapping[Release, str]
    """Of each of these."""
    versions: Sequence[Release]
    """Those that have a ratio to the base, with the base."""
    base: Release
    ratios: Mapping[Step, Mapping[Release, Ratio]]
    members: Sequence[Member]
    """The experiments that have any of the versions."""

    def labelled(self, releases: Iterable[Release]) -> list[str]:
        """What these releases are called."""
        return [self.labels[release] for release in releases]


def _chained(where: Circumstances, members: Sequence[Member], choice: Choice) -> _Chained | None:
    """The largest set of versions that are chained; of equal ones that with the oldest.

    None if there are no two.
    """
    releases = in_order(dict.fromkeys(release for _, known in members for release in known))
    labels = labels_of(releases)
    sets = sorted(connected(members), key=lambda one: (-len(one), min(map(releases.index, one))))
    chosen = [release for release in releases if release in sets[0]]
    if len(chosen) < 2:
        return None
    wanted = (one for one in chosen if choice.base in _names(one, labels))
    base = next(wanted, chosen[0])
    ratios = {
        step: found
        for step, found in ratios_to(base, chosen, members).items()
        if step.benchmark == where.benchmark and choice.test(step.test) and len(found) > 1
    }
    versions = [one for one in chosen if any(one in found for found in ratios.values())]
    if len(versions) < 2:
        return None
    kept = [member for member in members if set(versions) & set(member[1])]
    return _Chained(releases, labels, versions, base, ratios, kept)


def _names(release: Release, labels: Mapping[Release, str]) -> set[str]:
    """What the user may call it."""
    return {release.version, release.title, labels[release]}


def _line_history(
    where: Circumstances, line: str, members: Sequence[Member], choice: Choice
) -> LineHistory | None:
    chained = _chained(where, members, choice)
    if chained is None:
        return None
    labels = chained.labelled(chained.versions)
    details = Details(chained.members)
    ratios = chained.ratios
    tests = [
        series_of(step, ratios[step], details, chained.labels)
        for step in details.order
        if step in ratios
    ]
    groups = groups_of(tests, labels)
    configs = configs_of(chained.versions, chained.members) if choice.configs else {}
    margin = max(experiment.manifest.method.margin for experiment, _ in chained.members)
    untold = [step for step in details.order if step not in ratios and choice.test(step.test)]
    notes = [
        *_notes(chained, tests, untold, choice),
        *configs_told({config: chained.labelled(of_it) for config, of_it in configs.items()}),
        *differences_of_hosts([experiment.manifest for experiment, _ in chained.members]),
        *mark_changes([*groups, *tests], margin, choice.bands),
    ]
    return LineHistory(
        line=line,
        benchmark=where.benchmark,
        host=dict(where.host),
        data=where.data,
        base=chained.labels[chained.base],
        versions=_versions(chained, configs),
        experiments=[experiment.name for experiment, _ in chained.members],
        groups=groups,
        tests=tests,
        changes=_in_bands(line, tests, labels, choice.bands),
        notes=notes,
    )


def _versions(chained: _Chained, configs: Mapping[str, Sequence[Release]]) -> list[Version]:
    return [
        Version(
            label=chained.labels[release],
            version=release.version,
            experiments=[one.name for one, known in chained.members if release in known],
            configs=[config for config, releases in configs.items() if release in releases],
        )
        for release in chained.versions
    ]


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


def _notes(
    chained: _Chained, tests: Sequence[Series], untold: Sequence[Step], choice: Choice
) -> list[str]:
    """What was left out, and over what the rest is chained."""
    base = chained.labels[chained.base]
    notes = []
    missing = [release for release in chained.releases if release not in chained.versions]
    if missing:
        notes.append(
            f"Left out, because no experiment has them beside a version that leads to {base}: "
            f"{listing(chained.labelled(missing))}."
        )
    if choice.base is not None and choice.base not in _names(chained.base, chained.labels):
        notes.append(f"It has no version {choice.base}: the first one, {base}, is the base.")
    if names := list(dict.fromkeys(step.test for step in untold)):
        notes.append(
            f"Left out, because nothing there can be compared with {base}: {shortened(names)}."
        )
    return [*notes, *_ways(tests)]


def _ways(tests: Sequence[Series]) -> list[str]:
    """Over which versions others are chained."""
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
                version
                if count == measured[version]
                else f"{version} (in {counted(count, 'test')})"
                for version, count in versions.items()
            ]
        )
        + "."
        for way, versions in ways.items()
    ]
