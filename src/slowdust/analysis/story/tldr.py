"""The summary: sentences that follow the answer, or replace it for runs that have none.

Failed contenders come first, then each contender compared with the base, then results that are not
compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from slowdust.analysis.model import AtRecall, Report, Result, StepRun, StorageUse, TestConcurrency
from slowdust.analysis.recall import LEVELS, finds_another_share
from slowdust.analysis.results.failures import levels_of
from slowdust.analysis.results.notes import OPEN_LOOP
from slowdust.analysis.results.results import by_step
from slowdust.analysis.sla import achieved_rates
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands, has_no_interval
from slowdust.analysis.story.concurrency import summary_of_courses
from slowdust.analysis.story.contender import (
    MOST_DETAILED,
    ContenderComparison,
    sentences_about_responses,
)
from slowdust.ratios import with_interval
from slowdust.units import known
from slowdust.wording import (
    amount,
    counted,
    first_line,
    listing,
    operation,
    shortened,
    step_label,
)

_SIZES_ONLY = (
    "One run of each contender: sizes of changes, without significance. The common result of a "
    "group is the result of its median test."
)
_MOST_TESTS = 8
_PERCENTILES = (("p50", "in the median"), ("p95", "at p95"), ("p99", "at p99"))
_LEVELS = listing([f"{level:.2f}" for level in LEVELS], "or")


def tldr_of(report: Report, failures: Mapping[str, str], bands: Bands) -> list[str]:
    """Return the sentences of the report's summary.

    `failures` is contender -> why it failed; results without a verdict are counted in `bands`.
    """
    sizes_only = has_no_interval(report.results) and report.group_changes
    return [
        *([_SIZES_ONLY] if sizes_only else []),
        *describe_contenders(
            report.results, report.short_names, failures, report.concurrency, bands
        ),
        *(changes.sentence for changes in (report.group_changes if sizes_only else ())),
        *sentences_about_searches(report),
        *sentences_about_storage(report),
        *_missed_slas(report),
        *_stalls(report.step_runs, report.short_names),
    ]


def describe_contenders(
    results: Sequence[Result],
    names: Mapping[str, str],
    failures: Mapping[str, str],
    concurrency: Sequence[TestConcurrency] = (),
    bands: Bands = DEFAULT_BANDS,
) -> list[str]:
    """Return sentences about each contender.

    `names` is contender -> its short name, the base first; `failures` and `bands` are as in
    `tldr_of`.
    """
    base, *others = names
    sentences = [f"{names[name]} failed: {first_line(why)}." for name, why in failures.items()]
    if not any(result.contender == base for result in results):
        return [*sentences, f"No comparison: {names[base]}, the base, has no results."]
    if not others:
        return [*sentences, *describe_alone(base, results)]
    brief = len(others) > MOST_DETAILED
    for name in others:
        comparison = ContenderComparison(results, base, name, names, bands)
        comparison.cut_short = name in failures or base in failures
        comparison.by_clients = summary_of_courses(
            (test.test, course)
            for test in concurrency
            for course in test.courses
            if course.contender == name
        )
        if comparison.pairs:
            sentences += known([comparison.brief() or None]) if brief else comparison.sentences()
        elif any(r.contender == name and OPEN_LOOP in r.notes for r in results):
            sentences.append(f"{names[name]}: {OPEN_LOOP}.")
            sentences += sentences_about_responses([r for r in results if r.contender == name])
        elif name not in failures:
            sentences.append(f"{names[name]} has no result that can be compared.")
    return sentences


def _missed_slas(report: Report) -> list[str]:
    """Return a sentence about the steps that are not compared since writers missed their SLA."""
    names, levels = report.short_names, levels_of(report)
    missed = [
        f"{step_label(result.test, result.clients, levels)} on {names[result.contender]} "
        f"({achieved_rates(writers)})"
        for result in report.results
        if (writers := result.writers) is not None and not writers.sla_met
    ]
    if not missed:
        return []
    return [
        f"Not compared, because the concurrent writers missed their SLA, 95% of the rate: "
        f"{shortened(missed)}."
    ]


def _stalls(runs: Sequence[StepRun], names: Mapping[str, str]) -> list[str]:
    """Return a sentence about stalls; a second counts once if several roles stalled."""
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        seconds = {stall.second for stall in run.stalls}
        counts.setdefault(run.contender, Counter())[run.test] += len(seconds)
    if not any(by_test.total() for by_test in counts.values()):
        return []
    places = [_places_of_stalls(names[name], by_test) for name, by_test in counts.items()]
    return [f"Stalls (seconds below a tenth of the median of the step): {listing(places)}."]


def _places_of_stalls(name: str, by_test: Counter[str]) -> str:
    steps = [f"{test} {count}" for test, count in by_test.most_common() if count]
    return f"{by_test.total()} on {name} ({shortened(steps)})" if steps else f"none on {name}"


def describe_alone(name: str, results: Sequence[Result]) -> list[str]:
    """Return rates, response times and costs, with a warning that they are absolute."""
    levels = {result.clients for result in results}
    sentences = [
        f"{name} alone: absolute numbers, without a comparison. They differ on another machine or "
        "another day."
    ]
    sentences += [_sentence(result, levels) for result in results[:_MOST_TESTS]]
    if len(results) > _MOST_TESTS:
        more = counted(len(results) - _MOST_TESTS, "more result")
        sentences.append(f"{more} in the tables.")
    return sentences


def _sentence(result: Result, levels: Collection[int]) -> str:
    """Return 'point-query: 59,318 operations/s; 16 us in the median, 28 us at p99; ...'."""
    parts = [f"{amount(result.qps)} {result.unit}"]
    if (latency := result.latency_us) is not None:
        times = ((getattr(latency, name), where) for name, where in _PERCENTILES)
        known = [f"{amount(time)} us {where}" for time, where in times if time is not None]
        if known:
            parts.append(f"response times {', '.join(known)}")
    what = operation(result.unit)
    for metric, unit in (
        ("server_cpu_us", "us of the server's CPU"),
        ("write_kb", "KB written by it"),
    ):
        if used := result.per_op.get(metric):
            parts.append(f"{amount(used)} {unit} per {what}")
    return f"{step_label(result.test, result.clients, levels)}: {'; '.join(parts)}."


def sentences_about_searches(report: Report) -> list[str]:
    """Return sentences about the recall of each contender other than the base."""
    names = report.short_names
    of_base = {(r.test, r.clients): r for r in report.results if r.contender == report.base}
    sentences: list[str] = []
    for contender in report.contenders:
        if contender != report.base:
            name = names[contender]
            sentences += _other_answers(report, contender, of_base, name, names[report.base])
            sentences += _at_equal_recall(report, contender, name)
    return sentences


def _other_answers(
    report: Report,
    contender: str,
    of_base: dict[tuple[str, int], Result],
    name: str,
    base: str,
) -> Iterator[str]:
    apart = [
        f"{own.test} ({own.recall:.2f} compared with {beside.recall:.2f})"
        for own in report.results
        if own.contender == contender
        and (beside := of_base.get((own.test, own.clients))) is not None
        and own.recall is not None
        and beside.recall is not None
        and finds_another_share(own.recall, beside.recall)
    ]
    if apart:
        yield (
            f"The recall of {name} differs from {base} in {shortened(apart)}, so their QPS are "
            "compared at equal recall only."
        )


def _at_equal_recall(report: Report, contender: str, name: str) -> Iterator[str]:
    not_compared = []
    for comparison in report.searches:
        for curve in comparison.contenders:
            if curve.contender == contender:
                if any(at.ratio and at.ratio.verdict for at in curve.at):
                    words = "; ".join(map(_at, curve.at))
                    yield f"{comparison.curve} at equal recall on {name}: {words}."
                else:
                    not_compared.append(comparison.curve)
    if not_compared:
        yield (
            f"{name} cannot be compared with the base at a recall of {_LEVELS} in "
            f"{shortened(not_compared)}; the table of recalls has the reasons."
        )


def _at(at: AtRecall) -> str:
    if at.ratio is None or at.ratio.verdict is None:
        return f"not compared at {at.recall:.2f} ({at.reason})"
    return f"{at.ratio.verdict} at {at.recall:.2f} (rqps {with_interval(at.ratio)})"


def sentences_about_storage(report: Report) -> list[str]:
    names = report.short_names
    levels = {result.clients for result in report.results}
    sentences = []
    for step, results in by_step(report.results).items():
        label = step_label(step.test, step.clients, levels)
        of_step = list(results.values())
        if reads := _clauses(of_step, names, _reads):
            sentences.append(
                f"{label}, pages per second compared with direct reads of the same file: "
                f"{listing(reads)}."
            )
        if writes := _clauses(of_step, names, _writes):
            sentences.append(f"{label}, until the last page is written: {listing(writes)}.")
    return sentences


def _clauses(
    results: Sequence[Result],
    names: Mapping[str, str],
    clause: Callable[[str, StorageUse], str | None],
) -> list[str]:
    return known(
        clause(names[result.contender], result.storage)
        for result in results
        if result.storage is not None
    )


def _reads(name: str, use: StorageUse) -> str | None:
    if use.of_disk is None or use.reads_per_s is None or use.disk_reads_per_s is None:
        return None
    bounds = ""
    if use.of_disk.interval is not None:
        bounds = " [{:.0%}, {:.0%}]".format(*use.of_disk.interval)
    return (
        f"{name} gets {use.of_disk.value:.0%}{bounds} "
        f"({use.reads_per_s:,.0f} of {use.disk_reads_per_s:,.0f}){_relative_to_base(use)}"
    )


def _relative_to_base(use: StorageUse) -> str:
    if use.share is None or use.share.interval is None:
        return ""
    return f", {with_interval(use.share)} of the base's share ({use.share.verdict})"


def _writes(name: str, use: StorageUse) -> str | None:
    if use.written_kb is None:
        return None
    verdict = f" ({use.written.verdict})" if use.written and use.written.verdict else ""
    return f"{name} writes {use.written_kb:.1f} KB per update{verdict}"
