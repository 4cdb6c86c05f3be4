"""From slices to log ratios: what one block says about a contender and the base.

What is compared is a positive quantity of each slice: its throughput unless another is named.

Within a block every contender is measured twice, in an order and then its reverse, so that a
drift of the machine that is linear over the block cancels in the ratio. Long steps are measured
once in an incarnation: their block is one slice of each, and what drifts cancels only on average
over the steps and incarnations, of which every other one has the contenders in reverse.
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
    """What is measured: one test of a benchmark at one number of clients."""

    benchmark: str
    test: str
    clients: int


def step_of(record: Slice) -> Step:
    """The step that a slice belongs to."""
    return Step(record.place.benchmark, record.place.test, record.place.clients)


@dataclass(frozen=True)
class BlockRatios:
    """ln(quantity of the contender / of the base) of each complete block of one step."""

    step: Step
    contender: str
    by_incarnation: tuple[FloatArray, ...]
    """One array for each incarnation that has a complete block, in order."""
    torn: int
    """Blocks left out because one of the two has fewer slices in it (a killed experiment)."""
    silent: int
    """Blocks left out because one of the two had a slice in which the quantity was 0."""
    long_steps: bool = False
    """Whether a block is one pair of long steps, of which an incarnation has no second."""

    @property
    def blocks(self) -> int:
        """Complete blocks over all incarnations."""
        return sum(len(ratios) for ratios in self.by_incarnation)


class _Place(NamedTuple):
    """Where a block lies; blocks of one step are compared place by place."""

    incarnation: int
    block: int


@dataclass
class _Blocks:
    """The blocks of one step."""

    quantities: dict[_Place, dict[str, list[float]]]
    """Place -> contender -> the quantity in each of its slices."""
    long_steps: bool


def throughput(record: Slice) -> float:
    """QPS of a slice."""
    return record.qps


def mean_response(record: Slice) -> float:
    """Mean response time of a slice, in nanoseconds; 0 where no operation tells."""
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
    whole = max((len(rates) for block in places.values() for rates in block.values()), default=0)
    by_incarnation: dict[int, list[float]] = {}
    torn = silent = 0
    for place in sorted(places):
        ours, theirs = places[place].get(contender, []), places[place].get(base, [])
        if len(ours) < whole or len(theirs) < whole:
            torn += 1 if ours or theirs else 0
        elif min(ours) <= 0 or min(theirs) <= 0:
            silent += 1
        else:
            by_incarnation.setdefault(place.incarnation, []).append(
                _mean_log(ours) - _mean_log(theirs)
            )
    return BlockRatios(
        step=step,
        contender=contender,
        by_incarnation=tuple(np.asarray(ratios) for ratios in by_incarnation.values()),
        torn=torn,
        silent=silent,
        long_steps=blocks.long_steps,
    )


def _mean_log(rates: list[float]) -> float:
    return sum(map(math.log, rates)) / len(rates)
