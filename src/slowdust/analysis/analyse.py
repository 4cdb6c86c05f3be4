"""Analysis of an experiment: its records become a report."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.calibration.calibration import calibration_of
from slowdust.analysis.comparison.pairs import PairVerdicts
from slowdust.analysis.comparison.relative import block_ratios
from slowdust.analysis.comparison.together import common_moves
from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.functions.changes import function_changes
from slowdust.analysis.model import Report
from slowdust.analysis.origin import kind_of_import
from slowdust.analysis.preparation.notes import add_notes_about_starts, add_notes_about_work
from slowdust.analysis.results.compared import add_comparisons
from slowdust.analysis.results.contenders import contender_info, describe_method, plan_differences
from slowdust.analysis.results.latency import add_response_times
from slowdust.analysis.results.memory import memory_of
from slowdust.analysis.results.noise import noise_of
from slowdust.analysis.results.notes import notes_about_restarts
from slowdust.analysis.results.results import results_of, summarise
from slowdust.analysis.results.steps import step_runs_of
from slowdust.analysis.story.answer import answer_of, unfinished
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.analysis.story.changes import changes_of_report
from slowdust.analysis.story.concurrency import courses_of
from slowdust.analysis.story.notes import notes_about_report
from slowdust.analysis.story.reasons import add_reasons
from slowdust.analysis.story.tldr import tldr_of
from slowdust.analysis.versions import find_contender, lines_of
from slowdust.analysis.waits.results import waits_of
from slowdust.analysis.work.results import add_work, notes_about_work
from slowdust.store.count import Count
from slowdust.store.finding import lasting
from slowdust.store.manifest import Manifest
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.waits import WaitWindow


def analyse(
    manifest: Manifest,
    slices: Sequence[Slice],
    base: str | None = None,
    bands: Bands = DEFAULT_BANDS,
    counts: Sequence[Count] = (),
    *,
    profiles: Sequence[Profile] = (),
    waits: Sequence[WaitWindow] = (),
) -> Report:
    """Judge an experiment relative to `base`, the manifest's unless named.

    Results are in the benchmarks' order of tests, then clients, then contenders with the base
    first. A contender without a slice in a step has no result there. Changes from version to
    version are described in `bands`. `base` may be short for a contender, as in `find_contender`,
    which raises `UsageError`.
    """
    base = find_contender(base or manifest.base, manifest.contenders)
    report = _report(manifest, slices, base, counts=counts, profiles=profiles, waits=waits)
    verdicts = PairVerdicts(slices, report.contenders, report.margin)
    report.group_changes = changes_of_report(report, lines_of(manifest.contenders), bands, verdicts)
    moves = common_moves(block_ratios(slices, base, report.contenders), report.margin)
    report.notes = [
        *notes_about_report(report),
        *notes_about_restarts(moves, base),
        *notes_about_work(report.results, counts, manifest.counting),
    ]
    failures = {each.name: each.failed for each in manifest.contenders if each.failed}
    report.tldr = tldr_of(report, failures, bands)
    report.answer = answer_of(manifest, report)
    return report


def _report(
    manifest: Manifest,
    slices: Sequence[Slice],
    base: str,
    *,
    counts: Sequence[Count],
    profiles: Sequence[Profile],
    waits: Sequence[WaitWindow],
) -> Report:
    """Return the report without what is told of all results together."""
    facts = {contender.name: contender for contender in manifest.contenders}
    contenders = [base, *(name for name in facts if name != base)]
    dbms = {contender.name: contender.dbms for contender in manifest.contenders}
    differences = plan_differences(manifest.plans, dbms)
    results = results_of(manifest, slices, contenders, differences, summarise)
    add_response_times(results, slices, contenders)
    starts = add_notes_about_starts(results, manifest, contenders)
    add_notes_about_work(results, manifest, contenders)
    add_comparisons(results, slices, contenders, manifest.method.margin)
    add_work(results, counts, contenders)
    functions = function_changes(profiles, base, contenders)
    add_explanations(results, slices, contenders)
    observed = waits_of(waits, base, contenders)
    add_reasons(results, base, functions, observed)
    infos = [contender_info(facts[name], facts[base]) for name in contenders]
    return Report(
        experiment=manifest.experiment,
        started=manifest.started,
        imported=kind_of_import(manifest),
        base=base,
        contenders=contenders,
        margin=manifest.method.margin,
        results=results,
        tldr=[],
        contender_info=infos,
        step_runs=step_runs_of(results, slices, base),
        failed_steps=manifest.failed_steps,
        concurrency=courses_of(results),
        memory=memory_of(results, infos),
        plan_differences=differences,
        function_changes=functions,
        waits=observed,
        calibration=calibration_of(manifest, slices),
        host=manifest.host,
        findings=lasting(manifest.findings),
        noise=noise_of(slices, contenders),
        warnings=[*manifest.warnings, *starts],
        method=describe_method(manifest),
        unfinished=unfinished(manifest, slices),
    )
