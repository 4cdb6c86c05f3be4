"""What is compared: log ratios of the blocks of one step, incarnation by incarnation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

from slowdust.stats.location import (
    BlockTotals,
    FloatArray,
    Location,
    totals_by_incarnation,
    trimmed_mean,
)


class OfStep(Protocol):
    """A record of one step."""

    @property
    def benchmark(self) -> str: ...

    @property
    def test(self) -> str: ...

    @property
    def clients(self) -> int: ...


class Step(NamedTuple):
    """A test of a benchmark at a number of clients: the unit that is measured and compared."""

    benchmark: str
    test: str
    clients: int

    @classmethod
    def of(cls, record: OfStep) -> Step:
        return cls(record.benchmark, record.test, record.clients)


Parts = Literal["slices", "chunks", "steps"]
"""What blocks consist of: slices, chunks of long steps, or long steps, of which a block is a pair,
the only one of its incarnation."""


@dataclass(frozen=True)
class BlockRatios:
    """ln(quantity of the contender / of the base) of the complete blocks of one step."""

    step: Step
    contender: str
    by_incarnation: tuple[FloatArray, ...]
    """One array for each incarnation that has such a block, in order; shape (blocks, halves).
    A half is a slice of each contender; a block has two, a pair of long steps is one."""
    numbers: tuple[int, ...]
    """Numbers of the incarnations of `by_incarnation`."""
    incomplete: int = 0
    """Blocks left out because one of the two has fewer slices in it (a killed experiment)."""
    with_zero: int = 0
    """Blocks left out because one of the two has a slice in which the quantity is 0."""
    totals: dict[int, BlockTotals] = field(default_factory=dict)
    """Totals of the blocks by number of the incarnation, with those left out because of a 0;
    empty for long steps, single runs and every quantity but the throughput."""
    parts: Parts = "slices"

    @property
    def blocks(self) -> int:
        return sum(len(ratios) for ratios in self.by_incarnation)

    @cached_property
    def typical(self) -> dict[int, Location]:
        locations = map(trimmed_mean, self.by_incarnation)
        return dict(zip(self.numbers, locations, strict=True))

    @cached_property
    def all_time(self) -> dict[int, Location]:
        """Ratios of totals by number of the incarnation; empty without totals, and where one of the
        two did nothing at all.
        """
        return totals_by_incarnation(self.totals)

    def on(self, numbers: Collection[int]) -> BlockRatios:
        kept = [
            (n, r) for n, r in zip(self.numbers, self.by_incarnation, strict=True) if n in numbers
        ]
        return replace(
            self,
            by_incarnation=tuple(ratios for _, ratios in kept),
            numbers=tuple(number for number, _ in kept),
            totals={number: of for number, of in self.totals.items() if number in numbers},
        )

    @property
    def every_number(self) -> list[int]:
        """Numbers of all incarnations, those without a log ratio included."""
        return sorted({*self.numbers, *self.totals})

    @property
    def silent(self) -> tuple[int, ...]:
        return tuple(number for number, totals in self.totals.items() if totals.one_is_silent)
