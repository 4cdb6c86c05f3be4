"""Comparison of the physical facts of prepared tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.preparation.quantities import (
    ALIKE,
    ALIKE_AFTER_WRITES,
    FACTS,
    Kind,
    Quantity,
)
from slowdust.store.manifest import ContenderFacts
from slowdust.store.preparation import SERVER, Preparation
from slowdust.units import known

WRITES = "writes"
"""The preparation after which the layout may differ more."""


@dataclass(frozen=True)
class Difference:
    """A quantity in which a contender's prepared tables are not as they should be."""

    contender: str
    beside: str | None
    """The contender that has another amount; None where preparation should have left none."""
    subject: str
    """Table, index or `server`."""
    quantity: Quantity
    value: float
    other: float
    wholes: tuple[float, float] | None = None
    """The quantities of which `value` and `other` are parts."""

    @property
    def size(self) -> float:
        """The difference as a share of the larger one, or of the whole."""
        largest = max(self.wholes or (self.value, self.other))
        return abs(self.value - self.other) / largest if largest else 0.0

    def sentence(self) -> str:
        """Write 'sbtest1 has 2,736 of 2,736 pages not all-visible, postgres@17.6 33 of 2,736'."""
        where = "the server" if self.subject == SERVER else self.subject
        own, other = (
            f"{value:,.0f}" + (f" of {self.wholes[place]:,.0f}" if self.wholes else "")
            for place, value in enumerate((self.value, self.other))
        )
        beside = "and preparation should leave none"
        if self.beside is not None:
            beside = f"{self.beside} {other}"
        return f"{where} has {own} {self.quantity.words}, {beside}"


def differences(
    preparations: Sequence[Preparation], contenders: Sequence[ContenderFacts]
) -> list[Difference]:
    """Return what differs between preparations of one moment, the largest difference first.

    Contenders of one DBMS and engine are compared in what should be equal for all, those of one
    build and settings in the layout. Both sides of a difference are in the result. What all have
    alike, although preparation should leave none, is in it as well.
    """
    facts = {record.contender: record for record in preparations}
    present = [contender for contender in contenders if contender.name in facts]
    result: list[Difference] = []
    for kind, alike in ((Kind.STATE, same_engine), (Kind.LAYOUT, same_build)):
        for group in _groups(present, alike):
            result += _compared([facts[contender.name] for contender in group], kind)
    compared = {(d.contender, d.subject, d.quantity) for d in result}
    result += [
        difference
        for contender in present
        for difference in _unfinished(facts[contender.name])
        if (difference.contender, difference.subject, difference.quantity) not in compared
    ]
    return sorted(result, key=lambda d: (-d.size, d.value < d.other))


def same_build(contender: ContenderFacts, other: ContenderFacts) -> bool:
    """Return whether two contenders run the same binaries with the same engine and settings."""
    same_binaries = contender.build == other.build
    return (
        same_binaries and contender.engine == other.engine and contender.settings == other.settings
    )


def same_engine(contender: ContenderFacts, other: ContenderFacts) -> bool:
    """Return whether the tables of two contenders are of the same DBMS and engine."""
    return (contender.dbms, contender.engine) == (other.dbms, other.engine)


def _groups(
    contenders: Sequence[ContenderFacts],
    alike: Callable[[ContenderFacts, ContenderFacts], bool],
) -> list[list[ContenderFacts]]:
    groups: list[list[ContenderFacts]] = []
    for contender in contenders:
        group = next((group for group in groups if alike(group[0], contender)), None)
        if group is None:
            groups.append([contender])
        else:
            group.append(contender)
    return groups


def _compared(records: Sequence[Preparation], kind: Kind) -> list[Difference]:
    """Return each contender's largest difference in each quantity of the kind."""
    places: dict[tuple[str, str], list[Preparation]] = {}
    for record in records:
        for subject, quantities in record.facts.items():
            for name in quantities:
                if name in FACTS and FACTS[name].kind is kind:
                    places.setdefault((subject, name), []).append(record)
    return [
        difference
        for (subject, name), group in places.items()
        for difference in _differences_in(group, subject, name)
    ]


def _differences_in(records: Sequence[Preparation], subject: str, name: str) -> list[Difference]:
    """Compare each record with the smallest one and the first one, the smallest with the largest.

    The first is the base's, or else stands in for those of its build.
    """
    ordered = sorted(records, key=lambda record: record.facts[subject][name])
    result = []
    for record in records:
        farthest = ordered[-1] if record is ordered[0] else ordered[0]
        apart = known(
            _difference(record, other, subject, name)
            for other in (farthest, records[0])
            if other is not record
        )
        if apart:
            result.append(max(apart, key=lambda difference: difference.size))
    return result


def _unfinished(record: Preparation) -> Iterator[Difference]:
    for subject, quantities in record.facts.items():
        for name, value in quantities.items():
            quantity = FACTS.get(name)
            if quantity is None or not quantity.ends:
                continue
            whole = quantities.get(quantity.whole or "", 0.0)
            if value > max(quantity.floor, ALIKE * whole):
                wholes = (whole, whole) if whole else None
                yield Difference(record.contender, None, subject, quantity, value, 0.0, wholes)


def _difference(
    record: Preparation, other: Preparation, subject: str, name: str
) -> Difference | None:
    quantity = FACTS[name]
    value, beside = record.facts[subject][name], other.facts[subject][name]
    wholes = _wholes(quantity.whole, record.facts[subject], other.facts[subject])
    difference = Difference(
        record.contender, other.contender, subject, quantity, value, beside, wholes
    )
    is_grown = quantity.kind is Kind.LAYOUT and record.after == WRITES
    share = ALIKE_AFTER_WRITES if is_grown else ALIKE
    if abs(value - beside) <= quantity.floor or difference.size <= share:
        return None
    return difference


def _wholes(
    name: str | None, facts: Mapping[str, float], others: Mapping[str, float]
) -> tuple[float, float] | None:
    if name is None or name not in facts or name not in others:
        return None
    return facts[name], others[name]
