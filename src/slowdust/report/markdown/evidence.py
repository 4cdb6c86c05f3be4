"""Functions that changed, waits, and the parts of changes, as Markdown."""

from __future__ import annotations

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import ContenderWaits, Difference, Report
from slowdust.analysis.story.reasons import TITLES
from slowdust.report.evidence import (
    COSTS,
    basis_of,
    change_of_wait,
    factor_in_words,
    facts_of_waits,
)
from slowdust.report.markdown.table import ABSENT, or_absent, pale, table
from slowdust.wording import amount, clients, counted, share, signed_amount


def of_changes(report: Report) -> list[str]:
    changed = [
        (result, explanation)
        for result in report.results
        if (explanation := result.explanation) is not None and explanation.words
    ]
    names = [name for name in TITLES if any(each.part(name) for _, each in changed)]
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            factor_in_words(explanation, "x"),
            *(
                ABSENT if (part := explanation.part(name)) is None else factor_in_words(part, "x")
                for name in names
            ),
        ]
        for result, explanation in changed
    ]
    if not rows:
        return []
    header = ["test", "clients", "contender", "time", *(TITLES[name] for name in names)]
    return [
        "## Parts of the change",
        "",
        "Time per operation relative to the base's, with its 95% interval; the parts behind it",
        "multiply to it.",
        "",
        *table(header, rows, left=1),
    ]


_FUNCTION_COLUMNS = [
    "function",
    "object",
    "",
    "change",
    "of the whole",
    "base own",
    "own",
    "base incl.",
    "incl.",
]


def function_changes(report: Report) -> list[str]:
    if not report.function_changes:
        return []
    lines = [
        "## Functions",
        "",
        "Costs per operation: own is what a function does itself, inclusive (incl.) with all that",
        "it calls. Own changes add up to the whole change.",
    ]
    for changes in report.function_changes:
        lines += ["", *_changes(changes, report.base)]
    return lines


def _changes(changes: FunctionChanges, base: str) -> list[str]:
    rows = [
        [
            f"`{function.title}`",
            function.object,
            function.fate,
            signed_amount(function.change),
            or_absent(function.share, share),
            or_absent(function.base_own, amount),
            or_absent(function.own, amount),
            or_absent(function.base_inclusive, amount),
            or_absent(function.inclusive, amount),
        ]
        for function in changes.functions
    ]
    if changes.others:
        part = or_absent(changes.others_share, share)
        name = counted(changes.others, "other")
        rows.append([name, "", "", signed_amount(changes.others_change), part, *[ABSENT] * 4])
    return [
        f"### {changes.test}, {clients(changes.clients)}: {changes.contender}, "
        f"{COSTS[changes.source]}",
        "",
        f"{amount(changes.total)} {changes.unit} beside the {amount(changes.base_total)} of "
        f"{base}: {signed_amount(changes.change)}.",
        *(
            f"{name} has no symbols in {', '.join(objects)}, compared as a whole."
            for name, objects in changes.unnamed.items()
        ),
        *([basis] if (basis := basis_of(changes)) else []),
        "",
        *table(_FUNCTION_COLUMNS, rows, left=3),
    ]


_WAIT_COLUMNS = ["waits for", "kind", "base µs", "µs", "of the time", "change, 99%", "times"]


def waits(report: Report) -> list[str]:
    if not report.waits:
        return []
    lines = [
        "## Waits",
        "",
        "Per operation, of all sessions, in windows of their own that are not timed: observing",
        "costs, so shares and differences count. A wait may contain another one.",
    ]
    for each in report.waits:
        lines += ["", *_of_contender(each)]
    return lines


def _of_contender(waits: ContenderWaits) -> list[str]:
    rows = [
        [
            f"`{cost.event}`",
            cost.kind,
            ABSENT if cost.beside is None else amount(cost.beside.base),
            amount(cost.us),
            share(cost.us / waits.time_us),
            _change(cost.beside),
            or_absent(cost.times, amount),
        ]
        for cost in waits.waits
    ]
    if waits.others:
        part = share(waits.others_us / waits.time_us)
        name = counted(waits.others, "other")
        rows.append([name, "", ABSENT, amount(waits.others_us), part, ABSENT, ABSENT])
    lines = [f"### {waits.test}, {clients(waits.clients)}: {waits.contender}", ""]
    lines += [sentence for sentence in (waits.words, *facts_of_waits(waits)) if sentence]
    return [*lines, "", *table(_WAIT_COLUMNS, rows, left=2)] if rows else lines


def _change(beside: Difference | None) -> str:
    """Return a change with its interval; one that is not certain is in parentheses."""
    if beside is None:
        return ABSENT
    return change_of_wait(beside) if beside.is_certain else pale(change_of_wait(beside))
