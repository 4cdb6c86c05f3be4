"""Whole experiments on real servers."""

import json
import os
import re
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.builds import Build
from tests.integration.conftest import GetBuild
from tests.integration.slowdust_command import Workplace, stop_after_slices, wait_until

QUICK = ("--rows", "10000", "--slice", "50ms", "--count", "off")


@pytest.fixture
def workplace(open_dir: Path, postgres_builds: GetBuild) -> Workplace:
    for version in ("15.8", "17.6"):
        postgres_builds(version)
    return Workplace(open_dir)


def compare(name: str, tests: str, budget: str, *contenders: str) -> list[str]:
    named = contenders or ("postgres@15.8", "postgres@17.6")
    return [
        "compare", *named, "--tests", tests, "--budget", budget, "--name", name, *QUICK,
    ]  # fmt: skip


def test_more_goes_on_with_what_is_unsure_and_can_be_killed(workplace: Workplace) -> None:
    twice = compare("more", "scan,point-query", "4s", "postgres@17.6", "postgres@17.6")
    workplace.run(*twice, "--margin", "0.01%")  # so that nothing is the same
    before = workplace.slice_lines("more")
    assert {result["verdict"] for result in verdicts(workplace, "more")} & {"unsure"}

    process = workplace.start("more", "more", "--tests", "point*", "--budget", "8s")
    wait_until(lambda: len(workplace.slice_lines("more")) > len(before) + 4, "it goes on")
    process.kill()
    process.communicate(timeout=60)
    assert "NOT FINISHED: 2 of 2 tests" in workplace.run("report", "more")
    killed = workplace.slice_lines("more")
    workplace.run("run", "more", "--resume")

    lines = workplace.slice_lines("more")
    assert lines[: len(killed)] == killed
    assert killed[: len(before)] == before
    new = [json.loads(line) for line in lines[len(before) :]]
    assert {record["place"]["test"] for record in new} == {"point-query"}
    assert min(record["place"]["incarnation"] for record in new) > max(
        json.loads(line)["place"]["incarnation"] for line in before
    )
    manifest = workplace.manifest("more")
    assert manifest["finished"]
    assert manifest["method"]["budget_s"] > 8
    assert workplace.nothing_is_left()


def verdicts(workplace: Workplace, name: str) -> list[dict[str, Any]]:
    """Return the results that have a verdict."""
    return [result for result in workplace.report(name)["results"] if "verdict" in result]


def test_compares_two_versions_end_to_end(workplace: Workplace) -> None:
    workplace.run(*compare("pair", "point-query,update-index,range-covered-pk", "12s"))
    report = workplace.report("pair")
    assert report["schema"] == 2
    assert report["contenders"] == ["postgres@15.8", "postgres@17.6"]
    assert [(r["test"], r["contender"]) for r in report["results"]] == [
        (test, contender)
        for test in ("update-index", "point-query", "range-covered-pk")
        for contender in ("postgres@15.8", "postgres@17.6")
    ]
    for result in report["results"]:
        assert result["errors"] == 0
        assert result["incarnations"] >= 2
        assert result["qps"] > 100
        assert result["per_op"]["server_cpu_us"] > 0
        assert result["per_op"]["cs"] > 0.1
        if result["contender"] == report["base"]:
            assert result["rqps"] == 1
        else:
            assert result["low"] <= result["rqps"] <= result["high"]
    assert workplace.nothing_is_left()
    plans = workplace.manifest("pair")["plans"]
    check_start_is_kept(workplace.manifest("pair"))
    assert {(plan["test"], plan["contender"]) for plan in plans} == {
        (result["test"], result["contender"]) for result in report["results"]
    }
    assert all("sbtest1" in plan["plan"] for plan in plans)
    page = (workplace.folder / "results" / "pair" / "report.html").read_text()
    assert "postgres@17.6" in page
    assert (workplace.folder / "results" / "pair" / "logs" / "2-postgres@17.6.log").stat().st_size


def check_start_is_kept(manifest: dict[str, Any]) -> None:
    """What tables were like, what servers counted, and what their settings are in force."""
    names = [contender["name"] for contender in manifest["contenders"]]
    steps = {f"{record['test']}@1" for record in manifest["plans"]}
    for name in names:
        records = [record for record in manifest["preparations"] if record["contender"] == name]
        assert records[0]["after"] == "load"
        assert records[0]["facts"]["sbtest1"]["pages"] > 0
        assert steps == {step for record in records for step in record["steps"]}
        counted = [record for record in manifest["counters"] if record["contender"] == name]
        assert {record["step"] for record in counted} == steps
        assert all(record["operations"] > 0 for record in counted)
        assert all(record["amounts"]["index_blocks"] > 0 for record in counted)
    for contender in manifest["contenders"]:
        assert contender["settings_in_force"].keys() == contender["settings"].keys()


def test_write_tests_age_all_data_alike(workplace: Workplace) -> None:
    workplace.run(*compare("aged", "update-index,write-only,point-query", "10s"))
    aged = workplace.manifest("aged")["aged_to"]
    assert set(aged) == {"update-index@1", "write-only@1"}
    assert all(positions[0] > 0 for positions in aged.values())


def test_more_clients_go_on_where_fewer_have_inserted(workplace: Workplace) -> None:
    workplace.run(*compare("rows", "insert,delete", "10s", "postgres@17.6"), "--clients", "1,3")
    results = workplace.report("rows")["results"]
    assert [(r["test"], r["clients"], r["errors"]) for r in results] == [
        ("delete", 1, 0), ("delete", 3, 0), ("insert", 1, 0), ("insert", 3, 0)
    ]  # fmt: skip


def test_several_clients_and_an_open_loop(workplace: Workplace) -> None:
    workplace.run(
        *compare("open", "point-query", "8s", "postgres@17.6"), "--clients", "1,4", "--rate", "500"
    )
    results = workplace.report("open")["results"]
    assert [result["clients"] for result in results] == [1, 4]
    for result in results:
        assert result["qps"] == pytest.approx(500, rel=0.3)
        assert "late_operations" in result


def test_a_slower_build_is_slower(workplace: Workplace, postgres_build: Build) -> None:
    slow = workplace.folder / "slow-build"
    wrap_with_logging(postgres_build, slow)
    workplace.run(
        *compare("slow", "point-query", "25s", "postgres@17.6", "./slow-build"), "--rows", "10000"
    )
    (result,) = [
        r for r in workplace.report("slow")["results"] if r["contender"] != "postgres@17.6"
    ]
    assert result["verdict"] == "slower"
    assert result["high"] < 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_experiment_leaves_nothing_and_says_how_to_go_on(
    workplace: Workplace, number: signal.Signals
) -> None:
    process = workplace.start(*compare("stopped", "point-query", "60s"))
    errors = stop_after_slices(workplace, process, "stopped", number)
    assert process.returncode == 1
    assert "slowdust run results/stopped --resume" in errors
    assert workplace.nothing_is_left()


def test_a_killed_experiment_resumes_without_measuring_again(workplace: Workplace) -> None:
    process = workplace.start(*compare("killed", "point-query,range-covered-pk", "10s"))
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    before = workplace.slice_lines("killed")
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")

    workplace.run("run", "results/killed/experiment.toml", "--resume")
    after = workplace.slice_lines("killed")
    assert after[: len(before)] == before
    manifest = workplace.manifest("killed")
    assert manifest["finished"]
    results = workplace.report("killed")["results"]
    assert {result["test"] for result in results} == {"point-query", "range-covered-pk"}
    assert all(result["incarnations"] >= 2 for result in results)


def test_a_killed_write_test_is_measured_again_so_that_data_ages(workplace: Workplace) -> None:
    process = workplace.start(*compare("torn", "update-index,point-query", "8s"))
    stop_after_slices(workplace, process, "torn", signal.SIGKILL)
    assert "aged_to" not in workplace.manifest("torn")
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")
    workplace.run("run", "results/torn/experiment.toml", "--resume")
    manifest = workplace.manifest("torn")
    assert manifest["aged_to"]["update-index@1"][0] > 0
    assert manifest["turns_done"].keys() == {"update-index@1", "point-query@1"}
    assert min(manifest["turns_done"].values()) >= 3


def test_a_changed_experiment_does_not_resume(workplace: Workplace) -> None:
    process = workplace.start(*compare("changed", "point-query", "60s"))
    stop_after_slices(workplace, process, "changed", signal.SIGINT)
    file = workplace.folder / "results" / "changed" / "experiment.toml"
    file.write_text(file.read_text().replace("rows = 10000", "rows = 20000"))
    resumed = workplace.start("run", str(file), "--resume")
    assert "the method" in resumed.communicate(timeout=120)[1]
    assert resumed.returncode == 2


def test_a_dying_server_ends_its_contender_and_the_others_go_on(workplace: Workplace) -> None:
    process = workplace.start(*compare("dying", "point-query,scan", "8s"))
    wait_until(lambda: len(workplace.slice_lines("dying")) >= 6, "six slices are on disk")
    kill_postmaster(workplace, "postgres@17.6")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "a contender dropped out: postgres@17.6" in errors
    report = workplace.report("dying")
    failed = {info["name"]: info.get("failed") for info in report["contender_info"]}
    assert failed["postgres@15.8"] is None
    assert failed["postgres@17.6"]
    assert "scan" in {
        result["test"] for result in report["results"] if result["contender"] == "postgres@15.8"
    }
    assert workplace.nothing_is_left()
    assert output


def test_an_unknown_setting_is_wrong_use_and_leaves_nothing(workplace: Workplace) -> None:
    process = workplace.start(*compare("setting", "scan", "5s"), "--set", "no_such_setting=1")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "no_such_setting" in errors.splitlines()[-1]
    assert workplace.nothing_is_left()


def test_a_taken_name_is_wrong_use(workplace: Workplace) -> None:
    first = workplace.start(*compare("mine", "point-query", "60s"))
    wait_until(lambda: bool(workplace.slice_lines("mine")), "the first has begun")
    workplace.run(*compare("mine", "point-query", "60s"), expect=2)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    workplace.run(*compare("mine", "point-query", "60s"), expect=2)


def test_all_tests_run_on_the_oldest_and_the_newest(
    workplace: Workplace, postgres_builds: GetBuild
) -> None:
    for version in ("10.23", "18.4"):
        postgres_builds(version)
    file = workplace.folder / "all.toml"
    file.write_text(
        'contenders = ["postgres@10.23", "postgres@18.4"]\n'
        'suite = "full"\nrows = 10000\nslice = "20ms"\nwarmup = "20ms"\nbudget = "30s"\n'
        "incarnations = 1\n"
        'count = "off"\n'
    )
    workplace.run("run", "all.toml")
    results = workplace.report("all")["results"]
    assert [r["test"] for r in results if r["contender"] == "postgres@18.4"] == [
        test.name for test in MICRO.tests
    ]
    assert all(result["errors"] == 0 for result in results)


def test_a_matrix_is_run_and_goes_on(workplace: Workplace) -> None:
    file = workplace.folder / "crossed.toml"
    file.write_text(
        'contenders = ["postgres@17.6"]\ntests = ["update-index"]\n'
        'rows = 10000\nslice = "50ms"\nwarmup = "50ms"\nbudget = "4s"\nincarnations = 2\n'
        'count = "off"\n'
        "[matrix]\nsynchronous_commit = [false, true]\n"
        "plans.generic = { plan_cache_mode = 'force_generic_plan' }\n"
        "plans.custom = { plan_cache_mode = 'force_custom_plan', work_mem = '8MB' }\n"
    )
    workplace.run("run", "crossed.toml")
    contenders = workplace.manifest("crossed")["contenders"]
    assert [contender["name"] for contender in contenders] == [
        f"postgres@17.6 synchronous_commit={commit} plans={plans}"
        for commit in ("off", "on")
        for plans in ("generic", "custom")
    ]
    assert contenders[1]["settings"]["work_mem"] == "8MB"
    assert contenders[2]["settings"]["synchronous_commit"] == "on"
    before = len(workplace.slice_lines("crossed"))

    # Two incarnations settle nothing. On a busy machine they may have spent several budgets.
    budget = workplace.manifest("crossed")["spent_s"] + 12
    kept = workplace.folder / "results" / "crossed" / "experiment.toml"
    kept.write_text(re.sub(r'budget = ".*"', f'budget = "{budget:.0f}s"', kept.read_text()))
    workplace.run("run", str(kept), "--resume")

    assert len(workplace.slice_lines("crossed")) > before
    assert len(workplace.manifest("crossed")["contenders"]) == 4


def wrap_with_logging(build: Build, directory: Path) -> None:
    """A build directory whose server logs every statement: slower by more than a tenth."""
    directory.mkdir()
    for entry in build.root.iterdir():
        if entry.name != "bin":
            (directory / entry.name).symlink_to(entry)
    (directory / "bin").mkdir()
    for program in (build.root / "bin").iterdir():
        if program.name != "postgres":
            (directory / "bin" / program.name).symlink_to(program)
    wrapper = directory / "bin" / "postgres"
    wrapper.write_text(
        f'#!/bin/sh\nexec {build.root}/bin/postgres "$@" -c log_min_duration_statement=0\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def kill_postmaster(workplace: Workplace, contender: str) -> None:
    directories = f"instances/*/*{contender.partition('@')[2]}*"
    (pid_file,) = workplace.data_root.glob(f"{directories}/data/postmaster.pid")
    os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
