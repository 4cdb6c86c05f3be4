"""Histories: the throughput of each version relative to the first, from any set of experiments.

A group of tests is summarised by the geometric mean of their rqps. It is the only mean of ratios
that is independent of the version they are relative to, and consistent under chaining (Fleming and
Wallace 1986, Commun. ACM 29(3)); a median of ratios has neither property. It includes only tests
that every version has, so that a different mixture of tests does not look like a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowdust.analysis.history.change_points import mark_changes
from slowdust.analysis.history.lines import (
    Circumstances,
    Configs,
    circumstances_of,
    configs_of,
    is_host,
    notes_about_configs,
    notes_about_hosts,
    notes_about_lone_lines,
)
from slowdust.analysis.history.model import History, LineHistory, Series, Version
from slowdust.analysis.history.series import (
    Chained,
    CountedExperiment,
    Details,
    Experiment,
    Member,
    add_work,
    connected_releases,
    groups_of,
    ratios_to,
    series_of,
)
from slowdust.analysis.model import GroupChanges
from slowdust.analysis.story.bands import Bands, changes_of_group, name_hold
from slowdust.analysis.versions import Release, labels_of, lines_of, sorted_releases
from slowdust.stats.blocks import Step
from slowdust.store.manifest import ContenderFacts
from slowdust.store.step import split_hold
from slowdust.units import Second, known
from slowdust.wording import counted, listing, shortened

_Line = tuple[Circumstances, str]


@dataclass(frozen=True)
class Choice:
    """The selection of experiments for a history."""

    benchmark: Callable[[str], bool]
    test: Callable[[str], bool]
    base: str | None
    """A version; None for the first."""
    bands: Bands
    configs: Configs | None
    """The only configs, treated as one; None to keep a line for each."""
    host: str | None
    """Words from the host's facts, or `UNRECORDED`; None for any host."""


def history_of(experiments: Sequence[Experiment], choice: Choice) -> History:
    """Return each line's history by benchmark, host and amount of data; the largest first."""
    gathered = _gathered(experiments, choice)
    lines = known(
        _line_history(where, line, members, choice) for (where, line), members in gathered.items()
    )
    present = {history.line for history in lines}
    lone = list(dict.fromkeys(line for _, line in gathered if line not in present))
    notes = [f"Without two comparable versions: {shortened(lone)}."] if lone else []
    if choice.configs is None:
        notes += notes_about_lone_lines(gathered, lone)
    lines.sort(key=lambda history: (history.benchmark, -len(history.versions), history.line))
    return History(lines=lines, notes=notes)


def _gathered(experiments: Sequence[Experiment], choice: Choice) -> dict[_Line, list[Member]]:
    gathered: dict[_Line, list[Member]] = {}
    by_line = lines_of if choice.configs is None else choice.configs.releases
    for experiment in experiments:
        if choice.host is not None and not is_host(experiment.manifest, choice.host):
            continue
        benchmarks = dict.fromkeys(step.benchmark for step in experiment.steps)
        for benchmark in filter(choice.benchmark, benchmarks):
            where = circumstances_of(experiment.manifest, benchmark)
            if choice.host is not None:
                # The user states that those without a host ran on one.
                where = replace(where, only_experiment="")
            measured = _measured_contenders(experiment, benchmark)
            for line, releases in by_line(measured).items():
                gathered.setdefault((where, line), []).append((experiment, releases))
    return gathered


def _measured_contenders(experiment: Experiment, benchmark: str) -> list[ContenderFacts]:
    names = {
        name
        for step, measured in experiment.steps.items()
        if step.benchmark == benchmark
        for name in measured.contenders
    }
    return [contender for contender in experiment.manifest.contenders if contender.name in names]


@dataclass(frozen=True)
class _Chained:
    """Versions of a line and their ratios."""

    releases: Sequence[Release]
    """All releases of the line, the oldest first."""
    labels: Mapping[Release, str]
    """Release -> label."""
    versions: Sequence[Release]
    """Releases with a ratio to the base, and the base."""
    base: Release
    ratios: Mapping[Step, Mapping[Release, Chained]]
    members: Sequence[Member]
    """The experiments with any of these versions."""

    def labelled(self, releases: Iterable[Release]) -> list[str]:
        return [self.labels[release] for release in releases]


def _chained(where: Circumstances, members: Sequence[Member], choice: Choice) -> _Chained | None:
    """Return the largest set of chained versions; of equal ones, the set with the oldest version.

    None if no set has two versions.
    """
    releases = sorted_releases(
        dict.fromkeys(release for _, contenders in members for release in contenders)
    )
    labels = labels_of(releases)
    sets = sorted(
        connected_releases(members),
        key=lambda group: (-len(group), min(map(releases.index, group))),
    )
    chosen = [release for release in releases if release in sets[0]]
    if len(chosen) < 2:
        return None
    wanted = (release for release in chosen if choice.base in _names(release, labels))
    base = next(wanted, chosen[0])
    ratios = {
        step: by_release
        for step, by_release in ratios_to(base, chosen, members).items()
        if step.benchmark == where.benchmark and choice.test(step.test) and len(by_release) > 1
    }
    versions = [r for r in chosen if any(r in by_release for by_release in ratios.values())]
    if len(versions) < 2:
        return None
    kept = [member for member in members if set(versions) & set(member[1])]
    return _Chained(releases, labels, versions, base, ratios, kept)


def _names(release: Release, labels: Mapping[Release, str]) -> set[str]:
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
    _add_work(tests, chained)
    groups = groups_of(tests, labels, details.margin)
    configs = configs_of(chained.versions, chained.members) if choice.configs else {}
    margin = max(experiment.manifest.method.margin for experiment, _ in chained.members)
    missing = [step for step in details.order if step not in ratios and choice.test(step.test)]
    notes = [
        *_notes(chained, tests, missing, choice),
        *notes_about_configs(
            {config: chained.labelled(releases) for config, releases in configs.items()}
        ),
        *notes_about_hosts([experiment.manifest for experiment, _ in chained.members]),
        *_notes_about_data(where, chained.members),
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


def _notes_about_data(where: Circumstances, members: Sequence[Member]) -> list[str]:
    """Return a note if the amount of data was not recorded."""
    if where.data or len(members) < 2:
        return []
    names = shortened([experiment.name for experiment, _ in members])
    return [
        f"The amount of data of {names} was not recorded: their ratios are combined as if it were "
        "the same. `slowdust history NAME...` selects experiments."
    ]


def _add_work(tests: Sequence[Series], chained: _Chained) -> None:
    members = [
        (CountedExperiment(experiment), contenders)
        for experiment, contenders in chained.members
        if experiment.counts
    ]
    ratios = ratios_to(chained.base, chained.versions, members)
    by_name = {(step.test, step.clients): by_release for step, by_release in ratios.items()}
    for series in tests:
        add_work(series, by_name.get((series.name, series.clients), {}), chained.labels)


def _versions(chained: _Chained, configs: Mapping[str, Sequence[Release]]) -> list[Version]:
    return [
        Version(
            label=chained.labels[release],
            version=release.version,
            experiments=[
                experiment.name
                for experiment, contenders in chained.members
                if release in contenders
            ],
            configs=[config for config, releases in configs.items() if release in releases],
        )
        for release in chained.versions
    ]


def _in_bands(
    line: str, tests: Sequence[Series], versions: Sequence[str], bands: Bands
) -> list[GroupChanges]:
    rates: dict[tuple[str, int, Second], dict[str, dict[str, float]]] = {}
    for test in tests:
        by_version = {point.version: point.ratio.value for point in test.points}
        level = test.group, test.clients, split_hold(test.name)[1]
        rates.setdefault(level, {})[test.name] = by_version
    several = len({clients for _, clients, _ in rates}) > 1
    changes = []
    for (group, clients, hold), by_test in rates.items():
        present = [v for v in versions if any(v in by_version for by_version in by_test.values())]
        of_group = changes_of_group(group, clients if several else None, present, by_test, bands)
        if of_group is not None:
            of_group.line = line
            name_hold(of_group, hold)
            changes.append(of_group)
    return changes


def _notes(
    chained: _Chained, tests: Sequence[Series], missing: Sequence[Step], choice: Choice
) -> list[str]:
    base = chained.labels[chained.base]
    notes = []
    left_out = [release for release in chained.releases if release not in chained.versions]
    if left_out:
        notes.append(
            f"Excluded, because no experiment connects them with {base}: "
            f"{listing(chained.labelled(left_out))}."
        )
    if choice.base is not None and choice.base not in _names(chained.base, chained.labels):
        notes.append(f"Version {choice.base} is missing; the base is the first one, {base}.")
    if names := list(dict.fromkeys(step.test for step in missing)):
        notes.append(
            f"Excluded, because no results are comparable with {base}: {shortened(names)}."
        )
    return [*notes, *_notes_about_chains(tests)]


def _notes_about_chains(tests: Sequence[Series]) -> list[str]:
    paths: dict[tuple[str, ...], Counter[str]] = {}
    all_points = [point for test in tests for point in test.points]
    measured = Counter(point.version for point in all_points)
    for point in all_points:
        if point.through:
            paths.setdefault(tuple(point.through), Counter())[point.version] += 1
    return [
        f"Chained through {listing(list(path))}, because no experiment has both: "
        + listing(
            [
                version
                if count == measured[version]
                else f"{version} (in {counted(count, 'test')})"
                for version, count in versions.items()
            ]
        )
        + "."
        for path, versions in paths.items()
    ]


def deduplicate(experiments: Sequence[Experiment]) -> tuple[list[Experiment], list[str]]:
    """Return one import of each directory and its copies, with notes on the excluded imports.

    `experiments` begin with the one stored last. It is kept, unless another import of its directory
    has more runs or tests; both are kept if each has some of its own.
    """
    kept: list[Experiment] = []
    left_out: dict[str, list[str]] = {}
    for experiment in sorted(experiments, key=_size, reverse=True):
        larger = next((other for other in kept if _has_all_of(other, experiment)), None)
        if larger is None:
            kept.append(experiment)
        else:
            left_out.setdefault(larger.name, []).append(experiment.name)
    notes = [
        f"Excluded, because {name}, imported from the same directory or a copy, contains it: "
        f"{listing(names)}."
        for name, names in left_out.items()
    ]
    return kept, notes


def _size(experiment: Experiment) -> tuple[int, int]:
    return len(_runs(experiment)), len(experiment.manifest.tests)


def _has_all_of(experiment: Experiment, other: Experiment) -> bool:
    """Return whether `other` is from the same directory or a copy, and has nothing more."""
    ours, theirs = experiment.manifest.imported, other.manifest.imported
    if ours is None or theirs is None or theirs.path is None:
        return False
    if (ours.kind, ours.path, ours.condition) != (theirs.kind, theirs.path, theirs.condition):
        # Two measurements are never identical to the last digit.
        return bool(other.rates) and other.rates <= experiment.rates
    tests = set(experiment.manifest.tests)
    return _runs(other) <= _runs(experiment) and tests.issuperset(other.manifest.tests)


def _runs(experiment: Experiment) -> set[str]:
    return {facts.run or facts.name for facts in experiment.manifest.contenders}
