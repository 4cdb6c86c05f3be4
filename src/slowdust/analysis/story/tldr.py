"""The tl;dr: what the verdicts mean, in sentences.

Work comes first where it was counted, then why a host decides little about time, then failures,
each contender beside the base, and what is not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowdust.analysis.advised import typed_name
from slowdust.analysis.model import Report, Result, StepRun, TestConcurrency
from slowdust.analysis.results.failures import levels_of, sentences_about_failed_steps
from slowdust.analysis.results.notes import OPEN_LOOP
from slowdust.analysis.sla import achieved_rates
from slowdust.analysis.story.absolute import describe_alone
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands, has_no_interval
from slowdust.analysis.story.concurrency import summary_of_courses
from slowdust.analysis.story.contender import (
    ContenderComparison,
    limits_of,
    sentences_about_responses,
)
from slowdust.analysis.story.searches import sentences_about_searches
from slowdust.analysis.story.storage import sentences_about_storage
from slowdust.analysis.story.unsure import why_so_little
from slowdust.analysis.story.work import MOST_DETAILED, sentences_about_work
from slowdust.wording import first_line, listing, short_names, shortened, step_label

_SIZES_ONLY = (
    "One run of each contender: this says how large changes are, and not whether another run "
    "would find them. The common result is that of the median test."
)


def tldr_of(report: Report, failures: Mapping[str, str], bands: Bands) -> list[str]:
    """Return the sentences of the report's tl;dr.

    `failures` is contender -> why it dropped out; results without a verdict are counted in `bands`.
    """
    sizes_only = has_no_interval(report.results) and report.group_changes
    return [
        *leading_sentences(report),
        *([] if report.answer else sentences_about_failed_steps(report)),
        *([_SIZES_ONLY, *(c.sentence for c in report.group_changes)] if sizes_only else []),
        *describe_contenders(
            report.results,
            report.contenders,
            failures,
            report.concurrency,
            bands,
            experiment=typed_name(report),
            margin=report.margin,
        ),
        *sentences_about_searches(report),
        *sentences_about_storage(report),
        *_missed_slas(report),
        *_stalls(report.step_runs, short_names(report.contenders)),
    ]


def leading_sentences(report: Report) -> list[str]:
    """Return the sentences that come before everything: those that can be believed.

    Work is exact on any machine; then comes why a host decides little about time.
    """
    return [*sentences_about_work(report), *why_so_little(report)]


def describe_contenders(
    results: Sequence[Result],
    contenders: Sequence[str],
    failures: Mapping[str, str],
    concurrency: Sequence[TestConcurrency] = (),
    bands: Bands = DEFAULT_BANDS,
    *,
    experiment: str,
    margin: float,
) -> list[str]:
    """Return sentences about each contender other than the base, which is `contenders[0]`.

    `failures` and `bands` are those of `tldr_of`.
    """
    names = short_names(contenders)
    base = contenders[0]
    sentences = [f"{names[name]} failed: {first_line(why)}." for name, why in failures.items()]
    if not any(result.contender == base for result in results):
        return [*sentences, f"Nothing can be compared: {names[base]}, the base, has no results."]
    if len(contenders) == 1:
        return [*sentences, *describe_alone(base, results)]
    brief = len(contenders) > MOST_DETAILED + 1
    comparisons = []
    if brief:
        sentences.append(f"{len(contenders) - 1} contenders beside {names[base]}, the base.")
    for name in contenders[1:]:
        comparison = ContenderComparison(
            results, base, name, names, experiment=experiment, bands=bands, margin=margin
        )
        comparison.cut_short = name in failures or base in failures
        comparison.by_clients = summary_of_courses(
            (test.test, course)
            for test in concurrency
            for course in test.courses
            if course.contender == name
        )
        if comparison.pairs:
            sentences += [comparison.brief()] if brief else comparison.sentences()
            comparisons.append(comparison)
        elif any(r.contender == name and OPEN_LOOP in r.notes for r in results):
            sentences.append(f"{names[name]}: {OPEN_LOOP}.")
            sentences += sentences_about_responses([r for r in results if r.contender == name])
        elif name not in failures:
            sentences.append(f"{names[name]} has no result that can be compared.")
    return [*sentences, *_common_limits(comparisons)] if brief else sentences


def _common_limits(comparisons: Sequence[ContenderComparison]) -> list[str]:
    """Return a sentence for each limit that results of many contenders share."""
    cut_short = [comparison.name for comparison in comparisons if comparison.cut_short]
    sentences = limits_of([pair for comparison in comparisons for pair in comparison.pairs])
    if cut_short:
        sentences.append(
            f"Cut short, because the contender or the base dropped out: {shortened(cut_short)}."
        )
    return sentences


def _missed_slas(report: Report) -> list[str]:
    """Return a sentence about the steps that are not compared for their writers' sake."""
    names, levels = short_names(report.contenders), levels_of(report)
    missed = [
        f"{step_label(result.test, result.clients, levels)} on {names[result.contender]} "
        f"({achieved_rates(writers)})"
        for result in report.results
        if (writers := result.writers) is not None and not writers.sla_met
    ]
    if not missed:
        return []
    return [
        f"Not compared, because the writers beside the queries missed their SLA, 95% of the "
        f"rate: {shortened(missed)}."
    ]


def _stalls(runs: Sequence[StepRun], names: Mapping[str, str]) -> list[str]:
    """Return a sentence about stalls; a second in which several roles stalled counts once."""
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        seconds = {stall.second for stall in run.stalls}
        counts.setdefault(run.contender, Counter())[run.test] += len(seconds)
    if not any(by_test.total() for by_test in counts.values()):
        return []
    places = [_places_of_stalls(names[name], by_test) for name, by_test in counts.items()]
    return [f"Stalls, seconds under a tenth of a step's median: {listing(places)}."]


def _places_of_stalls(name: str, by_test: Counter[str]) -> str:
    steps = [f"{test} {count}" for test, count in by_test.most_common() if count]
    return f"{by_test.total()} on {name} ({shortened(steps)})" if steps else f"none on {name}"
