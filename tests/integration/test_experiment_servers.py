"""One whole experiment of each server family: facts that only its servers show."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.builds import Build
from tests.integration.conftest import GetBuild
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full

OLDEST, NEWEST = "postgres@10.23", "postgres@18.4"
UNLIKE = ("mysql@5.6.24", "mysql@9.7.4", "mariadb@10.11.18/rocksdb", NEWEST)
WITHOUT_INDEXES = ("enable_indexscan=off", "enable_indexonlyscan=off", "enable_bitmapscan=off")


pytestmark = pytest.mark.builds(OLDEST, *UNLIKE)


def test_postgres_old_and_new_and_a_directory_whose_build_is_slower(
    workplace: Workplace, postgres_builds: GetBuild
) -> None:
    overrule(postgres_builds("18.4"), workplace.folder / "slow-build", *WITHOUT_INDEXES)
    contenders = (OLDEST, NEWEST, "./slow-build")
    tests = ("update-index", "point-query", "range-covered-pk")
    fields = {"rows": 10_000, "budget": "2s"}
    workplace.run("run", workplace.write_experiment("family", contenders, *tests, **fields))

    manifest, report = workplace.manifest("family"), workplace.report("family")
    names = report["contenders"]
    assert names[:2] == [OLDEST, NEWEST]
    assert [(r["test"], r["contender"]) for r in report["results"]] == [
        (test, contender) for test in tests for contender in names
    ]
    for result in report["results"]:
        assert result["errors"] == 0
        assert result["incarnations"] >= 2
        assert result["qps"] > 0
        assert result["per_op"]["server_cpu_us"] > 0
        assert result["per_op"]["cs"] > 0.1
        if result["contender"] == report["base"]:
            assert result["rqps"] == 1
        else:
            assert result["low"] <= result["rqps"] <= result["high"]
    results = {(result["test"], result["contender"]): result for result in report["results"]}
    slow = results["point-query", names[2]]
    assert slow["verdict"] == "slower"
    assert slow["high"] < 0.5
    assert manifest["aged_to"].keys() == {"update-index@1"}
    assert {(plan["test"], plan["contender"]) for plan in manifest["plans"]} == {*results}
    assert all("sbtest1" in plan["plan"] for plan in manifest["plans"])
    check_start_is_kept(manifest)
    assert NEWEST in workplace.page("family")
    assert (workplace.folder / f"results/family/logs/2-{NEWEST}.log").stat().st_size
    assert workplace.nothing_is_left()


def check_start_is_kept(manifest: dict[str, Any]) -> None:
    """The state of tables, the servers' counters, and their settings in force."""
    steps = {f"{record['test']}@1" for record in manifest["plans"]}
    for contender in manifest["contenders"]:
        name = contender["name"]
        records = [record for record in manifest["preparations"] if record["contender"] == name]
        assert records[0]["after"] == "load"
        assert records[0]["facts"]["sbtest1"]["pages"] > 0
        assert steps == {step for record in records for step in record["steps"]}
        counted = [record for record in manifest["counters"] if record["contender"] == name]
        assert {record["step"] for record in counted} == steps
        assert all(record["operations"] > 0 for record in counted)
        assert all(record["amounts"]["index_blocks"] > 0 for record in counted)
        assert contender["settings_in_force"].keys() == contender["settings"].keys()


def overrule(build: Build, directory: Path, *settings: str) -> None:
    """Make a build directory whose server has settings that no file of settings changes."""
    directory.mkdir()
    for entry in build.root.iterdir():
        if entry.name != "bin":
            (directory / entry.name).symlink_to(entry)
    (directory / "bin").mkdir()
    for program in (build.root / "bin").iterdir():
        if program.name != "postgres":
            (directory / "bin" / program.name).symlink_to(program)
    wrapper = directory / "bin" / "postgres"
    overruling = " ".join(f"-c {setting}" for setting in settings)
    wrapper.write_text(f'#!/bin/sh\nexec {build.root}/bin/postgres "$@" {overruling}\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


@full
def test_all_tests_run_on_the_oldest_and_the_newest_postgres(workplace: Workplace) -> None:
    fields = {"suite": "full", "rows": 10_000, "slice": "20ms", "incarnations": 1}
    workplace.run("run", workplace.write_experiment("all", (OLDEST, NEWEST), **fields))
    results = workplace.report("all")["results"]
    assert [r["test"] for r in results if r["contender"] == NEWEST] == [
        test.name for test in MICRO.tests
    ]
    assert all(result["errors"] == 0 for result in results)


def test_connections_are_encrypted_where_the_build_can(workplace: Workplace) -> None:
    old, new = UNLIKE[:2]
    fields = {"rows": 1000, "clients": [2], "incarnations": 1, "slice": "50ms", "budget": "2s"}
    contenders = (NEWEST, new, old)
    written = workplace.write_experiment("tls", contenders, "connect", "connect-tls", **fields)
    workplace.run("run", written)
    report = workplace.report("tls")
    measured = [(result["test"], result["contender"]) for result in report["results"]]
    assert measured == [
        *(("connect", each) for each in contenders),
        *(("connect-tls", each) for each in contenders[:2]),
    ]
    assert [result["errors"] for result in report["results"]] == [0] * len(measured)
    plain, encrypted = (
        result["qps"] for result in report["results"] if result["contender"] == NEWEST
    )
    assert encrypted < plain
    (warning,) = (each for each in report["warnings"] if "connect-tls" in each)
    assert warning.startswith(f"{old} ")
    assert " connect-tls: " in warning


def test_unlike_contenders_are_compared_and_the_head_says_so(workplace: Workplace) -> None:
    tests = ("point-query", "update-index")
    workplace.run("run", workplace.write_experiment("unlike", UNLIKE, *tests, incarnations=1))
    report = workplace.report("unlike")
    assert [result["errors"] for result in report["results"]] == [0] * 8
    assert all(result["per_op"]["server_cpu_us"] > 0 for result in report["results"])
    heads = [note.partition(":")[0] for note in report["notes"]]
    assert any("DBMS" in head for head in heads)
    assert any("storage engines" in head for head in heads)
    assert len({info["buffer_pool_bytes"] for info in report["contender_info"]}) == 1
    assert [info.get("engine") for info in report["contender_info"]] == [
        "innodb", "innodb", "rocksdb", None,
    ]  # fmt: skip
    assert [info["allocator"] for info in report["contender_info"]][:3] == [
        "glibc", "tcmalloc", "glibc",
    ]  # fmt: skip
    logs = workplace.folder / "results/unlike/logs"
    assert all(list(logs.glob(f"{number}-*.log")) for number in range(1, 5))
    assert workplace.nothing_is_left()


@full
def test_single_rows_by_engine_with_a_binlog(workplace: Workplace) -> None:
    axes = {"engine": ["innodb", "memory"], "log_bin": [True]}
    tests = ("update-same-indexed", "range-pk.10")
    fields = {"benchmark": "slap", "clients": [1, 4], "matrix": axes}
    contenders = ("mysql@9.7.4+glibc",)
    workplace.run("run", workplace.write_experiment("slap", contenders, *tests, **fields))
    report = workplace.report("slap")
    # Tables of MEMORY are loaded again after the restart: no row is missing.
    assert [result["errors"] for result in report["results"]] == [0] * 8
    reads = [result for result in report["results"] if result["test"] == "range-pk.10"]
    assert [result["clients"] for result in reads] == [1, 1, 4, 4]
    assert all(result["amounts"]["rows_returned"] == 10 for result in reads)
    (other,) = {*report["contenders"]} - {report["base"]}
    others = [result for result in report["results"] if result["contender"] == other]
    assert all(result["response_time"]["relative"] > 0 for result in others)
    infos = report["contender_info"]
    assert [(info["engine"], info["allocator"]) for info in infos] == [
        ("innodb", "glibc"),
        ("memory", "glibc"),
    ]
    assert all(info["settings"]["log_bin"] == "on" for info in infos)
    assert len(report["concurrency"]) == len(tests)
    assert json.loads(workplace.slice_lines("slap")[0])["place"]["benchmark"] == "slap"
