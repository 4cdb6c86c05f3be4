"""The report as Markdown that also reads well in a terminal, whole or in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowdust.analysis.model import Report
from slowdust.analysis.results.results import by_step
from slowdust.report.document import Block, Cell, Folded, Row, Table, text
from slowdust.report.markdown import document as markdown
from slowdust.report.markdown.document import lines
from slowdust.report.markdown.table import PALE, escaped
from slowdust.report.report import document, opening, renamed, warnings
from slowdust.report.sections.results import tests
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.wording import counted


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    return markdown.render(document(escaped(renamed(report))))


MOST = 60_000
"""Bytes of a comment."""
MOST_WITH_INTERVALS = 3
"""The most contenders other than the base whose ratios have their intervals."""
_EXCLUDED = "\nSections that do not fit into a comment are excluded.\n"


def render_short(
    report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()
) -> str:
    """Return the beginning of the report, with folded tables, for a comment."""
    report = escaped(renamed(report))
    parts = [f"### {report.experiment}: {_compared(report)}", "\n".join(lines(opening(report)))]
    folded: list[Folded] = []
    if len(report.contenders) > 1:
        every = f"All {counted(len(by_step(report.results)), 'test')}"
        folded.append(Folded(every, _all_tests(report)))
    if (warned := warnings(report)) is not None:
        folded.append(Folded("Warnings", warned.blocks))
    return _fitted([*filter(None, parts), *map(_folded, folded)])


def _compared(report: Report) -> str:
    names = report.short_names
    others = report.contenders[1:]
    if not others:
        return f"{names[report.base]}, an absolute measurement"
    who = names[others[0]] if len(others) == 1 else counted(len(others), "contender")
    return f"{who} compared with {names[report.base]}"


def _all_tests(report: Report) -> list[Block]:
    table = tests(report, report.short_names)
    if len(report.contenders) > MOST_WITH_INTERVALS + 1:
        table = _without_intervals(table)
    legend = f"Rates are relative to {report.short_names[report.base]}. {PALE}"
    return [text(legend), table]


def _without_intervals(table: Table) -> Table:
    rows = [
        Row([replace(cell, interval="") if isinstance(cell, Cell) else cell for cell in row.cells])
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _folded(block: Folded) -> str:
    """Return a section that a reader unfolds; Markdown inside needs the empty lines."""
    body = "\n".join(lines(block.blocks))
    return f"<details>\n<summary>{block.title}</summary>\n\n{body}\n\n</details>"


def _fitted(sections: list[str]) -> str:
    text = "\n\n".join(sections) + "\n"
    if len(text.encode()) <= MOST:
        return text
    while len(sections) > 1 and len(("\n\n".join(sections) + _EXCLUDED).encode()) > MOST:
        sections.pop()
    return "\n\n".join(sections) + "\n" + _EXCLUDED
