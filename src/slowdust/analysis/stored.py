"""A stored experiment with all records for a report, and its analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from slowdust.analysis.advised import typed_name
from slowdust.analysis.calibration import calibration_of
from slowdust.analysis.comparison import PairVerdicts, block_ratios, hosts_of
from slowdust.analysis.evidence import add_evidence, add_rows_and_pages
from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.functions.changes import function_changes
from slowdust.analysis.model import Report
from slowdust.analysis.plans.compare import plan_differences, same_plans
from slowdust.analysis.preparation import add_notes_about_starts, add_notes_about_work
from slowdust.analysis.recall import add_recall, index_results, search_comparisons
from slowdust.analysis.results.background_load import add_background_load, find_frontier
from slowdust.analysis.results.compared import add_comparisons
from slowdust.analysis.results.contenders import compare_memory, contender_info, describe_method
from slowdust.analysis.results.failures import withdraw_comparisons
from slowdust.analysis.results.hosts import host_disagreements, host_infos
from slowdust.analysis.results.latency import add_response_times
from slowdust.analysis.results.noise import measure_noise
from slowdust.analysis.results.notes import notes_about_restarts
from slowdust.analysis.results.results import results_of, summarise
from slowdust.analysis.results.steps import list_step_runs
from slowdust.analysis.results.storage import add_storage
from slowdust.analysis.story.answer import answer_of, unfinished
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands, changes_of_report
from slowdust.analysis.story.concurrency import courses_of
from slowdust.analysis.story.notes import notes_about_report, sentences_about_hosts
from slowdust.analysis.story.reasons import add_reasons
from slowdust.analysis.story.tldr import tldr_of
from slowdust.analysis.versions import find_contender, lines_of
from slowdust.analysis.waits import waits_of
from slowdust.analysis.work import add_work, notes_about_work
from slowdust.errors import UsageError
from slowdust.stats.common_shift import find_common_shifts
from slowdust.stats.hosts import by_host
from slowdust.stats.verdict import judge_cells
from slowdust.store.count import Count
from slowdust.store.finding import lasting
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.waits import WaitWindow
from slowdust.wording import listing


@dataclass(frozen=True)
class Stored:
    """The records of one experiment."""

    manifest: Manifest
    slices: Sequence[Slice]
    counts: Sequence[Count] = ()
    profiles: Sequence[Profile] = ()
    waits: Sequence[WaitWindow] = ()
    path: Path | None = None
    """The folder; None for records without one."""
    _reports: dict[tuple[str, Bands], Report] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.manifest.experiment

    @property
    def typed(self) -> str:
        return self.name if self.path is None else Folder(self.path).typed

    def report(self, base: str | None = None, bands: Bands = DEFAULT_BANDS) -> Report:
        """Judge it; see `analyse`. The report is cached and must not be modified."""
        key = (base or self.manifest.base, bands)
        if key not in self._reports:
            self._reports[key] = analyse(
                self.manifest,
                self.slices,
                base,
                bands,
                self.counts,
                profiles=self.profiles,
                waits=self.waits,
                typed=self.typed,
            )
        return self._reports[key]


def read_stored(folder: Folder) -> Stored:
    """Read all records of an experiment.

    Raises:
        UsageError: there is no such experiment, or a newer Slowdust wrote it.
        SlowdustError: a file is damaged.
    """
    return Stored(
        folder.read_manifest(),
        folder.read_slices(),
        folder.read_counts(),
        folder.read_profiles(),
        folder.read_waits(),
        folder.path,
    )


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
    """Judge an experiment relative to `base`, by default the manifest's.

    Results are in the benchmarks' order of tests, then clients, then contenders with the base
    first. A contender without a slice in a step has no result there. `bands` classify changes
    between versions. `base` may be abbreviated as in `find_contender`, which raises `UsageError`.
    `typed` names the experiment on a command line if its name does not.
    """
    base = find_contender(base or manifest.base, manifest.contenders)
    report = _report(manifest, slices, base, counts=counts, profiles=profiles, waits=waits)
    report.typed = None if typed in ("", manifest.experiment) else typed
    hosts = hosts_of(manifest)
    margins = manifest.method.margins
    verdicts = PairVerdicts(slices, report.contenders, margins, hosts)
    report.group_changes = changes_of_report(report, lines_of(manifest.contenders), bands, verdicts)
    cells = block_ratios(slices, base, report.contenders)
    moves = [
        move for own in by_host(cells, hosts) for move in find_common_shifts(own, report.margin)
    ]
    if report.hosts:
        judged = judge_cells(cells, margins, hosts)
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
    """Return the report without the texts on all results together."""
    facts = {contender.name: contender for contender in manifest.contenders}
    contenders = [base, *(name for name in facts if name != base)]
    dbms = {name: facts[name].dbms for name in contenders}
    differences = plan_differences(manifest.plans, dbms, base)
    results = results_of(manifest, slices, contenders, differences, summarise)
    hosts = hosts_of(manifest)
    add_response_times(results, slices, contenders, hosts)
    starts = add_notes_about_starts(results, manifest, contenders)
    add_notes_about_work(results, manifest, contenders)
    add_background_load(results, slices, hosts)
    add_storage(results, manifest, slices, contenders)
    add_comparisons(results, slices, contenders, manifest.method.margins, hosts)
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
        margins=manifest.method.own_margins or None,
        results=results,
        tldr=[],
        contender_info=infos,
        step_runs=list_step_runs(results, slices, base),
        failed_steps=manifest.failed_steps,
        concurrency=courses_of(results),
        frontier=find_frontier(results),
        memory=compare_memory(results, infos),
        searches=search_comparisons(
            results, slices, manifest.recalls, contenders, manifest.method.margins, hosts=hosts
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
        noise=measure_noise(slices, contenders, hosts),
        warnings=[*manifest.warnings, *starts],
        method=describe_method(manifest),
        unfinished=unfinished(manifest, slices),
    )


def of_group(stored: Stored, wanted: str) -> Stored:
    """Return the records of the hosts whose CPU model contains all words of `wanted`.

    Profiles are excluded: they are means over all hosts.

    Raises:
        UsageError: the experiment was not merged, or not exactly one CPU model matches.
    """
    manifest = stored.manifest
    groups = list(dict.fromkeys(host.group for host in manifest.hosts))
    if not groups:
        raise UsageError(f"--group: '{stored.name}' was measured on one host")
    words = wanted.casefold().split()
    found = [group for group in groups if all(word in group.casefold() for word in words)]
    if wanted in groups:
        found = [wanted]
    if len(found) != 1:
        matching = f"{len(found)} CPU models match" if found else "no CPU model matches"
        raise UsageError(
            f"--group '{wanted}': {matching} in '{stored.name}', which has {listing(groups)}"
        )
    hosts = [host for host in manifest.hosts if host.group == found[0]]
    numbers = {number for host in hosts for number in host.incarnations}
    own = replace(
        manifest,
        hosts=hosts,
        host=manifest.host | {"CPU": found[0]},
        preparations=[each for each in manifest.preparations if each.incarnation in numbers],
        recalls=[each for each in manifest.recalls if each.incarnation in numbers],
        index_sizes=[each for each in manifest.index_sizes if each.incarnation in numbers],
        counters=[each for each in manifest.counters if each.incarnation in numbers],
        failed_steps=[each for each in manifest.failed_steps if each.incarnation in numbers],
    )
    return Stored(
        own,
        [record for record in stored.slices if record.place.incarnation in numbers],
        [count for count in stored.counts if count.place.incarnation in numbers],
        waits=[window for window in stored.waits if window.place.incarnation in numbers],
    )
