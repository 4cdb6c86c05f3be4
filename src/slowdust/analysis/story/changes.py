"""The changes of an experiment's results by group of tests, in bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowdust.analysis.comparison import PairVerdicts
from slowdust.analysis.model import GroupChanges, Report, Result
from slowdust.analysis.results.notes import NO_BASE
from slowdust.analysis.story.bands import (
    Bands,
    Rates,
    Verdicts,
    changes_against,
    changes_of_group,
    name_hold,
)
from slowdust.analysis.versions import Release, labels_of, sorted_releases
from slowdust.ratios import Verdict
from slowdust.stats.blocks import Step
from slowdust.store.step import split_hold
from slowdust.units import Second
from slowdust.wording import GROUP_TITLES, distinct_names


def changes_beside_tldr(report: Report) -> list[GroupChanges]:
    return [changes for changes in report.group_changes if changes.sentence not in report.tldr]


class _Level(NamedTuple):
    """Results that are described together."""

    group: str
    clients: int
    hold: Second
    """The time for which a transaction was held open beside them; 0: none was."""


def changes_of_report(
    report: Report,
    releases: Mapping[str, Mapping[Release, str]],
    bands: Bands,
    verdicts: PairVerdicts,
) -> list[GroupChanges]:
    """Return the changes of an experiment's results.

    `releases` is line -> release -> contender. If no line has two releases, each contender is
    described beside the base.
    """
    grouped: dict[_Level, list[Result]] = {}
    for result in report.results:
        level = _Level(result.group, result.clients, split_hold(result.test)[1])
        grouped.setdefault(level, []).append(result)
    several = len({level.clients for level in grouped}) > 1
    by_level = {
        (level.group, level.clients if several else None, level.hold): grouped[level]
        for level in sorted(grouped, key=_place)
    }
    lines: dict[str | None, Mapping[str, str]] = {}
    for line, versions in releases.items():
        if len(versions) > 1:
            labels = labels_of(sorted_releases(versions))
            lines[line] = {versions[release]: label for release, label in labels.items()}
    describe = changes_of_group if lines else changes_against
    changes: list[GroupChanges] = []
    for of_line, names in (lines or {None: distinct_names(report.contenders)}).items():
        for (group, clients, hold), results in by_level.items():
            rates = _rates(results, names)
            judged = _verdicts_of(results, names, verdicts)
            of_group = describe(group, clients, list(names.values()), rates, bands, verdicts=judged)
            if of_group is not None:
                of_group.line = of_line
                name_hold(of_group, hold)
                if len(lines) > 1:
                    of_group.title = f"{of_line}: {of_group.title}"
                changes.append(of_group)
    return changes


def _verdicts_of(
    results: Sequence[Result], names: Mapping[str, str], verdicts: PairVerdicts
) -> Verdicts:
    """Return the function for the tests of `results`; `names` is contender -> its version."""
    contenders = {version: contender for contender, version in names.items()}
    steps = {Step.of(each) for each in results}

    def between(before: str, after: str) -> dict[str, Verdict]:
        pair = verdicts.verdicts(contenders[before], contenders[after])
        return {step.test: verdict for step, verdict in pair.items() if step in steps}

    return between


def _place(level: _Level) -> tuple[int, int, Second]:
    """Return the sort key: the posts' order of groups, others behind; then clients and hold."""
    titles = list(GROUP_TITLES)
    place = titles.index(level.group) if level.group in titles else len(titles)
    return place, level.clients, level.hold


def _rates(results: Sequence[Result], names: Mapping[str, str]) -> Rates:
    """Return relative rates; of a test that the base lacks, absolute ones in the first's unit."""
    rates: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    for result in results:
        relative = None if result.ratio is None else result.ratio.value
        rate = result.qps if NO_BASE in result.notes else relative
        if result.contender not in names or rate is None:
            continue
        if units.setdefault(result.test, result.unit) == result.unit:
            rates.setdefault(result.test, {})[names[result.contender]] = rate
    return rates
