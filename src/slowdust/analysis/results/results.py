"""Results of each step on each contender, compared with the base."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from slowdust.analysis.comparison import hosts_of, judge, step_of
from slowdust.analysis.model import Evidence, PlanDifference, Result
from slowdust.analysis.results.contenders import peak_gb
from slowdust.analysis.results.failures import count_failures, fails
from slowdust.analysis.results.hosts import host_results, notes_about_hosts, relate_hosts
from slowdust.analysis.results.latency import latency_us
from slowdust.analysis.results.needed import forecast_needed
from slowdust.analysis.results.notes import (
    FAILING,
    NO_BASE,
    ONE_RUN,
    ONE_START,
    OPEN_LOOP,
    PLAN_OF_WRITERS_DIFFERS,
    idle_cpu_share,
    notes_about_clock,
    notes_about_drift,
    notes_about_estimate,
    notes_about_pairs,
    notes_about_slices,
    notes_about_step,
    notes_about_totals,
    notes_about_writes_of_others,
    outlasts_slices,
    silent_incarnations,
)
from slowdust.analysis.results.per_op import per_operation, rate_of, relative_counters, relative_to
from slowdust.analysis.sla import missed_its_sla, writers_of
from slowdust.benchmarks import BENCHMARKS, known_group, measured_in_steps
from slowdust.benchmarks.model import Measuring
from slowdust.ratios import Ratio
from slowdust.stats.blocks import Step
from slowdust.stats.verdict import Judgement
from slowdust.store.manifest import Manifest, WorkloadFacts
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import listing

Summarise = Callable[[Step, str, Sequence[Slice], str], Result]
"""Function of a step, a contender, its slices and the group: a result not yet compared."""


def results_of(
    manifest: Manifest,
    slices: Sequence[Slice],
    contenders: Sequence[str],
    differences: Sequence[PlanDifference],
    summarise: Summarise,
) -> list[Result]:
    """Return a result for each step and contender with slices of it, the base first.

    The comparison needs no more of `summarise` than `outline` returns.
    """
    is_unfinished = manifest.finished is None and manifest.imported is None
    by_step: dict[Step, dict[str, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for record in slices:
        by_step[step_of(record)][record.place.contender].append(record)
    hosts = hosts_of(manifest)
    judged = judge(slices, contenders, manifest.method.margins, hosts=hosts)
    judgements = {each.estimate.place: each for each in judged}
    # A merged experiment cannot be resumed, and more time does not reduce variation between hosts.
    needed = {} if manifest.hosts else forecast_needed(judged, slices, manifest.method)
    results = []
    for step in sorted_steps(by_step, manifest.tests):
        group = group_of(step, manifest.workload)
        of_step = [
            summarise(step, name, by_step[step][name], group)
            for name in contenders
            if name in by_step[step]
        ]
        base = next((result for result in of_step if result.contender == contenders[0]), None)
        for result in of_step:
            result.hosts = host_results(by_step[step][result.contender], hosts)
            if result is base:
                if not missed_its_sla(base) and not fails(base.failures):
                    result.typical = result.ratio = Ratio(1.0)
                result.notes += notes_about_drift(by_step[step][base.contender])
            else:
                of_result = by_step[step][result.contender]
                single_run = any(record.printed for record in of_result)
                judgement = judgements[step, result.contender]
                _compare(result, base, judgement, single_run=single_run)
                if result.verdict is not None:
                    relate_hosts(result, judgement, hosts)
                    result.notes += notes_about_hosts(result)
                if is_unfinished and result.incarnations == 1 and result.ratio and result.verdict:
                    result.ratio = replace(result.ratio, verdict="unsure")
                    result.notes.append(f"not finished: {ONE_START}")
                    result.doubt = None if result.ratio.bound is None else ONE_START
                if result.verdict == "unsure":
                    result.needed = needed.get((step, result.contender))
                _relate_plans(result, contenders[0], differences)
        results += of_step
    return results


def by_step(results: Iterable[Result]) -> dict[Step, dict[str, Result]]:
    """Return step -> contender -> result, in the order of `results`."""
    steps: dict[Step, dict[str, Result]] = {}
    for result in results:
        step = Step.of(result)
        steps.setdefault(step, {})[result.contender] = result
    return steps


def sorted_steps(steps: Iterable[Step], tests: Sequence[str]) -> list[Step]:
    """Return steps in the benchmarks' order, long steps in the order in `tests` (as they ran).

    Other tests follow in the order of `steps`.
    """
    known_places = {
        (benchmark.name, test.name): place
        for benchmark in BENCHMARKS.values()
        if benchmark.measuring is Measuring.SLICES and benchmark.options_type is None
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
            known_places.get((step.benchmark, step.test), len(known_places)),
            named.get(step.test, len(named)),
            ran[step.benchmark, step.test],
            step.clients,
        ),
    )


def outline(step: Step, contender: str, slices: Sequence[Slice], group: str) -> Result:
    schedules = known(record.measured.schedule for record in slices)
    failures = count_failures(slices)
    return Result(
        benchmark=step.benchmark,
        test=step.test,
        group=group,
        clients=step.clients,
        contender=contender,
        unit=slices[0].unit,
        qps=0.0 if failures is not None and failures.wholly else rate_of(slices),
        slices=len(slices),
        incarnations=len({record.place.incarnation for record in slices}),
        silent_incarnations=silent_incarnations(slices),
        per_op={},
        writers=writers_of(slices),
        failures=failures,
        outlasts_slices=outlasts_slices(slices),
        late_operations=(
            sum(schedule.late_operations for schedule in schedules) if schedules else None
        ),
    )


def summarise(step: Step, contender: str, slices: Sequence[Slice], group: str) -> Result:
    result = outline(step, contender, slices, group)
    busy = known(record.measured.used("client", "busiest_thread") for record in slices)
    lengths = known(record.measured.seconds for record in slices)
    result.measured_s = sum(lengths) if lengths else None
    for record in slices:
        for state, count in record.measured.errors.items():
            result.errors_by_state[state] = result.errors_by_state.get(state, 0) + count
    printed = known(record.printed for record in slices)
    if not printed:
        result.errors = sum(result.errors_by_state.values())
        result.retries = sum(record.measured.retries for record in slices)
    histograms = known(record.measured.latency for record in slices)
    result.latency_us = latency_us(histograms) or next(
        iter(known(run.response for run in printed)), None
    )
    result.per_op = per_operation(slices)
    result.peak_vsz_gb = peak_gb(slices, "vsz_bytes")
    result.peak_rss_gb = peak_gb(slices, "rss_bytes")
    result.counters = next(iter(known(run.counters for run in printed)), None)
    details = known(record.step for record in slices)
    if lengths_of_history := known(detail.history_length for detail in details):
        result.history_length = median(lengths_of_history)
    if dead_rows := known(detail.dead_rows for detail in details):
        result.dead_rows = median(dead_rows)
    result.client_busiest_thread = median(busy) if busy else None
    result.idle_cpu_share = idle_cpu_share(slices)
    if known(record.measured.used("server", "cpu_s") for record in slices):
        result.backends_changed = sum(
            int(record.measured.used("server", quantity) or 0)
            for record in slices
            for quantity in ("processes_started", "processes_ended")
        )
    result.notes = [
        *notes_about_step(slices, result.writers),
        *notes_about_slices(slices, result.client_busiest_thread),
        *notes_about_writes_of_others(slices),
    ]
    return result


def group_of(step: Step, workload: WorkloadFacts | None) -> str:
    """Return the group of its test, or the benchmark's name if the test is unknown.

    `workload` is the measured workload of the user, if any.
    """
    group = known_group(step.benchmark, step.test, workload)
    return group.value if group else step.benchmark


def _compare(
    result: Result, base: Result | None, judgement: Judgement, *, single_run: bool
) -> None:
    """Compare a result with the base's; a note gives the reason if it cannot be compared.

    Pass None as `base` without a result of the base. A single run has no interval or verdict.
    """
    if missed_its_sla(result):
        return
    failing = [each.contender for each in (base, result) if each and fails(each.failures)]
    if failing:
        result.notes.append(f"{FAILING} on {listing(failing)}")
        return
    if base is not None:
        if missed_its_sla(base):
            result.notes.append(f"not compared: the writers of {base.contender} missed their SLA")
            return
        result.outlasts_slices |= base.outlasts_slices
        if base.unit != result.unit:
            result.notes.append(f"not compared: in {result.unit}, but the base is in {base.unit}")
            return
        result.per_op_relative = relative_to(base.per_op, result.per_op)
        result.counters_relative = relative_counters(base.counters, result.counters)
        result.notes += notes_about_clock(result.counters_relative)
    if result.late_operations is not None:
        result.notes.append(OPEN_LOOP)
        return
    estimate = judgement.estimate
    if single_run:
        result.typical = result.ratio = None if estimate.ratio is None else Ratio(estimate.ratio)
        result.notes.append(NO_BASE if estimate.ratio is None else ONE_RUN)
        return
    result.typical = result.ratio = estimate.judged()
    if estimate.all_time is not None and estimate.all_time.interval is not None:
        result.all_time = estimate.all_time.judged()
    if judgement.ratio is not None:
        result.ratio, result.basis = judgement.ratio, judgement.basis
        if judgement.doubt:
            result.doubt = judgement.doubt
            result.notes.append(judgement.doubt)
    in_steps = measured_in_steps(result.benchmark)
    if in_steps:
        result.notes += notes_about_pairs(estimate)
    else:
        result.notes += [
            *notes_about_estimate(estimate),
            *notes_about_totals(judgement, outlasts_slices=result.outlasts_slices),
        ]


def _relate_plans(result: Result, base: str, differences: Sequence[PlanDifference]) -> None:
    """Set evidence for plans that differ from the base's; for background writers add a note."""
    words: dict[str, None] = {}
    for difference in differences:
        is_of_test = difference.test == result.test and difference.base == base
        if not is_of_test or result.contender not in difference.differences:
            continue
        if result.writers is None or difference.statement.startswith("SELECT"):
            words |= dict.fromkeys(difference.differences[result.contender])
        elif PLAN_OF_WRITERS_DIFFERS not in result.notes:
            result.notes.append(PLAN_OF_WRITERS_DIFFERS)
    result.evidence = [Evidence(kind="plan", words=each) for each in words]
