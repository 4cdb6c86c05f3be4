"""The tl;dr as its readers get it: sentences, and the groups of tests as a list of their own.

`Report.tldr` has one sentence for each group of tests. Five of them, with three versions each, are
a wall of words: where they follow each other, they are shown as groups with a line per step.
"""

from __future__ import annotations

from slowdust.analysis.model import Report
from slowdust.analysis.story.group_changes import GroupChanges
from slowdust.report.markdown.changes import told_changes

Passage = str | list[GroupChanges]
"""A sentence, or groups of tests that follow each other."""


def passages(report: Report) -> list[Passage]:
    """The tl;dr, its sentences about groups gathered."""
    groups = {changes.sentence: changes for changes in report.group_changes}
    found: list[Passage] = []
    for sentence in report.tldr:
        if sentence not in groups:
            found.append(sentence)
        elif found and isinstance(found[-1], list):
            found[-1].append(groups[sentence])
        else:
            found.append([groups[sentence]])
    return found


def lines(report: Report) -> list[str]:
    """What a terminal shows: what is compared, and the tl;dr."""
    told = list(report.notes)
    for passage in passages(report):
        told += [passage] if isinstance(passage, str) else told_changes(passage)
    return told
