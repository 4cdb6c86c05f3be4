"""The answer, the tl;dr and the findings as lines, which every medium shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slowdust.analysis.model import GroupChanges, Report
from slowdust.analysis.story.tldr import leading_sentences
from slowdust.report.document import Titled
from slowdust.store.finding import Finding, Severity
from slowdust.wording import listing


class Line(NamedTuple):
    """A line of the answer."""

    label: str
    text: str


LABELS = ("Failed", "Measured", "Slower", "Faster", "The rest", "Next")


def lines(report: Report) -> list[Line]:
    """Return the lines that there are, at most six; none of a report without an answer."""
    answer = report.answer
    if answer is None:
        return []
    texts = (
        answer.failures,
        answer.conditions,
        answer.slower,
        answer.faster,
        answer.rest,
        answer.next,
    )
    return [Line(*line) for line in zip(LABELS, texts, strict=True) if line[1]]


Passage = str | list[GroupChanges]
"""A sentence, or groups of tests that follow each other."""


def beginning(report: Report) -> list[str]:
    """Return the sentences of the tl;dr that come before everything, also before the notes.

    They say what work was counted and why a host decides little: whoever reads one line has to
    read this one.
    """
    return [sentence for sentence in leading_sentences(report) if sentence in report.tldr]


def passages(report: Report) -> list[Passage]:
    """Return the tl;dr behind its beginning, with sentences about neighbouring groups gathered."""
    groups = {changes.sentence: changes for changes in report.group_changes}
    gathered: list[Passage] = []
    for sentence in report.tldr[len(beginning(report)) :]:
        if sentence not in groups:
            gathered.append(sentence)
        elif gathered and isinstance(gathered[-1], list):
            gathered[-1].append(groups[sentence])
        else:
            gathered.append([groups[sentence]])
    return gathered


def list_of_changes(all_changes: Sequence[GroupChanges]) -> list[str]:
    return [
        text
        for changes in all_changes
        for text in (f"- {changes.title}", *(f"  - {clause}" for clause in changes.clauses))
    ]


def titled(all_changes: Sequence[GroupChanges]) -> list[Titled]:
    """Return what each group did as an item with a list."""
    return [Titled(each.title, each.clauses, each.unsure_clauses or ()) for each in all_changes]


_BAD = (Severity.PROBLEM, Severity.WARNING)


def bad(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity in _BAD]


def finding_in_words(finding: Finding) -> str:
    return " ".join(filter(None, (finding.state, finding.effect)))


def others(findings: Sequence[Finding]) -> str:
    """Return sentences on the notes, on what could not be read, and on what is good."""
    names = {
        severity: [finding.check for finding in findings if finding.severity == severity]
        for severity in Severity
    }
    parts = []
    if names[Severity.NOTE]:
        parts.append(f"Notes on {listing(names[Severity.NOTE])}.")
    if names[Severity.UNKNOWN]:
        parts.append(f"Could not be read: {listing(names[Severity.UNKNOWN])}.")
    count = len(names[Severity.OK])
    parts.append(f"{count} of {len(findings)} checks found a good state.")
    return " ".join(parts)
