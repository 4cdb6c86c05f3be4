"""Background load: its rates, the test's rate relative to running alone, the frontier."""

from __future__ import annotations

import random

import pytest

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.background_load import find_frontier
from slowdust.analysis.stored import analyse
from slowdust.store.latency import Histogram
from slowdust.store.slice import BackgroundSlice, Slice
from tests.unit.analysis.results import a_result
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import QUIET, synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"
TEST = "queries.beside"
MS = 1_000_000


def histogram(values: dict[int, int]) -> Histogram:
    counts = list(values.values())
    total = sum(value * count for value, count in values.items())
    return Histogram(
        values_ns=list(values),
        counts=counts,
        max_ns=max(values),
        mean_ns=total / max(1, sum(counts)),
    )


def add_beside(record: Slice, alone: float, rate: float, ms: int = 2) -> None:
    """Add background load of `rate` operations/s; alone the test is `alone` times as fast."""
    operations = round(rate * 0.25)
    record.beside = BackgroundSlice(
        test="transactions",
        clients=2,
        rate=100.0,
        seconds=0.25,
        qps=operations / 0.25,
        operations=operations,
        latency=histogram({ms * MS: operations}),
        errors={"40001": 1},
        late_operations=3,
        freshness=histogram({0: 3, 5 * MS: 1}),
        alone_qps=record.qps * alone,
    )


def mixed(alone: float = 2.0, slower: float = 1.0) -> tuple[Report, list[Slice]]:
    """B's background rate is `1 / slower` of A's, and its response times are longer."""
    manifest, slices = synthetic_experiment([A, B], [TEST], noise=QUIET, blocks=12)
    noise = random.Random(3)
    for record in slices:
        record.place.benchmark = "htap"
        is_b = record.place.contender == B
        rate = noise.gauss(400, 4) / (slower if is_b else 1)
        add_beside(
            record, alone * noise.gauss(1, 0.01), rate, ms=round(20 * slower) if is_b else 20
        )
    return analyse(manifest, slices), slices


def of(report: Report, contender: str) -> Result:
    return next(each for each in report.results if each.contender == contender)


def test_the_rate_relative_to_alone_has_an_interval() -> None:
    report, slices = mixed(alone=2.0)
    beside = of(report, B).beside
    assert beside is not None
    assert value_of(beside.relative) == pytest.approx(0.5, rel=0.01)
    low, high = interval_of(beside.relative)
    assert 0.45 < low < 0.5 < high < 0.55
    own = [record for record in slices if record.place.contender == B]
    mean = sum(r.beside.alone_qps or 0 for r in own if r.beside) / len(own)
    assert beside.alone_qps == pytest.approx(mean)


def test_totals_of_the_other_side() -> None:
    report, slices = mixed()
    beside = of(report, A).beside
    count = len(slices) // 2
    assert beside is not None
    assert (beside.test, beside.clients, beside.rate) == ("transactions", 2, 100.0)
    assert beside.qps == pytest.approx(400, rel=0.01)
    assert (beside.errors, beside.late_operations) == (count, 3 * count)
    assert beside.p50_us == beside.p95_us == 20_000
    assert (beside.freshness_queries, beside.stale_queries) == (4 * count, count)
    assert beside.freshness_max_us == 5000


def test_rate_and_response_times_of_the_other_side_are_compared() -> None:
    report, _ = mixed(slower=1.25)
    compared = of(report, B).compared
    assert compared["beside_rate"].verdict == "less"
    assert compared["beside_rate"].value == pytest.approx(0.8, rel=0.02)
    assert compared["beside_p50_us"].verdict == "more"
    equal = of(mixed()[0], B).compared
    assert {equal[key].verdict for key in ("beside_rate", "beside_p50_us")} == {"same"}


def test_tests_that_run_alone_have_none_of_it() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], blocks=4)
    report = analyse(manifest, slices)
    assert all(each.beside is None for each in report.results)
    assert not [key for key in of(report, B).compared if key.startswith("beside")]
    assert report.frontier == []


def test_slices_without_one_alone_have_no_ratio() -> None:
    manifest, slices = synthetic_experiment([A, B], [TEST], blocks=4)
    for record in slices:
        add_beside(record, 1.0, 100.0)
        assert record.beside is not None
        record.beside.alone_qps = record.beside.freshness = None
    beside = of(analyse(manifest, slices), B).beside
    assert beside is not None
    assert beside.relative is None
    assert beside.alone_qps is beside.freshness_queries is None


def test_a_point_is_on_the_frontier_unless_another_surpasses_it() -> None:
    report, _ = mixed()
    beside = of(report, A).beside
    assert beside is not None

    def at(test: str, contender: str, qps: float, queries: float | None = None) -> Result:
        each = a_result(contender, test=test)
        each.benchmark, each.qps = "htap", qps
        if queries is not None:
            each.beside = type(beside)(
                test="any-query", clients=1, qps=queries, errors=0, retries=0
            )
        return each

    points = find_frontier(
        [
            at("mixed.t0q1", A, 90),
            at("mixed.t1q0", A, 1000),
            at("mixed.t1q1", A, 600, 50),
            at("mixed.t1q2", A, 500, 40),
            at("mixed.t1q1", B, 10, 1),
            at("transactions", A, 1000),
        ]
    )
    rates = [(p.contender, p.transactions_per_s, p.queries_per_s, p.on_frontier) for p in points]
    assert rates == [
        (A, 0, 90, True),
        (A, 1000, 0, True),
        (A, 600, 50, True),
        (A, 500, 40, False),
        (B, 10, 1, True),
    ]
