"""Facts that must be the same when an experiment is resumed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.journal import (
    StartMode,
    check_same,
    check_same_allocator,
    check_same_source,
    new_manifest,
)
from slowdust.experiment.live import PlainView
from slowdust.experiment.local_lab import run_experiment
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import BuildFacts, ContenderFacts, Counting, Manifest, StepsMethod
from tests.unit.synthetic_counts import synthetic_counts
from tests.unit.workloads.files import SMALL

FACTS = ContenderFacts(
    name="mine",
    dbms="mysql",
    build=BuildFacts(source="directory", version="9.7.4", sha256="a", binary_bytes=1),
    config="default",
    settings={"sync_binlog": "0"},
    engine="innodb",
    environment=["jemalloc"],
    allocator_sha256="b",
)


def manifest(facts: ContenderFacts) -> Manifest:
    spec = parse_spec({"name": "x", "contenders": ["mysql@9.7.4"]})
    return new_manifest(spec, [facts], make_slice_method(spec), "1", {})


def test_the_same_resumes() -> None:
    check_same(manifest(FACTS), manifest(msgspec.structs.replace(FACTS)))


def test_lengths_that_were_chosen_do_not_hinder_it() -> None:
    before = manifest(FACTS)
    before.method.slice_lengths = {"point-query@1": 0.05}
    check_same(before, manifest(FACTS))


def test_a_hold_that_records_did_not_name_yet_is_the_same() -> None:
    before, now = manifest(FACTS), manifest(FACTS)
    for experiment in (before, now):
        experiment.method.steps = StepsMethod(
            workload="quick", rows={}, rows_per_commit={}, seconds=4.0, holds_s=[60.0]
        )
    assert before.method.steps is not None
    before.method.steps.long_transaction_s = 60.0
    check_same(before, now)
    before.method.steps.holds_s = [0.0, 60.0]
    with pytest.raises(UsageError, match="the method changed since"):
        check_same(before, now)


def test_a_contender_whose_data_could_not_be_made_before_continues() -> None:
    check_same(manifest(msgspec.structs.replace(FACTS, settings={})), manifest(FACTS))


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"sync_binlog": "1"}},
        {"engine": "memory"},
        {"environment": ["jemalloc", "A=1"]},
        {"allocator_sha256": "c"},
        {"name": "other"},
    ],
)
def test_another_experiment_does_not(
    changes: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    now = msgspec.structs.replace(FACTS, **changes)
    with pytest.raises(UsageError) as error:
        check_same(manifest(FACTS), manifest(now))
    assert str(error.value) == snapshot


def test_the_error_names_the_options_that_may_change(snapshot: SnapshotAssertion) -> None:
    now = msgspec.structs.replace(FACTS, engine="memory")
    with pytest.raises(UsageError, match="only the budget"):
        check_same(manifest(FACTS), manifest(now))
    long_steps = [manifest(FACTS), manifest(now)]
    for experiment in long_steps:
        experiment.method.budget_s = 0.0
    with pytest.raises(UsageError) as error:
        check_same(*long_steps)
    assert str(error.value) == snapshot
    long_steps[1].contenders = long_steps[0].contenders
    long_steps[1].method.incarnations = 9
    check_same(*long_steps)


def test_an_experiment_is_not_resumed_on_other_cpus(snapshot: SnapshotAssertion) -> None:
    before, now = manifest(FACTS), manifest(FACTS)
    now.cpus = [2, 3]
    check_same(before, now)  # an earlier Slowdust did not record them
    before.cpus = [0, 1]
    with pytest.raises(UsageError) as error:
        check_same(before, now)
    assert str(error.value) == snapshot


def test_an_experiment_is_not_resumed_with_another_malloc(snapshot: SnapshotAssertion) -> None:
    before = msgspec.structs.replace(FACTS, allocator="glibc")
    check_same_allocator(before, "glibc")
    check_same_allocator(before, None)
    check_same_allocator(FACTS, "tcmalloc")
    with pytest.raises(UsageError) as error:
        check_same_allocator(before, "tcmalloc")
    assert str(error.value) == snapshot


def test_work_is_not_counted_by_another_source(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    by_pmu, by_valgrind = Counting(source="pmu"), Counting(source="valgrind")
    check_same_source(folder, by_pmu)
    with writing(folder) as writer:
        writer.append_count(synthetic_counts(["mine"], ["insert"], source="valgrind")[0])
        check_same_source(folder, by_valgrind)
        check_same_source(folder, Counting(reason="off"))
        with pytest.raises(UsageError, match=r"count = .valgrind."):
            check_same_source(folder, by_pmu)


def test_another_workload_is_refused_before_anything_is_made(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "library.toml"
    path.write_text(SMALL)
    given: dict[str, object] = {"name": "x", "contenders": ["postgres@99.9"], "workload": str(path)}
    spec = parse_spec(given)
    before = new_manifest(spec, [FACTS], make_slice_method(spec), "1", {})
    with writing(Folder(tmp_path / "x")) as writer:
        writer.write_manifest(before)
    path.write_text(SMALL.replace("rows = 100", "rows = 101"))
    with pytest.raises(UsageError, match=r"'x': .*workload"):
        run_experiment(parse_spec(given), tmp_path, StartMode.RESUME, PlainView())
    path.write_text(SMALL)
    with pytest.raises(UsageError) as error:  # the next check
        run_experiment(parse_spec(given), tmp_path, StartMode.RESUME, PlainView())
    assert str(error.value) == snapshot
