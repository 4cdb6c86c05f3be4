"""Builds are made by the nodes of a cluster that can, and handed on to those that cannot."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.fleet_of_nodes import NEW, Fleet, fleet_of
from tests.integration.slowdust_command import wait_for_line, wait_until

BASE = "sqlite@3.17.0+debug"
COMPILED = "compiled/sqlite/3.17.0-debug"
SPEC = """
contenders = ["{base}", "{new}"]
tests = ["point-query"]
rows = 1000
slice = "25ms"
count = "off"
budget = "2s"
incarnations = 1
"""


@pytest.fixture(scope="module")
def fleet(builds: GetBuildOf) -> Iterator[Fleet]:
    """A head without a compiler, and two hosts of which one has one."""
    if not all(map(shutil.which, ("cargo", "cc"))):
        pytest.skip("cargo and cc are needed")
    kept = builds(*NEW.split("@")).root.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "no-compiler")
        with fleet_of(["bare"]) as fleet:
            fleet.tell("set CC=cc")
            fleet.join("full")
            own = fleet.workplace.folder / "head" / "cache"
            shutil.copytree(kept, own / "builds" / "sqlite" / kept.name, symlinks=True)
            patch.setenv("SLOWDUST_CACHE", str(own))
            yield fleet


def write(fleet: Fleet, name: str, base: str) -> str:
    file = fleet.workplace.folder / f"{name}.toml"
    file.write_text(SPEC.format(base=base, new=NEW))
    return file.name


@pytest.mark.timeout(300)
def test_what_one_node_compiled_is_measured_by_all(fleet: Fleet) -> None:
    spec = write(fleet, "made", BASE)
    errors = fleet.workplace.errors(*fleet.arguments(spec, "--replicate", "2"))

    assert f"full: compiling {BASE} with cc" in errors
    assert f"full: compiled {BASE} in " in errors
    records = [
        (fleet.workplace.folder / owner / "cache" / COMPILED / "build.json").read_bytes()
        for owner in ("full", "head", "bare")
    ]
    assert len({*records}) == 1
    manifest = fleet.workplace.manifest("made")
    assert sorted(host["name"] for host in manifest["hosts"]) == ["bare", "full"]
    facts = {each["name"]: each["build"] for each in manifest["contenders"]}
    assert facts[BASE] == json.loads(records[0])["facts"]
    assert facts[BASE]["compiled"]["flags"] == "debug"


@pytest.mark.timeout(120)
def test_ctrl_c_ends_the_compilers_of_other_nodes(fleet: Fleet) -> None:
    spec = write(fleet, "ended", "sqlite@3.17.0+o3")
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
