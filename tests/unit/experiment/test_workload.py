"""The Insert Benchmark in rows: its table and its workloads for a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks.insert import WORKLOADS, InsertBenchmark, InsertStep, InsertWorkload
from slowdust.benchmarks.steps import Server
from slowdust.errors import UsageError
from slowdust.experiment.engine.stepped import level_of, partition_keys
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec, parse_spec, read_spec

GB = 1 << 30


def spec_of(**table: object) -> Spec:
    return parse_spec({"name": "x", "contenders": ["a@1"], "benchmark": "insert", "insert": table})


def benchmark_of(spec: Spec) -> InsertBenchmark:
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, InsertBenchmark)
    return benchmark


def workload(*servers: Server, **table: object) -> InsertWorkload:
    return benchmark_of(spec_of(**table)).workload(servers or (Server(200, GB),))


@pytest.mark.parametrize(
    ("name", "times", "first", "second"),
    [
        ("cached", 0.5, 2.0, 0.5),
        ("less-io-bound", 3.0, 1 / 16, 1 / 64),
        ("more-io-bound", 10.0, 1 / 50, 1 / 200),
    ],
)
def test_workloads_follow_the_smallest_pool_and_the_largest_rows(
    name: str, times: float, first: float, second: float
) -> None:
    sized = workload(Server(200, 4 * GB), Server(100, GB), workload=name)
    rows = sized.rows(1)
    assert rows["l.i0"] * 200 == pytest.approx(times * GB, rel=0.001)
    assert rows["l.i1"] == pytest.approx(first * rows["l.i0"], rel=0.001)
    assert rows["l.i2"] == pytest.approx(second * rows["l.i0"], rel=0.001)
    assert sized.rows(4)["l.i0"] == rows["l.i0"] // 4
    assert sized.seconds == 1800


def test_every_workload_is_there() -> None:
    assert all(workload(workload=name).rows(1)["l.i2"] > 0 for name in WORKLOADS)


def test_given_rows_match_each_client_and_the_others_follow() -> None:
    assert workload(rows=8000).rows(4) == {"l.i0": 8000, "l.i1": 3000, "l.i2": 800}
    assert workload(rows=[8000, 5]).rows(1) == {"l.i0": 8000, "l.i1": 5, "l.i2": 800}
    assert workload(rows=[8000, 5, 7]).rows(1) == {"l.i0": 8000, "l.i1": 5, "l.i2": 7}


def test_without_a_buffer_pool_there_is_no_relative_size() -> None:
    assert workload(Server(4000, None)).rows(1)["l.i0"] > 0
    with pytest.raises(UsageError, match="--rows"):
        workload(Server(4000, None), workload="cached").rows(1)


def test_experiments_larger_than_the_disk_are_refused(snapshot: SnapshotAssertion) -> None:
    server = Server(200, GB)
    workload(server, rows=1000).check_room([1], GB)
    with pytest.raises(UsageError) as error:
        workload(server, server, rows=10**12).check_room([1, 8], GB)
    assert str(error.value) == snapshot


def test_a_disk_that_is_out_of_sight_is_not_filled(snapshot: SnapshotAssertion) -> None:
    remote, rows = Server(200, GB, is_remote=True), 2_000_000
    workload(remote, remote, rows=rows).check_room([1], 0)
    with pytest.raises(UsageError) as error:
        workload(remote, Server(200, GB), rows=rows).check_room([1], GB)
    assert str(error.value) == snapshot


def test_a_hold_needs_room_for_the_rows_that_it_keeps() -> None:
    rows, free = [1_000_000, 2_000_000], 1_500_000_000
    workload(Server(200, GB), rows=rows).check_room([1], free)
    with pytest.raises(UsageError, match=r"3,000,000 rows take about"):
        workload(Server(200, GB), rows=rows, hold=[0, 60]).check_room([1], free)


def test_partitions_have_room_for_all_keys_that_will_ever_be() -> None:
    sized = workload(rows=[1000, 200, 50], seconds=10, rates=[100], partitions=4)
    works = [sized.work(step.test.name, 1) for step in plan(spec_of(rates=[100]))]
    parts = partition_keys(works, sized.settings, 1)
    assert parts is not None
    assert parts.count == 4
    assert parts.rows_each * 4 >= 1000 + 200 + 50 + 2 * 10 * 100 > (parts.rows_each - 1) * 4
    shared = workload(rows=[1000, 200, 50], partitions=4, table="shared")
    of_three = partition_keys([shared.work("l.i0", 3)], shared.settings, 3)
    assert of_three is not None
    assert of_three.rows_each == 750
    assert partition_keys([], workload().settings, 1) is None


def test_rows_at_a_rate_are_whole_commits() -> None:
    sized = workload(rates=[33], seconds=1, rows_per_commit=[100, 50, 5, 50])
    assert sized.work("qr33", 2).inserted == sized.work("qr33", 2).deleted == 50


def test_steps_follow_the_rates_and_l_i0_and_l_x_always_run() -> None:
    options = {"benchmark": "insert", "settings": (), "rates": "50", "tests": "qr*"}
    spec = spec_from_options(["a@1"], options | {"clients": "1,2"})
    assert [step.key for step in plan(spec)] == [
        "l.i0@1", "l.x@1", "qr50@1", "l.i0@2", "l.x@2", "qr50@2",
    ]  # fmt: skip


def test_each_hold_has_a_sequence_of_steps_which_patterns_choose_with_or_without_it() -> None:
    options: dict[str, object] = {"benchmark": "insert", "settings": (), "rates": "50"}
    spec = spec_from_options(["a@1"], options | {"hold": "1m,0,0.5", "clients": "1,2"})
    levels = [level_of(step) for step in plan(spec)]
    assert list(dict.fromkeys(levels)) == [(c, hold) for c in (1, 2) for hold in (0.0, 0.5, 60.0)]
    assert [step.key for step in plan(spec)][6:12] == [
        "l.i0.hold0.5@1", "l.x.hold0.5@1", "l.i1.hold0.5@1", "l.i2.hold0.5@1", "qr50.hold0.5@1",
        "qp50.hold0.5@1",
    ]  # fmt: skip
    every = spec_from_options(["a@1"], options | {"hold": "0,60", "tests": "qr50"})
    assert [step.test.name for step in plan(every)] == [
        "l.i0", "l.x", "qr50", "l.i0.hold60", "l.x.hold60", "qr50.hold60",
    ]  # fmt: skip
    held = spec_from_options(["a@1"], options | {"hold": "0,60", "tests": "l.i2.hold60"})
    assert [step.test.name for step in plan(held)] == ["l.i0.hold60", "l.x.hold60", "l.i2.hold60"]


def test_a_transaction_is_held_in_all_steps_except_the_loads() -> None:
    steps = {step.test.name: step.test for step in plan(spec_of(rates=[50], hold=[0, 60]))}
    held = {name: step.held for name, step in steps.items() if isinstance(step, InsertStep)}
    assert {name for name, hold in held.items() if hold is not None} == {
        "l.i1.hold60", "l.i2.hold60", "qr50.hold60", "qp50.hold60",
    }  # fmt: skip
    assert set(held.values()) == {None, 60.0}
    sized = workload(rates=[50], hold=[0, 60])
    for name in steps:
        assert sized.work(name, 1) == sized.work(name.removesuffix(".hold60"), 1)


def test_a_file_of_before_holds_has_the_only_one_of_its_long_transaction() -> None:
    table = benchmark_of(spec_of(long_transaction="30.000000s")).settings
    assert table.hold == [30.0]
    with pytest.raises(UsageError, match="long_transaction"):
        spec_of(long_transaction="30s", hold=[0])


def test_options_are_the_table_and_survive_their_file(tmp_path: Path) -> None:
    options = {
        "benchmark": "insert", "settings": ("fsync=on", "fsync=off", "work_mem=4MB"),
        "rows": "1000,200", "rates": "7", "rows_per_commit": "4,3,2,1", "shared_table": True,
        "partitions": 3, "hold": "0,30s", "statements": "text", "seconds": "2m",
        "workload": "cached",
    }  # fmt: skip
    spec = spec_from_options(["postgres@17.6"], options)
    table = benchmark_of(spec).settings
    assert (table.rows, table.rates, table.rows_per_commit) == ([1000, 200], [7], [4, 3, 2, 1])
    assert (table.shares_table, table.partitions, table.statements) == (True, 3, "text")
    assert (table.hold, table.seconds, table.workload) == ([0.0, 30.0], 120.0, "cached")
    assert [contender.label for contender in spec.planned_contenders()] == ["fsync=on", "fsync=off"]
    assert spec.set == {"work_mem": "4MB"}
    (tmp_path / "experiment.toml").write_text(spec.to_toml())
    assert read_spec(tmp_path / "experiment.toml") == spec.model_copy(update={"name": spec.name})


@pytest.mark.parametrize(
    "given",
    [
        {"slice": "1s"},
        {"tables": 2},
        {"rate": 100.0},
        {"workload": "huge"},
        {"rows": "99"},
        {"rows": "1000,many"},
        {"rows": "1000,2,3,4"},
        {"rates": "0"},
        {"rates": "5,5"},
        {"rows_per_commit": "100"},
        {"partitions": 1},
        {"hold": "0,60,1m"},
        {"hold": "0.0001"},
        {"hold": "long"},
        {"seconds": "soon"},
        {"tests": "point-query"},
    ],
)
def test_wrong_options_are_named(given: dict[str, object], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options(["a@1"], {"benchmark": "insert", "settings": (), **given})
    assert str(error.value) == snapshot


@pytest.mark.parametrize("option", ["rates", "shared_table", "seconds"])
def test_its_options_are_of_no_other_benchmark(option: str, snapshot: SnapshotAssertion) -> None:
    given: dict[str, object] = {"settings": (), option: "7"}
    with pytest.raises(UsageError) as error:
        spec_from_options(["a@1"], given)
    assert str(error.value) == snapshot
    with pytest.raises(UsageError) as error2:
        parse_spec({"name": "x", "contenders": ["a@1"], "insert": {}})
    assert str(error2.value) == snapshot


@pytest.mark.parametrize(("given", "budget"), [({}, None), ({"budget": "5m"}, 300.0)])
def test_long_steps_have_a_budget_only_if_it_is_given(
    tmp_path: Path, given: dict[str, object], budget: float | None
) -> None:
    spec = spec_from_options(["a@1"], {"benchmark": "insert", "settings": (), **given})
    (tmp_path / "experiment.toml").write_text(spec.to_toml())
    assert spec.budget_of_steps == budget
    assert read_spec(tmp_path / "experiment.toml").budget_of_steps == budget
