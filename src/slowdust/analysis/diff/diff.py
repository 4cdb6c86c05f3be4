"""What changed from one experiment to another: verdicts, ratios and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slowdust.analysis.comparison.hosts import hosts_of
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import AMOUNTS, Judgement, judge
from slowdust.analysis.diff.conditions import changed_conditions
from slowdust.analysis.diff.model import Diff, Relation, Side, TestDifference, WorkDifference
from slowdust.analysis.diff.ratios import Judgements, judge_changes
from slowdust.analysis.diff.words import notes_about, summary_of
from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import Stored
from slowdust.analysis.work.cost import place_of
from slowdust.analysis.work.estimate import WORK_MARGIN, counts_by_step, judge_work
from slowdust.errors import UsageError
from slowdust.store.manifest import Manifest
from slowdust.wording import shortened

_Results = Mapping[tuple[Step, str], Result]


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
    margin = max(before.manifest.method.margin, after.manifest.method.margin)
    diff = Diff(
        before=_side(before.manifest),
        after=_side(after.manifest),
        base=base,
        margin=margin,
        summary=[],
        conditions=changed_conditions(before.manifest, after.manifest),
    )
    if base is not None:
        diff.tests = _differences(before, after, base, margin)
    diff.notes = notes_about(diff)
    diff.summary = summary_of(diff)
    return diff


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


def _differences(before: Stored, after: Stored, base: str, margin: float) -> list[TestDifference]:
    """Return the tests that both have, in the order of the later report."""
    reports = before.report(base), after.report(base)
    earlier, later = map(_results, reports)
    changes = judge_changes(_judgements(before, reports[0]), _judgements(after, reports[1]), margin)
    work = _work_differences(before, after, *reports)
    return [
        _difference(earlier[place], result, changes, work.get(place))
        for place, result in later.items()
        if place in earlier and result.contender != base
    ]


def _results(report: Report) -> _Results:
    return {(_step(result), result.contender): result for result in report.results}


def _step(result: Result) -> Step:
    return Step(result.benchmark, result.test, result.clients)


def _judgements(stored: Stored, report: Report) -> Judgements:
    """Return the judgements that the report has a verdict of: others were not to be compared."""
    hosts = hosts_of(stored.manifest)
    judged = judge(stored.slices, report.contenders, report.margin, report.base, hosts)
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
        before=_relation(before),
        after=_relation(after),
        work=work,
    )
    if (change := changes.get((_step(after), after.contender))) is not None:
        difference.ratio, difference.verdict = change.estimate.ratio, change.verdict
        if (interval := change.estimate.interval) is not None:
            difference.low, difference.high = interval.low, interval.high
    return difference


def _relation(result: Result) -> Relation | None:
    if result.verdict is None or result.judged_rqps is None:
        return None
    low, high = result.judged_interval
    return Relation(ratio=result.judged_rqps, low=low, high=high, verdict=result.verdict)


def _work_differences(
    before: Stored, after: Stored, earlier: Report, later: Report
) -> dict[tuple[Step, str], WorkDifference]:
    """Return the changes of work where both were counted by the same kind of counter."""
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
        ratio, interval = change.estimate.ratio, change.estimate.interval
        earlier_ratio, later_ratio = (each[place].estimate.ratio for each in (first, second))
        if ratio is not None and earlier_ratio is not None and later_ratio is not None:
            differences[place] = WorkDifference(
                before=earlier_ratio,
                after=later_ratio,
                ratio=ratio,
                low=None if interval is None else interval.low,
                high=None if interval is None else interval.high,
                verdict=AMOUNTS[change.verdict],
            )
    return differences


def _source(result: Result | None) -> str | None:
    return None if result is None or result.work is None else result.work.source


def _judged_work(stored: Stored, report: Report) -> Iterator[tuple[tuple[Step, str], Judgement]]:
    """Yield the work of each step at the place where the report shows it."""
    timed: Sequence[Step] = [_step(result) for result in report.results]
    for judgement in judge_work(
        counts_by_step(stored.counts),
        report.contenders,
        stored.manifest.workload,
        hosts_of(stored.manifest),
    ):
        place = place_of(judgement.estimate.step, timed)
        if place is not None:
            yield (place, judgement.estimate.contender), judgement
