"""The report for a terminal: the answer, the summary, and a table of all other tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowdust.analysis.model import Report
from slowdust.analysis.story.changes import changes_of
from slowdust.analysis.work import has_work
from slowdust.report import calibration
from slowdust.report.answer import other_warnings
from slowdust.report.console import has_room, standard_output
from slowdust.report.console import print_on as print_blocks
from slowdust.report.document import Block, Items, Section, text
from slowdust.report.report import opening, renamed
from slowdust.report.sections import hosts, results
from slowdust.units import known

if TYPE_CHECKING:
    from rich.console import Console

MOST_BESIDE = 3
"""The most contenders other than the base that are columns."""


def show(report: Report, more: Sequence[Block] = ()) -> None:
    """Print the report on standard output; `more` follows the summary."""
    print_on(standard_output(), report, more)


def print_on(console: Console, report: Report, more: Sequence[Block] = ()) -> None:
    """Print the report on a console, as wide as that is."""
    report = renamed(report)
    if report.calibration is not None:
        tables = calibration.section([report.calibration])
        print_blocks(console, [*map(text, report.notes), *tables.blocks])
        return
    warnings = other_warnings(report)
    blocks = [
        *opening(report),
        *more,
        _tests(report, console),
        hosts.storage(report),
        Section("Warnings", [Items(warnings)]) if warnings else None,
    ]
    print_blocks(console, known(blocks))


def _tests(report: Report, console: Console) -> Section | None:
    """Return a table of the tests that the answer does not name, if the console has room for it."""
    others = report.contenders[1:]
    is_compared = any(result.ratio is not None for result in report.results)
    if not 0 < len(others) <= MOST_BESIDE or not is_compared:
        return None
    told = changes_of(report).named() if report.answer is not None else set()
    table = results.tests(report, report.short_names, told)
    if not table.rows or not has_room(table, console):
        return None
    legend = f"Rates relative to {report.short_names[report.base]}"
    legend += ", with 95% intervals" if report.repeated else ""
    if has_work(report.results):
        legend += "; work: instructions per operation"
    title = "Other results" if told else "All tests"
    return Section(title, [table, text(f"{legend}.")])
