"""The shipped experiments are valid: files, matrices and contenders."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.benchmarks.insert import InsertBenchmark
from slowdust.builds.catalog import find_catalog
from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.engine.slice_length import USUAL
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.stats.verdict import MINIMUM_BLOCKS

FILES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))
EVERY = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
LONGEST_BUDGET = 20 * 60


def test_the_promised_ones_are_there() -> None:
    assert {"allocators", "concurrency", "durability", "mysql-history"} <= {f.stem for f in FILES}


@EVERY
def test_contenders_are_distinct_and_in_the_catalogs(file: Path) -> None:
    contenders = read_spec(file).planned_contenders()
    titles = [contender.title(None) for contender in contenders]
    assert len(set(titles)) == len(titles) > 1
    for name in (contender.name for contender in contenders):
        assert name.dbms is not None
        assert name.version is not None
        assert find_catalog(name.dbms).find(name.version).version == name.version


@EVERY
def test_the_budget_matches_a_laptop_and_suffices_for_the_restarts(file: Path) -> None:
    spec = read_spec(file)
    benchmark = spec.configured_benchmark()
    if isinstance(benchmark, InsertBenchmark):
        assert benchmark.settings.workload == "quick"
        return
    steps = len(plan(spec))
    assert spec.budget <= LONGEST_BUDGET
    assert rounds(spec.budget, steps) * steps * _shortest_turn(spec) <= spec.budget


def _shortest_turn(spec: Spec) -> float:
    contenders = len(spec.planned_contenders())
    slices = 2 * contenders * MINIMUM_BLOCKS
    return contenders * spec.warmup + slices * ((spec.slice or USUAL) + spec.discard)


def test_the_published_durability_matrix_has_twelve_configurations() -> None:
    file = next(f for f in FILES if f.stem == "durability")
    contenders = read_spec(file).planned_contenders()
    assert len(contenders) == 12
    assert contenders[0].set == {
        "log_bin": "off",
        "innodb_flush_log_at_trx_commit": "2",
        "sync_binlog": "0",
        "innodb_doublewrite": "OFF",
    }
    assert contenders[-1].label == "log_bin=on fsync=on doublewrite=detect_only"


def test_the_sweep_has_the_methods_levels() -> None:
    assert read_spec(next(f for f in FILES if f.stem == "concurrency")).clients == [
        1, 2, 4, 8, 16, 32, 64,
    ]  # fmt: skip
