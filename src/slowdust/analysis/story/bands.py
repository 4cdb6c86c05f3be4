"""Changes in bands, as in the published posts: the number of tests of a group that changed.

    from 5.6 to 5.7 there are big improvements for 5 tests, no changes for 2 tests and small
    regressions for 2 tests ... for 9.5 the common result is about 20% less throughput than 5.6

Bands are sizes of changes without significance. Single runs have no verdicts, only bands.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from statistics import geometric_mean, median
from typing import NamedTuple

from slowdust.analysis.comparison import PairVerdicts
from slowdust.analysis.model import ChangeCounts, GroupChanges, Report, Result
from slowdust.analysis.results.notes import NO_BASE
from slowdust.analysis.versions import Release, labels_of, sorted_releases
from slowdust.ratios import Verdict, ratio, throughput
from slowdust.stats.blocks import Step
from slowdust.store.step import split_hold
from slowdust.units import Second, known
from slowdust.wording import (
    GROUP_TITLES,
    counted,
    distinct_names,
    group_title,
    listing,
    with_hold,
)
from slowdust.wording import clients as number_of_clients

Rates = Mapping[str, Mapping[str, float]]
"""Test -> version -> throughput, relative to one and the same version, or absolute."""
Verdicts = Callable[[str, str], Mapping[str, Verdict]]
"""Function of two versions: test -> the verdict on their difference; empty for single runs."""
_UNSURE = " (unsure)"
"""The end of a clause whose tests are all unsure."""


_HALF_OF_LAST_DIGIT = 0.005
"""Tables print ratios with two decimals."""


class Change(Enum):
    """Size of a change; its value is the singular and the plural."""

    BIG_IMPROVEMENT = ("a big improvement", "big improvements")
    SMALL_IMPROVEMENT = ("a small improvement", "small improvements")
    NONE = ("no change", "no changes")
    SMALL_REGRESSION = ("a small regression", "small regressions")
    BIG_REGRESSION = ("a big regression", "big regressions")


_BETTER = (Change.BIG_IMPROVEMENT, Change.SMALL_IMPROVEMENT)
_WORSE = (Change.SMALL_REGRESSION, Change.BIG_REGRESSION)


@dataclass(frozen=True)
class Bands:
    """Shares of the older version's throughput that separate the sizes of changes.

    The published tables call <= 0.95 and >= 1.05 a change. The posts never say where big begins:
    they call a drop of 10% to 15% a drop, and one of about a fifth a big regression; 0.15 is
    between the two.
    """

    change: float = 0.05
    """Smallest change with which a test has improved or regressed."""
    big: float = 0.15

    def of(self, ratio: float) -> Change:
        off = round(abs(round(ratio, 2) - 1), 2)
        if off < self.change:
            return Change.NONE
        if ratio > 1:
            return Change.BIG_IMPROVEMENT if off >= self.big else Change.SMALL_IMPROVEMENT
        return Change.BIG_REGRESSION if off >= self.big else Change.SMALL_REGRESSION

    @property
    def least_log(self) -> float:
        """The smallest |ln ratio| that is a change: rounded up, it just reaches `change`."""
        printed = math.ceil(round(self.change * 100, 6)) / 100
        return math.log1p(printed - _HALF_OF_LAST_DIGIT)


DEFAULT_BANDS = Bands()


def no_verdicts(_before: str, _after: str) -> Mapping[str, Verdict]:
    return {}


def changes_of_group(
    group: str,
    clients: int | None,
    versions: Sequence[str],
    rates: Rates,
    bands: Bands,
    *,
    verdicts: Verdicts = no_verdicts,
) -> GroupChanges | None:
    """Count and describe a group's changes between versions, and from the first to the last.

    A step counts the tests that have both versions. `clients` is omitted with a single
    number of clients. Returns None if no test has two versions.
    """
    steps = [
        step
        for before, after in pairwise(versions)
        if (step := _counts(before, after, rates, bands)) is not None
    ]
    overall = _counts(versions[0], versions[-1], rates, bands)
    if not steps and overall is None:
        return None
    _count_verdicts(known((*steps, overall)), rates, verdicts)
    tests = {test for test, by_version in rates.items() if len(by_version) > 1}
    clauses = _clauses_of_steps(steps, len(tests), rates, bands)
    unchanged = len(clauses) == 1 and set(_by_change(steps[0])) == {Change.NONE}
    if not unchanged:
        clauses += _clauses_of_overall(overall, len(tests), versions, rates, bands)
    return GroupChanges(
        group=group,
        clients=clients,
        steps=steps,
        overall=overall,
        title=_title(group, len(tests), clients),
        clauses=clauses,
        unsure_clauses=_unsure_among(clauses),
    )


def changes_against(
    group: str,
    clients: int | None,
    contenders: Sequence[str],
    rates: Rates,
    bands: Bands,
    *,
    verdicts: Verdicts = no_verdicts,
) -> GroupChanges | None:
    """Count and describe how each contender differs from the first, if they are no versions."""
    base, *others = contenders
    steps = [step for name in others if (step := _counts(base, name, rates, bands)) is not None]
    if not steps:
        return None
    _count_verdicts(steps, rates, verdicts)
    clauses = [
        f"with {step.after} instead of {step.before}{_share_of_tests(step.tests, len(rates))} "
        f"{_beside_first(step, rates, bands)}"
        for step in steps
    ]
    return GroupChanges(
        group=group,
        clients=clients,
        steps=steps,
        title=_title(group, len(rates), clients),
        clauses=clauses,
        unsure_clauses=_unsure_among(clauses),
    )


def name_hold(changes: GroupChanges, hold: Second) -> None:
    """Add the length of the held transaction to the title of a group's changes; 0 adds nothing."""
    if hold:
        changes.hold_s = hold
        changes.title += with_hold(hold)


def _count_verdicts(steps: Sequence[ChangeCounts], rates: Rates, verdicts: Verdicts) -> None:
    for step in steps:
        judged = verdicts(step.before, step.after)
        both = [test for test in rates if {step.before, step.after} <= set(rates[test])]
        counts = Counter(judged[test] for test in both if test in judged)
        step.same, step.unsure = counts["same"] or None, counts["unsure"] or None


def _unsure_among(clauses: Sequence[str]) -> list[str] | None:
    return [clause for clause in clauses if clause.endswith(_UNSURE)] or None


def _title(group: str, tests: int, clients: int | None) -> str:
    at = f" at {number_of_clients(clients)}" if clients is not None else ""
    return f"{group_title(group, tests)}{at}"


def _counts(before: str, after: str, rates: Rates, bands: Bands) -> ChangeCounts | None:
    ratios = _ratios(before, after, rates)
    if not ratios:
        return None
    counts = Counter(bands.of(ratio) for ratio in ratios)
    return ChangeCounts(
        before=before,
        after=after,
        tests=len(ratios),
        big_improvements=counts[Change.BIG_IMPROVEMENT],
        small_improvements=counts[Change.SMALL_IMPROVEMENT],
        no_changes=counts[Change.NONE],
        small_regressions=counts[Change.SMALL_REGRESSION],
        big_regressions=counts[Change.BIG_REGRESSION],
        median=median(ratios),
    )


def _ratios(before: str, after: str, rates: Rates) -> list[float]:
    return [
        by_version[after] / by_version[before]
        for by_version in rates.values()
        if after in by_version and by_version.get(before)
    ]


def _by_change(step: ChangeCounts) -> dict[Change, int]:
    counts = (
        step.big_improvements,
        step.small_improvements,
        step.no_changes,
        step.small_regressions,
        step.big_regressions,
    )
    return {change: count for change, count in zip(Change, counts, strict=True) if count}


def _counts_in_words(step: ChangeCounts, tests: int, bands: Bands) -> str:
    """Return 'there are big improvements for 5 tests and no change for 1 test'.

    `tests` is how many the group has. Throughput is stable only where every test is the same.
    """
    counts = _by_change(step)
    if set(counts) == {Change.NONE}:
        if step.same == step.tests:
            return "throughput is stable"
        return f"there is no change of {bands.change * 100:g}% or more"
    if len(counts) == 1:
        ((change, count),) = counts.items()
        singular, plural = change.value
        everywhere = "for all tests" if count == tests else "for all of these"
        return f"there is {singular}" if count == 1 else f"there are {plural} {everywhere}"
    parts = [
        f"{change.value[0]} for 1 test" if count == 1 else f"{change.value[1]} for {count} tests"
        for change, count in counts.items()
    ]
    verb = "is" if next(iter(counts.values())) == 1 else "are"
    return f"there {verb} {listing(parts)}"


def _beside_first(step: ChangeCounts, rates: Rates, bands: Bands) -> str:
    words = _counts_in_words(step, len(rates), bands)
    if set(_by_change(step)) == {Change.NONE}:
        return "throughput is the same" if step.same == step.tests else words + _sureness(step)
    mean = _mean_of([step.before, step.after], rates)
    return f"{words}, and {_common(step, mean)}{_sureness(step)}"


def _sureness(step: ChangeCounts) -> str:
    """Return ' (2 of 9 unsure)', or ' (unsure)' if all of them are."""
    if not step.unsure:
        return ""
    return _UNSURE if step.unsure == step.tests else f" ({step.unsure} of {step.tests} unsure)"


def _share_of_tests(count: int, tests: int) -> str:
    """Return ' (1 of 13 tests)' if a clause is not about all tests of its group."""
    return f" ({count} of {counted(tests, 'test')})" if count < tests else ""


def _clauses_of_steps(
    steps: Sequence[ChangeCounts], tests: int, rates: Rates, bands: Bands
) -> list[str]:
    """Return a clause for each step; steps without a change, even from end to end, share one."""
    clauses: list[str] = []
    index = 0
    while index < len(steps):
        last = index
        while last + 1 < len(steps) and _stable(steps[index : last + 2], rates, bands):
            last += 1
        between = "through" if last > index else "to"
        counts = _counts_in_words(steps[index], tests, bands)
        about = _share_of_tests(steps[index].tests, tests)
        sureness = _sureness(steps[index])
        ends = f"from {steps[index].before} {between} {steps[last].after}"
        clauses.append(f"{ends}{about} {counts}{sureness}")
        index = last + 1
        if index < len(steps) and steps[last].after != steps[index].before:
            apart = f"{steps[last].after} and {steps[index].before}"
            clauses.append(f"{apart} have no test in common")
    return clauses


def _stable(steps: Sequence[ChangeCounts], rates: Rates, bands: Bands) -> bool:
    ends = _counts(steps[0].before, steps[-1].after, rates, bands)
    adjoin = all(a.after == b.before for a, b in pairwise(steps))
    return (
        adjoin
        and all(
            step is not None
            and step.tests == steps[0].tests
            and set(_by_change(step)) == {Change.NONE}
            for step in (*steps, ends)
        )
        and len({(step.same, step.unsure) for step in steps}) == 1
    )


def _clauses_of_overall(
    overall: ChangeCounts | None,
    tests: int,
    versions: Sequence[str],
    rates: Rates,
    bands: Bands,
) -> list[str]:
    if overall is None:
        return []
    about = _share_of_tests(overall.tests, tests)
    common = _common(overall, _mean_of(versions, rates))
    clauses = [f"for {overall.after}{about} {common}{_sureness(overall)}"]
    if len(versions) > 2 and len(_by_change(overall)) > 1:
        counts = f"{_counts_in_words(overall, tests, bands)}{_sureness(overall)}"
        clauses.insert(0, f"from {overall.before} to {overall.after}{about} {counts}")
    return clauses


def _mean_of(versions: Sequence[str], rates: Rates) -> float | None:
    complete = {test: rate for test, rate in rates.items() if set(versions) <= set(rate)}
    ratios = [ratio for ratio in _ratios(versions[0], versions[-1], complete) if ratio > 0]
    return geometric_mean(ratios) if ratios else None


def _common(step: ChangeCounts, mean: float | None) -> str:
    """Return the median test if most tests and the mean are on its side of 1; else the sides.

    A mean would follow a single test that is 3X as fast. If the mean is on the other side, the
    group has no common result.
    """
    counts = _by_change(step)
    sides = {
        "slower": sum(counts.get(change, 0) for change in _WORSE),
        "similar": counts.get(Change.NONE, 0),
        "faster": sum(counts.get(change, 0) for change in _BETTER),
    }
    by_side = listing([f"{count} {side}" for side, count in sides.items() if count])
    if max(sides.values()) * 2 <= step.tests:
        return f"there is no common result: {by_side}"
    same = sides["similar"] * 2 > step.tests
    if not same and mean is not None and _opposed(step.median, mean):
        return f"there is no common result: {by_side}, yet the geometric mean is {ratio(mean)}"
    about = "the same throughput as" if same else throughput(step.median)
    return f"the {'common ' if step.tests > 1 else ''}result is about {about} {step.before}"


def _opposed(ratio: float, other: float) -> bool:
    """Return whether the two, as they are printed, are on different sides of 1."""
    return (round(ratio, 2) - 1) * (round(other, 2) - 1) < 0


def has_no_interval(results: Sequence[Result]) -> bool:
    """Return whether all comparisons are of single runs."""
    compared = [result for result in results if result.ratio and result.ratio.value]
    return len({result.contender for result in compared}) > 1 and all(
        result.ratio is None or result.ratio.interval is None for result in compared
    )


def changes_after_summary(report: Report) -> list[GroupChanges]:
    return [changes for changes in report.group_changes if changes.sentence not in report.tldr]


class _Level(NamedTuple):
    """Results that are described together."""

    group: str
    clients: int
    hold: Second
    """How long a transaction was held open meanwhile; 0 without one."""


def changes_of_report(
    report: Report,
    releases: Mapping[str, Mapping[Release, str]],
    bands: Bands,
    verdicts: PairVerdicts,
) -> list[GroupChanges]:
    """Return the changes of an experiment's results.

    `releases` is line -> release -> contender. If no line has two releases, each contender is
    compared with the base.
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
    """Return the sort key: the posts' order of groups, other groups last; then clients and hold."""
    titles = list(GROUP_TITLES)
    place = titles.index(level.group) if level.group in titles else len(titles)
    return place, level.clients, level.hold


def _rates(results: Sequence[Result], names: Mapping[str, str]) -> Rates:
    """Return relative rates; absolute ones in one unit if the base lacks the test."""
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
