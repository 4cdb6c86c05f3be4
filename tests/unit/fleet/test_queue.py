"""Shards wait in the order of their lengths, and copies are for different hosts of one group."""

from __future__ import annotations

from slowdust.fleet.planning.queue import Again, Queue, Shard, expected_end, makespan


def shards(*seconds: float) -> list[Shard]:
    return [Shard(name=f"s{n}", seconds=each) for n, each in enumerate(seconds)]


def taken(queue: Queue, host: str, group: str = "x", size: int = 9) -> str | None:
    """Let a host take the longest shard; its name."""
    shard = queue.longest(host, group, size)
    if shard is None:
        return None
    queue.assign(shard.name, host, group)
    return shard.name


def test_the_longest_shard_comes_first() -> None:
    queue = Queue(shards(1, 3, 2))
    assert [taken(queue, "a") for _ in range(4)] == ["s1", "s2", "s0", None]
    assert not queue


def test_the_longest_of_at_most_some_seconds_and_the_shortest_are_found() -> None:
    queue = Queue(shards(1, 3, 2, 2))
    assert queue.longest("a", "x", 9, 2.5) == Shard(name="s2", seconds=2)
    assert queue.longest("a", "x", 9, 2.0) == Shard(name="s2", seconds=2)
    assert queue.longest("a", "x", 9, 0.5) is None
    assert queue.shortest("a", "x", 9) == Shard(name="s0", seconds=1)


def test_copies_are_on_different_hosts_of_one_group() -> None:
    queue = Queue(shards(5), replicate=2)
    assert taken(queue, "a", "x") == "s0"
    assert taken(queue, "a", "x") is None
    assert taken(queue, "b", "y") is None
    assert len(queue) == 1
    assert (queue.work("x"), queue.work(None)) == (5, 0)
    assert taken(queue, "c", "x") == "s0"
    assert len(queue) == 0


def test_no_shard_begins_in_a_group_that_is_too_small_for_its_copies() -> None:
    assert Queue(shards(5), replicate=3).longest("a", "x", 2) is None


def test_what_a_host_did_not_finish_waits_in_its_place_again() -> None:
    queue = Queue(shards(5, 1))
    assert taken(queue, "a") == "s0"
    queue.put_back("s0", "a", Again.NO)
    assert taken(queue, "a") == "s1"
    assert taken(queue, "b", "y") == "s0", "another group may have it"


def test_what_is_left_of_a_shard_waits_by_its_own_length() -> None:
    queue = Queue(shards(5, 3), replicate=2)
    assert taken(queue, "a") == "s0"
    queue.put_back("s0", "a", Again.YES, left=2)
    assert queue.waiting == [3, 3, 2, 5]
    assert (queue.work("x"), queue.work(None)) == (7, 6)
    assert [taken(queue, "a"), taken(queue, "b")] == ["s1", "s1"]
    assert taken(queue, "b") == "s0"
    assert queue.longest("a", "x", 9) == Shard(name="s0", seconds=5), "the copy that none began"


def test_the_end_is_foretold_by_what_is_busy_and_what_waits() -> None:
    assert expected_end([10, 10], {"a": 5.0}, idle=1) == 15.0
    assert expected_end([], {"a": 5.0}, idle=3) == 5.0
    assert makespan([3, 3, 2, 2, 2], 2) == 7  # 3+2+2 and 3+2: the best is 6, and 4/3 of it is 8
