"""The positions of contenders in the writes of a test, without servers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from slowdust.experiment.engine.positions import LEAD, Positions
from tests.unit.simulated_servers import Machine, opened
from tests.unit.synthetic_contenders import ran


@pytest.fixture
def positions() -> Positions:
    """A contender with 500 operations per second and client, and one with 5."""
    made = Positions()
    made.note("quick", ran(100, 0.1, [40, 60]))
    made.note("slow", ran(3, 0.3, [2, 1]))
    return made


def test_writes_stop_where_the_slowest_can_catch_up(positions: Positions) -> None:
    assert positions.furthest == [40, 60]
    assert positions.limit("quick", 2.0) == [40 + LEAD * 10, 60 + LEAD * 10]
    assert positions.limit("slow", 2.0) == [2 + LEAD * 10, 1 + LEAD * 10]


def test_everybody_always_has_something_to_do(positions: Positions) -> None:
    assert positions.limit("quick", 1e-6) == [41, 61]


def test_a_stall_shortens_no_runs(positions: Positions) -> None:
    before = positions.limit("quick", 0.5)
    positions.note("slow", ran(1, 100.0, [2, 1]))
    assert positions.limit("quick", 0.5) == before


def test_a_first_run_that_was_quick_lengthens_no_later_one(positions: Positions) -> None:
    positions.note("new", ran(1, 0.0001, [1, 0]))
    for _ in range(2):
        positions.note("new", ran(1, 0.1, [1, 1]))

    assert positions.operation_time("new") == pytest.approx(0.2)


def test_a_failed_contender_limits_no_other(positions: Positions) -> None:
    positions.keep(["quick"])
    assert positions.totals == {"quick": 100}
    assert positions.limit("quick", 1.0) == [40 + LEAD * 500, 60 + LEAD * 500]


def test_without_a_speed_there_is_no_limit(positions: Positions) -> None:
    assert positions.limit("new", 1.0) is None
    unknown = Positions()
    unknown.note("idle", ran(0, 0.1, [0]))
    assert unknown.limit("idle", 1.0) is None


@pytest.mark.parametrize(("name", "catches_up"), [("update-index", True), ("point-query", False)])
def test_the_slower_contender_catches_up_after_a_block_of_writes(
    tmp_path: Path, name: str, *, catches_up: bool
) -> None:
    machine = Machine({"quick": 1e-4, "slow": 3e-4})
    with opened(machine, name, tmp_path) as test:
        test.block(0, 0.1, random.Random(1), lambda _: None)
    assert (machine.operations["quick"] == machine.operations["slow"]) is catches_up
