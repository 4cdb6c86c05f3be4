"""The explanation of one result for a terminal, with bars for its parts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from slowdust.analysis.explanation.one_result import Explained, OneResult
from slowdust.analysis.explanation.parts import GOOD_PART
from slowdust.analysis.metrics import Metric, shown_metrics
from slowdust.analysis.model import Explanation, Part
from slowdust.analysis.story.reasons import TITLES, amounts_of
from slowdust.ratios import interval, ratio, speed, with_interval, work_in_words
from slowdust.report.evidence import (
    basis_of,
    change_of_wait,
    cost_per_operation,
    factor_in_words,
    facts_of_waits,
    own_costs,
    plain_lines,
)
from slowdust.report.markdown.table import ABSENT, or_absent, rate
from slowdust.report.terminal import plain_table, print_head, print_lines, standard_output, width_of
from slowdust.stats.verdict import DIFFERENT
from slowdust.wording import amount, clients, operation, share, short_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

UNICODE, ASCII = ("█", "▒", "│"), ("#", "=", "|")
"""Signs of a bar that costs more, of one that costs less, and of the base's level."""
_LEAST = 0.02
"""Least change, in logs of ratios, that the axis has room for: noise shall not look like much."""


@dataclass(frozen=True)
class Bar:
    """A bar from `start` to its end, in logs of ratios."""

    start: float
    change: float


def falling(changes: Sequence[float]) -> list[Bar]:
    """Return the bars of changes that follow each other, and that of their sum from 0."""
    starts = accumulate(changes, initial=0.0)
    bars = [Bar(start, change) for start, change in zip(starts, changes, strict=False)]
    return [*bars, Bar(0.0, sum(changes))]


def drawn(bars: Sequence[Bar], columns: int, signs: tuple[str, str, str] = UNICODE) -> list[str]:
    """Return each bar as a line of so many columns; the level of the base is in all of them.

    What costs more goes to the right. A bar that is too small for a column is one column wide.
    """
    more, less, level = signs
    ends = [end for bar in bars for end in (bar.start, bar.start + bar.change)]
    low, high = min(*ends, -_LEAST), max(*ends, _LEAST)

    def column(position: float) -> int:
        return round((position - low) / (high - low) * (columns - 1))

    lines = []
    for bar in bars:
        cells = [" "] * columns
        cells[column(0.0)] = level
        first, last = sorted((column(bar.start), column(bar.start + bar.change)))
        for place in range(first, max(last, first + 1)):
            cells[min(place, columns - 1)] = more if bar.change > 0 else less
        lines.append("".join(cells).rstrip())
    return lines


MOST_FUNCTIONS = 10
"""Functions that are listed; the page has more."""
_NARROWEST_BARS, _WIDEST_BARS = 6, 48
_LABEL = 10
_NARROWEST_METRIC = 24
"""Columns for the names of hardware metrics, which break into two lines then."""
_GOES_ON = " \\"
_SHELL_WORD = re.compile(r"(?:'[^']*'|[^\s'])+")


def show(explained: Explained) -> None:
    print_on(standard_output(), explained)


def print_on(console: Console, explained: Explained) -> None:
    """Print the explained results on a console, as wide as that is."""
    print_lines(console, [explained.unfinished, ""] if explained.unfinished else [])
    for place, one in enumerate(explained.explained):
        if place:
            console.print()
        _print(console, one)


def _print(console: Console, one: OneResult) -> None:
    title = f"{one.result.test}, {clients(one.result.clients)}: {one.result.contender} beside "
    print_head(console, f"{title}{one.base}")
    for label, text in headline(one):
        lines = textwrap.wrap(
            text, console.width - _LABEL, break_long_words=False, break_on_hyphens=False
        )
        for place, line in enumerate(lines):
            console.print(f"{'' if place else label:<{_LABEL}}{line}", soft_wrap=True)
    for section in (
        _evidence,
        _parts,
        _functions,
        _waits,
        _plans,
        _hardware,
        _settings,
        _remarks,
        _others,
    ):
        section(console, one)


def headline(one: OneResult) -> list[tuple[str, str]]:
    """Return the verdicts with their numbers, the reasons, and what can be excluded, by label."""
    labelled = [("time", _time(one)), ("work", _work(one)), ("why", _why(one))]
    labelled.append(("plan", "The plan is the same." if one.same_plan else ""))
    labelled += [("excluded", sentence) for sentence in one.excluded]
    return [(label, text) for label, text in labelled if text]


def _time(one: OneResult) -> str:
    result = one.result
    if result.ratio is None:
        return "not compared"
    unit = result.unit
    typical = result.typical_beside
    over = "" if typical is None else f" over all time, typically {speed(typical)}"
    rates = f"{rate(result.qps)} {unit} beside {rate(one.base_result.qps)}"
    ahead = "" if result.verdict in DIFFERENT else f"{result.verdict or 'one run, no verdict'}: "
    return f"{ahead}{speed(result.ratio.value)}{over}, rqps {with_interval(result.ratio)}; {rates}"


def _work(one: OneResult) -> str:
    work, of_base = one.result.work, one.base_result.work
    if work is None or work.ratio is None:
        return ""
    beside = "" if of_base is None else f" beside {amount(of_base.instructions)}"
    ahead = f"{work.verdict}: " if work.verdict in ("same", "unsure") else ""
    return (
        f"{ahead}{work_in_words(work.ratio.value)}, "
        f"{with_interval(work.ratio, decimals=3)}; "
        f"{amount(work.instructions)} instructions per {operation(one.result.unit)}{beside}, "
        f"counted by {work.source}"
    )


def _why(one: OneResult) -> str:
    explanation = one.result.explanation
    return "" if explanation is None else explanation.words


def _evidence(console: Console, one: OneResult) -> None:
    evidence = one.result.evidence
    if not evidence:
        return
    _print_section(
        console,
        f"Exact evidence per {operation(one.result.unit)}, and the share of the change that it can "
        "explain",
    )
    amounts = [each for each in evidence if each.contender is not None]
    print_lines(
        console, [f"- {each.kind}: {each.words}" for each in evidence if each.contender is None]
    )
    table = plain_table("kind", "", "base", "now", "ratio", "explains", left=2)
    for each in amounts:
        table.add_row(each.kind, each.words, *amounts_of(each))
    if amounts:
        console.print(table)


def _parts(console: Console, one: OneResult) -> None:
    explanation = one.result.explanation
    if explanation is None:
        return
    unit = operation(one.result.unit)
    _print_section(
        console,
        f"Parts of the time per {unit}: {amount(explanation.base_us)} to "
        f"{amount(explanation.us)} µs. Factors with 95% intervals; above 1 is slower.",
    )
    rows = [(TITLES[part.name], part, _role(part, explanation)) for part in explanation.parts]
    labels = [*(label for label, _, _ in rows), f"time per {unit}"]
    changes: list[Part | Explanation] = [*(part for _, part, _ in rows), explanation]
    factors = [factor_in_words(each, "X") for each in changes]
    roles = [*(role for _, _, role in rows), ""]
    # The parts add up to the whole, but for the mean over the starts of the servers.
    bars = falling([part.change for part in explanation.parts])
    taken = max(map(len, labels)) + max(map(len, factors)) + max(map(len, roles)) + 8
    columns = min(_WIDEST_BARS, max(_NARROWEST_BARS, console.width - taken))
    lines = drawn(bars, columns, UNICODE if _is_unicode(console) else ASCII)
    for label, factor, role, line in zip(labels, factors, roles, lines, strict=True):
        text = (
            f"  {label:<{max(map(len, labels))}}  {factor:<{max(map(len, factors))}}  "
            f"{role:<{max(map(len, roles))}}  {line}"
        )
        console.print(text.rstrip(), soft_wrap=True)


def _is_unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _role(part: Part, explanation: Explanation) -> str:
    """Return 'named' of a part that the reasons name, 'against' of a large one on the other side.

    One whose interval includes 1 is 'unsure'.
    """
    if part.name in explanation.main:
        return "named"
    if not part.is_certain:
        return "unsure"
    is_against = bool(explanation.words) and part.change / explanation.change <= -GOOD_PART
    return "against" if is_against else ""


def _functions(console: Console, one: OneResult) -> None:
    changes = one.functions
    if changes is None:
        return
    unit = operation(one.result.unit)
    cost = cost_per_operation(changes.source, changes.unit).replace("operation", unit, 1)
    _print_section(
        console,
        f"Functions: {amount(changes.base_total)} to {amount(changes.total)} {cost}; each without "
        f"what it calls.",
    )
    print_lines(console, [basis] if (basis := basis_of(changes)) else [])
    table = plain_table("function", "", "base", "now", "change", "of it", left=2)
    for row in own_costs(changes, MOST_FUNCTIONS):
        table.add_row(*row)
    console.print(table)


def _waits(console: Console, one: OneResult) -> None:
    waits = one.waits
    if waits is None:
        return
    _print_section(console, "Waits, in windows of their own that are not timed; changes with 99%.")
    print_lines(console, [each for each in (waits.words, *facts_of_waits(waits)) if each])
    table = plain_table("waits for", "kind", "base µs", "µs", "of the time", "change", left=2)
    for cost in waits.waits:
        beside = cost.beside
        table.add_row(
            cost.event,
            cost.kind,
            ABSENT if beside is None else amount(beside.base),
            amount(cost.us),
            share(cost.us / waits.time_us),
            ABSENT if beside is None else change_of_wait(beside),
        )
    if waits.waits:
        console.print(table)


def _plans(console: Console, one: OneResult) -> None:
    for pair in one.plans:
        _print_section(console, f"The plans differ: {pair.statement}")
        print_lines(console, [f"- {words}" for words in pair.differences])
        for name, plan, differing in (
            (one.base, pair.base, pair.base_lines),
            (one.result.contender, pair.contender, pair.contender_lines),
        ):
            console.print(f"  {name}", soft_wrap=True)
            for line in plain_lines(plan, differing):
                console.print(f"    {line}", soft_wrap=True)


def _hardware(console: Console, one: OneResult) -> None:
    own, base = one.result.per_op, one.base_result.per_op
    metrics = [m for m in shown_metrics([own, base], ()) if m.key in own or m.key in base]
    if not metrics:
        return
    _print_section(console, f"Hardware per {operation(one.result.unit)}")
    table = _hardware_table(metrics, one, is_wide=True)
    widest = max(len(metric.meaning) for metric in metrics)
    if width_of(table, console).maximum - max(0, widest - _NARROWEST_METRIC) > console.width:
        table = _hardware_table(metrics, one, is_wide=False)
    console.print(table)


def _hardware_table(metrics: Sequence[Metric], one: OneResult, *, is_wide: bool) -> Table:
    """Return the table; one that is not wide has no intervals, and no names of contenders."""
    own, base = one.result.per_op, one.base_result.per_op
    names = short_names([one.base, one.result.contender])
    heads = (names[one.base], names[one.result.contender]) if is_wide else ("base", "now")
    table = plain_table("", "unit", *heads, "ratio", "", left=2)
    relative = one.result.per_op_relative or {}
    for metric in metrics:
        compared = one.result.compared.get(metric.key)
        value = or_absent(relative.get(metric.key), _multiple)
        if compared is not None:
            bounds = interval(compared) if is_wide else ""
            value = f"{_multiple(compared.value)}{bounds}"
        table.add_row(
            metric.meaning,
            metric.unit,
            or_absent(base.get(metric.key), amount),
            or_absent(own.get(metric.key), amount),
            value,
            (compared and compared.verdict) or "",
        )
    return table


def _multiple(value: float) -> str:
    return f"{ratio(value)}X"


def _settings(console: Console, one: OneResult) -> None:
    if not one.settings:
        return
    names = short_names([one.base, one.result.contender])
    _print_section(console, "Settings that differ")
    table = plain_table("setting", names[one.base], names[one.result.contender], left=3)
    for setting in one.settings:
        table.add_row(setting.name, setting.base, setting.contender)
    console.print(table)


def _remarks(console: Console, one: OneResult) -> None:
    if one.result.notes:
        _print_section(console, "Notes")
        print_lines(console, [f"- {note}" for note in one.result.notes])
    if one.absent:
        _print_section(console, "What would tell more")
        for each in one.absent:
            print_lines(console, [f"- {each.what}"])
            if each.command:
                _print_command(console, each.command)


def _print_command(console: Console, command: str) -> None:
    """Print a command, where it is too wide in lines that a shell reads as one."""
    from rich.text import Text

    lines: list[str] = []
    for word in _SHELL_WORD.findall(command):
        if lines and len(f"{lines[-1]} {word}{_GOES_ON}") <= console.width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{'      ' if lines else '    '}{word}")
    console.print(Text(f"{_GOES_ON}\n".join(lines)), soft_wrap=True)


def _others(console: Console, one: OneResult) -> None:
    if one.others:
        _print_section(
            console,
            f"{one.result.contender} is shown. Others of this test, or all: --contender '*'",
        )
        print_lines(console, [f"- {other}" for other in one.others])


def _print_section(console: Console, text: str) -> None:
    console.print()
    print_head(console, text)


_SECTIONS = (
    *(_evidence, _parts, _functions, _waits, _plans),
    *(_hardware, _settings, _remarks, _others),
)
