import pytest
from click.testing import CliRunner

from slowdust.benchmarks import BENCHMARKS, benchmark, known_group
from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Group, Headline, Phase
from slowdust.benchmarks.slap import SLAP
from slowdust.cli.commands import command
from slowdust.errors import UsageError
from slowdust.experiment.passes.work_counts import is_counted
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.store.manifest import WorkloadFacts

EVERY = pytest.mark.parametrize("each", BENCHMARKS.values(), ids=BENCHMARKS)


@EVERY
def test_names_are_unique_and_suites_name_tests_that_exist(each: Benchmark) -> None:
    names = [test.name for test in each.tests]
    assert len(set(names)) == len(names)
    assert {test.benchmark for test in each.tests} == {each.name}
    for suite in each.suites.values():
        assert set(suite) <= set(names)
    assert each.suites[DEFAULT_SUITE]


@EVERY
def test_phases_follow_each_other(each: Benchmark) -> None:
    order = list(Phase)
    places = [order.index(test.phase) for test in each.tests]
    assert places == sorted(places)


def test_the_quick_suite_of_micro_has_every_group_of_execution() -> None:
    quick = MICRO.suite("quick")
    assert len(quick) == 8
    before_execution = {Group.CONNECTING, Group.PLANNING}
    assert {test.group for test in quick} == {test.group for test in MICRO.tests} - before_execution


def test_connecting_and_planning_are_in_the_default_suite_of_micro() -> None:
    default = MICRO.suite(DEFAULT_SUITE)
    connecting = [test for test in default if test.group is Group.CONNECTING]
    planning = [test.name for test in default if test.group is Group.PLANNING]
    assert [test.name for test in connecting] == ["connect", "connect-query", "connect-tls"]
    assert planning == ["plan-simple", "plan-joins", "plan-partitions"]
    assert all(test.reconnects and not is_counted(test, 1) for test in connecting)


def test_the_partitioned_table_is_loaded_for_its_test_alone() -> None:
    others = MICRO.choosing(MICRO.suite("quick"))
    assert (others.driver_benchmark, others.further_tables()) == ("sbtest", {})
    chosen = MICRO.choosing(MICRO.suite(DEFAULT_SUITE))
    assert chosen.driver_benchmark == "partitioned"
    assert [test.name for test in chosen.further_tables().values()] == ["plan-partitions"]


def test_steps_whose_sessions_end_are_not_observed() -> None:
    sentences: list[str] = []
    steps = [PlannedStep(test, 1) for test in MICRO.suite(DEFAULT_SUITE)]
    left = with_lasting_sessions(steps, "waits", sentences.append)
    assert len(left) == len(steps) - 3
    assert len(sentences) == 1
    assert with_lasting_sessions(left, "waits", sentences.append) == left
    assert len(sentences) == 1


def test_least_rows_match_the_range() -> None:
    rows = {test.name: test.least_rows for test in (*MICRO.tests, *SLAP.tests)}
    assert rows["random-points.1000.pre"] == 1000
    assert rows["read-only.10"] == 10
    assert rows["read-only-sum"] == 1000
    assert rows["point-query"] == 100
    assert rows["range-si-covered.1000"] == 1000


def test_slap_is_reported_in_response_times() -> None:
    assert (SLAP.headline, MICRO.headline) == (Headline.RESPONSE_TIME, Headline.RATE)
    assert [test.name for test in SLAP.tests if test.writes] == [
        "update-same-indexed",
        "update-same-notindexed",
    ]


def test_groups_are_found_by_benchmark_and_test() -> None:
    shop = WorkloadFacts(name="shop", sha256="", groups={"scan": "write"}, rows={})
    assert known_group("micro", "scan", shop) is Group.RANGE
    assert known_group("shop", "scan", shop) is Group.WRITE
    assert known_group("shop", "scan", None) is None
    assert known_group("slap", "scan", None) is None
    assert known_group("sysbench", "load", None) is Group.LOAD
    with pytest.raises(UsageError, match="'tpcc'"):
        benchmark("tpcc")


def test_the_command_lists_the_tests_of_one_benchmark() -> None:
    plain = CliRunner().invoke(command("tests"), []).output.splitlines()
    assert plain[0].split()[0] == "point-query.pre"
    slap = CliRunner().invoke(command("tests"), ["--benchmark", "slap"]).output.splitlines()
    assert [line.split()[0] for line in slap] == [test.name for test in SLAP.tests]
    assert "default, quick" in slap[0]
