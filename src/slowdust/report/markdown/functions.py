"""Functions that changed, as Markdown."""

from __future__ import annotations

from slowdust.analysis.model import FunctionChanges, Report
from slowdust.report.functions import COSTS, basis_of
from slowdust.report.markdown.table import ABSENT, or_absent, table
from slowdust.wording import amount, clients, counted, share, signed_amount

_HEADER = [
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
    """Return the functions of each contender beside the base's, step by step."""
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
        *table(_HEADER, rows, left=3),
    ]
