"""Sentences about the storage: how much of the disk a server gets, and what an update writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slowdust.analysis.model import Report, Result, StorageUse
from slowdust.analysis.results.results import by_step
from slowdust.ratios import with_interval
from slowdust.units import known
from slowdust.wording import listing, short_names, step_label


def sentences_about_storage(report: Report) -> list[str]:
    """Return a sentence for each test whose reads were measured beside the disk, or its writes."""
    names = short_names(report.contenders)
    levels = {result.clients for result in report.results}
    sentences = []
    for step, results in by_step(report.results).items():
        label = step_label(step.test, step.clients, levels)
        of_step = list(results.values())
        if reads := _clauses(of_step, names, _reads):
            sentences.append(
                f"{label}: of the pages per second that direct reads of the same file get beside "
                f"it, {listing(reads)}."
            )
        if writes := _clauses(of_step, names, _writes):
            sentences.append(f"{label}: to the last page, {listing(writes)}.")
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
    if use.of_disk_low is not None and use.of_disk_high is not None:
        bounds = f" [{use.of_disk_low:.0%}, {use.of_disk_high:.0%}]"
    return (
        f"{name} gets {use.of_disk:.0%}{bounds} "
        f"({use.reads_per_s:,.0f} of {use.disk_reads_per_s:,.0f}){_beside_base(use)}"
    )


def _beside_base(use: StorageUse) -> str:
    if use.share_ratio is None or use.share_low is None or use.share_high is None:
        return ""
    return (
        f", {with_interval(use.share_ratio, use.share_low, use.share_high)} of the base's share "
        f"({use.share_verdict})"
    )


def _writes(name: str, use: StorageUse) -> str | None:
    if use.written_kb is None:
        return None
    verdict = f" ({use.written_verdict})" if use.written_verdict is not None else ""
    return f"{name} writes {use.written_kb:.1f} KB per update{verdict}"
