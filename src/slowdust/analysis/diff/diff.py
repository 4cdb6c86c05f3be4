"""What changed from one experiment to another: verdicts, ratios and conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slowdust.analysis.comparison.hosts import hosts_of
from slowdust.analysis.comparison.ratio import Estimate, Interval, Relative
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import (
    Judgement,
    judge,
    judge_estimates,
    stalls,
    tail_beyond,
    verdict_of,
)
from slowdust.analysis.diff.model import (
    Condition,
    Diff,
    Side,
    TestDifference,
    WorkDifference,
)
from slowdust.analysis.diff.words import notes_about, summary_of
from slowdust.analysis.history.circumstances import hosts_in_words, normalised_fact
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.contenders import describe_method
from slowdust.analysis.stored import Stored
from slowdust.analysis.work import WORK_MARGIN, counts_by_step, judge_work, place_of
from slowdust.errors import UsageError
from slowdust.ratios import Margins
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.wording import shortened

_Results = Mapping[tuple[Step, str], Result]
Judgements = Mapping[tuple[Step, str], Judgement]
"""Step and contender -> how the contender was judged beside the base."""
_RESULTS_OF_MEASURING = ("slice",)
"""Facts of the method that an experiment finds out by itself, unless they were given."""
_NEVER_TWICE = ("Load average", "Free disk", "Steal since start")
"""Facts of the host that are of one moment, and never twice the same."""


def diff_of(before: Stored, after: Stored) -> Diff:
    """Return what changed from `before` to `after`.

    Contenders are compared by name, relative to a base that both experiments have: that of `after`,
    else that of `before`, else the first contender of `after` that both have. A test is compared if
    both have it with as many clients. Without a common base the difference has the conditions
    alone.

    Raises:
        UsageError: both are the same experiment, or one was joined of the other.
    """
    if before.name == after.name:
        raise UsageError(f"'{before.name}' is compared with itself: name two experiments")
    if common := before.manifest.sources & after.manifest.sources:
        raise UsageError(
            f"'{before.name}' and '{after.name}' both have the slices of "
            f"{shortened(sorted(common))}: `slowdust report` has hosts beside each other"
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
    diff.summary = summary_of(diff)
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
    """Return the judgements that the report has a verdict of: others were not to be compared."""
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
        place = place_of(judgement.estimate.step, timed)
        if place is not None:
            yield (place, judgement.estimate.contender), judgement


def judge_changes(before: Judgements, after: Judgements, margins: Margins | float) -> Judgements:
    """Judge how ratios to the base changed from one experiment to another, all together.

    The ratio of a judgement is that of the ratios, after / before. Steps and contenders that only
    one has, or for which one has no ratio, are left out.
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


def ratio_of(before: Relative, after: Relative) -> Relative | None:
    """Return `after` / `before` of two independent ratios; None where one has no ratio."""
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
    """Return the ratio of ratios; where the verdicts are about different ones, that of totals."""
    if before.basis == after.basis:
        return ratio_of(before.relative, after.relative)
    return _change_of_totals(before, after)


def _change_of_totals(before: Judgement, after: Judgement) -> Relative | None:
    earlier, later = before.estimate.all_time, after.estimate.all_time
    return None if earlier is None or later is None else ratio_of(earlier, later)


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
    """Return the judgement, unsure where one experiment may have stalls and totals disagree."""
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
    """Return what both servers answered, of settings that both were given alike."""
    asked = before.settings_in_force.keys() & after.settings_in_force.keys()
    alike = [
        name for name in sorted(asked) if before.settings.get(name) == after.settings.get(name)
    ]
    return [
        {f"{name}, in force": facts.settings_in_force[name] for name in alike}
        for facts in (before, after)
    ]


def _contender(facts: ContenderFacts) -> dict[str, str]:
    """Return label -> value of all that makes a contender what it is, as it was given."""
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
