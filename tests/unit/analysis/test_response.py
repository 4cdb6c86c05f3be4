from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio
from slowdust.store.measured import Schedule
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import QUIET, synthetic_experiment

TEST = "update-same-indexed"


def slap(*, rate: float | None = None) -> Report:
    manifest, slices = synthetic_experiment(
        ["a@1", "a@2"], [TEST], shifts={"a@2": 0.8}, noise=QUIET, clients=(4,), blocks=6
    )
    for record in slices:
        record.place.benchmark = "slap"
        if rate is not None:
            _schedule(record, rate)
    return analyse(manifest, slices)


def _schedule(record: Slice, rate: float) -> None:
    record.measured.schedule = Schedule(
        rate=rate, arrivals="poisson", late_operations=0, max_lag_ns=0, mean_lag_ns=0.0
    )


def of(report: Report, contender: str) -> Result:
    [result] = [result for result in report.results if result.contender == contender]
    return result


def test_in_a_closed_loop_it_is_the_inverse_of_the_relative_rate() -> None:
    slower = of(slap(), "a@2")

    assert slower.verdict == "slower"
    assert value_of(slower.ratio) == pytest.approx(0.8, abs=0.01)
    time = slower.response_time
    assert time is not None
    assert value_of(time.relative) == pytest.approx(1.25, abs=0.02)
    low, high = interval_of(time.relative)
    assert low < value_of(time.relative) < high


def test_the_mean_is_over_operations() -> None:
    base = of(slap(), "a@1")

    assert base.response_time is not None
    # In a closed loop, clients / throughput.
    assert base.response_time.mean_us == pytest.approx(4 * 1e6 / base.qps, rel=0.01)
    assert base.response_time.relative == Ratio(1.0)


def test_the_line_of_a_slower_test_has_it(snapshot: SnapshotAssertion) -> None:
    answer = slap().answer
    assert answer is not None
    [line] = answer.slower
    assert line.startswith(f"{TEST}: 20% slower")
    assert line == snapshot


def test_benchmarks_reported_in_rates_have_none() -> None:
    report = analyse(*synthetic_experiment(["a@1", "a@2"], ["scan"], blocks=4))
    assert all(result.response_time is None for result in report.results)


def test_an_open_loop_is_compared_by_it(snapshot: SnapshotAssertion) -> None:
    report = slap(rate=100.0)

    result = of(report, "a@2")
    assert result.ratio is None
    assert result.response_time is not None
    assert value_of(result.response_time.relative) == pytest.approx(1.25, abs=0.02)
    assert report.tldr[1] == snapshot


def test_a_contender_that_never_answered_has_none() -> None:
    manifest, slices = synthetic_experiment(["a@1", "a@2"], [TEST], blocks=4)
    for record in slices:
        record.place.benchmark = "slap"
        if record.place.contender == "a@2":
            assert record.measured.latency is not None
            record.measured.latency.counts, record.measured.latency.values_ns = [], []
            record.measured.latency.mean_ns, record.qps = 0.0, 0.0
    assert of(analyse(manifest, slices), "a@2").response_time is None
