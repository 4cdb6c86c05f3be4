"""Notes on results, and warnings, about different starts and different work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import EvidenceKind, Result
from slowdust.analysis.preparation.facts import Difference, differences, same_build
from slowdust.analysis.preparation.quantities import (
    ALIKE,
    WORK,
    WORK_OF_READS,
    WorkQuantity,
)
from slowdust.benchmarks.model import leaves_rows
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.preparation import Preparation, ServerCounters
from slowdust.wording import counted

OTHER_BUILD = 0.1
"""Relative difference from which other work is evidence: equal builds had 5.5% in short tests."""
_CONSTANT = 2000.0
"""Amount in all operations together that says nothing: what a session and the questions about the
work take, up to 1,300 rows of MySQL's own tables, is the same for few operations and for many."""
_FEW = 0.05
"""Amount per operation below which a difference is not of the operations."""
UNKNOWN_START = "start unknown: the server reports nothing of its tables"
"""The note on results of a contender whose tables could not be compared with the others'."""


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


def add_notes_about_starts(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> list[str]:
    """Add a note to each result that a different start may explain; return warnings about them.

    `contenders` has the base first, beside which the others are compared.
    """
    facts = _ordered(manifest, contenders)
    warnings: list[str] = []
    for records in _by_moment(manifest.preparations):
        apart = differences(records, facts)
        steps = {record.contender: record.steps for record in records}
        first = records[0]
        for contender, of_contender in _by_contender(apart).items():
            text = (
                f"{_summary(of_contender)} (incarnation {first.incarnation}, after {first.after})"
            )
            what = _beginning(of_contender)
            warnings.append(f"{what}: {contender}: {text}")
            for result in results:
                if result.contender == contender and _key(result) in steps[contender]:
                    result.notes.append(f"{what}: {text}")
        for record in records:
            if not record.facts and len(records) > 1:
                for result in results:
                    if result.contender == record.contender and _key(result) in record.steps:
                        _add_once(result, UNKNOWN_START)
        if first.repeated and not apart:
            warnings.append(
                f"the tables of incarnation {first.incarnation} were prepared again "
                f"{counted(first.repeated, 'time')} after {first.after}, until they were alike"
            )
    return warnings


def add_notes_about_work(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> None:
    """Add a note to each result whose server did other work than the base's of the same build."""
    base, *others = _ordered(manifest, contenders)
    for contender in others:
        if not same_build(contender, base):
            continue  # other work of another build is evidence
        for result in results:
            if result.contender != contender.name:
                continue
            worst = worst_work_difference(
                [work for work in manifest.counters if work.step == _key(result)],
                contender.name,
                base.name,
                quantities_of(result),
                ALIKE,
            )
            if worst is not None:
                difference, incarnation = worst
                result.notes.append(
                    f"different work of one build: {difference.sentence()} "
                    f"(incarnation {incarnation})"
                )


def _add_once(result: Result, note: str) -> None:
    if note not in result.notes:
        result.notes.append(note)


def _ordered(manifest: Manifest, contenders: Sequence[str]) -> list[ContenderFacts]:
    facts = {contender.name: contender for contender in manifest.contenders}
    return [facts[name] for name in contenders]


def _by_moment(records: Sequence[Preparation]) -> list[list[Preparation]]:
    moments: dict[int, list[Preparation]] = defaultdict(list)
    for record in records:
        moments[record.moment].append(record)
    return list(moments.values())


def _by_contender(apart: Sequence[Difference]) -> dict[str, list[Difference]]:
    contenders: dict[str, list[Difference]] = defaultdict(list)
    for difference in apart:
        contenders[difference.contender].append(difference)
    return contenders


def _beginning(apart: Sequence[Difference]) -> str:
    differs = any(difference.beside is not None for difference in apart)
    return "different start" if differs else "unfinished preparation"


def _summary(apart: Sequence[Difference]) -> str:
    largest, *others = apart
    more = f"; {counted(len(others), 'more difference')}" if others else ""
    return largest.sentence() + more


def _key(result: Result) -> str:
    return f"{result.test}@{result.clients}"
