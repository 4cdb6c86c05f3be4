"""What each contender has of each step, and how its throughput compares with the base's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.comparison.verdict import Judgement, judge
from slowdust.analysis.model import PlanDifference, Result
from slowdust.analysis.results.contenders import shape_of
from slowdust.analysis.results.counters import notes_about_clock, relative_counters
from slowdust.analysis.results.notes import (
    NO_BASE,
    ONE_RUN,
    OPEN_LOOP,
    PLAN_DIFFERS,
    notes_about_drift,
    notes_about_estimate,
    notes_about_pairs,
)
from slowdust.analysis.results.per_op import relative_to
from slowdust.analysis.sla import missed_its_sla, writers_of
from slowdust.benchmarks import BENCHMARKS, known_test, measured_in_steps
from slowdust.benchmarks.model import Measuring
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice

Summary = Callable[[Step, str, Sequence[Slice]], Result]
"""Of a step on one contender: everything that needs no base."""


def results_of(
    manifest: Manifest,
    slices: Sequence[Slice],
    contenders: Sequence[str],
    differences: Sequence[PlanDifference],
    summarise: Summary,
) -> list[Result]:
    """A result for each step and contender that has slices of it, the base first.

    Of `summarise` a comparison needs no more than `outline` has.
    """
    margin = manifest.method.margin
    by_step: dict[Step, dict[str, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for record in slices:
        by_step[step_of(record)][record.place.contender].append(record)
    judgements = {
        (judgement.estimate.step, judgement.estimate.contender): judgement
        for judgement in judge(slices, contenders, margin)
    }
    results = []
    for step in in_order(by_step, manifest.tests):
        of_step = [
            summarise(step, name, by_step[step][name])
            for name in contenders
            if name in by_step[step]
        ]
        base = next((result for result in of_step if result.contender == contenders[0]), None)
        for result in of_step:
            if result is base:
                result.rqps = None if missed_its_sla(base) else 1.0
                result.notes += notes_about_drift(by_step[step][base.contender])
            else:
                archived = any(record.archived for record in by_step[step][result.contender])
                judgement = judgements[step, result.contender]
                _compare(result, base, judgement, margin, archived=archived)
                result.notes += _plans_of(result, contenders[0], differences)
        results += of_step
    return results


def in_order(steps: Iterable[Step], tests: Sequence[str]) -> list[Step]:
    """The benchmarks' order, but long steps' is that of `tests`, in which they had to run.

    Tests that none of these knows follow in the order they ran in, that of `steps`.
    """
    known = {
        (benchmark.name, test.name): place
        for benchmark in BENCHMARKS.values()
        if benchmark.measuring is Measuring.SLICES
        for place, test in enumerate(benchmark.tests)
    }
    named = {test: place for place, test in enumerate(tests)}
    steps = list(steps)
    ran: dict[tuple[str, str], int] = {}
    for place, step in enumerate(steps):
        ran.setdefault((step.benchmark, step.test), place)
    return sorted(
        steps,
        key=lambda step: (
            known.get((step.benchmark, step.test), len(known)),
            named.get(step.test, len(named)),
            ran[step.benchmark, step.test],
            step.clients,
        ),
    )


def outline(step: Step, contender: str, slices: Sequence[Slice]) -> Result:
    """What a result is of, and all that its comparison with the base depends on."""
    schedules = [
        record.measured.schedule for record in slices if record.measured.schedule is not None
    ]
    return Result(
        benchmark=step.benchmark,
        test=step.test,
        group=group_of(step),
        clients=step.clients,
        contender=contender,
        unit=slices[0].unit,
        qps=median(record.qps for record in slices),
        slices=len(slices),
        incarnations=len({record.place.incarnation for record in slices}),
        per_op={},
        writers=writers_of(slices),
        late_operations=(
            sum(schedule.late_operations for schedule in schedules) if schedules else None
        ),
    )


def group_of(step: Step) -> str:
    """That of its test; the benchmark's name where nobody knows the test."""
    known = known_test(step.benchmark, step.test)
    return known.group.value if known else step.benchmark


def _compare(
    result: Result, base: Result | None, judgement: Judgement, margin: float, *, archived: bool
) -> None:
    """`base` is None where the base has no result in this step.

    Of an `archived` test there is one run, which has neither interval nor verdict.
    """
    if missed_its_sla(result):
        return
    if base is not None:
        if missed_its_sla(base):
            result.notes.append(f"not compared: the writers of {base.contender} missed their SLA")
            return
        if base.unit != result.unit:
            result.notes.append(f"not compared: {result.unit} here, {base.unit} of the base")
            return
        result.per_op_relative = relative_to(base.per_op, result.per_op)
        result.counters_relative = relative_counters(base.counters, result.counters)
        result.notes += notes_about_clock(result.counters_relative)
    if result.late_operations is not None:
        result.notes.append(OPEN_LOOP)
        return
    estimate = judgement.estimate
    result.rqps = estimate.ratio
    if archived:
        result.notes.append(NO_BASE if estimate.ratio is None else ONE_RUN)
        return
    result.verdict = None if estimate.ratio is None else judgement.verdict
    if estimate.interval is not None:
        result.low, result.high = estimate.interval.low, estimate.interval.high
    in_steps = measured_in_steps(result.benchmark)
    notes_about = notes_about_pairs if in_steps else notes_about_estimate
    result.notes += notes_about(estimate, margin)


def _plans_of(result: Result, base: str, differences: Sequence[PlanDifference]) -> list[str]:
    """The warning that the result's plan is not the base's, where that is so."""
    for difference in differences:
        ours, theirs = difference.plans.get(result.contender), difference.plans.get(base)
        if difference.test != result.test or not ours or not theirs:
            continue
        if shape_of(ours) != shape_of(theirs):
            return [PLAN_DIFFERS]
    return []
