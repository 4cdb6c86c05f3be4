"""From the records of an experiment to its report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import median

from slowdust.analysis import flags
from slowdust.analysis.bands import (
    USUAL,
    Bands,
    changes_of_report,
    has_no_interval,
    tell_changes,
)
from slowdust.analysis.concurrency import courses_of
from slowdust.analysis.contenders import (
    describe_method,
    introduce,
    plan_differences,
    shape_of,
)
from slowdust.analysis.counters import clock_flags, counters_of, relative_counters
from slowdust.analysis.idlers import mean_share
from slowdust.analysis.known import known
from slowdust.analysis.latency import latency_us
from slowdust.analysis.memory import BYTES_PER_GB, memory_of
from slowdust.analysis.model import LatencyUs, PlanDifference, Report, Result
from slowdust.analysis.notices import notices_of, notices_of_archive
from slowdust.analysis.per_op import per_operation, relative_to
from slowdust.analysis.relative import Step, step_of
from slowdust.analysis.response import add_response_times
from slowdust.analysis.sla import missed_its_sla, writers_of
from slowdust.analysis.step_words import (
    notices_of_steps,
    tell_failed_steps,
    tell_writers_and_stalls,
)
from slowdust.analysis.steps import failed_steps_of, step_runs_of
from slowdust.analysis.verdict import Judgement, judge
from slowdust.analysis.versions import lines_of
from slowdust.analysis.words import tell
from slowdust.benchmarks import BENCHMARKS, known_test, measured_in_steps
from slowdust.benchmarks.model import Measuring
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.records import ServerUse, Slice


def analyse(
    manifest: Manifest,
    slices: Sequence[Slice],
    base: str | None = None,
    bands: Bands = USUAL,
) -> Report:
    """Judge an experiment relative to `base`, the manifest's unless named.

    Results are in the benchmarks' order of tests, then clients, then contenders with the base
    first. A contender without a slice in a step has no result there. `bands` are what changes
    from version to version are told in. Raises `UsageError` if `base` is not a contender.
    """
    facts = {contender.name: contender for contender in manifest.contenders}
    base = base or manifest.base
    if base not in facts:
        raise UsageError(f"{base} is not a contender; those are: {', '.join(facts)}")
    contenders = [base, *(name for name in facts if name != base)]
    dbms = {name: contender.dbms for name, contender in facts.items()}
    differences = plan_differences(manifest.plans, dbms)
    results = _results(slices, contenders, manifest.tests, manifest.method.margin, differences)
    add_response_times(results, slices, contenders)
    infos = [introduce(facts[name], facts[base]) for name in contenders]
    courses = courses_of(results)
    report = Report(
        experiment=manifest.experiment,
        started=manifest.started,
        imported=manifest.imported.kind if manifest.imported else None,
        base=base,
        contenders=contenders,
        margin=manifest.method.margin,
        results=results,
        tldr=tell(results, contenders, _failures(facts), courses),
        contender_info=infos,
        notices=notices_of_archive(infos) if manifest.imported else notices_of(infos),
        step_runs=step_runs_of(results, slices),
        failed_steps=failed_steps_of(manifest.failed_steps),
        concurrency=courses,
        memory=memory_of(results, infos),
        plan_differences=differences,
        host=manifest.host,
        warnings=manifest.warnings,
        method=describe_method(manifest),
    )
    report.group_changes = changes_of_report(report, lines_of(manifest.contenders), bands)
    if has_no_interval(results) and report.group_changes:
        report.tldr = [*tell_changes(report), *report.tldr]
    if manifest.imported is None:
        report.notices += notices_of_steps(report)
    report.tldr = [*tell_failed_steps(report), *report.tldr, *tell_writers_and_stalls(report)]
    return report


def _failures(facts: dict[str, ContenderFacts]) -> dict[str, str]:
    return {name: contender.failed for name, contender in facts.items() if contender.failed}


def _results(
    slices: Sequence[Slice],
    contenders: Sequence[str],
    tests: Sequence[str],
    margin: float,
    differences: Sequence[PlanDifference],
) -> list[Result]:
    by_step: dict[Step, dict[str, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for piece in slices:
        by_step[step_of(piece)][piece.contender].append(piece)
    judgements = {
        (judgement.estimate.step, judgement.estimate.contender): judgement
        for judgement in judge(slices, contenders, margin)
    }
    results = []
    for step in sorted(by_step, key=_order_of(list(by_step), tests)):
        of_step = [
            _summarise(step, name, by_step[step][name])
            for name in contenders
            if name in by_step[step]
        ]
        base = next((result for result in of_step if result.contender == contenders[0]), None)
        for result in of_step:
            if result is base:
                result.rqps = None if missed_its_sla(base) else 1.0
                result.flags += flags.wandering(by_step[step][base.contender])
            else:
                archived = any(piece.archived for piece in by_step[step][result.contender])
                judgement = judgements[step, result.contender]
                _compare(result, base, judgement, margin, archived=archived)
                result.flags += _plans_of(result, contenders[0], differences)
        results += of_step
    return results


def _order_of(
    steps: Sequence[Step], tests: Sequence[str]
) -> Callable[[Step], tuple[int, int, int, int]]:
    """The benchmarks' order, but long steps' is that of `tests`, in which they had to run.

    Tests that none of these knows follow in the order they ran in.
    """
    known = {
        (benchmark.name, test.name): place
        for benchmark in BENCHMARKS.values()
        if benchmark.measuring is Measuring.SLICES
        for place, test in enumerate(benchmark.tests)
    }
    named = {test: place for place, test in enumerate(tests)}
    ran: dict[tuple[str, str], int] = {}
    for place, step in enumerate(steps):
        ran.setdefault((step.benchmark, step.test), place)
    return lambda step: (
        known.get((step.benchmark, step.test), len(known)),
        named.get(step.test, len(named)),
        ran[step.benchmark, step.test],
        step.clients,
    )


def _summarise(step: Step, contender: str, slices: Sequence[Slice]) -> Result:
    """Everything that needs no base."""
    servers = [piece.server for piece in slices if piece.server is not None]
    schedules = [piece.schedule for piece in slices if piece.schedule is not None]
    busy = [piece.client.busiest_thread for piece in slices if piece.client is not None]
    busiest = median(busy) if busy else None
    lengths = known(piece.seconds for piece in slices)
    writers = writers_of(slices)
    archived = any(piece.archived for piece in slices)
    errors: dict[str, int] = {}
    for piece in slices:
        for state, count in piece.errors.items():
            errors[state] = errors.get(state, 0) + count
    return Result(
        benchmark=step.benchmark,
        test=step.test,
        group=_group(step),
        clients=step.clients,
        contender=contender,
        unit=slices[0].unit,
        qps=median(piece.qps for piece in slices),
        slices=len(slices),
        incarnations=len({piece.incarnation for piece in slices}),
        measured_s=sum(lengths) if lengths else None,
        errors=None if archived else sum(errors.values()),
        errors_by_state=errors,
        retries=None if archived else sum(piece.retries for piece in slices),
        latency_us=latency_us(known(piece.latency for piece in slices)) or _printed(slices),
        per_op=per_operation(slices),
        peak_vsz_gb=_peak_gb(servers, lambda use: use.vsz_bytes),
        peak_rss_gb=_peak_gb(servers, lambda use: use.rss_bytes),
        counters=counters_of(slices),
        client_busiest_thread=busiest,
        idle_cpu_share=mean_share(slices),
        backends_changed=(
            sum(use.processes_started + use.processes_ended for use in servers)
            if any(use.cpu_s is not None for use in servers)
            else None
        ),
        late_operations=(
            sum(schedule.late_operations for schedule in schedules) if schedules else None
        ),
        writers=writers,
        flags=[
            *flags.flags_of_step(slices, writers),
            *flags.flags_of_slices(slices, busiest),
        ],
    )


def _printed(slices: Sequence[Slice]) -> LatencyUs | None:
    """The response times that an archived run printed."""
    for piece in slices:
        if (times := piece.response) is not None:
            return LatencyUs(
                mean=times.mean_us,
                p50=times.p50_us,
                p95=times.p95_us,
                p99=times.p99_us,
                max=times.max_us,
            )
    return None


def _group(step: Step) -> str:
    known = known_test(step.benchmark, step.test)
    return known.group.value if known else step.benchmark


def _peak_gb(servers: Sequence[ServerUse], read: Callable[[ServerUse], int | None]) -> float | None:
    sizes = [size for use in servers if (size := read(use)) is not None]
    return max(sizes) / BYTES_PER_GB if sizes else None


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
            result.flags.append(f"not compared: the writers of {base.contender} missed their SLA")
            return
        if base.unit != result.unit:
            result.flags.append(f"not compared: {result.unit} here, {base.unit} of the base")
            return
        result.per_op_relative = relative_to(base.per_op, result.per_op)
        result.counters_relative = relative_counters(base.counters, result.counters)
        result.flags += clock_flags(result.counters_relative)
    if result.late_operations is not None:
        result.flags.append(flags.OPEN_LOOP)
        return
    estimate = judgement.estimate
    result.rqps = estimate.ratio
    if archived:
        result.flags.append(flags.NO_BASE if estimate.ratio is None else flags.ONE_RUN)
        return
    result.verdict = None if estimate.ratio is None else judgement.verdict
    if estimate.interval is not None:
        result.low, result.high = estimate.interval.low, estimate.interval.high
    in_steps = measured_in_steps(result.benchmark)
    told = flags.flags_of_pairs if in_steps else flags.flags_of_estimate
    result.flags += told(estimate, margin)


def _plans_of(result: Result, base: str, differences: Sequence[PlanDifference]) -> list[str]:
    """The warning that the result's plan is not the base's, where that is so."""
    for difference in differences:
        ours, theirs = difference.plans.get(result.contender), difference.plans.get(base)
        if difference.test != result.test or not ours or not theirs:
            continue
        if shape_of(ours) != shape_of(theirs):
            return [flags.PLAN_DIFFERS]
    return []
