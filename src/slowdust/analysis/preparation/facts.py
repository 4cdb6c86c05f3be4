"""Comparison of the physical facts of prepared tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

WRITES = "writes"
"""The preparation after which the layout may differ more."""


@dataclass(frozen=True)
class Difference:
    """A quantity in which a contender's prepared tables are not like another contender's."""

    contender: str
    beside: str
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
        return f"{where} has {own} {self.quantity.words}, {self.beside} {other}"


def differences(
    preparations: Sequence[Preparation], contenders: Sequence[ContenderFacts]
) -> list[Difference]:
    """Return what differs between preparations of one moment, the largest difference first.

    Each contender is compared with the first of the same DBMS and engine in what should be equal
    for all, and with the first of the same build and settings in the layout.
    """
    facts = {record.contender: record for record in preparations}
    present = [contender for contender in contenders if contender.name in facts]
    result: list[Difference] = []
    for kind, alike in ((Kind.STATE, _same_engine), (Kind.LAYOUT, same_build)):
        for place, contender in enumerate(present):
            other = next((o for o in present[:place] if alike(o, contender)), None)
            if other is not None:
                result += _compared(facts[contender.name], facts[other.name], kind)
    return sorted(result, key=lambda difference: -difference.size)


def same_build(contender: ContenderFacts, other: ContenderFacts) -> bool:
    """Return whether two contenders run the same binaries with the same engine and settings."""
    same_binaries = contender.build == other.build
    return (
        same_binaries and contender.engine == other.engine and contender.settings == other.settings
    )


def _same_engine(contender: ContenderFacts, other: ContenderFacts) -> bool:
    return (contender.dbms, contender.engine) == (other.dbms, other.engine)


def _compared(record: Preparation, other: Preparation, kind: Kind) -> list[Difference]:
    return [
        difference
        for subject in record.facts.keys() & other.facts.keys()
        for name in record.facts[subject].keys() & other.facts[subject].keys()
        if (quantity := FACTS.get(name)) is not None
        and quantity.kind is kind
        and (difference := _difference(record, other, subject, name)) is not None
    ]


def _difference(
    record: Preparation, other: Preparation, subject: str, name: str
) -> Difference | None:
    """Return the difference in a quantity; None if it is within what is alike."""
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
