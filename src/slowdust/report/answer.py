"""The answer of a report, the findings on its host, and changes of groups, for every medium."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import GroupChanges, Report
from slowdust.report.document import Facts, Items, Line, Titled
from slowdust.store.finding import Finding, Severity
from slowdust.wording import listing

_NO_CHANGE = "None"


def first_screen(report: Report) -> Facts | None:
    """Return the answer as labelled lines; None of a report without one."""
    answer = report.answer
    if answer is None:
        return None
    judged = any(result.verdict for result in report.results)
    none = _NO_CHANGE if judged else ""
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("Failed", answer.failures),
        ("Warning", answer.warnings),
        ("Measured", answer.conditions),
        ("Slower", answer.slower or none),
        ("Faster", answer.faster or none),
        ("Work", answer.work),
        ("Others", answer.rest),
        ("Open", answer.open),
        ("Next", answer.next),
    ]
    return Facts([fact for fact in facts if fact[1]], role="answer")


def other_warnings(report: Report) -> list[str]:
    """Return the warnings that are not among the doubts at the top of the answer."""
    doubts = [] if report.answer is None else report.answer.warnings
    return [warning for warning in report.warnings if warning not in doubts]


def summary(report: Report) -> Items:
    """Return the sentences that follow the answer, with the changes of groups as lists."""
    groups = {changes.sentence: changes for changes in report.group_changes}
    items: list[Line | Titled] = []
    for sentence in report.tldr:
        items += titled([groups[sentence]]) if sentence in groups else [sentence]
    return Items(items)


def titled(all_changes: Sequence[GroupChanges]) -> list[Titled]:
    """Return the changes of each group as an item with a list."""
    return [Titled(each.title, each.clauses, each.unsure_clauses or ()) for each in all_changes]


_BAD = (Severity.PROBLEM, Severity.WARNING)


def bad(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity in _BAD]


def finding_in_words(finding: Finding) -> str:
    return " ".join(filter(None, (finding.state, finding.effect)))


def others(findings: Sequence[Finding]) -> str:
    """Return sentences on the findings that are neither problems nor warnings."""
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
