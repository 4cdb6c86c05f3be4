"""Changes between two experiments: verdicts, ratios and conditions, with sentences.

`slowdust diff --json` writes a `Diff`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, cast

import msgspec

from slowdust.analysis.comparison import hosts_of, judge
from slowdust.analysis.history.lines import hosts_in_words, normalised_fact
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.contenders import describe_method
from slowdust.analysis.stored import Stored
from slowdust.analysis.work import WORK_MARGIN, counts_by_step, find_timed_step, judge_work
from slowdust.errors import UsageError
from slowdust.ratios import (
    Amount,
    Keys,
    Margins,
    Ratio,
    Rounding,
    Verdict,
    distance,
    ratio,
    with_bound,
    work_in_words,
)
from slowdust.stats.blocks import Step
from slowdust.stats.relative import Estimate, Interval, Relative
from slowdust.stats.verdict import Judgement, judge_estimates, stalls, tail_beyond, verdict_of
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.wording import counted, shortened, step_label

SCHEMA = 1


class Side(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One of the two experiments."""

    experiment: str
    started: str | None = None
    """Start in ISO 8601, UTC."""
    finished: bool
    """Whether it was measured completely."""
    contenders: list[str]
    """The contenders, the base first."""
    tests: list[str]


class Condition(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A fact that differs between the experiments."""

    subject: str
    """The owner of the fact: 'method', 'host', or a contender's name."""
    label: str
    before: str | None = None
    """The value; absent if the experiment has none."""
    after: str | None = None


class WorkDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Instructions per operation relative to the base's, in both experiments."""

    before: float
    after: float
    """Ratios of the contender to the base."""
    ratio: Annotated[Ratio, Keys("ratio", "low", "high", "verdict", Amount)]
    """`after` / `before`: significantly `more` or `less` than before, `same` (margin 1%), else
    `unsure`."""


class TestDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One test of one contender that both experiments have."""

    __test__ = False  # pytest would collect a class named Test...

    benchmark: str
    test: str
    group: str
    clients: int
    contender: str
    before: Ratio | None = None
    after: Ratio | None = None
    """The ratio to the base in that experiment; absent without a verdict."""
    ratio: Annotated[Ratio | None, Keys("ratio", "low", "high", "verdict")] = None
    """Ratio of ratios, after / before; absent if either has no verdict. Significantly `slower` or
    `faster` than before, relative to the base; `same` if the change is within the margin; else
    `unsure`."""
    work: WorkDifference | None = None
    """The change of work; absent unless it was counted in both."""

    @property
    def verdict(self) -> Verdict | None:
        return None if self.ratio is None else cast("Verdict | None", self.ratio.verdict)

    @property
    def verdict_changed(self) -> bool:
        if self.before is None or self.after is None:
            return False
        return self.before.verdict != self.after.verdict


class Diff(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes between two experiments."""

    schema: int = SCHEMA
    before: Side
    after: Side
    base: str | None = None
    """The contender that all others are relative to in both experiments; absent without one."""
    margin: float
    """Largest change of a ratio that counts as the same: the larger margin of the two."""
    summary: list[str]
    """Sentences on the changes, the most important first."""
    notes: list[str] = []
    """Sentences on results that cannot be compared, with reasons."""
    conditions: list[Condition] = []
    """Other differences between the experiments."""
    tests: list[TestDifference] = []
    """The tests that both have, in the report's order."""


_Results = Mapping[tuple[Step, str], Result]
Judgements = Mapping[tuple[Step, str], Judgement]
"""Step and contender -> judgement relative to the base."""
_RESULTS_OF_MEASURING = ("slice",)
"""Facts of the method that an experiment determines itself, unless they were given."""
_NEVER_TWICE = ("Load average", "Free disk", "Steal since start")
"""Facts of the host that hold for one moment."""


def diff_of(before: Stored, after: Stored) -> Diff:
    """Return the changes from `before` to `after`.

    Contenders are compared by name, relative to a base in both experiments: the base of `after`,
    else the base of `before`, else the first contender of `after` that both have. Tests are
    compared at the same number of clients. Without a common base only conditions are compared.

    Raises:
        UsageError: both are the same experiment, or share slices through merging.
    """
    if before.name == after.name:
        raise UsageError(f"'{before.name}' was given twice; name two experiments")
    if common := before.manifest.sources & after.manifest.sources:
        raise UsageError(
            f"'{before.name}' and '{after.name}' both contain the slices of "
            f"{shortened(sorted(common))}; `slowdust report` compares hosts"
        )
    base = _common_base(before.manifest, after.manifest)
    margins = _larger(*(each.manifest.method.margins for each in (before, after)))
    diff = Diff(
        before=_side(before.manifest),
        after=_side(after.manifest),
        base=base,
        margin=margins.usual,
        summary=[],
        conditions=changed_conditions(before.manifest, after.manifest),
    )
    if base is not None:
        diff.tests = _differences(before, after, base, margins)
    diff.notes = notes_about(diff)
    diff.summary = summarise_diff(diff)
    return diff


def _larger(before: Margins, after: Margins) -> Margins:
    own = {name: max(before.of(name), after.of(name)) for name in {**before.own, **after.own}}
    return Margins(max(before.usual, after.usual), own)


def _side(manifest: Manifest) -> Side:
    return Side(
        experiment=manifest.experiment,
        started=manifest.started,
        finished=manifest.finished is not None or manifest.imported is not None,
        contenders=_names(manifest),
        tests=manifest.tests,
    )


def _names(manifest: Manifest) -> list[str]:
    names = [facts.name for facts in manifest.contenders]
    return [manifest.base, *(name for name in names if name != manifest.base)]


def _common_base(before: Manifest, after: Manifest) -> str | None:
    common = [name for name in _names(after) if name in _names(before)]
    if before.base in common and after.base not in common:
        return before.base
    return common[0] if common else None


def _differences(
    before: Stored, after: Stored, base: str, margins: Margins
) -> list[TestDifference]:
    reports = before.report(base), after.report(base)
    earlier, later = map(_results, reports)
    changes = judge_changes(
        _judgements(before, reports[0]), _judgements(after, reports[1]), margins
    )
    work = _work_differences(before, after, *reports)
    return [
        _difference(earlier[place], result, changes, work.get(place))
        for place, result in later.items()
        if place in earlier and result.contender != base
    ]


def _results(report: Report) -> _Results:
    return {(Step.of(result), result.contender): result for result in report.results}


def _judgements(stored: Stored, report: Report) -> Judgements:
    """Return the judgements of results with a verdict; others are not comparable."""
    hosts, margins = hosts_of(stored.manifest), stored.manifest.method.margins
    judged = judge(stored.slices, report.contenders, margins, report.base, hosts)
    with_verdict = {place for place, result in _results(report).items() if result.verdict}
    places = [((each.estimate.step, each.estimate.contender), each) for each in judged]
    return {place: judgement for place, judgement in places if place in with_verdict}


def _difference(
    before: Result, after: Result, changes: Judgements, work: WorkDifference | None
) -> TestDifference:
    difference = TestDifference(
        benchmark=after.benchmark,
        test=after.test,
        group=after.group,
        clients=after.clients,
        contender=after.contender,
        before=before.ratio if before.verdict else None,
        after=after.ratio if after.verdict else None,
        work=work,
    )
    if (change := changes.get((Step.of(after), after.contender))) is not None:
        difference.ratio = change.ratio
    return difference


def _work_differences(
    before: Stored, after: Stored, earlier: Report, later: Report
) -> dict[tuple[Step, str], WorkDifference]:
    of_both = [dict(_judged_work(*each)) for each in ((before, earlier), (after, later))]
    same_source = {
        place
        for place, result in _results(later).items()
        if _source(result) is not None and _source(result) == _source(_results(earlier).get(place))
    }
    first, second = (
        {place: judgement for place, judgement in judged.items() if place in same_source}
        for judged in of_both
    )
    differences = {}
    for place, change in judge_changes(first, second, WORK_MARGIN).items():
        ratio = change.ratio_of_amounts
        earlier_ratio, later_ratio = (each[place].estimate.ratio for each in (first, second))
        if ratio is not None and earlier_ratio is not None and later_ratio is not None:
            differences[place] = WorkDifference(
                before=earlier_ratio,
                after=later_ratio,
                ratio=ratio,
            )
    return differences


def _source(result: Result | None) -> str | None:
    return None if result is None or result.work is None else result.work.source


def _judged_work(stored: Stored, report: Report) -> Iterator[tuple[tuple[Step, str], Judgement]]:
    timed: Sequence[Step] = [Step.of(result) for result in report.results]
    for judgement in judge_work(
        counts_by_step(stored.counts),
        report.contenders,
        stored.manifest.workload,
        hosts_of(stored.manifest),
    ):
        place = find_timed_step(judgement.estimate.step, timed)
        if place is not None:
            yield (place, judgement.estimate.contender), judgement


def judge_changes(before: Judgements, after: Judgements, margins: Margins | float) -> Judgements:
    """Judge the changes of ratios to the base between two experiments, all together.

    A judgement's ratio is the ratio of ratios, after / before. Steps and contenders without a ratio
    in either are skipped.
    """
    estimates = []
    for place, earlier in before.items():
        later = after.get(place)
        relative = None if later is None else _change(earlier, later)
        if later is not None and relative is not None:
            estimates.append(_estimate(place, relative, earlier, later))
    judgements = {each.estimate.place: each for each in judge_estimates(estimates, margins)}
    return {
        place: _doubted(judgement, before[place], after[place])
        for place, judgement in judgements.items()
    }


def divide(before: Relative, after: Relative) -> Relative | None:
    """Return `after` / `before` of two independent ratios; None if either has no ratio."""
    if before.ratio is None or after.ratio is None:
        return None
    center = math.log(after.ratio / before.ratio)
    relative = Relative(
        ratio=math.exp(center),
        interval=_joined(center, before.interval, after.interval),
        equivalence_interval=_joined(
            center, before.equivalence_interval, after.equivalence_interval
        ),
        sameness_interval=_joined(center, before.sameness_interval, after.sameness_interval),
        difference_interval=_joined(center, before.difference_interval, after.difference_interval),
    )
    if relative.interval is None:
        return relative
    return replace(relative, p_value=tail_beyond(relative, abs(center)))


def _joined(center: float, before: Interval | None, after: Interval | None) -> Interval | None:
    if before is None or after is None:
        return None
    reach = math.hypot(before.half_width, after.half_width)
    return Interval(math.exp(center - reach), math.exp(center + reach))


def _change(before: Judgement, after: Judgement) -> Relative | None:
    """Return the ratio of ratios; if the verdicts have different bases, of the ratios of totals."""
    if before.basis == after.basis:
        return divide(before.relative, after.relative)
    return _change_of_totals(before, after)


def _change_of_totals(before: Judgement, after: Judgement) -> Relative | None:
    earlier, later = before.estimate.all_time, after.estimate.all_time
    return None if earlier is None or later is None else divide(earlier, later)


def _estimate(
    place: tuple[Step, str], relative: Relative, before: Judgement, after: Judgement
) -> Estimate:
    step, contender = place
    both: Sequence[Estimate] = (before.estimate, after.estimate)
    return Estimate(
        **vars(relative),
        step=step,
        contender=contender,
        blocks=min(each.blocks for each in both),
        incarnations=min(each.incarnations for each in both),
        incomplete=sum(each.incomplete for each in both),
        with_zero=sum(each.with_zero for each in both),
    )


def _doubted(change: Judgement, before: Judgement, after: Judgement) -> Judgement:
    """Return the judgement; unsure if either experiment may have stalls and totals disagree."""
    totals = _change_of_totals(before, after)
    may_stall = any(
        each.estimate.all_time is not None and stalls(each.estimate.all_time, change.margin)
        for each in (before, after)
    )
    if totals is None or not may_stall or change.verdict == "unsure":
        return change
    of_totals = verdict_of(totals.interval, totals.equivalence_interval, change.margin)
    return change if of_totals == change.verdict else replace(change, verdict="unsure")


def changed_conditions(before: Manifest, after: Manifest) -> list[Condition]:
    return [
        *_changed("method", _method(before), _method(after)),
        *_changed("host", _host(before), _host(after)),
        *_changed_contenders(before, after),
    ]


def _method(manifest: Manifest) -> dict[str, str]:
    found_out = _RESULTS_OF_MEASURING if manifest.method.slice_s is None else ()
    facts = describe_method(manifest)
    return {
        **{label: value for label, value in facts.items() if label not in found_out},
        **({"CPUs to measure on": ", ".join(map(str, manifest.cpus))} if manifest.cpus else {}),
    }


def _host(manifest: Manifest) -> dict[str, str]:
    hosts = {"Hosts": hosts_in_words(manifest)} if manifest.hosts else {}
    return hosts | {
        label: normalised_fact(label, value)
        for label, value in manifest.host.items()
        if label not in _NEVER_TWICE
    }


def _changed_contenders(before: Manifest, after: Manifest) -> Iterator[Condition]:
    later = {facts.name: facts for facts in after.contenders}
    for facts in before.contenders:
        if facts.name in later:
            other = later[facts.name]
            yield from _changed(facts.name, _contender(facts), _contender(other))
            yield from _changed(facts.name, *_in_force(facts, other))


def _in_force(before: ContenderFacts, after: ContenderFacts) -> list[dict[str, str]]:
    """Return the values that both servers reported for settings given with the same value."""
    asked = before.settings_in_force.keys() & after.settings_in_force.keys()
    alike = [
        name for name in sorted(asked) if before.settings.get(name) == after.settings.get(name)
    ]
    return [
        {f"{name}, in force": facts.settings_in_force[name] for name in alike}
        for facts in (before, after)
    ]


def _contender(facts: ContenderFacts) -> dict[str, str]:
    """Return label -> value of all facts that define a contender."""
    build = facts.build
    compiled = build.compiled
    named = {
        "version": build.version,
        "source": build.source,
        "sha256": build.sha256,
        "commit": compiled and compiled.commit,
        "compiler": compiled and compiled.compiler,
        "engine": facts.engine,
        "config": facts.config,
        "environment": " ".join(facts.environment),
        "allocator": facts.allocator,
        "failed": facts.failed,
        **facts.settings,
    }
    return {label: value for label, value in named.items() if value}


def _changed(
    subject: str, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Condition]:
    for label in dict.fromkeys((*before, *after)):
        earlier, later = before.get(label), after.get(label)
        if earlier != later:
            yield Condition(subject=subject, label=label, before=earlier, after=later)


_MOST_NAMED = 8
"""Maximum number of changed tests with a sentence of their own."""


def summarise_diff(diff: Diff) -> list[str]:
    compared = [test for test in diff.tests if test.verdict is not None]
    if not compared:
        return [
            "The two experiments have no comparable test.",
            *_changed_conditions(diff.conditions),
        ]
    return [
        _tally(diff, compared),
        *_changed_tests(diff, compared),
        *_rest(compared),
        *_changed_verdicts(diff, compared),
        *_changed_work(diff),
        *_changed_conditions(diff.conditions),
    ]


def notes_about(diff: Diff) -> list[str]:
    before, after = diff.before, diff.after
    notes = [
        f"{side.experiment} is not finished; its results so far are compared."
        for side in (before, after)
        if not side.finished
    ]
    if before.started is not None and before.started == after.started:
        notes.append("Both started at the same time: one may be a copy of the other.")
    for side, other in ((before, after), (after, before)):
        lone = [name for name in side.contenders if name not in other.contenders]
        if lone:
            notes.append(f"Only {side.experiment} has {shortened(lone)}.")
        lone = [test for test in side.tests if test not in other.tests]
        if lone and len(lone) < len(side.tests):
            what = "test" if len(lone) == 1 else "tests"
            notes.append(f"Only {side.experiment} has the {what} {shortened(lone)}.")
    if diff.base is None:
        notes.append(
            "The two experiments have no contender in common, so their ratios cannot be compared; "
            "rates of two experiments never can."
        )
    elif {before.contenders[0], after.contenders[0]} != {diff.base}:
        notes.append(f"Both are compared with {diff.base}, which is not the base of both.")
    notes += _notes_about_tests(diff)
    return notes


def label_of(diff: Diff, test: TestDifference) -> str:
    levels = {each.clients for each in diff.tests}
    label = step_label(test.test, test.clients, levels)
    several = len({each.contender for each in diff.tests}) > 1
    return f"{label} of {test.contender}" if several else label


def _notes_about_tests(diff: Diff) -> list[str]:
    without = [label_of(diff, test) for test in diff.tests if test.verdict is None]
    if not without:
        return []
    return [f"Not compared, because either has no verdict: {shortened(without)}."]


def _tally(diff: Diff, compared: Sequence[TestDifference]) -> str:
    counts = Counter(test.verdict for test in compared)
    words: dict[Verdict, str] = {
        "slower": "slower than before",
        "faster": "faster than before",
        "same": "the same",
        "unsure": "unsure",
    }
    parts = [f"{counts[verdict]} {text}" for verdict, text in words.items()]
    contenders = list(dict.fromkeys(test.contender for test in compared))
    subject = contenders[0] if len(contenders) == 1 else counted(len(contenders), "contender")
    return (
        f"{subject} compared with {diff.base}, from {diff.before.experiment} to "
        f"{diff.after.experiment} ({counted(len(compared), 'result')}): {', '.join(parts)}."
    )


def _changed_tests(diff: Diff, compared: Sequence[TestDifference]) -> list[str]:
    changed = [test for test in compared if test.verdict in ("slower", "faster")]
    changed.sort(key=_rank)
    sentences = [_sentence(diff, test) for test in changed[:_MOST_NAMED]]
    if len(changed) > _MOST_NAMED:
        others = [label_of(diff, test) for test in changed[_MOST_NAMED:]]
        sentences.append(f"Smaller changes: {shortened(others)}.")
    return sentences


def _rank(test: TestDifference) -> tuple[bool, float]:
    """Return a sort key: slower tests before faster ones, the largest certain change first."""
    bound = test.ratio and test.ratio.bound
    return test.verdict != "slower", -abs((bound or 1.0) - 1)


def _sentence(diff: Diff, test: TestDifference) -> str:
    """Format as 'scan lost 8% compared with postgres@15.8, at least 4.8%: rqps 0.99, then 0.91'.

    It is not 'slower': the base may have become faster.
    """
    assert test.ratio is not None
    verb = "lost" if test.ratio.value < 1 else "gained"
    words = f"{verb} {distance(test.ratio.value)} compared with {diff.base}"
    change = with_bound(words, test.ratio.bound)
    return f"{label_of(diff, test)} {change}: {_ratios(test)}."


def _ratios(test: TestDifference) -> str:
    """Format as 'rqps 0.99, then 0.92'."""
    assert test.before is not None
    assert test.after is not None
    return f"rqps {ratio(test.before.value)}, then {ratio(test.after.value)}"


def _rest(compared: Sequence[TestDifference]) -> list[str]:
    rest = [test for test in compared if test.verdict in ("same", "unsure")]
    bounds = [test.ratio.low for test in rest if test.ratio and test.ratio.low is not None]
    if not bounds or len(bounds) < len(rest) or min(bounds) >= 1:
        return []
    subject = "Any other test" if len(rest) < len(compared) else "Any test"
    return [f"{subject} could have lost at most {distance(min(bounds), Rounding.UP)}."]


def _changed_verdicts(diff: Diff, compared: Sequence[TestDifference]) -> list[str]:
    only_words = [
        f"{label_of(diff, test)} ({test.before.verdict}, then {test.after.verdict})"
        for test in compared
        if test.verdict in ("same", "unsure")
        and test.verdict_changed
        and test.before is not None
        and test.after is not None
    ]
    if not only_words:
        return []
    return [
        "The verdict changed without a significant change of the ratio, which noise can cause: "
        f"{shortened(only_words)}."
    ]


def _changed_work(diff: Diff) -> list[str]:
    with_work = [(test, test.work) for test in diff.tests if test.work is not None]
    changed = [(test, work) for test, work in with_work if work.ratio.verdict in ("more", "less")]
    if not with_work:
        return []
    if not changed:
        return [f"Work: no significant change in {counted(len(with_work), 'counted result')}."]
    parts = [f"{label_of(diff, test)} {_work(work)}" for test, work in changed]
    counts = f"{len(changed)} of {len(with_work)}"
    return [f"Work relative to the base changed in {counts}: {shortened(parts)}."]


def _work(work: WorkDifference) -> str:
    return f"({with_bound(work_in_words(work.ratio.value), work.ratio.bound)})"


def _changed_conditions(conditions: Sequence[Condition]) -> list[str]:
    if not conditions:
        return ["The recorded conditions are the same: method, host, builds and settings."]
    by_subject: dict[str, list[str]] = {}
    for condition in conditions:
        by_subject.setdefault(condition.subject, []).append(condition.label)
    parts = [f"{subject}: {shortened(labels)}" for subject, labels in by_subject.items()]
    return [f"Changed conditions may be the cause: {'; '.join(parts)}."]
