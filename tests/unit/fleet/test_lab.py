"""The head keeps the hosts' results when hosts or the head itself fail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.fleet.queue import State, Unfit
from slowdust.store.finding import Finding, Severity
from slowdust.store.folder import Folder, describe_resuming, fleet_folder
from slowdust.studies.engine import Order, carry_out
from tests.unit.fleet.laboratory import (
    STARTS,
    TESTS,
    DyingHead,
    KilledError,
    Laboratory,
    spec_of,
)
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_fleet import START_S, SimulatedFleet, SimulatedHost, packed

FAILS = {"scan": "no such table"}


def test_hosts_share_the_tests_and_all_is_merged(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost()})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    assert fleet.clock < 1.2 * len(TESTS) * STARTS * START_S / 2 + 20
    assert {each.host for each in laboratory.record.placements} == {"a", "b"}
    assert not any(host.disk for host in fleet.simulated.values()), "hosts keep nothing"
    manifest = Folder(tmp_path / "night").read_manifest()
    assert sorted(host.name for host in manifest.hosts) == ["a", "b"]
    shards = len(laboratory.record.shards)
    assert f"0 of {shards} shards done, about " in laboratory.view.states[len(TESTS)]
    assert f"{shards} of {shards} shards done" in laboratory.view.states[-1]


def test_the_longest_shard_comes_first(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost()}))
    laboratory.spec = spec_of(
        tests=["scan", "update-index", "delete", "point-query"], clients=[1, 2]
    )
    laboratory.run()
    record = laboratory.record
    seconds = [record.shard(each.shard).seconds for each in record.placements]
    assert seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize("after", [1.0, 25.0, 48.0, 71.0, 82.0])
def test_a_head_that_is_killed_resumes_where_its_hosts_are(tmp_path: Path, after: float) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, after)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    laboratory.run()
    laboratory.check_complete()
    assert max(fleet.measured.values()) == 1, "no start was measured twice"
    assert all(each.state is State.FINISHED for each in laboratory.record.placements)


def test_the_starts_that_a_lost_host_had_sent_count_and_another_does_the_rest(
    tmp_path: Path,
) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost(dies=57.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    [lost] = [each for each in laboratory.record.placements if each.state is State.LOST]
    assert lost.host == "b"
    [rest] = [each for each in laboratory.record.of(lost.shard) if each.host == "a"]
    assert rest.left is not None
    assert rest.left.starts < STARTS
    assert any("b is lost" in text for text in laboratory.view.warnings)
    assert laboratory.starts_of("b"), "the starts of the lost host are in the result"
    assert Folder(tmp_path / "night").read_manifest().finished, "others did the rest"


def test_a_host_that_lost_its_disk_while_the_head_was_away_begins_again(tmp_path: Path) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, 60.0)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    fleet.simulated["b"].disk.clear()
    laboratory.run()
    laboratory.check_complete()
    folders = [each.folder for each in laboratory.record.placements if each.host == "b"]
    assert len(set(folders)) == len(folders), "what was received earlier is not overwritten"


def test_a_host_that_joins_late_gets_shards(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "late": SimulatedHost(joins=30.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(tests=["point-query", "hot-points", "scan"], clients=[1, 2])
    laboratory.run()
    assert "late" in {each.host for each in laboratory.record.placements}


def test_a_slow_host_gets_fewer_shards(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"quick": SimulatedHost(), "slow": SimulatedHost(slowness=4.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.spec = spec_of(clients=[1, 2, 4, 8])
    laboratory.run()
    shards = Counter(each.host for each in laboratory.record.placements)
    assert shards["quick"] > shards["slow"] > 0


def test_copies_of_a_shard_are_on_hosts_of_one_cpu_model(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost(cpu=cpu) for name, cpu in zip("abcde", "xxyyz", strict=True)}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), replicate=2)
    laboratory.run()
    laboratory.check_complete(times=2)
    for shard in laboratory.record.shards:
        placed = {each.host for each in laboratory.record.of(shard.name)}
        assert len(placed) == 2
        assert len({hosts[host].cpu for host in placed}) == 1
    assert not any(each.host == "e" for each in laboratory.record.placements)


def test_hosts_of_the_largest_group_come_first_where_fewer_are_wanted(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost(cpu=cpu) for name, cpu in zip("abc", "xyy", strict=True)}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), hosts=2)
    laboratory.run()
    assert {each.host for each in laboratory.record.placements} == {"b", "c"}


def test_unfit_hosts_are_excluded_by_name_unless_they_are_wanted(tmp_path: Path) -> None:
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

    again = Laboratory(tmp_path, SimulatedFleet(hosts), unfit=Unfit.USE)
    again.spec = spec_of(name="again")
    again.run()
    assert again.record.left_out.keys() == {"old"}


def test_a_host_that_is_excluded_forgets_what_it_had(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(), "full": SimulatedHost(full=30.0)})
    laboratory = Laboratory(tmp_path, fleet)
    laboratory.run()
    laboratory.check_complete()
    assert laboratory.record.left_out == {"full": "No space left on device"}
    assert any(
        line.startswith("full ") and line.endswith("No space left on device")
        for line in laboratory.view.warnings
    )
    assert not any(host.disk for host in fleet.simulated.values())
    assert not laboratory.record.keeping


def test_a_host_that_was_lost_forgets_when_it_is_met_again(tmp_path: Path) -> None:
    hosts = {"a": SimulatedHost(), "b": SimulatedHost(dies=57.0)}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    assert laboratory.record.keeping == {"b"}
    hosts["b"].dies = None
    laboratory.run()
    assert not hosts["b"].disk
    assert not laboratory.record.keeping


def _of_another_shard(content: bytes) -> bytes:
    del content
    return packed(*synthetic_experiment(["postgres@15.8"], ["scan"]))


@pytest.mark.parametrize(
    "sends",
    [lambda _: b"", lambda content: content[:-100], _of_another_shard],
    ids=["empty", "cut off", "another experiment"],
)
@pytest.mark.parametrize("dies", [None, 15.0])
def test_a_host_that_sends_what_cannot_be_used_is_excluded_and_others_measure_its_shard(
    tmp_path: Path, sends: Callable[[bytes], bytes], dies: float | None
) -> None:
    hosts = {name: SimulatedHost() for name in "ab"}
    hosts["odd"] = SimulatedHost(sends=sends, dies=dies)
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    laboratory.check_complete()
    [placement] = [each for each in laboratory.record.placements if each.host == "odd"]
    assert placement.state is State.LOST
    if dies is None:
        assert "unusable bundle" in laboratory.record.left_out["odd"]
    left = {path.name for path in fleet_folder(tmp_path, "night").iterdir()}
    assert left - {".lock"} == {"fleet.json", "fleet.toml", "hosts"}


def test_a_shard_that_fails_on_three_hosts_is_abandoned_and_tried_again_by_a_new_head(
    tmp_path: Path,
) -> None:
    hosts = {name: SimulatedHost(fails=FAILS) for name in "abcd"}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    record = laboratory.record
    assert [record.shard(shard).tests for shard in record.given_up] == [["scan"]]
    assert set(record.given_up.values()) == {"no such table"}
    assert {r.place.test for r in laboratory.slices()} == {*TESTS} - {"scan"}
    for host in hosts.values():
        host.fails = {}
    laboratory.run()
    laboratory.check_complete()
    assert not laboratory.record.given_up


@pytest.mark.parametrize("other", ["x", "y"])
def test_a_copy_that_no_other_host_may_measure_is_abandoned(tmp_path: Path, other: str) -> None:
    """A third host of another CPU model, or one beyond --hosts, may not."""
    hosts = {
        "a": SimulatedHost(cpu="x"),
        "bad": SimulatedHost(cpu="x", fails=FAILS),
        "z": SimulatedHost(cpu=other),
    }
    wanted = 2 if other == "x" else None
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), replicate=2, hosts=wanted)
    laboratory.run()
    record = laboratory.record
    [shard] = record.given_up
    assert "scan" in record.shard(shard).tests
    assert any(text.startswith(f"{shard} (scan") for text in laboratory.view.warnings)
    assert record.finished
    assert {each.place.test for each in laboratory.slices()} == {*TESTS}


def test_where_every_shard_is_abandoned_the_reason_is_the_error(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost(fails=FAILS)}))
    laboratory.spec = spec_of(tests=["scan"])
    with pytest.raises(SlowdustError, match="no such table"):
        laboratory.run()


def test_without_any_host_the_head_stops_and_says_why(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"old": SimulatedHost(version="0.0.1")})
    with pytest.raises(SlowdustError, match=r"old .*Slowdust 0\.0\.1"):
        Laboratory(tmp_path, fleet).run()


def test_too_few_hosts_of_one_model_for_the_copies_are_an_error(tmp_path: Path) -> None:
    fleet = SimulatedFleet({"a": SimulatedHost(cpu="x"), "b": SimulatedHost(cpu="y")})
    with pytest.raises(SlowdustError, match="2 hosts"):
        Laboratory(tmp_path, fleet, replicate=2).run()


def test_more_starts_of_some_tests_are_measured_as_an_extension(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost()}))
    laboratory.run()
    before = Folder(tmp_path / "night").read_manifest().turns_done
    measured = laboratory.fleet.measured.copy()
    laboratory.spec = spec_of(only=["scan"], incarnations=STARTS + 2, budget="300s")
    laboratory.run()
    added = laboratory.fleet.measured - measured
    assert added.total() == 2
    assert {test for test, _ in added} == {"scan"}
    manifest = Folder(tmp_path / "night").read_manifest()
    assert manifest.turns_done == {**before, "scan@1": STARTS + 2}
    assert manifest.finished
    laboratory.run()
    assert laboratory.fleet.measured - measured == added, "it is finished"


def test_a_study_measures_and_extends_on_a_fleet(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost()}))
    spec = spec_of()
    order = Order(spec, extra=200.0, extended=spec.budget)
    for _ in range(2):  # the second time there is nothing left to do
        experiment = carry_out(order, laboratory.lab, tmp_path)
        assert isinstance(experiment, Experiment)
        assert experiment.stored.manifest.finished
        assert min(experiment.stored.manifest.turns_done.values()) > STARTS
        assert len(laboratory.record.shards) == len(laboratory.record.placements) > len(TESTS) / 2
        assert experiment.report().results


def test_any_two_contenders_are_compared_though_there_are_more_hosts_than_tests(
    tmp_path: Path,
) -> None:
    hosts = {name: SimulatedHost() for name in "abc"}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    contenders = ["postgres@15.8", "postgres@16.4", "postgres@17.6"]
    laboratory.spec = spec_of(contenders=contenders, tests=["scan"])
    experiment = Experiment.create(laboratory.spec, tmp_path)
    experiment.run(laboratory.lab)
    for base in contenders:
        others = {each.contender for each in experiment.report(base).results if each.verdict}
        assert others == {*contenders} - {base}


def test_another_specification_is_refused(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost()}))
    laboratory.run()
    laboratory.spec = spec_of(rows=7000)
    with pytest.raises(UsageError, match="its specification changed"):
        laboratory.run()


def test_experiments_of_an_earlier_version_are_refused_with_its_version(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost()}))
    laboratory.run()
    path = fleet_folder(tmp_path, "night") / "fleet.json"
    record = json.loads(path.read_text())
    record |= {"schema": 1, "finished": False, "cuts": {}, "hosts": {"a": {"slowdust": "0.1.0"}}}
    path.write_text(json.dumps(record))
    with pytest.raises(UsageError, match=r"Slowdust 0.1.0 started 'night'.* schema 1"):
        laboratory.run()
    assert "--resume --fleet" in (describe_resuming(tmp_path / "night") or "")
