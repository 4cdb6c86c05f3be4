"""The chunks of long steps, and the order of contenders."""

from __future__ import annotations

import pytest

from slowdust.experiment.driver.protocol import UntilOperations, UntilSeconds
from slowdust.experiment.engine.schedule import chunk_turns, counted_ends, pilot_end, timed_ends
from slowdust.probes.probe import WindowUse


@pytest.mark.parametrize(
    ("seconds", "length", "count"), [(4.0, 0.5, 8), (1.0, 0.5, 4), (1800.0, 1.0, 1200)]
)
def test_a_step_of_a_given_time_has_an_even_number_of_equal_chunks(
    seconds: float, length: float, count: int
) -> None:
    ends = timed_ends(seconds, length)
    assert len(ends) == count
    assert ends[-1] == UntilSeconds(seconds)
    assert ends[0] == UntilSeconds(seconds / count)


def test_chunks_of_counted_work_take_about_as_long_and_have_all_of_it() -> None:
    ends = counted_ends(4000, 1000.0, 0.5)
    assert ends == [UntilOperations(500 * number) for number in range(1, 9)]
    assert counted_ends(7, 1000.0, 0.5)[-1] == UntilOperations(7)
    assert len(counted_ends(1_000_000, 1.0, 0.5)) == 1200


def test_each_of_a_few_operations_is_a_chunk() -> None:
    assert counted_ends(3, 1000.0, 0.5) == [UntilOperations(n) for n in (1, 2, 3)]


@pytest.mark.parametrize(("operations", "end"), [(3, 1), (8000, 6), (10_000_000, 1000)])
def test_the_pilot_ends_within_the_first_chunk(operations: int, end: int) -> None:
    assert pilot_end(operations) == UntilOperations(end)
    first = counted_ends(operations, 0.001, 0.5)[0]
    assert isinstance(first, UntilOperations)
    assert end <= first.operations


def test_contenders_take_turns_there_and_back() -> None:
    order = [turn.contender for turn in chunk_turns([0, 1], 4)]
    assert order == [0, 1, 1, 0, 1, 0, 0, 1]
    assert [turn.block for turn in chunk_turns([0, 1], 4)] == [0] * 4 + [1] * 4
    assert [turn.slot for turn in chunk_turns([0, 1], 4)] == [0, 1, 2, 3] * 2


def test_an_odd_number_of_chunks_has_blocks_of_one_of_each() -> None:
    turns = list(chunk_turns([0, 1], 3))
    assert [(turn.contender, turn.block, turn.slot) for turn in turns] == [
        *[(0, 0, 0), (1, 0, 1)],
        *[(1, 1, 0), (0, 1, 1)],
        *[(0, 2, 0), (1, 2, 1)],
    ]


def test_uses_of_chunks_add_up_and_states_match_the_end() -> None:
    first = WindowUse(
        uses={"server": {"cpu_s": 1.0, "rss_bytes": 10, "context_switches": 3}, "host": {}},
        seconds=1.0,
        skipped=[],
    )
    second = WindowUse(
        uses={"server": {"cpu_s": 2.0, "rss_bytes": 30}},
        seconds=2.0,
        skipped=["host", "server.switches"],
    )
    both = first + second
    assert both.uses == {"server": {"cpu_s": 3.0, "rss_bytes": 30}}
    assert both.seconds == 3.0
    assert both.skipped == ["host", "server.switches"]
