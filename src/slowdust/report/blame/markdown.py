"""What releases cost, as Markdown."""

from __future__ import annotations

from slowdust.analysis.blame import Blame, LineBlame, StepFunctions
from slowdust.report.blame.cells import (
    CHAINED_LEGEND,
    HEADS,
    LEGEND,
    columns,
    facts,
    head,
    is_chained,
    largest,
    largest_title,
    ratio_at,
    value,
)
from slowdust.report.evidence import cost_per_operation, own_costs
from slowdust.report.markdown.table import escaped, table
from slowdust.wording import amount

_FUNCTIONS = 8
"""Functions of a step that are listed."""


def render(blame: Blame) -> str:
    """Return the tables and sentences of all lines."""
    escaped_blame = escaped(blame)
    unfinished = [text for each in escaped_blame.unfinished for text in (f"**{each}**", "")]
    lines = unfinished + [
        text
        for line, raw in zip(escaped_blame.lines, blame.lines, strict=True)
        for text in (*_line(line, raw), "")
    ]
    return "\n".join([*lines, *(f"{note}\n" for note in escaped_blame.notes)]).rstrip() + "\n"


def _line(line: LineBlame, raw: LineBlame) -> list[str]:
    sentences = [f"- {' '.join(group.sentences)}" for group in line.groups]
    tests = [
        [step.label, largest(step, "slower", line), largest(step, "faster", line)]
        for step in line.steps
    ]
    return [
        f"# {line.line}: {line.whole.label}",
        "",
        f"{'; '.join(facts(line))}.",
        "",
        *_steps(line),
        "",
        LEGEND,
        *(["", CHAINED_LEGEND] if is_chained(line) else []),
        "",
        *sentences,
        "",
        f"{largest_title(line)}:",
        "",
        *table(["step", "cost the most", "gained the most"], tests, left=3),
        *(text for each in raw.functions for text in _functions(each)),
        *(text for note in line.notes for text in ("", note)),
    ]


def _steps(line: LineBlame) -> list[str]:
    chosen = columns(line)
    rows = [
        [step.label, *(value(ratio_at(group, step, kind), kind) for group, kind in chosen)]
        for step in (*line.steps, line.whole)
    ]
    header = ["step", *(f"{head(group, line)} {HEADS[kind]}" for group, kind in chosen)]
    return table(header, rows, left=1)


def _functions(step: StepFunctions) -> list[str]:
    changes = step.changes
    rows = [
        [f"`{name}`" if fate else name, fate, *cells]
        for name, fate, *cells in own_costs(changes, _FUNCTIONS)
    ]
    return [
        "",
        f"## {step.after}: {changes.test}",
        "",
        f"{amount(changes.base_total)} to {amount(changes.total)} "
        f"{cost_per_operation(changes.source, changes.unit)}.",
        "",
        *table(["function", "", step.before, step.after, "change", "of it"], rows, left=2),
    ]
