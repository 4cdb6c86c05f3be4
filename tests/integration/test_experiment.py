"""Whole experiments on SQLite: the behaviour of the commands."""

from __future__ import annotations

import json
import signal

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.dbms import family
from tests.integration.slowdust_command import LONG, Workplace, stop_after_slices, wait_for_slices
from tests.tiers.selection import full
from tests.waiting import wait_until

OLD, NEW = "sqlite@3.17.0", "sqlite@3.50.2"


pytestmark = pytest.mark.builds(OLD, NEW)


@pytest.mark.parametrize("number", [None, pytest.param(signal.SIGKILL, marks=full)])
def test_more_continues_with_what_is_unsure_and_can_be_killed(
    workplace: Workplace, number: signal.Signals | None
) -> None:
    nothing_is_the_same = {"margin": "0.01%"}
    twice = ("scan", "point-query")
    workplace.run("run", workplace.write_experiment("m", (NEW, NEW), *twice, **nothing_is_the_same))
    before = workplace.slice_lines("m")
    results = workplace.report("m")["results"]
    assert "unsure" in {result.get("verdict") for result in results}

    if number is None:
        workplace.run("more", "m", "--tests", "point*", "--budget", "1s")
    else:
        process = workplace.start("more", "m", "--tests", "point*", "--budget", "10s")
        wait_until(lambda: len(workplace.slice_lines("m")) > len(before) + 4, "it goes on")
        process.send_signal(number)
        process.communicate(timeout=60)
        assert "NOT FINISHED: 2 of 2 tests" in workplace.run("report", "m")
        killed = workplace.slice_lines("m")
        assert workplace.manifest("m")["method"]["budget_s"] > 10
        workplace.leave_budget("m", 1)
        workplace.run("run", "m", "--resume")
        assert workplace.slice_lines("m")[: len(killed)] == killed

    lines = workplace.slice_lines("m")
    assert lines[: len(before)] == before
    new = [json.loads(line)["place"] for line in lines[len(before) :]]
    assert {place["test"] for place in new} == {"point-query"}
    assert min(place["incarnation"] for place in new) > max(
        json.loads(line)["place"]["incarnation"] for line in before
    )
    assert workplace.manifest("m")["finished"]
    assert workplace.nothing_is_left()


def test_clients_insert_and_delete_in_an_open_loop(workplace: Workplace) -> None:
    tests = ("point-query", "insert", "delete")
    fields = {"clients": [1, 3], "rate": {"per_second": 500}, "rows": 5000}
    workplace.run("run", workplace.write_experiment("open", (NEW,), *tests, **fields))
    results = workplace.report("open")["results"]
    # More clients continue after the rows that fewer inserted and deleted.
    assert sorted((each["test"], each["clients"], each["errors"]) for each in results) == [
        (test, clients, 0) for test in sorted(tests) for clients in (1, 3)
    ]
    for result in results:
        assert "late_operations" in result
        if result["test"] == "point-query":
            assert result["qps"] == pytest.approx(500, rel=0.3)


def test_while_it_runs_and_afterwards_its_name_is_taken(workplace: Workplace) -> None:
    workplace.write_experiment("mine", (OLD, NEW), "point-query", budget=LONG)
    first = workplace.start("run", "mine.toml")
    wait_for_slices(workplace, "mine")
    workplace.run("run", "mine.toml", expect=2)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "slowdust run results/mine --resume" in errors
    assert workplace.nothing_is_left()

    workplace.run("run", "mine.toml", expect=2)
    file = workplace.folder / "results/mine/experiment.toml"
    file.write_text(file.read_text().replace("rows = 1000", "rows = 2000"))
    assert "the method" in workplace.errors("run", "mine", "--resume", expect=2)


@full
def test_a_terminated_experiment_leaves_nothing_and_says_how_to_resume(
    workplace: Workplace,
) -> None:
    workplace.write_experiment("ended", (OLD, NEW), "point-query", budget=LONG)
    process = workplace.start("run", "ended.toml")
    errors = stop_after_slices(workplace, process, "ended", signal.SIGTERM)
    assert process.returncode == 1
    assert "slowdust run results/ended --resume" in errors
    assert workplace.nothing_is_left()


def test_a_killed_experiment_resumes_where_it_was(workplace: Workplace) -> None:
    tests = ("update-index", "point-query")
    workplace.write_experiment("killed", (OLD, NEW), *tests, budget=LONG)
    process = workplace.start("run", "killed.toml")
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    before = workplace.slice_lines("killed")
    assert "aged_to" not in workplace.manifest("killed")
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")

    workplace.leave_budget("killed", 2)
    workplace.run("run", "results/killed/experiment.toml", "--resume")
    assert workplace.slice_lines("killed")[: len(before)] == before
    manifest = workplace.manifest("killed")
    assert manifest["finished"]
    # A write test that was cut off is measured again, so that all data ages alike.
    assert manifest["aged_to"].keys() == {"update-index@1"}
    assert manifest["aged_to"]["update-index@1"][0] > 0
    assert manifest["turns_done"].keys() == {f"{test}@1" for test in tests}
    results = workplace.report("killed")["results"]
    assert {result["test"] for result in results} == {*tests}
    assert all(result["incarnations"] >= 2 for result in results)
    assert workplace.nothing_is_left()


def test_a_dying_server_ends_its_contender_and_the_others_continue(workplace: Workplace) -> None:
    workplace.write_experiment("dying", (OLD, NEW), "point-query", "scan", budget="4s")
    process = workplace.start("run", "dying.toml")
    wait_for_slices(workplace, "dying")
    workplace.kill_server(NEW)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"dropped out: {NEW}" in errors
    assert output
    report = workplace.report("dying")
    failed = {info["name"]: info.get("failed") for info in report["contender_info"]}
    assert failed[OLD] is None
    assert failed[NEW]
    assert {each["test"] for each in report["results"] if each["contender"] == OLD} == {
        "point-query",
        "scan",
    }
    assert workplace.nothing_is_left()


@full
def test_all_tests_of_the_fullest_suite_follow_each_other(workplace: Workplace) -> None:
    fields = {"suite": "full", "rows": 10_000, "slice": "20ms", "incarnations": 1}
    workplace.run("run", workplace.write_experiment("all", (NEW,), **fields))
    results = workplace.report("all")["results"]
    had = [test.name for test in MICRO.tests if test.lack(family("sqlite"), None) is None]
    assert [result["test"] for result in results] == had
    assert all(result["errors"] == 0 for result in results)


def test_a_matrix_is_run_and_resumes(workplace: Workplace) -> None:
    small = {"cache_size": "-1000"}
    large = {"cache_size": "-4000", "temp_store": "memory"}
    axes = {"mmap_size": ["0", "1000000"], "caches": {"small": small, "large": large}}
    workplace.run("run", workplace.write_experiment("crossed", (NEW,), "update-index", matrix=axes))
    contenders = workplace.manifest("crossed")["contenders"]
    assert [contender["name"] for contender in contenders] == [
        f"{NEW} mmap_size={size} caches={caches}"
        for size in ("0", "1000000")
        for caches in ("small", "large")
    ]
    assert contenders[1]["settings"]["temp_store"] == "memory"
    assert contenders[2]["settings"]["mmap_size"] == "1000000"
    before = workplace.slice_lines("crossed")

    # Two incarnations settle nothing. On a busy machine they may have spent several budgets.
    workplace.leave_budget("crossed", 2)
    workplace.run("run", "crossed", "--resume")

    after = workplace.slice_lines("crossed")
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert len(workplace.manifest("crossed")["contenders"]) == 4
