"""`slowdust tests`: the tests of each benchmark, their groups and suites."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks import BENCHMARKS, benchmark
from tests.unit.cli.command import Slowdust


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_test_of_a_benchmark_has_a_line_in_the_order_of_the_tests(
    slowdust: Slowdust, name: str
) -> None:
    outcome = slowdust("tests", "--benchmark", name)
    assert (outcome.code, outcome.err) == (0, "")
    names = [line.split()[0] for line in outcome.out.splitlines()]
    assert names == [test.name for test in benchmark(name).tests]


def test_the_benchmark_is_micro_unless_another_is_named(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("tests")
    assert outcome.out == slowdust("tests", "--benchmark", "micro").out
    assert outcome.out == snapshot
    quick = [line for line in outcome.out.splitlines() if line.endswith("quick")]
    assert len(quick) == 8


def test_steps_of_the_insert_benchmark_have_groups(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    lines = slowdust("tests", "--benchmark", "insert").out.splitlines()
    assert [line.split(None, 1) for line in lines[:2]] == snapshot


def test_columns_are_as_wide_as_their_longest_text(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    lines = slowdust("tests", "--benchmark", "vector").out.splitlines()
    assert lines == snapshot
    assert len({line.rindex("  ") for line in lines}) == 1


def test_unknown_benchmark_is_wrong_use(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    outcome = slowdust("tests", "--benchmark", "tpcc")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.complaint == snapshot
