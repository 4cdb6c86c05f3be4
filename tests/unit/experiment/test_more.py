"""The specification of an experiment with more time."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.engine.schedule import turns
from slowdust.experiment.experiment import spec_with_more
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec, parse_spec, read_spec
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import insert_experiment

A, B = "postgres@15.8", "postgres@17.6"
TESTS = ["point-query", "scan", "insert"]


def spec(**keys: object) -> Spec:
    return parse_spec({"name": "e", "contenders": [A, B], "tests": TESTS, **keys})


def measured(turns_done: int, spent: float) -> tuple[Manifest, list[Slice]]:
    manifest, slices = synthetic_experiment([A, B], TESTS, incarnations=turns_done)
    manifest.turns_done = {f"{test}@1": turns_done for test in TESTS}
    manifest.spent_s = spent
    for record in slices:
        record.measured.seconds = record.measured.probe_seconds = 0.01
    return manifest, slices


def test_the_time_is_spread_over_more_starts_of_the_servers() -> None:
    more = spec_with_more(spec(budget="60s"), *measured(3, 55.0), ["scan"], 100.0)

    assert more.budget == 155.0
    assert more.incarnations == 3 + 10
    assert more.only == ["scan"]
    assert [step.test.name for step in plan(more) if step.is_open] == ["scan"]


def test_a_start_is_as_long_as_before_where_that_is_longer() -> None:
    manifest, slices = measured(2, 600.0)
    for record in slices:
        record.measured.seconds = record.measured.probe_seconds = 2.0
    together = sum(2.0 + 0.01 for record in slices if record.place.test != "insert") / 2

    more = spec_with_more(spec(), manifest, slices, ["scan", "point-query"], 10 * together)

    assert together > 20
    assert more.incarnations == 2 + 10


def test_a_stopped_experiment_keeps_what_was_planned() -> None:
    manifest, slices = measured(1, 20.0)
    manifest.finished = None
    manifest.method.budget_s, manifest.method.incarnations = 60.0, 4

    to_its_end = spec_with_more(spec(budget="60s"), manifest, slices, TESTS, 0.0)
    longer = spec_with_more(spec(budget="60s"), manifest, slices, TESTS, 40.0)

    assert (to_its_end.budget, to_its_end.incarnations) == (60.0, 4)
    assert (longer.budget, longer.incarnations) == (100.0, 8)


def test_long_steps_get_time_and_no_planned_starts() -> None:
    manifest, slices = insert_experiment([A, B], ["l.i0", "l.x"])
    manifest.spent_s = 120.0
    steps = parse_spec({"name": "e", "contenders": [A, B], "benchmark": "insert"})

    more = spec_with_more(steps, manifest, slices, ["l.x"], 60.0)

    assert more.budget_of_steps == 180.0
    assert more.incarnations is None
    assert steps.budget_of_steps is None


def test_a_test_that_is_not_its_own_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="'delete'"):
        spec_with_more(spec(), *measured(3, 60.0), ["delete"], 60.0)
    with pytest.raises(UsageError, match="'delete'"):
        spec(only=["delete"])


def test_it_is_kept_in_the_file(tmp_path: Path) -> None:
    more = spec_with_more(spec(budget="60s"), *measured(3, 55.0), ["scan"], 100.0)
    file = tmp_path / "experiment.toml"
    file.write_text(more.to_toml())

    assert read_spec(file) == more
    assert "only" not in spec().to_toml()


def test_turns_match_the_open_steps() -> None:
    steps = plan(spec(only=["scan", "insert"]))
    settled = next(step for step in steps if step.test.name == "insert")
    settled.settled = True

    assert [turn.step.test.name for turn in turns(steps, 1)] == ["scan"]
