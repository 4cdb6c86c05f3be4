"""A report as a document: the answer, the summary and all tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from slowdust.analysis.model import Report, Result
from slowdust.report import answer, calibration
from slowdust.report.document import (
    Block,
    Document,
    Items,
    Medium,
    Section,
    text,
)
from slowdust.report.markdown.table import mapped
from slowdust.report.sections import (
    contenders,
    evidence,
    hardware,
    hosts,
    measured,
    results,
    steps,
)
from slowdust.units import known
from slowdust.wording import MOST_LISTED, clients

_Content = TypeVar("_Content")


def calibrated(report: Report) -> Section | None:
    """Return the calibration, if the experiment is one."""
    return None if report.calibration is None else calibration.section([report.calibration])


def opening(report: Report) -> list[Block]:
    """Return the blocks that every medium begins with: the answer, the notes and the summary."""
    unfinished = [text(report.unfinished, role="strong")] if report.unfinished else []
    screen = answer.first_screen(report)
    sentences = answer.summary(report)
    judged = any(result.verdict for result in report.results)
    title = "More on the results" if judged else "Summary"
    return [
        *unfinished,
        *([screen] if screen is not None and screen.facts else []),
        *([text(*report.notes, role="remark")] if report.notes else []),
        *([Section(title, [sentences], "more")] if sentences.items else []),
        *known([results.tallies(report)]),
    ]


def warnings(report: Report) -> Section | None:
    """Return the other warnings, and the notes on results."""
    lines = answer.other_warnings(report)
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
    return Section("Warnings", [Items(lines)], media=Medium.MARKDOWN) if lines else None


@dataclass(frozen=True)
class OfTests:
    """A section that a page splits into parts below each test."""

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
    OfTests(measured.measured),
    contenders.contenders,
    contenders.method,
    contenders.host,
)
"""The sections after the answer, in their order; an empty section is `None`."""


def document(report: Report) -> Document:
    """Return the document that Markdown has of a report."""
    when = f"Measured {report.started}; t" if report.started else "T"
    found = results.in_steps(report)
    described = (
        each.describe(report, found) if isinstance(each, OfTests) else each(report)
        for each in SECTIONS
    )
    blocks = [
        text(f"{when}he base is {report.names[report.base]}."),
        *opening(report),
        calibrated(report),
        *steps.summaries(report),
        *described,
    ]
    return Document(report.experiment, known(blocks))


def renamed(report: Report) -> Report:
    """Return a report whose contenders have their names for readers."""
    return with_names(report, report.names)


def with_names(content: _Content, names: Mapping[str, str]) -> _Content:
    """Return content with the names of contenders for readers, including those used as keys."""
    if all(name == shown for name, shown in names.items()):
        return content
    return mapped(content, lambda word: names.get(word, word))
