"""Where the costs of functions come from, in words that all formats share."""

from __future__ import annotations

from collections.abc import Mapping

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
    """Write how much samples say, or which functions are compared with which by their calls.

    Empty for profiles that have neither samples nor calls.
    """
    if changes.matched is not None:
        return (
            f"{counted(changes.matched, 'function')} of one of the two are counted with what they "
            "became: they moved, were renamed, inlined or split. Functions without a counterpart "
            f"came with {amount(changes.came)} and went with {amount(changes.went)}."
        )
    if changes.samples is None or changes.base_samples is None:
        return ""
    return (
        f"These are {counted(changes.samples, 'sample')} beside {changes.base_samples:,} of the "
        "base: functions are listed only where their change is larger than the error of sampling."
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
