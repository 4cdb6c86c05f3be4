"""Log ratios of the blocks of one step, by start of the servers (`incarnation`)."""

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
"""The parts of a block: slices, chunks of long steps, or whole long steps. A pair of whole steps is
one block, and the only block of its start."""


@dataclass(frozen=True)
class BlockRatios:
    """ln(contender's quantity / base's quantity) in the complete blocks of one step."""

    step: Step
    contender: str
    by_incarnation: tuple[FloatArray, ...]
    """One array for each start with a complete block, in order; shape (blocks, halves).
    A half has one slice of each contender. A block has two halves; a pair of long steps has one."""
    numbers: tuple[int, ...]
    """Numbers of the starts in `by_incarnation`."""
    incomplete: int = 0
    """Blocks excluded because a contender has fewer slices in them (a killed experiment)."""
    with_zero: int = 0
    """Blocks excluded because the quantity is 0 in a slice."""
    totals: dict[int, BlockTotals] = field(default_factory=dict)
    """Number of the start -> totals of its blocks, including blocks excluded because of a 0.
    Empty for long steps, single runs and all quantities except throughput."""
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
        """Number of the start -> ratio of totals; empty without totals, and if a contender did
        nothing in all starts."""
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
        """Numbers of all starts, including those without a log ratio."""
        return sorted({*self.numbers, *self.totals})

    @property
    def silent(self) -> tuple[int, ...]:
        return tuple(number for number, totals in self.totals.items() if totals.one_is_silent)
