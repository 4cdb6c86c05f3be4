"""The outcome of a search as Markdown, ready for a mailing list."""

from __future__ import annotations

import msgspec

from slowdust import __version__
from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.ratios import with_interval, work_ratio
from slowdust.report.markdown.table import ABSENT, escaped, table
from slowdust.studies.bisect.metrics import words_for
from slowdust.studies.bisect.outcome import Change, Outcome
from slowdust.studies.bisect.words import certainty, in_words, summary
from slowdust.wording import share, signed_amount

_FUNCTIONS = 8
"""Functions of a change that are listed."""


def render(outcome: Outcome) -> str:
    """Return the whole note: the answer, each change with its causes, what was measured."""
    raw, outcome = outcome, escaped(outcome)
    # What stands in code is as it is.
    changes = [
        msgspec.structs.replace(change, functions=own.functions, diff_stat=own.diff_stat)
        for change, own in zip(outcome.changes, raw.changes, strict=True)
    ]
    outcome = msgspec.structs.replace(outcome, changes=changes)
    answer, *_ = summary(outcome)
    title = f"# {outcome.test}: {outcome.first.name} to {outcome.last.name}"
    lines = [title, "", answer, ""]
    lines += [f"- {in_words(change, outcome.metric)}" for change in outcome.changes]
    for change in outcome.changes:
        lines += ["", *_change(change)]
    lines += ["", "## Measured candidates", "", *_levels(outcome), ""]
    lines += [f"{sentence}  " for sentence in certainty(outcome)]
    if outcome.conditions:
        lines += ["", f"Measured: {outcome.conditions}  "]
    lines += ["", f"    {raw.command}", "", f"Slowdust {__version__}"]
    return "\n".join([*lines, ""])


def _change(change: Change) -> list[str]:
    lines = [f"## {change.candidate.title}", ""]
    candidate = change.candidate
    if len(change.candidates) > 1:
        return [*lines, *(f"- {each.title}" for each in change.candidates)]
    if candidate.commit is not None:
        lines += [
            f"Commit {candidate.commit}  ",
            f"Author {candidate.author}, {candidate.date}  ",
        ]
    lines += _measured(change)
    if change.diff_stat:
        lines += ["", *(f"    {line}" for line in change.diff_stat.splitlines())]
    return [*lines, *_functions(change)]


def _measured(change: Change) -> list[str]:
    """Return what the change and the candidate before it did side by side."""
    result = change.result
    if result is None:
        return []
    cells = [change.before.name, change.candidate.name]
    lines = []
    if result.ratio is not None:
        lines.append(
            f"Throughput of {cells[1]} beside {cells[0]}: {with_interval(result.ratio)}, "
            f"{result.verdict}  "
        )
    if result.work is not None and result.work.ratio is not None:
        lines.append(
            f"Instructions per operation: {result.work.instructions:,.0f}, "
            f"{work_ratio(result.work.ratio.value)} of those of {cells[0]}, {result.work.verdict}  "
        )
    return lines


def _functions(change: Change) -> list[str]:
    if change.functions is None:
        return []
    rows = [
        [
            f"`{function.title}`",
            function.fate,
            signed_amount(function.change),
            ABSENT if function.share is None else share(function.share),
        ]
        for function in change.functions.functions[:_FUNCTIONS]
    ]
    header = ["function", "", f"{change.functions.unit} per operation", "of the change"]
    return ["", *table(header, rows, left=2)]


def _levels(outcome: Outcome) -> list[str]:
    changed = {change.candidate.name for change in outcome.changes}
    rows = [
        [
            level.candidate.title,
            (level.candidate.date or "")[:10],
            _cost(level.cost) if level.place else "1",
            "changed" if level.candidate.name in changed else "",
        ]
        for level in outcome.levels
    ]
    header = ["candidate", "date", f"{words_for(outcome.metric)}, relative to the first", ""]
    return table(header, rows, left=2)


def _cost(cost: LogRatio) -> str:
    return with_interval(cost.ratio, decimals=3)
