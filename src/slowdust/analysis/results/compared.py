"""Metrics and percentiles of response times relative to the base's: ratios, intervals, verdicts.

They are paired by blocks like throughput and judged by the same code. Each metric is its own family
of comparisons: of the `less` and `more` verdicts on one metric, over all tests, 5% may be false.

A short slice may have too few operations for a percentile, or not a single write. Then as few
blocks as necessary are pooled, first halves with first halves, so that drift still cancels. A
quantity that would leave fewer than `FEWEST_POOLS` pools is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from msgspec.structs import replace

from slowdust.analysis.comparison import block_ratios, step_of
from slowdust.analysis.metrics import (
    COMPARED,
    BesidePercentile,
    BesideRate,
    Compared,
    Metric,
    Percentile,
)
from slowdust.analysis.model import Result
from slowdust.analysis.results.background_load import background_rate
from slowdust.analysis.results.latency import percentile_ns
from slowdust.ratios import Margins
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.verdict import Judgement, judge_cells
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice
from slowdust.units import known

FEWEST_BEYOND = 5
"""Fewest operations beyond a percentile for it to be compared."""
FEWEST_POOLS = 4
"""Fewest pools of blocks, over all incarnations of a test."""

Value = Callable[[Sequence[Slice]], float]
"""Function of one contender's slices in a pool: the quantity, positive; 0 if it has none."""


Block = dict[str, list[Slice]]
"""Contender -> its slices of one block, in the order of their slots."""


@dataclass(frozen=True)
class Pair:
    """Slices of one step on the base and one contender."""

    step: Step
    base: str
    contender: str
    slices: Sequence[Slice]

    def cell(self, value: Value) -> BlockRatios | None:
        """Return the ratios of the smallest pools that all have a value; None without any.

        Long steps are never pooled: each is the only one of its start.
        """
        if any(record.step is not None for record in self.slices):
            return self._ratios(self.slices, lambda record: value([record]))
        size = 1
        while (pools := self._pools_of(size)) is not None:
            values = {place: value(pool) for place, (pool, _) in pools.items()}
            if min(values.values(), default=0.0) > 0:
                return self._ratios_of_pools(pools, values)
            size *= 2
        return None

    def _ratios_of_pools(self, pools: _Pools, values: Mapping[_Place, float]) -> BlockRatios | None:
        pooled = [record for _, record in pools.values()]
        return self._ratios(pooled, lambda record: values[_place_of(record)])

    @cached_property
    def _pools_of(self) -> Callable[[int], _Pools | None]:
        """Return the pools of a number of blocks, the same for all quantities; None if too few."""
        incarnations = self.complete_blocks()

        @cache
        def pools(size: int) -> _Pools | None:
            if size > 1 and _count_pools(incarnations.values(), size) < FEWEST_POOLS:
                return None
            return {
                place: (pool, _pooled(pool, place)) for place, pool in _pools(incarnations, size)
            }

        return pools

    def _ratios(
        self, slices: Sequence[Slice], quantity: Callable[[Slice], float]
    ) -> BlockRatios | None:
        [ratios] = block_ratios(slices, self.base, [self.base, self.contender], quantity)
        return ratios if ratios.blocks and not ratios.with_zero else None

    def complete_blocks(self) -> dict[int, list[Block]]:
        """Return number of the start -> blocks with all slices of both contenders."""
        incarnations: dict[int, dict[int, Block]] = {}
        for record in self.slices:
            blocks = incarnations.setdefault(record.place.incarnation, {})
            block = blocks.setdefault(record.place.block, {self.base: [], self.contender: []})
            block[record.place.contender].append(record)
        counts = [
            min(map(len, block.values()))
            for blocks in incarnations.values()
            for block in blocks.values()
        ]
        full = max(1, *counts)
        return {
            incarnation: [
                {name: sorted(own, key=lambda record: record.place.slot) for name, own in b.items()}
                for _, b in sorted(blocks.items())
                if min(map(len, b.values())) == full
            ]
            for incarnation, blocks in sorted(incarnations.items())
        }


def add_comparisons(
    results: Sequence[Result],
    slices: Sequence[Slice],
    contenders: Sequence[str],
    margins: Margins,
    hosts: Hosts = ONE_HOST,
) -> None:
    """Set `compared` of the results that can be compared; `contenders[0]` is the base.

    A metric without a margin of its own uses the experiment's. A percentile with too few operations
    becomes a note. Single runs are skipped.
    """
    slices = [record for record in slices if record.printed is None]
    comparable = {
        (Step.of(result), result.contender): result
        for result in results
        if result.per_op_relative is not None and result.contender != contenders[0]
    }
    pairs = [
        pair for pair in pairs_of(slices, contenders) if (pair.step, pair.contender) in comparable
    ]
    for quantity in COMPARED:
        for judgement in judge_quantity(quantity, pairs, margins, hosts):
            result = comparable[judgement.estimate.place]
            if (ratio := judgement.ratio_of_amounts) is not None:
                result.compared[quantity.key] = ratio
    for pair in pairs:
        result = comparable[pair.step, pair.contender]
        if missing := _percentiles_left_out(result):
            result.notes.append(f"too few operations to compare {missing}")


def judge_quantity(
    quantity: Compared, pairs: Sequence[Pair], margins: Margins, hosts: Hosts = ONE_HOST
) -> list[Judgement]:
    """Judge one quantity of all pairs, except pairs with too little of it.

    `faster` means more of it, `slower` less.
    """
    value, usual = _value_of(quantity)
    margin = margins.of(quantity.key, usual)
    return judge_cells(known(pair.cell(value) for pair in pairs), margin, hosts)


def _percentiles_left_out(result: Result) -> str:
    if result.latency_us is None:
        return ""
    percentiles = (quantity for quantity in COMPARED if isinstance(quantity, Percentile))
    return ", ".join(p.field for p in percentiles if p.key not in result.compared)


def _value_of(quantity: Compared) -> tuple[Value, float | None]:
    """Return the compared value, and its usual margin if it is not the experiment's."""
    match quantity:
        case Percentile(share=share):
            return lambda pool: _percentile(_times(pool), share), quantity.margin
        case BesidePercentile(percentile=Percentile(share=share) as percentile):
            return lambda pool: _percentile(_times_beside(pool), share), percentile.margin
        case BesideRate():
            return background_rate, None
        case Metric():
            return lambda pool: _per_operation(pool, quantity), None


def _times(pool: Sequence[Slice]) -> list[Histogram]:
    return known(record.measured.latency for record in pool)


def _times_beside(pool: Sequence[Slice]) -> list[Histogram]:
    return [record.beside.latency for record in pool if record.beside is not None]


def _per_operation(pool: Sequence[Slice], metric: Metric) -> float:
    totals = known(metric.total(record.measured) for record in pool)
    operations = sum(record.measured.operations or 0 for record in pool)
    return sum(totals) / operations if operations and len(totals) == len(pool) else 0.0


def _percentile(histograms: Sequence[Histogram], share: float) -> float:
    operations = sum(sum(histogram.counts) for histogram in histograms)
    if operations * (1 - share) < FEWEST_BEYOND:
        return 0.0
    return percentile_ns(histograms, share) or 0.0


def pairs_of(slices: Sequence[Slice], contenders: Sequence[str]) -> list[Pair]:
    by_step: dict[Step, dict[str, list[Slice]]] = {}
    for record in slices:
        of_step = by_step.setdefault(step_of(record), {})
        of_step.setdefault(record.place.contender, []).append(record)
    base, *others = contenders
    return [
        Pair(step, base, name, [*of_step[base], *of_step[name]])
        for step, of_step in by_step.items()
        for name in others
        if base in of_step and name in of_step
    ]


class _Place(NamedTuple):
    """Place of a pool within a pair."""

    incarnation: int
    block: int
    contender: str
    slot: int


_Pools = dict[_Place, tuple[list[Slice], Slice]]
"""Place -> the slices of its pool, and the first of them moved to that place."""


def _place_of(record: Slice) -> _Place:
    place = record.place
    return _Place(place.incarnation, place.block, place.contender, place.slot)


def _count_pools(incarnations: Iterable[Sequence[Block]], size: int) -> int:
    return sum(len(blocks) // size for blocks in incarnations)


def _pools(
    incarnations: Mapping[int, Sequence[Block]], size: int
) -> Iterator[tuple[_Place, list[Slice]]]:
    """Yield pools of `size` blocks and their places; the last pool of a start also has the rest.

    The first slices of a contender in its blocks make one pool, the last ones another.
    """
    for incarnation, blocks in incarnations.items():
        for pool in range(len(blocks) // size):
            is_last = pool == len(blocks) // size - 1
            members = blocks[pool * size : None if is_last else (pool + 1) * size]
            for contender in members[0]:
                columns = zip(*(block[contender] for block in members), strict=True)
                for slices in columns:
                    place = _Place(incarnation, pool, contender, slices[0].place.slot)
                    yield place, list(slices)


def _pooled(pool: Sequence[Slice], place: _Place) -> Slice:
    """Return the first slice of a pool at the pool's place; only its place is used."""
    at = replace(pool[0].place, incarnation=place.incarnation, block=place.block)
    return replace(pool[0], place=at)
