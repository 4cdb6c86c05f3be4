"""Real Ray nodes measure SQLite: one pushes a build, and a head and a host are killed.

The head decides what becomes of hosts, which tests/unit/fleet tests on a simulated cluster; here
two scenarios show that nodes of Ray do what the simulated ones do.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.fleet_of_nodes import NEW, OLD, Fleet, running_fleet
from tests.tiers.selection import require
from tests.waiting import wait_until

TESTS = ["point-query", "scan", "hot-points"]
COMPILED = "sqlite@3.17.0+debug"


@pytest.fixture(scope="module")
def fleet(builds: GetBuildOf) -> Iterator[Fleet]:
    """A head and a host, `bare`, without a compiler, and a host that has one, `full`."""
    require("cargo", "cc")
    kept = [builds(*contender.split("@")).root.parent for contender in (OLD, NEW)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "no-compiler")
        with running_fleet() as fleet:
            fleet.has("bare")
            fleet.tell("set CC=cc")
            fleet.has("bare", "full")
            own = fleet.workplace.folder / "head" / "cache"
            for build in kept:
                shutil.copytree(build, own / "builds/sqlite" / build.name, symlinks=True)
            patch.setenv("SLOWDUST_CACHE", str(own))
            yield fleet


def test_a_build_is_compiled_by_one_host_that_can_and_pushed_to_all(fleet: Fleet) -> None:
    spec = fleet.write("made", TESTS[:1], "2s", 1, base=COMPILED)
    errors = fleet.workplace.errors(*fleet.arguments(spec, "--replicate", "2"))

    assert f"full: compiled {COMPILED}" in errors
    caches = {name: fleet.workplace.folder / name / "cache" for name in ("full", "head", "bare")}
    for build in ("compiled/sqlite/3.17.0-debug", "builds/sqlite/3.50.2"):
        records = {(cache / build / "build.json").read_bytes() for cache in caches.values()}
        assert len(records) == 1
    manifest = fleet.workplace.manifest("made")
    assert sorted(host["name"] for host in manifest["hosts"]) == ["bare", "full"]
    facts = {each["name"]: each["build"] for each in manifest["contenders"]}
    record = caches["full"] / "compiled/sqlite/3.17.0-debug/build.json"
    assert facts[COMPILED] == json.loads(record.read_text())["facts"]
    assert facts[COMPILED]["compiled"]["flags"] == "debug"
    assert fleet.workplace.nothing_is_left()


def test_a_killed_head_resumes_and_a_killed_host_loses_no_start_that_it_sent(fleet: Fleet) -> None:
    fleet.has("bare", "full")
    spec = fleet.write("killed", TESTS, "9s", 4)
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_until(lambda: fleet.received("killed") > 0, "the slices of a start come")
    head.send_signal(signal.SIGKILL)
    head.wait()
    before, of_full = fleet.received("killed"), fleet.received("killed", "full")

    head = fleet.workplace.start(*fleet.arguments("killed", "--resume"))
    wait_until(lambda: fleet.received("killed", "full") > of_full, "a host measures again")
    fleet.kill("full")
    output, errors = head.communicate(timeout=150)
    assert head.returncode == 0, errors
    assert "full is lost" in errors
    placements = fleet.record("killed")["placements"]
    assert {each["host"] for each in placements if each["state"] == "lost"} == {"full"}
    lines = fleet.workplace.slice_lines("killed")
    assert len(lines) == fleet.received("killed") > before
    assert fleet.workplace.has_each_slice_once("killed")
    assert "point-query" in output
    turns = fleet.workplace.manifest("killed")["turns_done"]
    assert {test: turns[f"{test}@1"] >= 4 for test in TESTS} == dict.fromkeys(TESTS, True)
