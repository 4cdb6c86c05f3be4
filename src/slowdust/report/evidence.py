"""Functions, waits and plans in the words that all formats share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import ContenderWaits, Difference, Explanation, Part
from slowdust.analysis.waits import FEWEST_SYNCS
from slowdust.ratios import Ratio, interval, ratio
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


_MOST_CALLS = 3


def factor_in_words(change: Part | Explanation, sign: str) -> str:
    """Return '1.25X [1.22, 1.28]', where `sign` is 'X'; changes are logarithms of ratios."""
    low, high = (None if end is None else math.exp(end) for end in (change.low, change.high))
    factor = Ratio(math.exp(change.change), low, high)
    return f"{ratio(factor.value)}{sign}{interval(factor)}"


def facts_of_waits(waits: ContenderWaits) -> list[str]:
    """Return sentences about the calls of fsync, and about how the server's threads slept."""
    sentences = []
    if (syncs := waits.syncs) is not None:
        if syncs.us is None or syncs.per_operation < FEWEST_SYNCS:
            sentences.append(f"Fewer than {FEWEST_SYNCS:g} calls of fsync per operation.")
        else:
            sentences.append(
                f"Calls of {' and '.join(syncs.calls)} per operation: "
                f"{amount(syncs.per_operation)}{_beside(syncs.per_operation_beside)}, "
                f"{amount(syncs.us)} µs each{_beside(syncs.us_beside)}."
            )
    if waits.sessions is not None and waits.sessions.asleep_us:
        asleep = [
            f"{call} {share(us / waits.time_us)}"
            for call, us in list(waits.sessions.asleep_us.items())[:_MOST_CALLS]
        ]
        sentences.append(f"Asleep in system calls: {', '.join(asleep)}.")
    return sentences


def change_of_wait(beside: Difference) -> str:
    """Return a change with its interval: '+120 [90, 150]'."""
    return f"{signed_amount(beside.change)} [{amount(beside.low)}, {amount(beside.high)}]"


def _beside(beside: Difference | None) -> str:
    return "" if beside is None else f" (base {amount(beside.base)})"


MARK_OF_PLAN = "> "
"""Stands before a line that differs, in formats of plain text; blanks stand before the others."""
MARK_EXPLAINED = f"Lines with {MARK_OF_PLAN.strip()} differ."


def marked_lines(plan: str, differing: Collection[int]) -> Iterator[tuple[str, bool]]:
    for place, line in enumerate(plan.splitlines()):
        yield line, place in differing


def plain_lines(plan: str, differing: Collection[int]) -> list[str]:
    blank = " " * len(MARK_OF_PLAN)
    return [
        f"{MARK_OF_PLAN if differs else blank}{line}"
        for line, differs in marked_lines(plan, differing)
    ]


def differences_in_words(differences: Sequence[str]) -> str:
    """Return the differences of a plan as one sentence."""
    return f"{'; '.join(differences)}."
