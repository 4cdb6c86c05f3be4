"""Log ratios of a contender and the base, block by block.

They are of a positive quantity of each slice, by default its throughput.

Within a block every contender is measured twice, in an order and then its reverse, so that drift
that is linear over the block cancels in the sum of its two halves. The same holds for the chunks of
a long step. Long steps that run whole are measured once per start: their block is one slice of
each. Drift then cancels only on average over steps and starts, since every other start reverses the
contenders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from slowdust.analysis.sla import meets_sla
from slowdust.ratios import Margins, Verdict
from slowdust.stats.blocks import BlockRatios, Parts, Step
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.location import (
    BlockTotals,
    FloatArray,
)
from slowdust.stats.verdict import Judgement, judge_cells
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.units import Second

ROWS_PER_SECOND = "rows/s"
"""Rate unit of tests that count rows instead of operations."""


def step_of(record: Slice) -> Step:
    return Step.of(record.place)


def slices_by_place(slices: Iterable[Slice]) -> defaultdict[tuple[Step, str], list[Slice]]:
    """Return step and contender -> its slices."""
    places: defaultdict[tuple[Step, str], list[Slice]] = defaultdict(list)
    for record in slices:
        places[step_of(record), record.place.contender].append(record)
    return places


class _Place(NamedTuple):
    """Place of a block; contenders are compared place by place."""

    incarnation: int
    block: int


@dataclass(frozen=True)
class _Part:
    """A contender's slice within its block."""

    slot: int
    quantity: float
    amount: float | None
    seconds: Second | None


@dataclass
class _Blocks:
    """Blocks of one step."""

    parts: dict[_Place, dict[str, list[_Part]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """Place -> contender -> its slices, chunks or long step."""
    kind: Parts = "slices"


def throughput(record: Slice) -> float:
    return record.qps


def total_of(record: Slice) -> tuple[float | None, Second | None]:
    """Return a slice's amount of work, in its rate's unit, and its time; None if unknown.

    The time is amount / rate, the mean of the clients' times: the time until the last completion
    would charge the stall of one client to all. A slice that did nothing took the measured time.
    Long steps and single runs have only their rate.
    """
    if record.step is not None or record.printed is not None:
        return None, None
    measured = record.measured
    amount = measured.rows if record.unit == ROWS_PER_SECOND else measured.operations
    if amount and record.qps > 0:
        return amount, amount / record.qps
    # Nothing was completed, so the time to the last completion is 0: use the window.
    return amount, measured.seconds or measured.probe_seconds


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

    Returns one `BlockRatios` for each step (in order of first appearance) and each of `contenders`
    other than `base`, even if no block could be paired. The value of half a block is ln `quantity`
    of the contender's slice less the base's: of the first slices of both in the block, then of the
    second ones. A long step is not compared on a contender whose writers missed their SLA in any
    start.
    """
    slices = list(slices)
    missed = {
        (step_of(record), record.place.contender) for record in slices if not meets_sla(record)
    }
    steps: dict[Step, _Blocks] = {}
    for record in slices:
        step = step_of(record)
        blocks = steps.setdefault(step, _Blocks())
        blocks.kind = _kind(record, quantity)
        if (step, record.place.contender) not in missed:
            for place, part in _parts(record, quantity):
                blocks.parts[place][record.place.contender].append(part)
    return [
        _pair(step, blocks, base, contender)
        for step, blocks in steps.items()
        for contender in contenders
        if contender != base
    ]


def _kind(record: Slice, quantity: Callable[[Slice], float]) -> Parts:
    if record.step is None:
        return "slices"
    return "chunks" if record.step.chunks and quantity is throughput else "steps"


def _parts(record: Slice, quantity: Callable[[Slice], float]) -> Iterator[tuple[_Place, _Part]]:
    incarnation = record.place.incarnation
    if record.step is not None and _kind(record, quantity) == "chunks":
        for chunk in record.step.chunks:
            rate = chunk.amount / chunk.seconds if chunk.seconds else 0.0
            place = _Place(incarnation, chunk.block)
            yield place, _Part(chunk.slot, rate, chunk.amount, chunk.seconds)
        return
    amount, seconds = total_of(record) if quantity is throughput else (None, None)
    place = _Place(incarnation, record.place.block)
    yield place, _Part(record.place.slot, quantity(record), amount, seconds)


def _pair(step: Step, blocks: _Blocks, base: str, contender: str) -> BlockRatios:
    places = blocks.parts
    full = max((len(parts) for block in places.values() for parts in block.values()), default=0)
    complete: dict[int, list[list[list[_Part]]]] = defaultdict(list)
    incomplete = 0
    for place in sorted(places):
        pair = [places[place].get(name, []) for name in (contender, base)]
        if min(map(len, pair)) == full:
            ordered = [sorted(parts, key=lambda part: part.slot) for parts in pair]
            complete[place.incarnation].append(ordered)
        elif any(pair):
            incomplete += 1
    ratios = {number: _log_ratios(pairs) for number, pairs in complete.items()}
    ratios = {number: array for number, array in ratios.items() if len(array)}
    return BlockRatios(
        step=step,
        contender=contender,
        by_incarnation=tuple(ratios.values()),
        incomplete=incomplete,
        with_zero=sum(map(len, complete.values())) - sum(map(len, ratios.values())),
        numbers=tuple(ratios),
        totals=_totals(complete),
        parts=blocks.kind,
    )


def _log_ratios(pairs: Sequence[Sequence[Sequence[_Part]]]) -> FloatArray:
    """Return an array of shape (blocks, halves) from the blocks without a 0."""
    quantities: FloatArray = np.array(
        [[[part.quantity for part in parts] for parts in pair] for pair in pairs]
    )
    logs = np.log(quantities[(quantities > 0).all(axis=(1, 2))])
    ratios: FloatArray = logs[:, 0] - logs[:, 1]
    return ratios


def _totals(complete: Mapping[int, Sequence[Sequence[Sequence[_Part]]]]) -> dict[int, BlockTotals]:
    """Return the totals by start; empty if any slice's totals are unknown."""
    every = [part for pairs in complete.values() for pair in pairs for p in pair for part in p]
    if any(part.amount is None or part.seconds is None for part in every):
        return {}
    return {
        number: BlockTotals(
            amount=_added(pairs, lambda part: part.amount or 0.0),
            seconds=_added(pairs, lambda part: part.seconds or 0.0),
            compared=np.array(
                [all(part.quantity > 0 for parts in pair for part in parts) for pair in pairs]
            ),
        )
        for number, pairs in complete.items()
    }


def _added(
    pairs: Sequence[Sequence[Sequence[_Part]]], term: Callable[[_Part], float]
) -> FloatArray:
    return np.array([[sum(map(term, parts)) for parts in pair] for pair in pairs])


def hosts_of(manifest: Manifest) -> Hosts:
    return Hosts(
        {number: host.name for host in manifest.hosts for number in host.incarnations},
        {host.name: host.group for host in manifest.hosts},
    )


def judge(
    slices: Iterable[Slice],
    contenders: Sequence[str],
    margins: Margins | float,
    base: str | None = None,
    hosts: Hosts = ONE_HOST,
) -> list[Judgement]:
    """Judge every step and contender in `slices`.

    `contenders` are in the manifest's order; `base` is by default the first. More steps of the
    experiment in `slices` give more information about restarts.
    """
    cells = block_ratios(slices, base or contenders[0], contenders)
    return judge_cells(cells, margins, hosts)


class PairVerdicts:
    """Judges contenders relative to any of them; verdicts are cached by base."""

    def __init__(
        self, slices: Sequence[Slice], contenders: Sequence[str], margins: Margins, hosts: Hosts
    ) -> None:
        # The noise of a single run is unknown.
        self._slices = [record for record in slices if record.printed is None]
        self._contenders = contenders
        self._margins = margins
        self._hosts = hosts
        self._verdicts: dict[str, dict[str, dict[Step, Verdict]]] = {}

    def verdicts(self, base: str, contender: str) -> Mapping[Step, Verdict]:
        """Return the verdict of each step on `contender` relative to `base`."""
        if base not in self._verdicts:
            self._verdicts[base] = self._judge(base)
        return self._verdicts[base].get(contender, {})

    def _judge(self, base: str) -> dict[str, dict[Step, Verdict]]:
        verdicts: dict[str, dict[Step, Verdict]] = {}
        for judgement in judge(self._slices, self._contenders, self._margins, base, self._hosts):
            estimate = judgement.estimate
            if judgement.relative.interval is not None:
                verdicts.setdefault(estimate.contender, {})[estimate.step] = judgement.verdict
        return verdicts
