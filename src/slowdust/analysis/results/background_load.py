"""Background load: its own rates, and the rates of tests relative to running alone.

Each slice with background load has a neighbouring slice without, alternately before and after it,
so drift of the machine cancels as it does between two contenders. The pairs are judged by the code
for throughput, as if the test with and without background load were two contenders.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from slowdust.analysis.comparison import block_ratios, slices_by_place, step_of
from slowdust.analysis.model import BesideResult, FrontierPoint, Result
from slowdust.analysis.results.latency import latency_us
from slowdust.benchmarks.htap.tests import clients_of_point
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.relative import Estimate
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice
from slowdust.units import known

_ALONE, _TOGETHER = "alone", "together"
_FEWEST_FOR_P99 = 100
"""Fewest values for a 99th percentile that can differ from the maximum."""


def add_background_load(
    results: Sequence[Result], slices: Sequence[Slice], hosts: Hosts = ONE_HOST
) -> None:
    """Set the background load of the results that have one."""
    by_cell = slices_by_place(record for record in slices if record.beside is not None)
    cells = [loaded_over_alone(cell) for cell in by_cell.values()]
    relative = dict(zip(by_cell, estimate_all(cells, hosts=hosts), strict=True))
    for result in results:
        key = Step.of(result), result.contender
        if key in by_cell:
            result.beside = _result(by_cell[key], relative[key])


def background_rate(slices: Sequence[Slice]) -> float:
    """Return operations per second of the background load during some slices; 0 without any."""
    parts = known(record.beside for record in slices)
    seconds = sum(part.seconds or 0.0 for part in parts)
    return sum(part.operations for part in parts) / seconds if seconds else 0.0


def loaded_over_alone(slices: Sequence[Slice]) -> BlockRatios:
    """Return a contender's rates with background load / alone, block by block."""
    records = [
        replace(record, place=replace(record.place, contender=name), qps=rate)
        for record in slices
        if record.beside is not None and record.beside.alone_qps is not None
        for name, rate in ((_TOGETHER, record.qps), (_ALONE, record.beside.alone_qps))
    ]
    cells = block_ratios(records, _ALONE, [_ALONE, _TOGETHER], lambda record: record.qps)
    return cells[0] if cells else BlockRatios(step_of(slices[0]), _TOGETHER, (), ())


def _result(slices: Sequence[Slice], relative: Estimate) -> BesideResult:
    parts = known(record.beside for record in slices)
    alone = known(part.alone_qps for part in parts)
    late = known(part.late_operations for part in parts)
    times = latency_us([part.latency for part in parts])
    ages = known(part.freshness for part in parts)
    age = latency_us(ages)
    queries = sum(sum(each.counts) for each in ages)
    return BesideResult(
        test=parts[0].test,
        clients=parts[0].clients,
        rate=parts[0].rate,
        qps=background_rate(slices),
        alone_qps=sum(alone) / len(alone) if alone else None,
        relative=relative.judged(),
        p50_us=times.p50 if times else None,
        p95_us=times.p95 if times else None,
        p99_us=times.p99 if times else None,
        errors=sum(sum(part.errors.values()) for part in parts),
        retries=sum(part.retries for part in parts),
        late_operations=sum(late) if late else None,
        freshness_queries=queries if ages else None,
        stale_queries=sum(map(_count_above_zero, ages)) if ages else None,
        freshness_p50_us=age.p50 if age else None,
        freshness_p99_us=age.p99 if age and queries >= _FEWEST_FOR_P99 else None,
        freshness_max_us=age.max if age else None,
    )


def _count_above_zero(ages: Histogram) -> int:
    pairs = zip(ages.values_ns, ages.counts, strict=True)
    return sum(count for value, count in pairs if value > 0)


def find_frontier(results: Sequence[Result]) -> list[FrontierPoint]:
    points = []
    for result in results:
        clients = clients_of_point(result.test) if result.benchmark == "htap" else None
        if clients is None:
            continue
        beside = result.beside
        transactions, queries = clients
        points.append(
            FrontierPoint(
                contender=result.contender,
                transaction_clients=transactions,
                query_clients=queries,
                transactions_per_s=result.qps if transactions else 0.0,
                queries_per_s=_queries(result, transactions),
                freshness_max_us=beside.freshness_max_us if beside else None,
                on_frontier=True,
            )
        )
    for point in points:
        point.on_frontier = not any(_surpasses(other, point) for other in points)
    return points


def _queries(result: Result, transactions: int) -> float:
    if not transactions:
        return result.qps
    return result.beside.qps if result.beside else 0.0


def _surpasses(other: FrontierPoint, point: FrontierPoint) -> bool:
    theirs = (other.transactions_per_s, other.queries_per_s)
    own = (point.transactions_per_s, point.queries_per_s)
    at_least = theirs[0] >= own[0] and theirs[1] >= own[1]
    return other.contender == point.contender and at_least and theirs != own
