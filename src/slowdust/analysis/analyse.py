"""From the records of an experiment to its report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.contenders import (
    describe_method,
    introduce,
    plan_differences,
)
from slowdust.analysis.results.counters import counters_of
from slowdust.analysis.results.idle_cpu import mean_share
from slowdust.analysis.results.latency import latency_us
from slowdust.analysis.results.memory import BYTES_PER_GB, memory_of
from slowdust.analysis.results.notes import notes_about_slices, notes_about_step
from slowdust.analysis.results.per_op import per_operation
from slowdust.analysis.results.response import add_response_times
from slowdust.analysis.results.results import outline, results_of
from slowdust.analysis.results.steps import step_runs_of
from slowdust.analysis.story.bands import (
    USUAL,
    Bands,
    changes_of_report,
    has_no_interval,
    tell_changes,
)
from slowdust.analysis.story.concurrency import courses_of
from slowdust.analysis.story.notes import notes_about_archive, notes_about_contenders
from slowdust.analysis.story.step_words import (
    notes_about_steps,
    tell_failed_steps,
    tell_writers_and_stalls,
)
from slowdust.analysis.story.words import tell
from slowdust.analysis.versions import contender_called, lines_of
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.slice import Slice
from slowdust.units import known


def analyse(
    manifest: Manifest,
    slices: Sequence[Slice],
    base: str | None = None,
    bands: Bands = USUAL,
) -> Report:
    """Judge an experiment relative to `base`, the manifest's unless named.

    Results are in the benchmarks' order of tests, then clients, then contenders with the base
    first. A contender without a slice in a step has no result there. `bands` are what changes
    from version to version are told in. `base` may be short for a contender, as
    in `contender_called`, which raises `UsageError`.
    """
    facts = {contender.name: contender for contender in manifest.contenders}
    base = contender_called(base or manifest.base, manifest.contenders)
    contenders = [base, *(name for name in facts if name != base)]
    differences = plan_differences(manifest.plans, {name: one.dbms for name, one in facts.items()})
    results = results_of(manifest, slices, contenders, differences, _summarise)
    add_response_times(results, slices, contenders)
    infos = [introduce(facts[name], facts[base]) for name in contenders]
    report = Report(
        experiment=manifest.experiment,
        started=manifest.started,
        imported=manifest.imported.kind if manifest.imported else None,
        base=base,
        contenders=contenders,
        margin=manifest.method.margin,
        results=results,
        tldr=[],
        contender_info=infos,
        step_runs=step_runs_of(results, slices),
        failed_steps=manifest.failed_steps,
        concurrency=courses_of(results),
        memory=memory_of(results, infos),
        plan_differences=differences,
        host=manifest.host,
        warnings=manifest.warnings,
        method=describe_method(manifest),
    )
    report.group_changes = changes_of_report(report, lines_of(manifest.contenders), bands)
    report.notes = _notes(report)
    report.tldr = _tldr(report, _failures(facts), bands)
    return report


def _notes(report: Report) -> list[str]:
    if report.imported is not None:
        return notes_about_archive(report.contender_info)
    return [*notes_about_contenders(report.contender_info), *notes_about_steps(report)]


def _tldr(report: Report, failures: dict[str, str], bands: Bands) -> list[str]:
    sizes = has_no_interval(report.results) and report.group_changes
    return [
        *tell_failed_steps(report),
        *(tell_changes(report) if sizes else []),
        *tell(report.results, report.contenders, failures, report.concurrency, bands),
        *tell_writers_and_stalls(report),
    ]


def _failures(facts: dict[str, ContenderFacts]) -> dict[str, str]:
    return {name: contender.failed for name, contender in facts.items() if contender.failed}


def _summarise(step: Step, contender: str, slices: Sequence[Slice]) -> Result:
    """Everything that needs no base."""
    result = outline(step, contender, slices)
    busy = known(record.measured.used("client", "busiest_thread") for record in slices)
    lengths = known(record.measured.seconds for record in slices)
    result.measured_s = sum(lengths) if lengths else None
    for record in slices:
        for state, count in record.measured.errors.items():
            result.errors_by_state[state] = result.errors_by_state.get(state, 0) + count
    if not any(record.archived for record in slices):
        result.errors = sum(result.errors_by_state.values())
        result.retries = sum(record.measured.retries for record in slices)
    result.latency_us = latency_us(known(record.measured.latency for record in slices)) or _printed(
        slices
    )
    result.per_op = per_operation(slices)
    result.peak_vsz_gb = _peak_gb(slices, "vsz_bytes")
    result.peak_rss_gb = _peak_gb(slices, "rss_bytes")
    result.counters = counters_of(slices)
    result.client_busiest_thread = median(busy) if busy else None
    result.idle_cpu_share = mean_share(slices)
    if known(record.measured.used("server", "cpu_s") for record in slices):
        result.backends_changed = sum(
            int(record.measured.used("server", quantity) or 0)
            for record in slices
            for quantity in ("processes_started", "processes_ended")
        )
    result.notes = [
        *notes_about_step(slices, result.writers),
        *notes_about_slices(slices, result.client_busiest_thread),
    ]
    return result


def _printed(slices: Sequence[Slice]) -> LatencyUs | None:
    """Return the response times that an archived run printed."""
    archived = known(record.archived for record in slices)
    return next(iter(known(run.response for run in archived)), None)


def _peak_gb(slices: Sequence[Slice], quantity: str) -> float | None:
    sizes = known(record.measured.used("server", quantity) for record in slices)
    return max(sizes) / BYTES_PER_GB if sizes else None
