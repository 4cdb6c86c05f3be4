"""The explanation of one result as a document, with bars for its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from slowdust.analysis.explanation.one_result import Explained, OneResult
from slowdust.analysis.explanation.parts import GOOD_PART
from slowdust.analysis.metrics import Metric, shown_metrics
from slowdust.analysis.model import Explanation, Part
from slowdust.analysis.story.reasons import TITLES, amounts_of
from slowdust.ratios import ratio, speed, with_interval, work_in_words
from slowdust.report.charts.waterfall import waterfall
from slowdust.report.document import (
    ABSENT,
    Block,
    Cells,
    Chart,
    Code,
    Column,
    Document,
    Facts,
    Items,
    Section,
    SideBySide,
    Table,
    judged,
    table,
    text,
)
from slowdust.report.markdown.table import or_absent, rate
from slowdust.report.sections.evidence import (
    basis_of,
    change_of_wait,
    cost_per_operation,
    factor_in_words,
    facts_of_waits,
    own_costs,
)
from slowdust.stats.verdict import DIFFERENT
from slowdust.wording import amount, clients, operation, share, short_names

UNICODE, ASCII = ("█", "▒", "│"), ("#", "=", "|")
"""Signs of a bar that costs more, of one that costs less, and of the base's level."""
_LEAST = 0.02
"""The smallest range of the axis, in logs of ratios, so that noise does not look large."""


@dataclass(frozen=True)
class Bar:
    """A bar from `start` to its end, in logs of ratios."""

    start: float
    change: float


def falling(changes: Sequence[float]) -> list[Bar]:
    """Return the bars of consecutive changes, and the bar of their sum."""
    starts = accumulate(changes, initial=0.0)
    bars = [Bar(start, change) for start, change in zip(starts, changes, strict=False)]
    return [*bars, Bar(0.0, sum(changes))]


def drawn(bars: Sequence[Bar], columns: int, signs: tuple[str, str, str] = UNICODE) -> list[str]:
    """Return each bar as a line of `columns` characters, with a sign at the level of the base.

    A cost extends to the right. A bar is at least one column wide.
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
"""Functions listed; the page of the report has more."""
_NARROWEST_BARS, _WIDEST_BARS = 6, 48
_NARROWEST_METRIC = 24
"""Columns for the names of hardware metrics, which may take two lines."""


def document(explained: Explained) -> Document:
    """Return the explained results."""
    unfinished = [text(explained.unfinished, role="strong")] if explained.unfinished else []
    results = [_section(one) for one in explained.explained]
    return Document("Why", [*unfinished, *results], has_title=False)


def _section(one: OneResult) -> Section:
    result = one.result
    return Section(
        f"{result.test}, {clients(result.clients)}: {result.contender} compared with {one.base}",
        [
            Facts(headline(one)),
            *_evidence(one),
            *_parts(one),
            *_functions(one),
            *_waits(one),
            *_plans(one),
            *_hardware(one),
            *_settings(one),
            *_remarks(one),
        ],
    )


def headline(one: OneResult) -> list[tuple[str, str]]:
    """Return label -> the verdicts with numbers, the reasons, and the excluded differences."""
    labelled = [("time", _time(one)), ("work", _work(one)), ("why", _why(one))]
    labelled.append(("plan", "unchanged" if one.same_plan else ""))
    labelled += [("excluded", sentence) for sentence in one.excluded]
    return [(label, text) for label, text in labelled if text]


def _time(one: OneResult) -> str:
    result = one.result
    if result.ratio is None:
        return "not compared"
    unit = result.unit
    typical = result.typical_beside
    over = "" if typical is None else f" over all time, typically {speed(typical)}"
    rates = f"{rate(result.qps)} {unit} compared with {rate(one.base_result.qps)}"
    ahead = "" if result.verdict in DIFFERENT else f"{result.verdict or 'one run, no verdict'}: "
    return f"{ahead}{speed(result.ratio.value)}{over}, rqps {with_interval(result.ratio)}; {rates}"


def _work(one: OneResult) -> str:
    work, of_base = one.result.work, one.base_result.work
    if work is None or work.ratio is None:
        return ""
    base = "" if of_base is None else f" compared with {amount(of_base.instructions)}"
    ahead = f"{work.verdict}: " if work.verdict in ("same", "unsure") else ""
    return (
        f"{ahead}{work_in_words(work.ratio.value)}, "
        f"{with_interval(work.ratio, decimals=3)}; "
        f"{amount(work.instructions)} instructions per {operation(one.result.unit)}{base}, "
        f"counted by {work.source}"
    )


def _why(one: OneResult) -> str:
    explanation = one.result.explanation
    return "" if explanation is None else explanation.words


def _close(shown: Table) -> Table:
    return replace(shown, is_close=True)


def _evidence(one: OneResult) -> list[Section]:
    evidence = one.result.evidence
    if not evidence:
        return []
    words = [f"{each.kind}: {each.words}" for each in evidence if each.contender is None]
    rows: list[Cells] = [
        [each.kind, each.words, *amounts_of(each)]
        for each in evidence
        if each.contender is not None
    ]
    heads = ("kind", "", "base", "now", "ratio", "explains")
    title = (
        f"Exact evidence per {operation(one.result.unit)}, and the share of the change that it may "
        "explain"
    )
    amounts = [_close(table(heads, rows, left=2))] if rows else []
    return [Section(title, [*([Items(words)] if words else []), *amounts])]


def _parts(one: OneResult) -> list[Section]:
    explanation = one.result.explanation
    if explanation is None:
        return []
    unit = operation(one.result.unit)
    title = (
        f"Parts of the time per {unit}: {amount(explanation.base_us)} to "
        f"{amount(explanation.us)} µs. Factors with 95% intervals; above 1 is slower."
    )
    bars = Chart(
        partial(waterfall, explanation, unit), in_text=partial(_bars_of, explanation, unit)
    )
    return [Section(title, [bars])]


def _bars_of(explanation: Explanation, unit: str, width: int, is_unicode: bool) -> list[str]:  # noqa: FBT001
    """Return a line for each part, and one for the whole, with its factor and its bar."""
    labels = [*(TITLES[part.name] for part in explanation.parts), f"time per {unit}"]
    changes: list[Part | Explanation] = [*explanation.parts, explanation]
    factors = [factor_in_words(each, "X") for each in changes]
    roles = [*(_role(part, explanation) for part in explanation.parts), ""]
    # The parts add up to the whole, but for the mean over the starts of the servers.
    bars = falling([part.change for part in explanation.parts])
    widths = [max(map(len, each)) for each in (labels, factors, roles)]
    columns = min(_WIDEST_BARS, max(_NARROWEST_BARS, width - sum(widths) - 8))
    lines = drawn(bars, columns, UNICODE if is_unicode else ASCII)
    return [
        f"  {label:<{widths[0]}}  {factor:<{widths[1]}}  {role:<{widths[2]}}  {line}".rstrip()
        for label, factor, role, line in zip(labels, factors, roles, lines, strict=True)
    ]


def _role(part: Part, explanation: Explanation) -> str:
    """Return 'named' if the reasons name a part, 'against' if it is a large one on the other side.

    A part whose interval includes 1 is 'unsure'.
    """
    if part.name in explanation.main:
        return "named"
    if not part.is_certain:
        return "unsure"
    is_against = bool(explanation.words) and part.change / explanation.change <= -GOOD_PART
    return "against" if is_against else ""


def _functions(one: OneResult) -> list[Section]:
    changes = one.functions
    if changes is None:
        return []
    unit = operation(one.result.unit)
    cost = cost_per_operation(changes.source, changes.unit).replace("operation", unit, 1)
    title = (
        f"Functions: {amount(changes.base_total)} to {amount(changes.total)} {cost}; each without "
        "its callees."
    )
    basis = basis_of(changes)
    heads = ("function", "", "base", "now", "change", "of it")
    shown = _close(table(heads, own_costs(changes, MOST_FUNCTIONS), left=2))
    return [Section(title, [*([text(basis)] if basis else []), shown])]


def _waits(one: OneResult) -> list[Section]:
    waits = one.waits
    if waits is None:
        return []
    rows: list[Cells] = [
        [
            cost.event,
            cost.kind,
            ABSENT if cost.beside is None else amount(cost.beside.base),
            amount(cost.us),
            share(cost.us / waits.time_us),
            ABSENT if cost.beside is None else change_of_wait(cost.beside),
        ]
        for cost in waits.waits
    ]
    sentences = [each for each in (waits.words, *facts_of_waits(waits)) if each]
    heads = ("waits for", "kind", "base µs", "µs", "of the time", "change")
    shown = [_close(table(heads, rows, left=2))] if rows else []
    title = "Waits, observed in separate windows without timing; changes with 99% intervals."
    return [Section(title, [*([text(*sentences)] if sentences else []), *shown])]


def _plans(one: OneResult) -> list[Section]:
    return [
        Section(
            f"The plans differ: {pair.statement}",
            [
                *([Items(pair.differences)] if pair.differences else []),
                SideBySide(
                    {
                        one.base: Code(pair.base.splitlines(), frozenset(pair.base_lines)),
                        one.result.contender: Code(
                            pair.contender.splitlines(), frozenset(pair.contender_lines)
                        ),
                    },
                    is_close=True,
                ),
            ],
        )
        for pair in one.plans
    ]


def _hardware(one: OneResult) -> list[Section]:
    own, base = one.result.per_op, one.base_result.per_op
    metrics = [m for m in shown_metrics([own, base], ()) if m.key in own or m.key in base]
    if not metrics:
        return []
    names = short_names([one.base, one.result.contender])
    heads = (
        Column("", least=_NARROWEST_METRIC),
        "unit",
        Column(names[one.base], short="base"),
        Column(names[one.result.contender], short="now"),
        *("ratio", ""),
    )
    shown = table(heads, [_metric(metric, one) for metric in metrics], left=2)
    return [Section(f"Hardware per {operation(one.result.unit)}", [shown])]


def _metric(metric: Metric, one: OneResult) -> Cells:
    compared = one.result.compared.get(metric.key)
    multiple = (one.result.per_op_relative or {}).get(metric.key)
    cell = replace(judged(compared), verdict="", text=or_absent(multiple, _multiple))
    if compared is not None:
        cell = replace(cell, text=_multiple(compared.value))
    return [
        metric.meaning,
        metric.unit,
        or_absent(one.base_result.per_op.get(metric.key), amount),
        or_absent(one.result.per_op.get(metric.key), amount),
        cell,
        (compared and compared.verdict) or "",
    ]


def _multiple(value: float) -> str:
    return f"{ratio(value)}X"


def _settings(one: OneResult) -> list[Section]:
    if not one.settings:
        return []
    names = short_names([one.base, one.result.contender])
    heads = ("setting", names[one.base], names[one.result.contender])
    rows = [(setting.name, setting.base, setting.contender) for setting in one.settings]
    return [Section("Settings that differ", [table(heads, rows, left=3)])]


def _remarks(one: OneResult) -> list[Section]:
    commands = [each.command or "" for each in one.absent]
    others = (
        f"{one.result.contender} is shown. Other contenders of this test (all: --contender '*')"
    )
    titled: dict[str, Block] = {
        "Notes": Items(one.result.notes),
        "Further evidence": Items([each.what for each in one.absent], commands),
        others: Items(one.others),
    }
    return [
        Section(title, [block])
        for title, block in titled.items()
        if isinstance(block, Items) and block.items
    ]
