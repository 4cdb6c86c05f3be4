"""Comparison of servers' work per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import EvidenceKind, Result
from slowdust.analysis.preparation.quantities import (
    ALIKE,
    WORK,
    WORK_OF_READS,
    WorkQuantity,
)
from slowdust.benchmarks.model import leaves_rows
from slowdust.store.preparation import ServerCounters

OTHER_BUILD = 0.1
"""Relative difference from which other work is evidence: equal builds had 5.5% in short tests."""
_CONSTANT = 2000.0
"""Amount in all operations together that says nothing: what a session and the questions about the
work take, up to 1,300 rows of MySQL's own tables, is the same for few operations and for many."""
_FEW = 0.05
"""Amount per operation below which a difference is not of the operations."""


@dataclass(frozen=True)
class WorkDifference:
    """A quantity of which two servers used different amounts per operation."""

    name: str
    """Quantity of `ServerCounters`."""
    words: str
    kind: EvidenceKind
    value: float
    other: float

    @property
    def size(self) -> float:
        """The difference as a share of the larger one."""
        return abs(self.value - self.other) / max(self.value, self.other)

    def sentence(self) -> str:
        """Write '2.0 heap blocks read per operation, base 1.0'."""
        digits = 1 if max(self.value, self.other) < 100 and self.size > ALIKE * 10 else 3
        return f"{self.value:,.{digits}f} {self.words} per operation, base {self.other:,.{digits}f}"


def quantities_of(result: Result) -> Mapping[str, WorkQuantity]:
    """Return the quantities that depend on the operations of a test alone."""
    reads = leaves_rows(result.group) and result.beside is None
    return WORK_OF_READS if reads else WORK


def work_differences(
    work: ServerCounters, base: ServerCounters, quantities: Mapping[str, WorkQuantity], share: float
) -> list[WorkDifference]:
    """Return in what the work of two servers in one incarnation differs, the largest first.

    `share` is the relative difference up to which quantities are alike.
    """
    operations = min(work.operations, base.operations)
    if operations <= 0:
        return []
    result = []
    for name, quantity in quantities.items():
        if name not in work.amounts or name not in base.amounts:
            continue
        value = work.amounts[name] / work.operations
        other = base.amounts[name] / base.operations
        apart = abs(value - other)
        if apart > max(_FEW, share * max(value, other)) and apart * operations > _CONSTANT:
            result.append(WorkDifference(name, *quantity, value, other))
    return sorted(result, key=lambda difference: -difference.size)


def worst_work_difference(
    works: Sequence[ServerCounters],
    contender: str,
    base: str,
    quantities: Mapping[str, WorkQuantity],
    share: float,
) -> tuple[WorkDifference, int] | None:
    """Return the largest of `work_differences` in a step's `works`, with its incarnation."""
    by_place = {(work.incarnation, work.contender): work for work in works}
    pairs = [
        (difference, incarnation)
        for (incarnation, name), work in by_place.items()
        if name == contender and (other := by_place.get((incarnation, base))) is not None
        for difference in work_differences(work, other, quantities, share)
    ]
    return max(pairs, key=lambda pair: pair[0].size, default=None)
