"""Shards go to whoever is idle, the longest first, and copies to different hosts of one group."""

from __future__ import annotations

from bench.fleet_plans import drawn_shards, simulated
from slowdust.fleet.planner import Again, Queue, Shard, expected_end, makespan


def shards(*seconds: float) -> list[Shard]:
    return [Shard(name=f"s{n}", seconds=each) for n, each in enumerate(seconds)]


def name_of(shard: Shard | None) -> str | None:
    return shard.name if shard else None


def test_the_longest_shard_comes_first() -> None:
    queue = Queue(shards(1, 3, 2))
    assert [name_of(queue.take("a", "x", 1)) for _ in range(4)] == ["s1", "s2", "s0", None]


def test_copies_are_on_different_hosts_of_one_group() -> None:
    queue = Queue(shards(5), replicate=2)
    assert name_of(queue.take("a", "x", 2)) == "s0"
    assert queue.take("a", "x", 2) is None
    assert queue.take("b", "y", 2) is None
    assert len(queue) == 1
    assert name_of(queue.take("c", "x", 2)) == "s0"
    assert len(queue) == 0


def test_no_shard_begins_in_a_group_that_is_too_small_for_its_copies() -> None:
    assert Queue(shards(5), replicate=3).take("a", "x", 2) is None


def test_what_a_host_did_not_finish_waits_in_its_place_again() -> None:
    queue = Queue(shards(5, 1))
    assert name_of(queue.take("a", "x", 1)) == "s0"
    queue.put_back("s0", "a", Again.NO)
    assert name_of(queue.take("a", "x", 1)) == "s1"
    assert name_of(queue.take("b", "y", 1)) == "s0", "another group may have it"


def test_the_end_is_foretold_by_what_is_busy_and_what_waits() -> None:
    assert expected_end([(shards(10)[0], 2)], {"a": 5.0}, idle=1) == 15.0
    assert expected_end([], {"a": 5.0}, idle=3) == 5.0
    assert makespan([3, 3, 2, 2, 2], 2) == 7  # 3+2+2 and 3+2: the best is 6, and 4/3 of it is 8


def test_a_large_fleet_ends_within_a_tenth_of_the_lower_bound() -> None:
    outcome = simulated(drawn_shards(500, seed=1), hosts=50, replicate=1)
    assert outcome.makespan <= 1.10 * outcome.lower_bound
    assert outcome.placed == 500
