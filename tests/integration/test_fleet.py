"""Three real Ray nodes on this machine measure SQLite; one is killed, and so is the head."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.fleet_of_nodes import NEW, OLD, Fleet, fleet_of
from tests.integration.slowdust_command import wait_until


@pytest.fixture(scope="module")
def fleet(builds: GetBuildOf) -> Iterator[Fleet]:
    for contender in (OLD, NEW):
        builds(*contender.split("@"))
    with fleet_of(["a", "b", "c"]) as fleet:
        yield fleet


def test_hosts_measure_what_one_host_alone_does(fleet: Fleet) -> None:
    tests = ["point-query", "scan"]
    spec = fleet.write("apart", tests, "3s", 2)
    fleet.workplace.run(*fleet.arguments(spec, "--replicate", "2", "--hosts", "2"))
    fleet.workplace.run("run", spec, "--results", "alone", "--yes")

    hosts = fleet.workplace.manifest("apart")["hosts"]
    assert len(hosts) == 2
    for host in hosts:
        cache = fleet.workplace.folder / host["name"] / "cache"
        assert len(list(cache.glob("builds/sqlite/3*/build.json"))) == 2, "builds are handed on"
    apart = {each["test"]: each for each in fleet.workplace.report("apart")["results"]}
    alone = json.loads(fleet.workplace.run("report", "apart", "--json", "--results", "alone"))
    for result in alone["results"]:
        if result.get("interval") and apart[result["test"]].get("interval"):
            low, high = result["interval"]
            other_low, other_high = apart[result["test"]]["interval"]
            assert low <= other_high, result["test"]
            assert other_low <= high, result["test"]
    assert fleet.workplace.nothing_is_left()


def test_what_is_killed_goes_on_and_no_slice_is_lost_or_counted_twice(fleet: Fleet) -> None:
    spec = fleet.write("killed", ["point-query", "scan", "hot-points"], "9s", 2)
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_until(lambda: fleet.received("killed") > 6, "slices come")
    head.send_signal(signal.SIGKILL)
    head.wait()
    before = fleet.received("killed")

    head = fleet.workplace.start(*fleet.arguments("killed", "--resume"))
    wait_until(lambda: fleet.received("killed", "b") > 4, "host b measures again")
    fleet.tell("kill b")
    output, errors = head.communicate(timeout=150)
    assert head.returncode == 0, errors
    assert "b is lost" in errors
    record = fleet.record("killed")
    lost = [each for each in record["placements"] if each["state"] == "lost"]
    assert {each["host"] for each in lost} == {"b"}
    lines = fleet.workplace.slice_lines("killed")
    assert len(lines) == fleet.received("killed") > before
    places = [json.dumps(json.loads(line)["place"], sort_keys=True) for line in lines]
    assert len(set(places)) == len(places)
    assert "point-query" in output
    turns = fleet.workplace.manifest("killed")["turns_done"]
    assert set(turns) == {"point-query@1", "scan@1", "hot-points@1"}
