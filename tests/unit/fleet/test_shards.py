"""Shards of an experiment keep contenders that are compared, and tables that age, together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.shards import Shard, cut, refuse, shard_spec

OLD, NEW, NEWER = "postgres@15.8", "postgres@16.4", "postgres@17.6"


def spec_of(contenders: Sequence[object] | None = None, **changes: object) -> Spec:
    data = {
        "name": "night",
        "contenders": list(contenders or [OLD, NEW]),
        "budget": "600s",
        **changes,
    }
    return parse_spec(data)


def cuts_of(spec: Spec, lanes: int, start: float = 0.0) -> list[Shard]:
    """Cut an experiment on hosts where a start of each contender takes `start` seconds."""

    def seconds(shard: Spec) -> float:
        return shard.budget + start * len(shard.planned_contenders())

    return cut(spec, lanes, seconds)


def test_one_host_measures_all_in_one_piece() -> None:
    spec = spec_of(suite="quick")
    [part] = cuts_of(spec, 1)
    assert part.tests == [test.name for test in spec.chosen_tests()]
    assert shard_spec(spec, part, "s").budget == spec.budget


def test_only_measures_the_named_tests() -> None:
    spec = spec_of(tests=["point-query", "scan", "hot-points"], only=["scan", "hot-points"])
    parts = cuts_of(spec, 2)
    assert sorted(test for part in parts for test in part.tests) == ["hot-points", "scan"]
    shards = [shard_spec(spec, part, "s") for part in parts]
    assert sum(shard.budget for shard in shards) == pytest.approx(spec.budget)


def test_ageing_stays_before_the_only_test_on_the_data() -> None:
    spec = spec_of(tests=["update-index", "delete", "scan"], only=["delete"])
    [part] = cuts_of(spec, 3)
    shard = shard_spec(spec, part, "s")
    assert [test.name for test in shard.tests_to_measure()] == ["delete"]
    assert part.tests.index("update-index") < part.tests.index("delete")
    assert shard.budget == pytest.approx(spec.budget)


def test_every_step_is_in_one_shard() -> None:
    spec = spec_of(suite="full", clients=[1, 4])
    for lanes in (2, 3, 8, 50):
        steps = Counter(
            (test, clients)
            for part in cuts_of(spec, lanes)
            for test in part.tests
            for clients in part.clients
        )
        assert set(steps.values()) == {1}
        assert len(steps) == 2 * len(spec.chosen_tests())


def test_tests_on_aged_data_stay_with_what_ages_them() -> None:
    spec = spec_of(suite="full")
    first = next(test for test in spec.chosen_tests() if test.changes_data)
    aged = [test.name for test in spec.chosen_tests()]
    aged = aged[aged.index(first.name) :]
    [part] = [part for part in cuts_of(spec, 20) if first.name in part.tests]
    assert part.tests == aged


def test_budgets_add_up_and_a_shard_has_as_much_for_a_test_as_the_whole() -> None:
    spec = spec_of(tests=["point-query", "hot-points", "scan", "random-points.10"])
    parts = cuts_of(spec, 2)
    budgets = [shard_spec(spec, part, "s").budget for part in parts]
    assert sum(budgets) == pytest.approx(spec.budget)
    assert [each / len(part.tests) for each, part in zip(budgets, parts, strict=True)] == [
        pytest.approx(150.0)
    ] * len(parts)


def test_a_shard_has_all_contenders() -> None:
    spec = spec_of(
        [OLD, {"contender": NEW, "matrix": {"work_mem": ["4MB", "8MB"]}}, OLD], tests=["scan"]
    )
    [shard] = cuts_of(spec, 4)
    part = shard_spec(spec, shard, "s")
    titles = [each.title(None) for each in spec.planned_contenders()]
    assert [each.title(None) for each in part.planned_contenders()] == titles
    assert part.budget == spec.budget


def test_hosts_that_are_no_multiple_of_the_copies_all_have_work() -> None:
    spec = spec_of(tests=["point-query", "hot-points", "scan"])
    shards = cut(spec, 3, lambda shard: shard.budget, replicate=2)
    assert len(shards) == 3


def test_small_shards_are_made_where_starts_take_little_next_to_the_tests() -> None:
    tests = [test.name for test in spec_of(suite="full").chosen_tests() if not test.changes_data]
    hour, minute = (spec_of(tests=tests[:8], budget=budget) for budget in ("3600s", "60s"))
    assert len(cuts_of(hour, 2, start=1.0)) == 8
    assert len(cuts_of(minute, 2, start=1.0)) == 2


def test_many_small_shards_are_not_made_where_starts_take_longer_than_tests() -> None:
    spec = spec_of(suite="full", budget="60s")
    assert len(cuts_of(spec, 2, start=300.0)) == 2


def test_the_rest_of_a_shard_has_its_share_of_time_and_starts() -> None:
    spec = spec_of(tests=["scan"], incarnations=4)
    left = shard_spec(spec, cuts_of(spec, 1)[0], "s", done=0.75, starts=1)
    assert left.budget == pytest.approx(150.0)
    assert left.incarnations == 1


def test_calibrations_and_running_servers_are_refused() -> None:
    slowed = [{"contender": OLD, "slowed": 0}, {"contender": OLD, "slowed": 0.05}]
    with pytest.raises(UsageError, match="fleet calibrate"):
        refuse(spec_of(slowed))
    with pytest.raises(UsageError, match="one host"):
        refuse(spec_of(["postgresql://a@127.0.0.1/x", OLD]))
