"""The report for a terminal: the answer, the tl;dr, a table of all tests, and the warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.results import by_step
from slowdust.analysis.work import has_work
from slowdust.ratios import Verdict, ratio, work_ratio
from slowdust.report import answer, calibration
from slowdust.report.answer import beginning, list_of_changes, passages
from slowdust.report.console import (
    LABELS,
    plain_table,
    print_facts,
    print_lines,
    standard_output,
    width_of,
)
from slowdust.report.console import print_on as print_blocks
from slowdust.report.document import ABSENT
from slowdust.report.markdown.document import lines as rendered
from slowdust.report.markdown.table import or_absent, rate
from slowdust.report.sections.hosts import storage
from slowdust.wording import short_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

MOST_BESIDE = 3
"""The most contenders beside the base that are columns; more are rows of their tallies."""
_STYLES = {"faster": "green", "slower": "red", "unsure": "dim"}
_MARKS = {"faster": "+", "slower": "-", "same": "=", "unsure": "?"}


def show(report: Report, more: Sequence[str] = ()) -> None:
    """Print the report on standard output; `more` are lines that follow the tl;dr."""
    print_on(standard_output(), report, more)


def print_on(console: Console, report: Report, more: Sequence[str] = ()) -> None:
    """Print the report on a console, as wide as that is."""
    for line in lines(report, more):
        label = next((each for each in answer.LABELS if line.startswith(f"{each:<{LABELS}}")), "")
        if label:
            print_facts(console, [(label, line[LABELS:])])
        else:
            print_lines(console, [line])
    if report.calibration is None and (tests := _table_of(report, console)) is not None:
        table, legend = tests
        console.print()
        console.print(table)
        print_lines(console, [legend])
    if (used := storage(report)) is not None:
        console.print()
        print_blocks(console, [used])
    if report.warnings:
        print_lines(console, ["", "Warnings:", *(f"- {each}" for each in report.warnings)])


def lines(report: Report, more: Sequence[str] = ()) -> list[str]:
    """Return the lines before the table, not wrapped yet: the answer, the notes and the tl;dr.

    Those of a calibration are the notes and its tables.
    """
    if report.calibration is not None:
        return [*report.notes, *rendered(calibration.section([report.calibration]).blocks)]
    labelled = [f"{line.label:<{LABELS}}{line.text}" for line in answer.lines(report)]
    text = [*([report.unfinished] if report.unfinished else []), *labelled]
    text += [""] if text else []
    text += [*beginning(report), *report.notes]
    for passage in passages(report):
        text += [passage] if isinstance(passage, str) else list_of_changes(passage)
    return [*text, *more]


class _Column(Enum):
    """A column of the tests beside one contender that a narrow terminal has no room for."""

    BASE = "the base's rate"
    INTERVAL = "95% interval"


_WIDER_FIRST = ({_Column.BASE, _Column.INTERVAL}, {_Column.INTERVAL}, set[_Column]())


def _table_of(report: Report, console: Console) -> tuple[Table, str] | None:
    """Return the widest table that the console has room for, without breaking a word; its legend.

    It has all tests; with many contenders, or where nothing else has room, the number of verdicts
    that each has. None where nothing is compared.
    """
    others = report.contenders[1:]
    if not others or not any(result.ratio is not None for result in report.results):
        return None
    if len(others) <= MOST_BESIDE:
        for columns in _WIDER_FIRST:
            table = _tests(report, columns)
            if width_of(table, console).maximum <= console.width:
                return table, _legend(report)
    tallies = _tallies(report, with_spread=True)
    if width_of(tallies, console).minimum > console.width:
        tallies = _tallies(report, with_spread=False)
    return tallies, "rqps: the median throughput relative to the base's. The page has every test."


def _tests(report: Report, columns: Collection[_Column]) -> Table:
    others = report.contenders[1:]
    names = short_names(report.contenders)
    several = len({result.clients for result in report.results}) > 1
    counted = has_work(report.results)
    alone = len(others) == 1
    heads = ["test", *(["clients"] if several else [])]
    heads += [names[report.base]] if _Column.BASE in columns else []
    if alone:
        heads += ["rqps", *([_Column.INTERVAL.value] if _Column.INTERVAL in columns else [])]
        heads += ["verdict", *(["work"] if counted else [])]
    else:
        for name in others:
            heads += [names[name], *(["work"] if counted else [])]
    table = plain_table(*heads, left=1)
    for step, results in by_step(report.results).items():
        base = results.get(report.base)
        row: list[str | Text] = [step.test, *([str(step.clients)] if several else [])]
        if _Column.BASE in columns:
            row.append(or_absent(None if base is None else base.qps, rate))
        for name in others:
            result = results.get(name)
            row += _alone(result, columns) if alone else [_marked(result)]
            if counted:
                row.append(_work(result))
        table.add_row(*row)
    return table


def _alone(result: Result | None, columns: Collection[_Column]) -> list[str | Text]:
    shown = _Column.INTERVAL in columns
    if result is None or result.ratio is None:
        return [ABSENT, *([""] if shown else []), ABSENT]
    interval = result.ratio.interval
    bounds = "" if interval is None else " to ".join(map(ratio, interval))
    verdict = _styled(result.verdict or ABSENT, result.verdict)
    return [ratio(result.ratio.value), *([bounds] if shown else []), verdict]


def _marked(result: Result | None) -> str | Text:
    if result is None or result.ratio is None:
        return ABSENT
    mark = _MARKS.get(result.verdict or "", " ")
    return _styled(f"{ratio(result.ratio.value)} {mark}", result.verdict)


def _work(result: Result | None) -> str | Text:
    work = None if result is None else result.work
    if work is None or work.ratio is None:
        return ABSENT
    verdict = {"more": "slower", "less": "faster"}.get(work.verdict or "", work.verdict)
    mark = {"more": "+", "less": "-", "same": "=", "unsure": "?"}.get(work.verdict or "", " ")
    return _styled(f"{work_ratio(work.ratio.value)} {mark}", verdict)


def _styled(text: str, verdict: str | None) -> Text:
    from rich.text import Text

    return Text(text, style=_STYLES.get(verdict or "", ""))


def _tallies(report: Report, *, with_spread: bool) -> Table:
    names = short_names(report.contenders)
    verdicts_of: tuple[Verdict, ...] = ("slower", "faster", "same", "unsure")
    spread = ("lowest", "highest") if with_spread else ()
    table = plain_table("contender", *verdicts_of, "rqps", *spread, left=1)
    for name in report.contenders[1:]:
        results = [result for result in report.results if result.contender == name]
        verdicts = Counter(result.verdict for result in results)
        ratios = [result.ratio.value for result in results if result.ratio is not None]
        ends = (median(ratios), min(ratios), max(ratios)) if ratios else (None, None, None)
        counts = (str(verdicts[v]) for v in verdicts_of)
        shown = ends if with_spread else ends[:1]
        table.add_row(names[name], *counts, *(or_absent(value, ratio) for value in shown))
    return table


def _legend(report: Report) -> str:
    parts = ["rqps: throughput relative to the base's"]
    if len(report.contenders) > 2:
        parts.append("+ faster, - slower, = the same, ? unsure")
    if has_work(report.results):
        parts.append("work: instructions per operation relative to the base's, + more, - less")
    return f"{'; '.join(parts)}."
