"""What releases cost, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowdust.analysis.blame import Blame, LineBlame, RatioKind
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
from slowdust.report.terminal import (
    plain_table,
    print_head,
    print_lines,
    standard_output,
    width_of,
)
from slowdust.wording import amount

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_FUNCTIONS = 5
"""Functions of a step that are listed."""
_STYLES = {"faster": "green", "slower": "red", "unsure": "dim"}


def show(blame: Blame) -> None:
    """Print it on standard output."""
    print_on(standard_output(), blame)


def print_on(console: Console, blame: Blame) -> None:
    """Print it on a console, as wide as that is."""
    print_lines(console, blame.unfinished)
    for place, line in enumerate(blame.lines):
        if place or blame.unfinished:
            console.print()
        _print_line(console, line)
    print_lines(console, [line for note in blame.notes for line in ("", note)])


def _print_line(console: Console, line: LineBlame) -> None:
    print_head(console, f"{line.line}: {line.whole.label}")
    print_lines(console, [f"{'; '.join(facts(line))}.", ""])
    for table in _tables(console, line):
        console.print(table)
        console.print()
    print_lines(console, [LEGEND, *([CHAINED_LEGEND] if is_chained(line) else [])])
    for group in line.groups:
        print_lines(console, ["", " ".join(group.sentences)])
    console.print()
    print_head(console, largest_title(line))
    table = plain_table("step", "cost the most", "gained the most", left=3)
    for step in line.steps:
        table.add_row(step.label, largest(step, "slower", line), largest(step, "faster", line))
    console.print(table)
    _functions(console, line)
    print_lines(console, [text for note in line.notes for text in ("", note)])


def _tables(console: Console, line: LineBlame) -> list[Table]:
    """Return one table of both kinds of evidence, or where it has no room a table of each."""
    both = _table(line, ("work", "time"))
    if width_of(both, console).maximum <= console.width:
        return [both]
    return [_table(line, (kind,)) for kind in ("work", "time") if _has(line, kind)]


def _has(line: LineBlame, kind: RatioKind) -> bool:
    return any(each == kind for _, each in columns(line))


def _table(line: LineBlame, kinds: tuple[RatioKind, ...]) -> Table:
    from rich.text import Text

    chosen = [(group, kind) for group, kind in columns(line) if kind in kinds]
    table = plain_table(
        "step", *(f"{head(group, line)}\n{HEADS[kind]}" for group, kind in chosen), left=1
    )
    for step in (*line.steps, line.whole):
        cells = []
        for group, kind in chosen:
            cell = ratio_at(group, step, kind)
            style = "" if cell is None else _STYLES.get(cell.ratio.verdict or "", "")
            cells.append(Text(value(cell, kind), style=style))
        table.add_row(step.label, *cells, end_section=step is line.steps[-1])
    return table


def _functions(console: Console, line: LineBlame) -> None:
    for each in line.functions:
        changes = each.changes
        console.print()
        print_head(
            console,
            f"{each.after}, {changes.test}: {amount(changes.base_total)} to "
            f"{amount(changes.total)} {cost_per_operation(changes.source, changes.unit)}",
        )
        table = plain_table("function", "", each.before, each.after, "change", "of it", left=2)
        for row in own_costs(changes, MOST_FUNCTIONS):
            table.add_row(*row)
        console.print(table)
