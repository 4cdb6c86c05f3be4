from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Stall
from slowdust.analysis.results.steps import find_stalls
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond
from tests.unit.synthetic_steps import Standstill, insert_experiment


def a_step(test: str, *standstills: Standstill) -> Slice:
    _, [record] = insert_experiment(["a"], [test], standstills=standstills, incarnations=1)
    return record


def with_seconds(test: str, role: str, statements: list[int], rows: int = 50) -> Slice:
    """The role's seconds and window are these; no other role is left."""
    record = a_step(test)
    assert record.step is not None
    use = record.step.roles[role]
    record.step.roles = {role: use}
    use.per_second = [RoleSecond(count, count * rows, 5_000_000, 0) for count in statements]
    record.measured.seconds = float(len(statements))
    if use.schedule is not None:
        use.schedule.due = round(use.schedule.rate * len(statements))
    return record


def places(stalls: list[Stall]) -> list[tuple[str, int]]:
    return [(stall.role, stall.second) for stall in stalls]


def test_a_second_without_work_is_a_stall_with_what_the_probes_saw(
    snapshot: SnapshotAssertion,
) -> None:
    [stall] = find_stalls(a_step("l.i1", Standstill("a", "l.i1", "insert", 5)))

    assert (stall.role, stall.second, stall.rate) == ("insert", 5, 0)
    assert stall.median == pytest.approx(9000, rel=0.05)
    assert stall.iowait == pytest.approx(0.9)
    assert stall.host_write_mb == pytest.approx(40)
    assert stall.steal == pytest.approx(0.01)
    assert stall.server_cpu is not None
    assert stall.server_cpu < 0.05
    assert stall.log == snapshot


def test_a_calm_experiment_has_none() -> None:
    _, slices = insert_experiment(["a"])

    assert [find_stalls(record) for record in slices] == [[]] * len(slices)


def test_the_limit_is_a_tenth_of_the_median() -> None:
    assert places(find_stalls(with_seconds("l.i1", "insert", [100, 100, 10, 9, 100]))) == [
        ("insert", 3)
    ]


def test_rates_of_queries_are_statements() -> None:
    [stall] = find_stalls(with_seconds("qr100", "query", [4000, 4000, 200, 4000], rows=10))

    assert (stall.rate, stall.median) == (200, 4000)


def test_the_last_second_is_torn_and_counts_for_nothing() -> None:
    record = with_seconds("l.i1", "insert", [100, 100, 100, 3])
    record.measured.seconds = 3.04

    assert find_stalls(record) == []


def test_seconds_after_the_last_completion_are_stalls_too() -> None:
    record = with_seconds("l.i1", "insert", [100, 100, 100])
    record.measured.seconds = 5.5

    assert places(find_stalls(record)) == [("insert", 3), ("insert", 4)]


@pytest.mark.parametrize("statements", [[2, 2, 1, 3, 2, 0, 4, 2], [1, 1, 0, 2, 1], [0, 0, 1, 0, 0]])
def test_a_paced_writer_has_empty_seconds_without_any_trouble(statements: list[int]) -> None:
    assert find_stalls(with_seconds("qr100", "insert", statements)) == []


def test_a_paced_writer_that_was_held_up_stalled() -> None:
    record = with_seconds("qr100", "insert", [2, 2, 0, 0, 6, 2])
    assert record.step is not None
    record.step.roles["insert"].per_second[4] = RoleSecond(6, 300, 2_300_000_000, 1_800_000_000)

    stalls = find_stalls(record)

    assert places(stalls) == [("insert", 2), ("insert", 3)]
    assert stalls[0].median == 100


def test_a_writer_of_rare_statements_is_held_against_its_mean() -> None:
    record = with_seconds("qr100", "insert", [0, 0, 1, 0, 0, 0, 0, 1])
    assert record.step is not None
    record.step.roles["insert"].per_second[7] = RoleSecond(1, 50, 3_000_000_000, 0)

    stalls = find_stalls(record)

    assert places(stalls) == [("insert", 3), ("insert", 4), ("insert", 5), ("insert", 6)]
    assert stalls[0].median == pytest.approx(100 / 8)


def test_writers_have_no_seconds_after_their_schedule() -> None:
    record = with_seconds("qr1000", "insert", [20] * 5)
    record.measured.seconds = 8.0

    assert find_stalls(record) == []


def test_creating_indexes_has_no_stalls() -> None:
    assert find_stalls(a_step("l.x")) == []


def test_without_a_sample_of_that_second_nothing_is_known_of_it() -> None:
    record = with_seconds("l.i1", "insert", [100, 0, 100])
    assert record.step is not None
    record.step.samples = [record.step.samples[0]]

    [stall] = find_stalls(record)

    assert (stall.server_cpu, stall.iowait, stall.log) == (None, None, [])


def test_the_sample_that_covers_most_of_the_second_is_shown(snapshot: SnapshotAssertion) -> None:
    record = a_step("l.i1", Standstill("a", "l.i1", "insert", 5))
    assert record.step is not None
    for sample in record.step.samples:
        sample.start -= 0.45

    [stall] = find_stalls(record)

    assert stall.log == snapshot
