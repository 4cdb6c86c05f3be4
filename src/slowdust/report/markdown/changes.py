"""Changes of the groups of tests, as lists in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import GroupChanges, Report
from slowdust.analysis.story.bands import changes_beside_tldr


def list_of_changes(all_changes: Sequence[GroupChanges]) -> list[str]:
    """Return a list of groups, each with a list of its steps."""
    return [
        text
        for changes in all_changes
        for text in (f"- {changes.title}", *(f"  - {clause}" for clause in changes.clauses))
    ]


def group_changes(report: Report) -> list[str]:
    """Return the changes of a report that are not in its tl;dr."""
    changes = changes_beside_tldr(report)
    if not changes:
        return []
    return [
        f"## {'Version by version' if changes[0].line else 'Group by group'}",
        "",
        "How large changes are, not how sure. The common result is the median test's.",
        "",
        *list_of_changes(changes),
    ]
