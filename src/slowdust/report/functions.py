"""Where the costs of functions come from, in words that all formats share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slowdust.analysis.model import FunctionChanges
from slowdust.report.markdown.table import or_absent
from slowdust.store.profile import ProfileSource
from slowdust.wording import amount, counted, share, signed_amount

COSTS: Mapping[ProfileSource, str] = {
    "callgrind": "instructions counted by callgrind",
    "perf": "CPU time sampled by perf",
}
"""What a profile consists of, by its source."""


def cost_per_operation(source: ProfileSource, unit: str) -> str:
    """Write what a profile consists of with its unit: 'instructions per operation, ...'."""
    if source == "callgrind":  # whose unit names what it counts
        return f"{unit} per operation, counted by callgrind"
    return f"{COSTS[source]}, {unit} per operation"


def basis_of(changes: FunctionChanges) -> str:
    """Write how much samples say, or how many functions were matched by their calls.

    Empty for profiles that have neither samples nor calls.
    """
    if changes.matched is not None:
        return " ".join(_matches(changes, changes.matched))
    if changes.samples is None or changes.base_samples is None:
        return ""
    return (
        f"These are {counted(changes.samples, 'sample')} beside {changes.base_samples:,} of the "
        "base: functions are listed only where their change is larger than the error of sampling."
    )


def _matches(changes: FunctionChanges, matched: int) -> Iterator[str]:
    if matched:
        yield (
            f"{counted(matched, 'function')} that moved, or were renamed, inlined or split, are "
            "counted with their counterparts."
        )
    if changes.came or changes.went:
        yield (
            f"Functions without a counterpart came with {amount(changes.came)} and went with "
            f"{amount(changes.went)}."
        )


def own_costs(changes: FunctionChanges, most: int) -> list[list[str]]:
    """Return rows of functions, what became of each, its own costs, their change, and its share.

    They are `most` at most; the last row is of all others.
    """
    rows = [
        [
            each.title,
            each.fate,
            or_absent(each.base_own, amount),
            or_absent(each.own, amount),
            signed_amount(each.change),
            or_absent(each.share, share),
        ]
        for each in changes.functions[:most]
    ]
    left_out = changes.functions[most:]
    if others := changes.others + len(left_out):
        change = changes.others_change + sum(each.change for each in left_out)
        part = or_absent(change / changes.change if changes.change else None, share)
        rows.append([counted(others, "other"), "", "", "", signed_amount(change), part])
    return rows
