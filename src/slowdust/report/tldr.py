"""The tl;dr for its readers: sentences, and the groups of tests as a list of their own.

`Report.tldr` has one sentence for each group of tests. Five of them, with three versions each, are
a wall of words: where they follow each other, they are shown as groups with a line per step.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import GroupChanges, Report
from slowdust.analysis.story.tldr import leading_sentences

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
    """Return a list of groups, each with a list of its steps."""
    return [
        text
        for changes in all_changes
        for text in (f"- {changes.title}", *(f"  - {clause}" for clause in changes.clauses))
    ]
