"""Analysis of an experiment: its records become a report."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.advised import typed_name
from slowdust.analysis.calibration.calibration import calibration_of
from slowdust.analysis.comparison.hosts import by_host, hosts_of
from slowdust.analysis.comparison.pairs import PairVerdicts
from slowdust.analysis.comparison.relative import block_ratios
from slowdust.analysis.comparison.together import common_moves
from slowdust.analysis.comparison.verdict import judge_cells
from slowdust.analysis.evidence.exact import add_evidence
from slowdust.analysis.evidence.rows_and_pages import add_rows_and_pages
from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.functions.changes import function_changes
from slowdust.analysis.model import Report
from slowdust.analysis.preparation.notes import add_notes_about_starts, add_notes_about_work
from slowdust.analysis.recall.curves import add_recall, search_comparisons
from slowdust.analysis.recall.indexes import index_results
from slowdust.analysis.results.beside import add_work_beside, frontier_of
from slowdust.analysis.results.compared import add_comparisons
from slowdust.analysis.results.contenders import contender_info, describe_method
from slowdust.analysis.results.failures import withdraw_comparisons
from slowdust.analysis.results.hosts import host_disagreements, host_infos
from slowdust.analysis.results.latency import add_response_times
from slowdust.analysis.results.memory import memory_of
from slowdust.analysis.results.noise import noise_of
from slowdust.analysis.results.notes import notes_about_restarts
from slowdust.analysis.results.plans import plan_differences, same_plans
from slowdust.analysis.results.results import results_of, summarise
from slowdust.analysis.results.steps import step_runs_of
from slowdust.analysis.results.storage import add_storage
from slowdust.analysis.story.answer import answer_of, unfinished
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.analysis.story.changes import changes_of_report
from slowdust.analysis.story.concurrency import courses_of
from slowdust.analysis.story.hosts import sentences_about_hosts
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
    typed: str = "",
) -> Report:
    """Judge an experiment relative to `base`, the manifest's unless named.

    Results are in the benchmarks' order of tests, then clients, then contenders with the base
    first. A contender without a slice in a step has no result there. Changes from version to
    version are described in `bands`. `base` may be short for a contender, as in `find_contender`,
    which raises `UsageError`. `typed` names the experiment on a command line, if not its name.
    """
    base = find_contender(base or manifest.base, manifest.contenders)
    report = _report(manifest, slices, base, counts=counts, profiles=profiles, waits=waits)
    report.typed = None if typed in ("", manifest.experiment) else typed
    hosts = hosts_of(manifest)
    verdicts = PairVerdicts(slices, report.contenders, report.margin, hosts)
    report.group_changes = changes_of_report(report, lines_of(manifest.contenders), bands, verdicts)
    cells = block_ratios(slices, base, report.contenders)
    moves = [move for own in by_host(cells, hosts) for move in common_moves(own, report.margin)]
    if report.hosts:
        judged = judge_cells(cells, report.margin, hosts)
        report.host_disagreements = host_disagreements(judged, report.margin)
    report.notes = [
        *sentences_about_hosts(report),
        *notes_about_report(report),
        *notes_about_restarts(moves, base),
        *notes_about_work(report.results, counts, manifest.counting, typed_name(report)),
    ]
    failures = {each.name: each.failed for each in manifest.contenders if each.failed}
    report.answer = answer_of(manifest, report)
    report.tldr = tldr_of(report, failures, bands)
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
    dbms = {name: facts[name].dbms for name in contenders}
    differences = plan_differences(manifest.plans, dbms, base)
    results = results_of(manifest, slices, contenders, differences, summarise)
    hosts = hosts_of(manifest)
    add_response_times(results, slices, contenders, hosts)
    starts = add_notes_about_starts(results, manifest, contenders)
    add_notes_about_work(results, manifest, contenders)
    add_work_beside(results, slices, hosts)
    add_storage(results, manifest, slices, contenders)
    add_comparisons(results, slices, contenders, manifest.method.margin, hosts)
    add_rows_and_pages(results, manifest, base)
    add_work(results, counts, contenders, manifest.workload, hosts)
    withdraw_comparisons(results, base)
    add_recall(results, manifest.recalls, base)
    functions = function_changes(profiles, base, contenders)
    add_explanations(results, slices, contenders, hosts)
    add_evidence(results, manifest, contenders)
    observed = waits_of(waits, base, contenders)
    same = same_plans(manifest.plans, dbms, base, differences)
    add_reasons(results, base, functions, observed, same)
    infos = [contender_info(facts[name], facts[base]) for name in contenders]
    return Report(
        experiment=manifest.experiment,
        started=manifest.started,
        imported=manifest.imported.kind if manifest.imported else None,
        base=base,
        contenders=contenders,
        margin=manifest.method.margin,
        results=results,
        tldr=[],
        contender_info=infos,
        step_runs=step_runs_of(results, slices, base),
        failed_steps=manifest.failed_steps,
        concurrency=courses_of(results),
        frontier=frontier_of(results),
        memory=memory_of(results, infos),
        searches=search_comparisons(
            results, slices, manifest.recalls, contenders, manifest.method.margin, hosts=hosts
        ),
        indexes=index_results(results, manifest.index_sizes, contenders),
        plan_differences=differences,
        same_plans=same,
        function_changes=functions,
        waits=observed,
        calibration=calibration_of(manifest, slices),
        host=manifest.host,
        hosts=host_infos(manifest, slices),
        findings=lasting(manifest.findings),
        noise=noise_of(slices, contenders, hosts),
        warnings=[*manifest.warnings, *starts],
        method=describe_method(manifest),
        unfinished=unfinished(manifest, slices),
    )
