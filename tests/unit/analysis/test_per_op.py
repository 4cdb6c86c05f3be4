from __future__ import annotations

import pytest

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.results.per_op import per_operation, relative_to
from slowdust.store.slice import Slice
from tests.unit.synthetic import synthetic_slice


def measured(operations: int, **server: int | float) -> Slice:
    record = synthetic_slice()
    record.measured.operations = operations
    record.measured.uses["server"] = {"cpu_s": 0.0, **server}
    return record


def test_totals_over_slices_not_the_mean_of_quotients() -> None:
    per_op = per_operation([measured(100, cpu_s=0.001), measured(900, cpu_s=0.001)])

    assert per_op["server_cpu_us"] == pytest.approx(2.0)


def test_units() -> None:
    per_op = per_operation([measured(10, cpu_s=0.5, context_switches=25, write_bytes=20_480)])

    assert per_op["server_cpu_us"] == pytest.approx(50_000)
    assert per_op["cs"] == pytest.approx(2.5)
    assert per_op["write_kb"] == pytest.approx(2.0)


def test_metrics_without_slices_are_absent() -> None:
    record = synthetic_slice()
    del record.measured.uses["server"], record.measured.uses["host"]

    per_op = per_operation([record])

    assert not per_op.keys() & {"server_cpu_us", "host_cs"}
    assert "client_cpu_us" in per_op


def test_operations_of_slices_that_did_not_measure_do_not_count() -> None:
    per_op = per_operation([measured(10, context_switches=20), measured(1000)])

    assert per_op["cs"] == pytest.approx(2.0)


def test_a_measured_zero_is_zero_and_no_operation_is_absent() -> None:
    assert per_operation([measured(10, read_bytes=0)])["read_kb"] == 0.0
    assert "read_kb" not in per_operation([measured(0, read_bytes=5)])


def test_relative_is_absent_where_the_base_is_zero_or_absent() -> None:
    base = PerOperation(server_cpu_us=10.0, cs=0.0)
    contender = PerOperation(server_cpu_us=15.0, cs=1.0, read_kb=3.0)

    assert relative_to(base, contender) == PerOperation(server_cpu_us=1.5)


def test_fallen_to_zero_is_a_ratio_of_zero() -> None:
    assert relative_to(PerOperation(cs=2.0), PerOperation(cs=0.0))["cs"] == 0.0
