"""The head keeps what hosts measured, whatever becomes of hosts and of itself."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.spec import parse_spec
from slowdust.fleet.hosts.fitness import Unfit
from slowdust.fleet.model import HostFacts, Weight
from slowdust.fleet.record import Asked, State
from slowdust.store.finding import Finding, Severity
from slowdust.store.folder import Folder
from tests.tiers.selection import ends_first
from tests.unit.fleet.laboratory import (
    TESTS,
    TURNS,
    DyingHead,
    KilledError,
    Laboratory,
    incarnations,
    spec_of,
)
from tests.unit.synthetic_fleet import TURN_S, SimulatedFleet, SimulatedHost


def test_hosts_share_the_tests_and_all_is_joined(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost()})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    assert fleet.clock < 1.2 * len(TESTS) * TURNS * TURN_S / 2 + 20
    assert {each.host for each in laboratory.record.placements} == {"a", "b"}
    assert not any(host.disk for host in fleet.simulated.values()), "hosts keep nothing"
    manifest = Folder(tmp_path / "night").read_manifest()
    assert sorted(host.name for host in manifest.hosts) == ["a", "b"]


def test_each_test_is_measured_on_as_many_hosts_as_wanted(tmp_path: Path) -> None:
    fleet = SimulatedFleet({name: SimulatedHost() for name in "abcd"})
    laboratory = Laboratory(tmp_path, fleet, Asked(replicate=2))
    laboratory.run()
    laboratory.check_complete(times=2)
    for shard in laboratory.record.shards:
        assert len({each.host for each in laboratory.record.of(shard.name)}) == 2


def test_what_a_lost_host_had_finished_is_kept_and_the_rest_goes_elsewhere(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost(dies=57.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    lost = [each for each in laboratory.record.placements if each.state is State.LOST]
    assert [each.host for each in lost] == ["b"]
    taken = [each for each in laboratory.record.of(lost[0].shard) if each.host == "a"]
    assert taken[0].left is not None
    assert taken[0].left.turns < TURNS
    assert any("b is lost" in text for text in laboratory.view.warnings)
    of_b = [r for r in laboratory.slices() if r.place.incarnation in incarnations(tmp_path, "b")]
    assert of_b, "the finished slices of the lost host are in the result"
    assert Folder(tmp_path / "night").read_manifest().finished, "others did the rest"


@pytest.mark.parametrize("after", ends_first([1.0, 25.0, 48.0, 71.0, 82.0]))
def test_a_head_that_is_killed_goes_on_where_its_hosts_are(tmp_path: Path, after: float) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, after)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete()
    assert max(fleet.measured.values()) == 1, "no turn was measured twice"
    assert all(each.state is State.FINISHED for each in laboratory.record.placements)


def test_a_host_that_lost_its_disk_while_the_head_was_away_begins_anew(tmp_path: Path) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, 60.0)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    fleet.simulated["b"].disk.clear()
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete()
    folders = [each.folder for each in laboratory.record.placements if each.host == "b"]
    assert len(set(folders)) == len(folders), "what was received earlier is not written over"


def test_a_host_that_joins_late_gets_shards(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "late": SimulatedHost(joins=30.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(tests=["point-query", "hot-points", "scan"], clients=[1, 2])
    laboratory.run()
    assert "late" in {each.host for each in laboratory.record.placements}


def test_a_late_host_does_what_a_lost_one_of_its_cpu_model_left(tmp_path: Path) -> None:
    hosts = {
        "a": SimulatedHost(),
        "other": SimulatedHost(cpu="old", dies=57.0),
        "late": SimulatedHost(cpu="old", joins=30.0),
    }
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    laboratory.check_complete()
    record = laboratory.record
    [lost] = [each for each in record.placements if each.state is State.LOST]
    assert lost.host == "other"
    [_, rest] = record.of(lost.shard)
    assert hosts[rest.host].cpu == "old", "its turns are compared with those of the same model"


def test_a_slow_host_gets_fewer_shards(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"quick": SimulatedHost(), "slow": SimulatedHost(slowness=4.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(clients=[1, 2, 4, 8])
    laboratory.run()
    shards = Counter(each.host for each in laboratory.record.placements)
    assert shards["quick"] > shards["slow"] > 0


def test_an_idle_host_takes_over_what_a_slow_one_has_begun(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost() for name in "ab"} | {"slow": SimulatedHost(slowness=10.0)}
    fleet = SimulatedFleet(hosts)
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(clients=[1, 2])
    laboratory.run()
    laboratory.check_complete(times=2)
    bound = 2 * len(TESTS) * TURNS * TURN_S / 2.1
    assert fleet.clock < bound + TURNS * TURN_S, "without it the slow one takes until second 400"
    assert fleet.stopped == ["slow"]
    [stopped, *others] = [e for e in laboratory.record.placements if e.host == "slow"]
    assert not others, "it waits instead of beginning what it cannot end in time"
    assert stopped.state is State.LOST
    [_, rest] = laboratory.record.of(stopped.shard)
    assert stopped.reason == f"{rest.host} ends it sooner"
    assert rest.left is not None
    assert rest.left.turns < TURNS, "the turns that the slow one had done count"
    text = f"slow/{stopped.folder}: stopped, {rest.host} ends it sooner"
    assert text in laboratory.view.events
    assert not laboratory.view.warnings, "it is no loss of the host"
    assert not any(host.disk for host in hosts.values()), "hosts keep nothing"


@pytest.mark.parametrize("after", ends_first([124.5, 140.0, 156.0]))
def test_what_was_taken_over_stays_so_when_the_head_goes_on(tmp_path: Path, after: float) -> None:
    hosts = {name: SimulatedHost() for name in "ab"} | {"slow": SimulatedHost(slowness=10.0)}
    fleet = DyingHead(hosts, after)
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(clients=[1, 2])
    with pytest.raises(KilledError):
        laboratory.run()
    assert fleet.stopped == ["slow"]
    fleet.forget_head()
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete(times=2)
    assert fleet.stopped == ["slow"]
    assert Counter(each.host for each in laboratory.record.placements)["slow"] == 1


def test_the_head_that_goes_on_gives_tests_the_same_shares(tmp_path: Path) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, 60.0)
    laboratory = Laboratory(tmp_path, fleet)
    weights = [
        Weight(test=test, clients=1, dbms="postgres", weight=weight)
        for test, weight in zip(TESTS, (1.0, 1.0, 3.0, 1.0), strict=True)
    ]
    laboratory.facts = [HostFacts(slowdust="0", weights=weights)]
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    laboratory.facts = []
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete()
    record = laboratory.record
    assert record.sizing.hosts == 1
    assert record.sizing.shares["scan"] == pytest.approx(2.0, rel=1e-4)
    [scan] = [name for name, part in record.cuts.items() if "scan" in part.tests]
    assert record.cuts[scan].tests == ["scan"]
    orders = [order for order in fleet.orders if order.folder == scan]
    budgets = [parse_spec(tomllib.loads(order.spec)).budget for order in orders]
    assert budgets == [pytest.approx(100.0, rel=1e-4)] * len(budgets)
    assert len(budgets) >= 1


def test_a_host_that_alone_is_slow_in_its_group_goes_on(tmp_path: Path) -> None:
    hosts = {"a": SimulatedHost(), "slow": SimulatedHost(cpu="other", slowness=10.0)}
    fleet = SimulatedFleet(hosts)
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    assert not fleet.stopped, "what it has begun stays in its group"


def test_a_host_with_a_full_disk_is_left_out_by_name(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "full": SimulatedHost(full=30.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    assert laboratory.record.left_out == {"full": "No space left on device"}
    assert "full is left out: No space left on device" in laboratory.view.warnings


def test_copies_of_a_shard_are_on_hosts_of_one_cpu_model(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost(cpu=cpu) for name, cpu in zip("abcde", "xxyyz", strict=True)}
    fleet = SimulatedFleet(hosts)
    laboratory = Laboratory(tmp_path, fleet, Asked(replicate=2))
    laboratory.run()
    for shard in laboratory.record.shards:
        placed = {each.host for each in laboratory.record.of(shard.name)}
        assert len({hosts[host].cpu for host in placed}) == 1
    assert not any(each.host == "e" for each in laboratory.record.placements)


def test_hosts_of_the_largest_group_come_first_where_fewer_are_wanted(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost(cpu=cpu) for name, cpu in zip("abc", "xyy", strict=True)}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), Asked(hosts=2))
    laboratory.run()
    assert {each.host for each in laboratory.record.placements} == {"b", "c"}


def test_unfit_hosts_are_left_out_by_name_unless_they_are_wanted(tmp_path: Path) -> None:
    busy = Finding(check="Other programs", severity=Severity.PROBLEM, state="They take all.")
    hosts = {
        "a": SimulatedHost(),
        "busy": SimulatedHost(findings=[busy]),
        "old": SimulatedHost(version="0.0.1"),
    }
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    assert laboratory.record.left_out.keys() == {"busy", "old"}
    assert "Other programs: They take all." in laboratory.record.left_out["busy"]
    assert "it has Slowdust 0.0.1" in laboratory.record.left_out["old"]

    laboratory.spec = spec_of(name="again")
    laboratory.wanted = Asked(unfit=Unfit.USE)
    laboratory.run()
    assert laboratory.record.left_out.keys() == {"old"}


def test_a_shard_that_fails_on_three_hosts_is_given_up_and_the_others_are_measured(
    tmp_path: Path,
) -> None:
    hosts = {name: SimulatedHost(fails={"scan": "no such table"}) for name in "abcd"}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    record = laboratory.record
    assert [record.cuts[shard].tests for shard in record.given_up] == [["scan"]]
    assert set(record.given_up.values()) == {"no such table"}
    assert {r.place.test for r in laboratory.slices()} == {*TESTS} - {"scan"}


def test_without_any_host_the_head_stops_and_says_why(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"old": SimulatedHost(version="0.0.1")})
    with pytest.raises(SlowdustError, match=r"no host is there.*old \(it has Slowdust 0.0.1"):
        Laboratory(tmp_path, fleet).run()


def test_too_few_hosts_of_one_model_for_the_copies_are_an_error(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(cpu="x"), "b": SimulatedHost(cpu="y")})
    with pytest.raises(SlowdustError, match="each needs 2 hosts of one CPU model"):
        Laboratory(tmp_path, fleet, Asked(replicate=2)).run()


def test_results_come_while_hosts_measure_and_the_end_is_foretold(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost()}))
    laboratory.run()
    assert laboratory.joins > 2
    left = [each.left for each in laboratory.view.overviews if each.left is not None]
    assert left[0] > left[-1]
    last = laboratory.view.overviews[-1]
    assert last.slices == len(laboratory.slices())
    assert f"{last.shards} of {last.shards} shards done" in last.line


def test_a_name_that_is_taken_and_a_changed_specification_are_refused(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost()}))
    laboratory.run()
    with pytest.raises(UsageError, match="a fleet measured 'night' already"):
        laboratory.run()
    laboratory.spec = spec_of(budget="300s")
    with pytest.raises(UsageError, match="its specification changed"):
        laboratory.run(StartMode.RESUME)
