"""Slow hosts get what they end in time, and what they cannot end in time is taken over."""

from __future__ import annotations

import pytest

from bench.fleet_plans import drawn_shards, simulated
from slowdust.fleet.planning.pace import Teaches
from slowdust.fleet.planning.plan import Plan, Takeover
from slowdust.fleet.planning.queue import Again, Shard


def plan_of(
    seconds: list[float], paces: dict[str, float], replicate: int = 1, **groups: str
) -> Plan:
    """Shards that wait at second 0, and idle hosts; those of pace 0 are unknown."""
    plan = Plan([Shard(name=f"s{n}", seconds=each) for n, each in enumerate(seconds)], replicate)
    plan.share({host: groups.get(host, "x") for host in paces}, 0.0)
    for host, pace in paces.items():
        if pace:
            plan.paces.begin(host, "earlier", 1.0, -pace, Teaches.YES)
            plan.paces.finish(host, 0.0)
    return plan


def taken(plan: Plan, host: str, now: float = 0.0) -> float | None:
    shard = plan.take(host, now)
    return shard.seconds if shard else None


def test_a_slow_host_gets_the_longest_shard_that_it_ends_with_the_others() -> None:
    plan = plan_of([50, 40, 30, 20, 10], {"a": 1, "b": 1, "c": 1, "slow": 3})
    assert taken(plan, "slow") == 10, "all of it takes 50 seconds: 150 in 3 and a third hosts"
    assert [taken(plan, host) for host in "abc"] == [50, 40, 30]


def test_at_the_end_a_slow_host_waits_unless_it_is_no_later_than_the_others() -> None:
    plan = plan_of([50, 20], {"a": 1, "b": 1, "slow": 4})
    assert taken(plan, "a") == 50
    plan.paces.begin("b", "other", 45.0, 0.0, Teaches.YES)
    assert taken(plan, "slow") is None, "b ends it at 65, and it would at 80"
    plan.paces.begin("b", "other", 65.0, 0.0, Teaches.YES)
    plan.paces.begin("a", "other", 65.0, 0.0, Teaches.YES)
    assert taken(plan, "slow") == 20


def test_a_slow_host_measures_what_nobody_else_may() -> None:
    hosts = {"a": 1.0, "b": 1.0, "slow": 9.0}
    plan = plan_of([50], hosts, replicate=3)
    assert [taken(plan, host) for host in ("a", "b", "slow")] == [50, 50, 50]
    assert taken(plan_of([50], {"slow": 9.0, "slower": 9.0}), "slow") == 50


def test_an_unknown_host_is_spared_the_longest_where_they_can_wait() -> None:
    many = [25.0, *[10.0] * 20]
    assert taken(plan_of(many, {"a": 0, "b": 0}), "a") == 25, "112 seconds are 4 times as long"
    many = [70.0, *[10.0] * 19]
    assert taken(plan_of(many, {"a": 0, "b": 0}), "a") == 10, "it can begin when a pace is known"
    assert taken(plan_of([50, 10, 10, 10], {"a": 0, "b": 0, "c": 0}), "a") == 50, "it cannot wait"


def test_the_work_of_a_group_counts_where_shards_have_copies() -> None:
    groups = {"a": "x", "b": "x", "slow": "x", "d": "y", "e": "y", "f": "y"}
    plan = plan_of([60, 60, 30], dict.fromkeys(groups, 1.0) | {"slow": 2.0}, 2, **groups)
    assert [taken(plan, host) for host in ("d", "e")] == [60, 60]
    assert taken(plan, "slow") == 30, "60 and 60 seconds are of the other group"
    assert [taken(plan, host) for host in ("a", "f", "b")] == [60, None, 60]
    assert taken(plan, "a", 60.0) is not None


@pytest.mark.parametrize("slow", [[], [2.0] * 5, [4.0] * 5])
def test_a_large_fleet_ends_within_a_tenth_of_the_lower_bound(slow: list[float]) -> None:
    outcome = simulated(drawn_shards(500, seed=1), hosts=50, replicate=1, slow=slow)
    assert outcome.makespan <= 1.10 * outcome.lower_bound
    assert outcome.placed == 500


def test_an_idle_host_takes_over_what_it_ends_in_half_the_time() -> None:
    plan = plan_of([100], {"slow": 0, "idle": 1, "other": 1}, other="y")
    assert taken(plan, "slow") == 100
    assert plan.takeover([], 300.0) is None
    assert plan.takeover(["other"], 300.0) is None, "it is of another group"
    assert plan.takeover(["idle"], 302.0) is None, "it has just been looked for"
    assert plan.takeover(["idle"], 305.0) == Takeover("slow", "idle")


def test_what_is_nearly_done_or_saves_little_is_not_taken_over() -> None:
    plan = plan_of([100], {"slow": 0, "idle": 1})
    plan.take("slow", 0.0)
    assert plan.takeover(["idle"], 215.0) is None, "110 seconds are more than half of 215"
    plan.paces.advance("slow", 0.9, 900.0)
    assert plan.takeover(["idle"], 990.0) is None, "20 of 90 seconds, which saves 70, but"
    short = plan_of([5], {"slow": 0, "idle": 1})
    short.take("slow", 0.0)
    assert short.takeover(["idle"], 30.0) is None, "15 instead of 30 seconds saves less than 20"


def test_what_has_just_done_a_turn_is_not_taken_over_before_its_slices_are_there() -> None:
    plan = plan_of([100], {"slow": 0, "idle": 1})
    plan.take("slow", 0.0)
    plan.paces.advance("slow", 0.25, 400.0)
    assert plan.takeover(["idle"], 400.0) is None
    assert plan.takeover(["idle"], 405.0) == Takeover("slow", "idle")


def test_nothing_is_taken_over_while_shards_wait_nor_by_who_had_it() -> None:
    plan = plan_of([100, 90], {"slow": 0, "idle": 1, "third": 1})
    plan.take("slow", 0.0)
    assert plan.takeover(["idle"], 500.0) is None
    plan.take("third", 500.0)
    plan.put_back("s0", "slow", Again.NO, 50.0)
    plan.give("s0", "idle", 500.0)
    assert plan.paces.work["idle"].seconds == 50.0
    assert plan.takeover(["slow"], 9000.0) != Takeover("idle", "slow")
