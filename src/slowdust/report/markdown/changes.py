"""How many tests of each group changed, as lists in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import GroupChanges, Report
from slowdust.analysis.story.bands import changes_beside_tldr


def told_changes(all_changes: Sequence[GroupChanges]) -> list[str]:
    """A list of groups, each with a list of its steps."""
    return [
        text
        for changes in all_changes
        for text in (f"- {changes.title}", *(f"  - {clause}" for clause in changes.clauses))
    ]


def changes_section(report: Report) -> list[str]:
    """The section of a report; empty where its tl;dr says as much."""
    changes = changes_beside_tldr(report)
    if not changes:
        return []
    title = "Version by version" if changes[0].line else "Group by group"
    return [
        f"## {title}",
        "",
        "How large changes are, not how sure. The common result is the median test's.",
        "",
        *told_changes(changes),
    ]
