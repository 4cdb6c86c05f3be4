"""Real Ray nodes build and measure SQLite: some killed, late, slow, full, or of another CPU model.

What becomes of hosts is decided by the head, which tests/unit/fleet tests on a simulated cluster;
here one run shows that nodes of Ray do what the simulated ones do, the others run rarely.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.fleet_of_nodes import NEW, OLD, Fleet, running_fleet
from tests.integration.slowdust_command import wait_for_line
from tests.tiers.selection import full, require
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


def test_builds_are_compiled_and_pushed_and_no_slice_is_lost_or_counted_twice_after_kills(
    fleet: Fleet,
) -> None:
    spec = fleet.write("killed", TESTS, "6s", 2, base=COMPILED)
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_until(lambda: fleet.received("killed") > 6, "slices come")
    head.send_signal(signal.SIGKILL)
    _, errors = head.communicate(timeout=60)
    check_builds(fleet, errors)
    before, of_full = fleet.received("killed"), fleet.received("killed", "full")

    head = fleet.workplace.start(*fleet.arguments("killed", "--resume"))
    wait_until(lambda: fleet.received("killed", "full") > of_full, "a host measures again")
    fleet.kill("full")
    output, errors = head.communicate(timeout=150)
    assert head.returncode == 0, errors
    assert "full is lost" in errors
    record = fleet.record("killed")
    lost = [each for each in record["placements"] if each["state"] == "lost"]
    assert {each["host"] for each in lost} == {"full"}
    lines = fleet.workplace.slice_lines("killed")
    assert len(lines) == fleet.received("killed") > before
    assert fleet.workplace.has_each_slice_once("killed")
    assert "point-query" in output
    manifest = fleet.workplace.manifest("killed")
    assert {*manifest["turns_done"]} == {"point-query@1", "scan@1", "hot-points@1"}
    assert "bare" in {host["name"] for host in manifest["hosts"]}
    facts = {each["name"]: each["build"] for each in manifest["contenders"]}
    record_of_build = fleet.workplace.folder / "full/cache/compiled/sqlite/3.17.0-debug/build.json"
    assert facts[COMPILED] == json.loads(record_of_build.read_text())["facts"]
    assert facts[COMPILED]["compiled"]["flags"] == "debug"


def check_builds(fleet: Fleet, errors: str) -> None:
    """The node with a compiler has compiled, and each node has the same builds."""
    assert f"full: compiling {COMPILED} with cc" in errors
    assert f"full: compiled {COMPILED} in " in errors
    caches = {name: fleet.workplace.folder / name / "cache" for name in ("full", "head", "bare")}
    for build in ("compiled/sqlite/3.17.0-debug", "builds/sqlite/3.50.2"):
        records = {(cache / build / "build.json").read_bytes() for cache in caches.values()}
        assert len(records) == 1


@full
def test_hosts_measure_what_one_host_alone_does(fleet: Fleet) -> None:
    fleet.has("a", "b", "c")
    tests = ["point-query", "scan"]
    spec = fleet.write("apart", tests, "3s", 2)
    fleet.workplace.run(*fleet.arguments(spec, "--replicate", "2", "--hosts", "2"))
    fleet.workplace.run("run", spec, "--results", "alone", "--yes")

    assert len(fleet.workplace.manifest("apart")["hosts"]) == 2
    apart = {each["test"]: each for each in fleet.workplace.report("apart")["results"]}
    alone = json.loads(fleet.workplace.run("report", "apart", "--json", "--results", "alone"))
    for result in alone["results"]:
        if result.get("interval") and apart[result["test"]].get("interval"):
            low, high = result["interval"]
            other_low, other_high = apart[result["test"]]["interval"]
            assert low <= other_high, result["test"]
            assert other_low <= high, result["test"]
    assert fleet.workplace.nothing_is_left()


@full
def test_copies_are_measured_on_one_model_of_cpu(fleet: Fleet) -> None:
    fleet.has("a", "c", "other cpu=Faked_CPU_9000")
    spec = fleet.write("models", TESTS[:2], "3s", 2)
    fleet.workplace.run(*fleet.arguments(spec, "--replicate", "2"))
    record = fleet.record("models")
    assert record["hosts"]["other"]["cpu"] == "Faked CPU 9000"
    assert len(record["placements"]) == 2 * len(record["shards"])
    assert fleet.shards_of("models", "other") == []


@full
def test_a_full_disk_takes_a_host_out_and_others_do_what_it_left(fleet: Fleet) -> None:
    fleet.has("a", "c", "small disk=64m")
    spec = fleet.write("full", TESTS, "9s", 2)
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_until(lambda: fleet.received("full", "small") > 2, "the small one measures")
    fleet.tell("fill small")
    _, errors = head.communicate(timeout=150)
    assert head.returncode == 0, errors
    record = fleet.record("full")
    assert "No space left on device" in record["left_out"]["small"]
    (left,) = fleet.shards_of("full", "small")
    assert [each["shard"] for each in record["placements"]].count(left) == 2
    turns = fleet.workplace.manifest("full")["turns_done"]
    assert set(turns) == {f"{test}@1" for test in TESTS}
    assert fleet.workplace.has_each_slice_once("full")
    assert "small" in record["forgotten"]
    assert not list(fleet.workplace.folder.glob(f"*/data/fleet/{record['id']}"))


@full
def test_a_late_host_does_what_a_lost_one_left_and_verdicts_are_by_model(fleet: Fleet) -> None:
    fleet.has("a", "other cpu=Faked_CPU_9000")
    spec = fleet.write("late", TESTS[:2], "40s", 2)
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_until(lambda: fleet.received("late", "other") > 0, "slices come")
    fleet.join("late cpu=Faked_CPU_9000")
    wait_until(lambda: "late" in fleet.record("late")["hosts"], "the late host is met")
    fleet.kill("other")
    _, errors = head.communicate(timeout=150)
    assert head.returncode == 0, errors
    assert fleet.shards_of("late", "late") == fleet.shards_of("late", "other") != [], errors
    (test,) = fleet.tests_of("late", "late")
    groups = {
        each["test"]: each.get("groups") for each in fleet.workplace.report("late")["results"]
    }
    assert [(g["group"], g["hosts"]) for g in groups.pop(test)] == [
        ("Faked CPU 9000", ["other", "late"])
    ]
    for (group,) in groups.values():
        assert group["group"] != "Faked CPU 9000"


@full
def test_what_a_slow_host_has_begun_is_ended_by_an_idle_one(fleet: Fleet) -> None:
    fleet.has("a", "crawling")
    fleet.tell("slow crawling")
    spec = fleet.write("slow", TESTS[:2], "24s", 3)
    head = fleet.workplace.start(*fleet.arguments(spec))
    _, errors = head.communicate(timeout=600)
    assert head.returncode == 0, errors
    (slow,) = [each for each in fleet.record("slow")["placements"] if each["host"] == "crawling"]
    assert (slow["state"], slow.get("reason")) == ("lost", "a ends it sooner"), errors
    assert slow["shard"] in fleet.shards_of("slow", "a")
    assert set(fleet.workplace.manifest("slow")["turns_done"]) == {f"{t}@1" for t in TESTS[:2]}
    assert fleet.workplace.has_each_slice_once("slow")


@full
def test_ctrl_c_ends_the_compilers_of_other_nodes(fleet: Fleet) -> None:
    fleet.has("full")
    spec = fleet.write("ended", TESTS[:1], "2s", 1, base="sqlite@3.17.0+o3")
    head = fleet.workplace.start(*fleet.arguments(spec))
    wait_for_line(head, "full: compiling sqlite@3.17.0+o3")
    wait_until(lambda: bool(compilers(fleet)), "the compiler runs")
    head.send_signal(signal.SIGINT)
    head.communicate(timeout=60)
    assert head.returncode == 1
    assert not compilers(fleet), "the head waits until they have ended"
    left = [path.name for path in (fleet.workplace.folder / "full/cache/compiled/sqlite").iterdir()]
    assert "3.17.0-o3" not in left
    record = fleet.workplace.folder / "results" / "ended.fleet" / "fleet.json"
    assert not record.exists(), "the same command begins anew"


def compilers(fleet: Fleet) -> list[int]:
    """The processes of compilers on the node that has one."""
    cache = str(fleet.workplace.folder / "full" / "cache")
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
            is_compiler = process.info["name"] in ("cc", "cc1")
            if is_compiler and process.environ().get("SLOWDUST_CACHE") == cache:
                found.append(process.pid)
    return found
