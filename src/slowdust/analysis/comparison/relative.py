"""Log ratios of a contender and the base, block by block.

A positive quantity of each slice is compared: its throughput unless another is named.

Within a block every contender is measured twice, in an order and then its reverse, so that a
drift of the machine that is linear over the block cancels in the ratio. Long steps are measured
once in an incarnation: their block is one slice of each, and a drift cancels only on average over
steps and incarnations, since every other one has the contenders in reverse.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slowdust.analysis.sla import meets_sla
from slowdust.store.slice import Slice

FloatArray = npt.NDArray[np.float64]


class Step(NamedTuple):
    """A test of a benchmark at a number of clients: the unit that is measured and compared."""

    benchmark: str
    test: str
    clients: int


def step_of(record: Slice) -> Step:
    """Return the step that a slice belongs to."""
    return Step(record.place.benchmark, record.place.test, record.place.clients)


@dataclass(frozen=True)
class BlockRatios:
    """ln(quantity of the contender / of the base) of each complete block of one step."""

    step: Step
    contender: str
    by_incarnation: tuple[FloatArray, ...]
    """One array for each incarnation that has a complete block, in order."""
    incomplete: int
    """Blocks left out because one of the two has fewer slices in it (a killed experiment)."""
    with_zero: int
    """Blocks left out because one of the two has a slice in which the quantity is 0."""
    long_steps: bool = False
    """Whether a block is a pair of long steps, the only one of its incarnation."""

    @property
    def blocks(self) -> int:
        """Number of complete blocks over all incarnations."""
        return sum(len(ratios) for ratios in self.by_incarnation)


class _Place(NamedTuple):
    """Place of a block; contenders are compared place by place."""

    incarnation: int
    block: int


@dataclass
class _Blocks:
    """Blocks of one step."""

    quantities: dict[_Place, dict[str, list[float]]]
    """Place -> contender -> the quantity in each of its slices."""
    long_steps: bool


def throughput(record: Slice) -> float:
    """Return the QPS of a slice."""
    return record.qps


def mean_response(record: Slice) -> float:
    """Return the mean response time of a slice, in nanoseconds; 0 if nothing succeeded."""
    return record.measured.latency.mean_ns if record.measured.latency else 0.0


def block_ratios(
    slices: Iterable[Slice],
    base: str,
    contenders: Sequence[str],
    quantity: Callable[[Slice], float] = throughput,
) -> list[BlockRatios]:
    """Pair each contender with the base, block by block.

    Returns one `BlockRatios` for each step (in order of first appearance) and each of
    `contenders` other than `base`, also where no block could be paired. The value of a block is
    the mean of ln `quantity` over the contender's slices less that over the base's. A long step
    whose writers missed their SLA on a contender, in any incarnation, is not compared there.
    """
    slices = list(slices)
    missed = {
        (step_of(record), record.place.contender) for record in slices if not meets_sla(record)
    }
    steps: dict[Step, _Blocks] = {}
    for record in slices:
        step = step_of(record)
        if step not in steps:
            steps[step] = _Blocks(defaultdict(lambda: defaultdict(list)), record.step is not None)
        if (step, record.place.contender) not in missed:
            place = _Place(record.place.incarnation, record.place.block)
            steps[step].quantities[place][record.place.contender].append(quantity(record))
    return [
        _pair(step, blocks, base, contender)
        for step, blocks in steps.items()
        for contender in contenders
        if contender != base
    ]


def _pair(step: Step, blocks: _Blocks, base: str, contender: str) -> BlockRatios:
    places = blocks.quantities
    full = max((len(rates) for block in places.values() for rates in block.values()), default=0)
    by_incarnation: dict[int, list[float]] = {}
    incomplete = with_zero = 0
    for place in sorted(places):
        values, base_values = places[place].get(contender, []), places[place].get(base, [])
        if len(values) < full or len(base_values) < full:
            incomplete += 1 if values or base_values else 0
        elif min(values) <= 0 or min(base_values) <= 0:
            with_zero += 1
        else:
            by_incarnation.setdefault(place.incarnation, []).append(
                _mean_log(values) - _mean_log(base_values)
            )
    return BlockRatios(
        step=step,
        contender=contender,
        by_incarnation=tuple(np.asarray(ratios) for ratios in by_incarnation.values()),
        incomplete=incomplete,
        with_zero=with_zero,
        long_steps=blocks.long_steps,
    )


def _mean_log(rates: list[float]) -> float:
    return sum(map(math.log, rates)) / len(rates)
