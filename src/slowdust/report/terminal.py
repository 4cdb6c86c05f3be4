"""The report for a terminal: the answer, the tl;dr, a table of all tests, and the warnings."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

from slowdust.analysis.model import Report, Result, StorageUse
from slowdust.analysis.results.results import by_step
from slowdust.analysis.work import has_work
from slowdust.ratios import Verdict, ratio, work_ratio
from slowdust.report import answer, calibration
from slowdust.report.answer import beginning, list_of_changes, passages
from slowdust.report.markdown.table import ABSENT, or_absent, rate
from slowdust.units import known
from slowdust.wording import short_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

NARROWEST = 60
WIDEST = 110
"""Columns of the terminal that a report is laid out for, at least and at most."""
WITHOUT_TERMINAL = 100
MOST_BESIDE = 3
"""The most contenders beside the base that are columns; more are rows of their tallies."""
_LABELS = 10
"""Width of the labels of the answer."""
_STYLES = {"faster": "green", "slower": "red", "unsure": "dim"}
_MARKS = {"faster": "+", "slower": "-", "same": "=", "unsure": "?"}


def width() -> int:
    if not sys.stdout.isatty():
        return WITHOUT_TERMINAL
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def standard_output() -> Console:
    from rich.console import Console

    return Console(width=width(), highlight=False, markup=False, emoji=False)


def print_head(console: Console, text: str) -> None:
    from rich.text import Text

    for line in wrapped([text], console.width):
        console.print(Text(line, style="bold"), soft_wrap=True)


def print_lines(console: Console, texts: Sequence[str]) -> None:
    from rich.text import Text

    for line in wrapped(texts, console.width):
        console.print(Text(line), soft_wrap=True)


def show(report: Report, more: Sequence[str] = ()) -> None:
    """Print the report on standard output; `more` are lines that follow the tl;dr."""
    print_on(standard_output(), report, more)


def print_on(console: Console, report: Report, more: Sequence[str] = ()) -> None:
    """Print the report on a console, as wide as that is."""
    from rich.text import Text

    columns = console.width
    for line in wrapped(lines(report, more), columns):
        text = Text(line)
        if _has_label(line):
            text.stylize("bold", 0, _LABELS)
        console.print(text, soft_wrap=True)
    tables = [] if report.calibration is not None else [_table_of(report, console)]
    for table, legend in known([*tables, _storage(report)]):
        console.print()
        console.print(table)
        print_lines(console, [legend])
    if report.warnings:
        print_lines(console, ["", "Warnings:", *(f"- {each}" for each in report.warnings)])


def lines(report: Report, more: Sequence[str] = ()) -> list[str]:
    """Return the lines before the table, not wrapped yet: the answer, the notes and the tl;dr.

    Those of a calibration are the notes and its tables.
    """
    if report.calibration is not None:
        return [*report.notes, *calibration.lines([report.calibration])]
    labelled = [f"{line.label:<{_LABELS}}{line.text}" for line in answer.lines(report)]
    text = [*([report.unfinished] if report.unfinished else []), *labelled]
    text += [""] if text else []
    text += [*beginning(report), *report.notes]
    for passage in passages(report):
        text += [passage] if isinstance(passage, str) else list_of_changes(passage)
    return [*text, *more]


def wrapped(texts: Sequence[str], columns: int) -> list[str]:
    """Break lines between words; what follows the first line is indented, of a list as its text.

    A word longer than a line is not broken.
    """
    return [line for text in texts for line in _wrapped(text, columns)]


def _has_label(line: str) -> bool:
    return any(line.startswith(f"{label:<{_LABELS}}") for label in answer.LABELS)


def _wrapped(text: str, columns: int) -> list[str]:
    if not text:
        return [""]
    stripped = text.lstrip()
    indent = len(text) - len(stripped) + 2
    if _has_label(text):
        indent = _LABELS
    return textwrap.wrap(
        text,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )


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


def width_of(table: Table, console: Console) -> Measurement:
    """Return the width of a table whose words are not broken, and of one without a break."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=1000), table)


def plain_table(*heads: str, left: int) -> Table:
    """Return an empty table; the first `left` columns are aligned left, others right."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, head in enumerate(heads):
        table.add_column(
            head, justify="left" if place < left else "right", no_wrap=place > 0, overflow="fold"
        )
    return table


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


def _storage(report: Report) -> tuple[Table, str] | None:
    used = [result for result in report.results if result.storage is not None]
    if not used:
        return None
    names = short_names(report.contenders)
    several = len({result.clients for result in used}) > 1
    heads = ["test", *(["clients"] if several else []), "contender"]
    table = plain_table(*heads, "pages/s", "read", "disk", "KB/o", left=len(heads))
    for result in used:
        use = result.storage or StorageUse()
        table.add_row(
            result.test,
            *([str(result.clients)] if several else []),
            names[result.contender],
            or_absent(use.reads_per_s, rate),
            or_absent(result.per_op.get("read_amplification"), ratio),
            or_absent(use.of_disk and use.of_disk.value, ratio),
            or_absent(use.written_kb, "{:.1f}".format),
        )
    return table, (
        "pages/s: read from storage; read: bytes read over those of the rows; disk: pages/s over "
        "those of direct reads; KB/o: written per update, to the last page."
    )


def _legend(report: Report) -> str:
    parts = ["rqps: throughput relative to the base's"]
    if len(report.contenders) > 2:
        parts.append("+ faster, - slower, = the same, ? unsure")
    if has_work(report.results):
        parts.append("work: instructions per operation relative to the base's, + more, - less")
    return f"{'; '.join(parts)}."
