"""A report as a document: what was measured, the answer, the reasons and all tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import Report, Result
from slowdust.report import answer, calibration
from slowdust.report.document import (
    Block,
    Document,
    Items,
    Line,
    Medium,
    Section,
    Strong,
    Text,
    Titled,
    text,
)
from slowdust.report.sections import contenders, evidence, hardware, hosts, results, steps
from slowdust.wording import MOST_LISTED, clients


def calibrated(report: Report) -> Section | None:
    """Return the calibration, if the experiment is one."""
    return None if report.calibration is None else calibration.section([report.calibration])


def answered(report: Report) -> list[Block]:
    """Return the answer, which a page has at its head, and whether it is of all that was asked."""
    lines = [[Strong(line.label), f": {line.text}"] for line in answer.lines(report)]
    unfinished = [text(report.unfinished, role="strong")] if report.unfinished else []
    return [*unfinished, *([Items(lines)] if lines else [])]


def notes(report: Report) -> list[Text]:
    """Return the remarks on what is compared."""
    return [text(note, role="remark") for note in report.notes]


def reasons(report: Report) -> Items:
    """Return the tl;dr, with the changes of groups as lists."""
    items: list[Line | Titled] = []
    for passage in answer.passages(report):
        items += [passage] if isinstance(passage, str) else answer.titled(passage)
    return Items(items)


def warnings(report: Report) -> Section | None:
    """Return the warnings, and the notes on results."""
    lines = [*report.warnings]
    places: dict[str, list[str]] = {}
    for result in report.results:
        place = f"{result.test}, {clients(result.clients)}, {result.contender}"
        for note in result.notes:
            places.setdefault(note, []).append(place)
    for note, noted in places.items():
        if len(noted) > MOST_LISTED:
            lines.append(f"{len(noted)} results: {note}")
        else:
            lines += [f"{place}: {note}" for place in noted]
    return Section("Warnings", [Items(lines)], media=Medium.TEXT) if lines else None


@dataclass(frozen=True)
class OfTests:
    """A section of which a page has a part below each test."""

    describe: Callable[[Report, Sequence[Result]], Section | None]


OfReport = Callable[[Report], Section | None]

SECTIONS: tuple[OfReport | OfTests, ...] = (
    results.throughput,
    results.effects,
    results.system_calls,
    results.unsure,
    hosts.by_host,
    contenders.group_changes,
    results.response_times,
    OfTests(evidence.of_changes),
    results.searches,
    results.indexes,
    results.concurrency,
    results.mixed_load,
    results.frontier,
    hosts.memory,
    hosts.storage,
    OfTests(hardware.per_operation),
    OfTests(hardware.counters),
    OfTests(hardware.latency),
    OfTests(evidence.waits),
    OfTests(evidence.function_changes),
    steps.failed_steps,
    OfTests(steps.writers),
    OfTests(steps.roles),
    OfTests(steps.buckets),
    OfTests(steps.sizes),
    OfTests(steps.stalls),
    contenders.state_of_host,
    warnings,
    OfTests(evidence.plans),
    contenders.contenders,
    contenders.method,
    contenders.host,
)
"""The sections after the answer, in their order; one without content is None."""


def document(report: Report) -> Document:
    """Return all that texts have of a report."""
    when = f"Measured {report.started}; t" if report.started else "T"
    found = results.in_steps(report)
    described = (
        each.describe(report, found) if isinstance(each, OfTests) else each(report)
        for each in SECTIONS
    )
    blocks: list[Block | None] = [
        text(f"{when}he base is {report.base}."),
        *answered(report),
        *(text(sentence) for sentence in answer.beginning(report)),
        *notes(report),
        calibrated(report),
        Section("tl;dr", [reasons(report)]),
        *steps.summaries(report),
        *described,
    ]
    return Document(report.experiment, [block for block in blocks if block is not None])
